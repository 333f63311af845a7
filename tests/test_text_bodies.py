"""Bodies that a logger stored as text: looked into, and found at the string and within it."""

from __future__ import annotations

import json
from typing import Any

from conversations import audited

CALL = {"id": "call_9f8e7d6c5b", "type": "function", "function": {"name": "f", "arguments": "{}"}}
BODY = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": None, "tool_calls": [CALL]}]}
COMPLETION = {"id": "c", "object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": "k"}}]}
REFUSAL = {"error": {"message": "refused", "type": "invalid_request_error"}}


def found(record: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    return [(entry.rule, entry.pointer, entry.inner) for entry in audited(record).findings]


def test_a_request_as_text_is_judged_and_placed() -> None:
    record = {"http": {"status": 400, "request": {"body": json.dumps(BODY)}, "response": {"body": REFUSAL}}}
    assert found(record) == [("missing-result", "/http/request/body", "/messages/1/tool_calls/0")]


def test_a_request_as_text_with_its_response_as_an_object() -> None:
    record = {"request": {"body": json.dumps(BODY)}, "response": COMPLETION}
    assert found(record) == [("missing-result", "/request/body", "/messages/1/tool_calls/0")]


def test_a_refusal_beside_a_request_hides_nothing() -> None:
    assert found({"request": BODY, "response": None, **REFUSAL}) == [("open-call", "/request/messages/1/tool_calls/0", None)]


def test_a_copy_as_text_is_not_audited_again() -> None:
    record = {"request": {"body": BODY, "meta": {"canonical": json.dumps(BODY)}}, "status": 200}
    assert found(record) == [("missing-result", "/request/body/messages/1/tool_calls/0", None)]


def test_text_that_is_no_json_stays_text() -> None:
    report = audited({"note": '{"messages": [', "also": '[not json] "role"'})
    assert report.incomplete and not report.findings


def test_nothing_but_a_refusal_is_no_transcript() -> None:
    report = audited(REFUSAL)
    assert report.incomplete and not report.ok
