"""What is judged in part, as it comes, or by what is new in it, is told of as if all of it had been judged whole."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import orjson
import pytest
from conversations import FORMATS, Exchange, conversation, written

from toolaudit.engine import Audit, Options, audit
from toolaudit.report import Report
from toolaudit.threads import Asleep

CASES = [json.loads(line) for line in (Path(__file__).parent / "cases.jsonl").read_text("utf-8").splitlines()]


def _broken(key: str) -> list[list[Any]]:
    """The message lists of all cases that are one plain request."""
    bodies = [case["transcript"] for case in CASES if not case.get("lines") and isinstance(case["transcript"], dict)]
    return [list(body[key]) for body in bodies if isinstance(body.get(key), list) and body[key]]


def healthy(count: int, form: str, prefix: str) -> list[Any]:
    """Messages of `count` exchanges in order, with ids of their own."""
    turns = conversation([Exchange("oslo", [[("get_weather", {"city": "oslo"}, "4 C, some wind")]], "cold")] * count)
    for turn in turns:
        for call in turn.calls:
            call.id = f"{prefix}{call.id}"
        for result in turn.results:
            result.ref = f"{prefix}{result.ref}"
    body = written(turns, form)
    messages: list[Any] = body["messages" if "messages" in body else "input"]
    return messages


def told(path: Path, *, quick: bool) -> Report:
    audit = Audit(Options())
    audit.__dict__["quick"] = quick
    audit.paths([str(path)])
    return audit.report


def same(path: Path) -> Report:
    """The report on a file, which must be the same the short way and the long way."""
    short, long = told(path, quick=True), told(path, quick=False)
    assert [_told(entry) for entry in short.findings] == [_told(entry) for entry in long.findings]
    assert orjson.dumps(_numbers(short)) == orjson.dumps(_numbers(long))
    return short


def _told(entry: Any) -> tuple[Any, ...]:
    return entry.rule, entry.line, entry.pointer, entry.turn, entry.message, entry.severity, entry.confidence, entry.related, entry.cause


def _numbers(report: Report) -> dict[str, int]:
    names = ("trajectories", "turns", "calls", "results", "paired", "missing", "open", "unjudged", "errors", "warnings", "notes")
    return {name: getattr(report.summary, name) for name in names}


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many turns each trajectory has that is judged."""
    found: list[int] = []
    judge = Audit.judge

    def watched(self: Audit, stored: Any, outcome: Any) -> None:
        found.append(len(stored.trajectory.turns))
        judge(self, stored, outcome)

    monkeypatch.setattr(Audit, "judge", watched)
    return found


KEYS = {"anthropic-messages": "messages", "openai-chat": "messages", "openai-responses": "input"}


