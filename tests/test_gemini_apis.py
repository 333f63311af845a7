"""Gemini Interactions and Live: who keeps the conversation, and what is no fault there."""

from __future__ import annotations

import pytest

from toolaudit.engine import audit
from toolaudit.formats import gemini_live
from toolaudit.model import JSON, Severity


def call(key: str, name: str = "get_weather") -> JSON:
    return {"type": "function_call", "id": key, "name": name, "arguments": {"n": key}}


def result(key: str | None, text: str = "4 C") -> JSON:
    return {"type": "function_result", **({"call_id": key} if key else {}), "result": text}


def said(text: str, kind: str = "user_input") -> JSON:
    return {"type": kind, "content": [{"type": "text", "text": text}]}


def request(*steps: JSON, **more: JSON) -> JSON:
    return {"model": "gemini-2.5-flash", "input": list(steps), **more}


def worse(value: JSON, form: str) -> list[tuple[str, str]]:
    report = audit(value)
    assert {one.format for one in report.inputs} == {form}
    return [(entry.rule, entry.pointer) for entry in report.findings if entry.severity > Severity.NOTE]


HEALTHY = {
    "permuted": request(said("q"), call("a"), call("b"), result("b"), result("a"), said("Cold.", "model_output")),
    "a result alone, of a former interaction": request(result("a"), previous_interaction_id="v1"),
    "a call that waits": {"id": "v1", "object": "interaction", "status": "requires_action", "steps": [call("a")]},
    "what the provider runs": request(
        said("q"), {"type": "google_search_call", "id": "s"}, {"type": "google_search_result", "call_id": "s"}
    ),
    "turns of the former generation": request(
        said("q"), {"role": "model", "content": [call("a")]}, {"role": "user", "content": [result("a")]}
    ),
}


@pytest.mark.parametrize("value", HEALTHY.values(), ids=HEALTHY)
def test_healthy_interactions_are_silent(value: JSON) -> None:
    report = audit(value)
    assert (report.inputs[0].format, report.findings) == ("gemini-interactions", [])


def test_pairs_that_do_not_fit() -> None:
    form, on = "gemini-interactions", said("On.", "model_output")
    assert worse(request(said("q"), call("a"), call("b"), result("a"), on), form) == [("missing-result", "/input/2")]
    assert worse(request(said("q"), call("a"), result("a"), result("z")), form) == [("orphan-result", "/input/3")]
    assert worse(request(said("q"), call("a"), result("a"), result("a")), form) == [("duplicate-result", "/input/3")]
    assert ("missing-id", "/input/2") in worse(request(said("q"), call("a"), result(None), on), form)


def live(*messages: JSON) -> list[JSON]:
    return [{"setup": {"model": "models/m"}}, {"setupComplete": {}}, *messages]


def calls(*ids: str) -> JSON:
    return {"toolCall": {"functionCalls": [{"id": key, "name": "lamp", "args": {"n": key}} for key in ids]}}


def results(*ids: str | None, **more: JSON) -> JSON:
    return {
        "tool_response": {"functionResponses": [{**({"id": key} if key else {}), "name": "lamp", "response": {}, **more} for key in ids]}
    }


SPEECH: JSON = {"serverContent": {"modelTurn": {"parts": [{"text": "Hm."}]}}}
QUIET = {
    "at any time": live(calls("a"), SPEECH, calls("b"), results("b"), SPEECH, results("a")),
    "cancelled": live(calls("a", "b"), {"toolCallCancellation": {"ids": ["b"]}}, results("a"), SPEECH),
    "in several parts": live(calls("a"), results("a", willContinue=True), results("a", will_continue=True), results("a")),
    "open at the end": live(calls("a")),
}


@pytest.mark.parametrize("messages", QUIET.values(), ids=QUIET)
def test_healthy_sessions_are_silent(messages: list[JSON]) -> None:
    report = audit(messages)
    assert (report.inputs[0].format, report.findings) == ("gemini-live", [])


def test_a_session_with_what_does_not_fit() -> None:
    assert worse(live(calls("a"), results("a"), results("z")), "gemini-live") == [("orphan-result", "/4/tool_response/functionResponses/0")]
    assert worse(live(calls("a"), results("a"), results("a")), "gemini-live") == [
        ("duplicate-result", "/4/tool_response/functionResponses/0")
    ]


def test_a_part_called_tool_call_is_no_message_of_a_session() -> None:
    for value in (
        {"toolCall": {"id": "1", "toolType": "x"}},
        {"role": "model", "parts": []},
        {"type": "toolCall", "toolCall": {"functionCalls": []}},
    ):
        assert gemini_live.session(value) is None


def test_a_new_setup_begins_a_new_session() -> None:
    report = audit([*live(calls("a"), results("a")), *live(calls("a"), results("a"))])
    assert (report.summary.trajectories, report.summary.paired, report.findings) == (2, 2, [])
