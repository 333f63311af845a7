"""Every target is sound data: it loads, speaks of rules that exist, and says what it knows it from."""

from __future__ import annotations

import re

import pytest

from toolaudit import rules, targets
from toolaudit.engine import Options, audit
from toolaudit.errors import UsageError

# the final set of rules, as the design lists it
PLANNED = frozenset(
    {
        "missing-result",
        "orphan-result",
        "duplicate-result",
        "misplaced-result",
        "stale-result",
        "open-call",
        "duplicate-call-id",
        "reused-call-id",
        "mismatched-id",
        "missing-id",
        "invalid-id",
        "mismatched-name",
        "collapsed-results",
        "unpaired-server-call",
        "duplicate-item-id",
        "unresolved-reference",
        "dropped-assistant-turn",
        "duplicated-assistant-turn",
        "altered-assistant-turn",
        "split-assistant-turn",
        "text-only-turn",
        "empty-tool-calls",
        "errored-turn-call",
        "starts-with-call",
        "split-results",
        "text-before-result",
        "foreign-part-in-results",
        "text-after-call",
        "reordered-results",
        "flattened-results",
        "flattened-call",
        "merged-results",
        "trimmed-pair",
        "lost-in-compaction",
        "malformed-arguments",
        "truncated-call",
        "invalid-arguments",
        "unknown-tool",
        "undeclared-tools",
        "synthetic-result",
        "empty-error",
        "wrong-result-type",
        "unmarked-error",
        "leaked-secret",
        "unsafe-retry",
        "replayed-call",
        "index-collision",
        "missing-index",
        "unfinished-stream",
        "lost-reasoning",
        "unreadable-record",
        "unknown-shape",
        "malformed-message",
    }
)
SOURCES = re.compile(r"\b(?:DOC|SDK|PROBE|ISSUE|CODE|INF|UNDEFINED)\b|§|#\d")

each = pytest.mark.parametrize("name", targets.names())


@each
def test_loads_under_its_own_name(name: str) -> None:
    law = targets.law(name)
    assert law.name == name
    assert law.title and law.about and law.line


@each
def test_lines_name_rules(name: str) -> None:
    named = {line.rule for line in targets.law(name).line}
    assert named <= PLANNED | rules.catalogue().keys()
    if missing := sorted(named - rules.catalogue().keys()):
        pytest.skip(f"rules not there yet: {', '.join(missing)}")


@each
def test_lines_are_evident_and_single(name: str) -> None:
    lines = targets.law(name).line
    assert not [line.rule for line in lines if not SOURCES.search(line.evidence)]
    keys = [(line.rule, line.case) for line in lines]
    assert sorted(set(keys)) == sorted(keys)


@each
def test_unknown_verdicts_name_a_severity_or_leave_it_to_the_rule(name: str) -> None:
    """What is refused is an error; only a case whose fault is inferred, or that compatible servers take, may be a warning."""
    for line in targets.law(name).line:
        decided = targets.severity(line)
        assert decided is not None or line.verdict == "unknown"
        assert line.verdict != "rejected" or line.severity in (None, "error") or (line.case and line.severity == "warning")


@each
def test_patterns_compile(name: str) -> None:
    law = targets.law(name)
    re.compile(law.models)
    re.compile(law.ids.pattern)
    assert not law.ids.maximum or law.ids.minimum <= law.ids.maximum


def test_unknown_target() -> None:
    with pytest.raises(UsageError, match="no target is called `nowhere`") as caught:
        targets.law("nowhere")
    assert "strict" in caught.value.hint


# --------------------------------------------------------------------------------------------------------------------- strict


def call(key: str) -> dict[str, object]:
    return {"type": "tool_use", "id": key, "name": "get_weather", "input": {"city": key}}


def result(key: str) -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": key, "content": f"{key}: 4 C"}


def strictly(*messages: tuple[str, object]) -> list[tuple[str, str]]:
    body = {
        "model": "some-model",
        "max_tokens": 9,
        "tools": [{"name": "get_weather", "input_schema": {"type": "object"}}],
        "messages": [{"role": role, "content": content} for role, content in messages],
    }
    return [(found.rule, found.pointer) for found in audit(body, Options(target="strict")).findings]


def test_strict_takes_a_plain_exchange() -> None:
    assert (
        strictly(("user", "q"), ("assistant", [call("a1"), call("b1")]), ("user", [result("b1"), result("a1")]), ("assistant", "x")) == []
    )


def test_strict_refuses_results_over_two_messages_once() -> None:
    found = strictly(
        ("user", "q"), ("assistant", [call("a1"), call("b1")]), ("user", [result("a1")]), ("user", [result("b1")]), ("assistant", "x")
    )
    assert len(found) == 1
    assert found[0][0] in ("split-results", "misplaced-result")
    assert found[0][1].startswith("/messages/3")


def test_strict_names_each_further_message_of_an_answer() -> None:
    messages = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [call(key) for key in ("a1", "b1", "c1", "d1")]},
        {"role": "user", "content": [result("a1")]},
        {"role": "user", "content": [result("b1"), result("c1")]},
        {"role": "user", "content": [result("d1")]},
    ]
    found = audit({"model": "m", "max_tokens": 9, "messages": messages}, Options(target="strict")).findings
    assert [(one.turn, one.message) for one in found if one.rule == "split-results"] == [
        (4, "the answer to turn 2 goes on in another message: the results of `b1` and `c1` should stand in turn 3"),
        (5, "the answer to turn 2 goes on in another message: the result of `d1` should stand in turn 3"),
    ]


def test_strict_refuses_text_behind_a_call() -> None:
    found = strictly(
        ("user", "q"), ("assistant", [call("a1"), {"type": "text", "text": "One moment."}]), ("user", [result("a1")]), ("assistant", "x")
    )
    assert found == [("text-after-call", "/messages/1/content/1")]


def test_strict_refuses_a_split_turn() -> None:
    found = strictly(
        ("user", "q"), ("assistant", [call("a1")]), ("assistant", [call("b1")]), ("user", [result("a1"), result("b1")]), ("assistant", "x")
    )
    assert ("split-assistant-turn", "/messages/2") in found


def test_strict_closes_a_batch_that_is_answered_in_part() -> None:
    assert strictly(("user", "q"), ("assistant", [call("a1"), call("b1")]), ("user", [result("a1")])) == [
        ("missing-result", "/messages/1/content/1")
    ]