def long_one(form: str, seed: int) -> list[Any]:
    """A long conversation, broken in up to four places as the cases are."""
    rng = random.Random(f"{form}{seed}")
    cases = _broken(KEYS[form])
    messages = healthy(120, form, "a")
    for number in range(rng.randint(1, 4)):
        messages += rng.choice(cases)
        messages += healthy(rng.choice((0, 1, 2, 5, 40)), form, f"b{number}")
    return messages + healthy(rng.choice((0, 30)), form, "c")


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("form", FORMATS)
def test_a_long_conversation_is_judged_in_part(form: str, seed: int, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    body = {"model": "x", KEYS[form]: long_one(form, seed)}
    path.write_bytes(orjson.dumps(body) + b"\n" + orjson.dumps({"model": "x", KEYS[form]: healthy(2, form, "z")}) + b"\n")
    same(path)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("form", FORMATS)
def test_a_log_is_judged_as_it_comes(form: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"{form}{seed}")
    cases = _broken(KEYS[form])
    threads = [long_one(form, seed) if rng.random() < 0.3 else healthy(3, form, "a") + rng.choice(cases) for _ in range(3)]
    threads += [healthy(4, form, "h"), list(rng.choice(cases))]
    lines = []
    while any(threads):
        number = rng.choice([number for number, thread in enumerate(threads) if thread])
        message = threads[number].pop(0)
        lines.append(orjson.dumps({**message, "session_id": f"s{number}"} if isinstance(message, dict) else message))
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    same(path)


@pytest.mark.parametrize("first", [10, 700])
def test_items_with_one_id_are_told_of_however_far_apart(first: int, tmp_path: Path) -> None:
    messages = healthy(200, "openai-responses", "a")
    for start in (first, 400):
        index = next(index for index in range(start, len(messages)) if messages[index].get("type") == "message")
        messages[index] = {**messages[index], "id": "msg_same1234"}
    path = tmp_path / "x.jsonl"
    path.write_bytes(orjson.dumps({"model": "x", "input": messages}) + b"\n" + orjson.dumps({"messages": []}) + b"\n")
    assert [entry.rule for entry in same(path).findings] == ["duplicate-item-id"]


def test_most_of_a_long_conversation_is_not_judged(tmp_path: Path, judged: list[int]) -> None:
    """Else the tests above would show nothing."""
    messages = healthy(200, "openai-chat", "a")
    del messages[402]
    body = orjson.dumps({"model": "x", "messages": messages})
    path = tmp_path / "x.jsonl"
    path.write_bytes(body + b"\n" + body + b"\n")
    report = told(path, quick=True)
    assert [entry.rule for entry in report.findings] == ["missing-result"] * 2
    assert len(judged) == 2
    assert max(judged) < 40


def growing(messages: list[Any], key: str) -> list[bytes]:
    """The requests of a conversation that end with the user or a tool, each with all that came before."""
    ends = [i for i, m in enumerate(messages, 1) if m.get("role") in ("user", "tool") or m.get("type") == "function_call_output"]
    return [orjson.dumps({"model": "x", key: messages[:end]}) for end in ends]


@pytest.mark.parametrize("form", FORMATS)
def test_a_growing_request_is_counted_and_told_once(form: str, tmp_path: Path) -> None:
    key, path, whole = KEYS[form], tmp_path / "x.jsonl", tmp_path / "y.jsonl"
    messages = healthy(6, form, "a")
    broken = messages[:2] + messages[3:]  # a call without its result
    first, second = growing(messages, key), growing(broken, key)
    lines = [line for both in zip(first, second, strict=False) for line in both] + first[len(second) :]
    path.write_bytes(b"\n".join(lines) + b"\n")
    whole.write_bytes(first[-1] + b"\n" + second[-1] + b"\n")
    report, once = told(path, quick=True), told(whole, quick=True)
    assert _numbers(report) | {"turns": 0} == _numbers(once) | {"turns": 0}
    assert sorted((e.rule, e.pointer) for e in report.findings) == sorted((e.rule, e.pointer) for e in once.findings)
    assert report.findings


def test_the_same_request_twice_is_two_records(tmp_path: Path) -> None:
    line = orjson.dumps({"model": "x", "messages": healthy(2, "openai-chat", "a")})
    path = tmp_path / "x.jsonl"
    path.write_bytes(line + b"\n" + line + b"\n")
    assert told(path, quick=True).summary.trajectories == 2


def test_a_completion_beside_its_own_text_was_not_sent() -> None:
    """Some frameworks store the text of the answer beside its choices: the calls are the last word, and merely open."""
    call = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    output = {"model": "m", "choices": [{"message": {"role": "assistant", "content": "", "tool_calls": [call]}}], "completion": "a call"}
    assert {entry.rule for entry in audit([output]).findings} <= {"open-call"}


def test_a_record_with_several_conversations_is_never_counted_off(tmp_path: Path) -> None:
    """Two batches of requests whose first requests go on from one another have nothing else in common."""
    one, other = healthy(5, "openai-chat", "a"), healthy(9, "openai-chat", "b")
    small = healthy(1, "openai-chat", "c")
    first = {"requests": [{"model": "x", "messages": one[:4]}, {"model": "x", "messages": other}]}
    second = {"requests": [{"model": "x", "messages": one[:8]}, {"model": "x", "messages": small}]}
    apart = {"meta": {"messages": ["x"]}, "messages": other}, {"meta": {"messages": ["x", "y"]}, "messages": small}
    for number, records in enumerate([(first, second), apart]):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(b"\n".join(map(orjson.dumps, records)) + b"\n")
        report = told(path, quick=True)
        calls = sum(len(message.get("tool_calls") or ()) for message in (*(() if number else (*one[:4], *one[:8])), *other, *small))
        assert report.summary.calls == calls


@pytest.mark.parametrize("kept", [True, False])
def test_the_answer_that_comes_back_as_history_is_counted_once(kept: bool, tmp_path: Path) -> None:
    """An exchange is a request and its answer; the next request goes on from it only if the answer is its next message."""
    call = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    asked, answer = {"role": "user", "content": "go"}, {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "call_1", "content": "done"}
    final = {"role": "assistant", "content": "It is done."}
    again = answer if kept else {"role": "assistant", "content": "Let me think."}

    def exchange(messages: list[Any], message: Any) -> bytes:
        response = {"object": "chat.completion", "choices": [{"message": message}]}
        return orjson.dumps({"request": {"model": "gpt-4.1", "messages": messages}, "response": response})

    path = tmp_path / "x.jsonl"
    rest = [again, result] if kept else [again, {"role": "user", "content": "well?"}]
    path.write_bytes(exchange([asked], answer) + b"\n" + exchange([asked, *rest], final) + b"\n")
    summary = told(path, quick=True).summary
    assert (summary.calls, summary.paired, summary.open, summary.trajectories) == ((1, 1, 0, 1) if kept else (1, 0, 1, 2))


def _log(form: str, seed: int) -> list[bytes]:
    """The lines of a log in which conversations take turns."""
    rng = random.Random(f"{form}{seed}")
    threads = [healthy(3, form, "a") + (list(rng.choice(_broken(KEYS[form]))) if rng.random() < 0.2 else []) for _ in range(40)]
    lines = []
    while any(threads):
        number = rng.choice([number for number, thread in enumerate(threads) if thread])
        message = threads[number].pop(0)
        lines.append(orjson.dumps({**message, "session_id": f"s{number}"} if isinstance(message, dict) else message))
    return lines


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("form", FORMATS)
def test_a_conversation_that_was_folded_up_goes_on(form: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folded = []
    monkeypatch.setattr("toolaudit.threads.AWAKE", 2)
    monkeypatch.setattr("toolaudit.threads.Asleep.wake", lambda self, wake=Asleep.wake: (folded.append(1), wake(self))[1])
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\n".join(_log(form, seed)) + b"\n")
    report = same(path)
    assert report.summary.paired
    assert folded


def test_a_log_that_cannot_be_read_twice_is_kept_aside(tmp_path: Path) -> None:
    data = b"\n".join(_log("openai-chat", 1)) + b"\n"
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    audit = Audit(Options())
    with gzip.open(tmp_path / "x.jsonl.gz", "wb") as file:
        file.write(data)
    audit.paths([str(tmp_path / "x.jsonl.gz")])
    plain = told(path, quick=True)
    assert plain.findings
    assert [_told(entry) for entry in audit.report.findings] == [_told(entry) for entry in plain.findings]
    assert _numbers(audit.report) == _numbers(plain)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("form", FORMATS)
def test_an_excerpt_of_a_document_keeps_its_lines(form: str, seed: int, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"model": "x", KEYS[form]: long_one(form, seed)}, indent=1), "utf-8")
    same(path)


