"""Several receivers at once: laws that extend others, the vendor that an address proves, and the verdict of each target."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli_helper import run
from toolaudit import targets
from toolaudit.engine import Options, audit
from toolaudit.matrix import rows
from toolaudit.model import JSON, Severity

SPLIT: JSON = {
    "model": "m",
    "max_tokens": 9,
    "tools": [{"name": "get_weather", "input_schema": {"type": "object"}}],
    "messages": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": key, "name": "get_weather", "input": {}} for key in ("a1", "b1")]},
        *({"role": "user", "content": [{"type": "tool_result", "tool_use_id": key, "content": "4 C"}]} for key in ("a1", "b1")),
    ],
}
"""Legal and silent for one provider, refused by others."""
EXTENDING = [name for name in targets.names() if targets.law(name).extends]


def chat(*messages: JSON, model: str = "m") -> dict[str, JSON]:
    return {"model": model, "messages": list(messages)}


def turn(*ids: str) -> JSON:
    calls = [{"id": key, "type": "function", "function": {"name": "get_weather", "arguments": f'{{"n": "{key}"}}'}} for key in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def answer(key: str, text: str = "4 C") -> JSON:
    return {"role": "tool", "tool_call_id": key, "content": text}


ASK: JSON = {"role": "user", "content": "q"}
SAY: JSON = {"role": "assistant", "content": "Cold."}


@pytest.mark.parametrize("name", EXTENDING)
def test_a_law_that_extends_another_has_its_lines_but_for_the_rules_it_speaks_of(name: str) -> None:
    law = targets.law(name)
    below = targets.law(law.extends)
    own = {line.rule for line in law.line if line not in below.line}
    assert own, "a law of its own says something of its own"
    for line in below.line:
        assert line in law.line or line.rule in own
    assert (law.joins, law.answers, law.container) == (below.joins, below.answers, below.container)
    assert law == targets.read(name)


def test_addresses_tell_vendors_apart() -> None:
    told = {
        "https://api.deepseek.com/chat/completions": "deepseek",
        "https://api.moonshot.ai/v1/chat/completions": "kimi",
        "https://open.bigmodel.cn/api/paas/v4/chat/completions": "glm",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions": "qwen",
        "https://api.groq.com/openai/v1/chat/completions": "groq",
        "https://api.x.ai/v1/chat/completions": "xai",
        "https://openrouter.ai/api/v1/chat/completions": "openrouter",
        "https://a.openai.azure.com/openai/deployments/d/chat/completions?api-version=1": "azure-openai",
        "https://api.openai.com/v1/chat/completions": "openai-chat",
        "https://gateway.example.com/v1/chat/completions": None,
        "https://gateway.example.com/?to=https://api.deepseek.com/": None,
    }
    assert {address: targets.vendor_of(address) for address in told} == told


def test_traffic_is_judged_by_the_law_of_the_vendor_it_was_sent_to() -> None:
    body = chat(ASK, turn("a1"), answer("a1"), turn("a1"), answer("a1", "5 C"), SAY)
    for address, severity in (("https://api.moonshot.ai/v1/chat/completions", "error"), ("https://api.x.ai/v1/chat/completions", "note")):
        found = audit({"request": {"url": address, "body": body}, "response": {"status": 400}}).findings
        reused = [entry for entry in found if entry.rule == "reused-call-id"]
        assert [entry.severity for entry in reused] == [Severity.named(severity)]
        assert reused[0].target == targets.vendor_of(address)
    assert not [entry for entry in audit(body).findings if entry.severity > Severity.NOTE], "a shape proves no vendor"


def test_the_name_of_a_model_proves_its_vendor_unless_it_has_a_route(tmp_path: Path) -> None:
    body = (ASK, turn("a1"), answer("a1"), turn("a1"), answer("a1", "5 C"), SAY)
    told = {"kimi-k2": "kimi", "grok-4": "xai", "moonshotai/kimi-k2": "openai-chat", "kimi-k2:free": "openai-chat", "gpt-5": "openai-chat"}
    for model, target in told.items():
        (tmp_path / "t.jsonl").write_text(json.dumps(chat(*body, model=model)) + "\n")
        for given in (tmp_path / "t.jsonl", chat(*body, model=model)):  # the short way and the long one
            report = audit(given)
            assert report.inputs[0].target == target
            assert [e.severity for e in report.findings] == [Severity.ERROR if target == "kimi" else Severity.NOTE]


def test_a_healthy_transcript_of_a_vendor_is_judged_by_its_law_on_the_short_way_too(tmp_path: Path) -> None:
    record = {"request": {"url": "https://api.x.ai/v1/chat/completions", "body": chat(ASK, turn("a1"), answer("a1"), SAY)}}
    for index, value in enumerate((chat(ASK, turn("a1"), answer("a1"), SAY, model="grok-4"), record)):
        path = tmp_path / f"{index}.jsonl"
        path.write_text(json.dumps(value) + "\n")
        assert audit(path).inputs[0].target == "xai"


def test_a_finding_under_several_laws_is_told_once_with_the_verdict_of_each() -> None:
    found = audit(SPLIT, Options(target=("anthropic", "gemini", "openai-responses"))).findings
    assert [entry.rule for entry in found] == ["split-results"]
    assert {name: one.verdict for name, one in found[0].verdicts.items()} == {"anthropic": "degraded", "gemini": "rejected"}
    assert (found[0].severity, found[0].target) == (Severity.ERROR, "gemini")


def test_counts_do_not_grow_with_the_number_of_laws() -> None:
    one, many = audit(SPLIT, Options(target="anthropic")), audit(SPLIT, Options(target=targets.names()))
    assert (one.summary.calls, one.summary.results, one.summary.trajectories) == (2, 2, 1)
    assert (many.summary.calls, many.summary.results, many.summary.trajectories) == (2, 2, 1)


def test_the_order_of_targets_changes_no_verdict() -> None:
    for names in (("anthropic", "strict", "openai-chat"), ("openai-chat", "strict", "anthropic")):
        found = audit(SPLIT, Options(target=names)).findings
        assert {(e.rule, name): one.verdict for e in found for name, one in e.verdicts.items()} == {
            ("split-results", "anthropic"): "degraded",
            ("split-results", "strict"): "rejected",
            ("misplaced-result", "openai-chat"): "rejected",
        }


def test_the_matrix_says_of_each_target_what_decides() -> None:
    names = ("anthropic", "gemini", "openai-responses", "vllm", "together")
    made = {row.target: row for row in rows(audit(SPLIT, Options(target=names, sent=True)), names)}
    assert {name: row.verdict for name, row in made.items()} == {
        "anthropic": "degraded",
        "gemini": "rejected",
        "openai-responses": "accepted",
        "vllm": "degraded",
        "together": "unknown",
    }
    assert made["anthropic"].reasons == {"split-results": 1}
    assert made["openai-responses"].first is None


def test_the_matrix_is_a_table_of_all_targets(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(SPLIT))
    ran = run("targets", "--matrix", tmp_path / "t.json")
    assert ran.code == 0
    for name in targets.names():
        assert f"\n{name} " in ran.out
    assert ran.out.count("accepted") < len(targets.names())
    one = run("targets", "gemini", "--matrix", tmp_path / "t.json")
    assert "split-results; first at line" in " ".join(one.out.split())
    assert "anthropic " not in one.out.splitlines()[3]


def test_a_matrix_of_what_is_no_transcript_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("nothing")
    ran = run("targets", "--matrix", tmp_path / "t.txt")
    assert (ran.code, ran.out) == (2, "")
    assert "t.txt" in ran.err


def test_several_targets_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(SPLIT))
    done = json.loads(run("check", "--target", "anthropic,gemini", "--target", "gemini", "-f", "json", tmp_path / "t.json").out)
    assert done["inputs"][0]["target"] == "anthropic,gemini"
    assert list(done["findings"][0]["verdicts"]) == ["anthropic", "gemini"]
    refused = run("check", "--target", "anthropic,gemni", tmp_path / "t.json")
    assert (refused.code, "did you mean `gemini`?" in refused.err) == (2, True)
