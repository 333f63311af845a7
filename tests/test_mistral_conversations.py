"""Mistral Conversations: the provider keeps them, and some calls get no result by right."""

from __future__ import annotations

import pytest

from toolaudit.engine import audit
from toolaudit.model import JSON, Severity

ASK: JSON = {"type": "message.input", "role": "user", "content": "q"}
SAY: JSON = {"type": "message.output", "role": "assistant", "content": [{"type": "text", "text": "So it is."}]}


def call(key: str, **more: JSON) -> JSON:
    return {"object": "entry", "type": "function.call", "tool_call_id": key, "name": "tide", "arguments": f'{{"at": "{key}"}}', **more}


def result(key: str) -> JSON:
    return {"object": "entry", "type": "function.result", "tool_call_id": key, "result": f"{key} m"}


def history(*entries: JSON) -> JSON:
    return {"object": "conversation.history", "conversation_id": "c", "entries": list(entries)}


def worse(value: JSON) -> list[tuple[str, str]]:
    report = audit(value)
    assert report.inputs[0].format == "mistral-conversations"
    return [(entry.rule, entry.pointer) for entry in report.findings if entry.severity > Severity.NOTE]


@pytest.mark.parametrize(
    "value",
    [
        history(ASK, call("a"), call("b"), result("b"), result("a"), SAY),
        history(ASK, call("a", confirmation_status="denied"), SAY, ASK),
        history(ASK, call("a", confirmation_status="pending"), SAY, ASK),
        history(ASK, {"type": "tool.execution", "name": "web_search", "arguments": "{}"}, SAY),
        {"conversation_id": "c", "inputs": [result("a")]},
        {"inputs": [result("a"), ASK]},
        [ASK, call("a"), result("a"), ASK, call("a"), result("a")],
    ],
)
def test_what_is_no_fault(value: JSON) -> None:
    assert worse(value) == []


def test_pairs_that_do_not_fit() -> None:
    assert worse(history(ASK, call("a"), call("b"), result("a"), SAY, ASK)) == [("missing-result", "/entries/2")]
    assert worse(history(ASK, call("a"), result("a"), result("z"))) == [("orphan-result", "/entries/3")]
    assert worse(history(ASK, call("a"), result("a"), result("a"))) == [("duplicate-result", "/entries/3")]


def test_a_history_that_is_cut_short_is_no_error() -> None:
    entries = [ASK, call("a"), call("b"), result("b"), result("a"), SAY]
    for end in range(1, len(entries)):
        assert not [rule for rule, _ in worse(history(*entries[:end])) if rule != "open-call"]