def test_only_the_latest_calls_of_a_source_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    monkeypatch.setattr("toolaudit.engine.REMEMBERED", 8)
    monkeypatch.setattr(Audit, "merge", lambda self, outcome, merge=Audit.merge: (held.append(len(outcome.calls)), merge(self, outcome)))
    path = tmp_path / "x.jsonl"
    bodies = [{"model": "x", "messages": healthy(3, "openai-chat", f"n{number}")} for number in range(20)]
    path.write_bytes(b"\n".join(map(orjson.dumps, bodies)) + b"\n")
    assert told(path, quick=True).summary.calls == 60
    assert held
    assert max(held) <= 16


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("form", FORMATS)
def test_a_growing_request_in_doubt_is_told_of_once(form: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told of it is the same when every request is proved and judged from its first message on."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\n".join(growing(long_one(form, seed), KEYS[form])[-40:]) + b"\n")
    short = told(path, quick=True)
    monkeypatch.setattr("toolaudit.snapshots._continued", lambda *_: None)
    whole = told(path, quick=True)
    assert [_told(entry) for entry in short.findings] == [_told(entry) for entry in whole.findings]
    assert _numbers(short) == _numbers(whole)


def test_what_was_in_doubt_is_judged_once(tmp_path: Path, judged: list[int]) -> None:
    """Else the test above would show nothing."""
    messages = healthy(130, "openai-chat", "a")
    del messages[202]
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\n".join(growing(messages, "messages")[120:]) + b"\n")
    report = told(path, quick=True)
    assert [entry.rule for entry in report.findings] == ["missing-result"]
    assert report.summary.calls == 130
    assert len(judged) < 5
