"""Realtime sessions: many events that tell of one item, what is no fault, and what is another API."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.log_helper import audited, audited_bytes, beginnings, changed, counts, said
from toolaudit.model import JSON

FORM = "openai-realtime"
_numbers = itertools.count()


def server(kind: str, **fields: JSON) -> dict[str, JSON]:
    return {"type": kind, "event_id": f"ev_{next(_numbers)}", **fields}


def create(**item: JSON) -> dict[str, JSON]:
    return {"type": "conversation.item.create", "item": item}


def call(key: str, item: str, arguments: str = "{}", **fields: JSON) -> dict[str, JSON]:
    return {"id": item, "type": "function_call", "call_id": key, "name": "tide", "arguments": arguments, "status": "completed", **fields}


def done(*items: JSON, status: str = "completed", key: str = "resp_1") -> dict[str, JSON]:
    return server("response.done", response={"id": key, "status": status, "output": list(items)})


def output(key: str, text: str = "11:40 and 23:58", **fields: JSON) -> dict[str, JSON]:
    return {"type": "function_call_output", "call_id": key, "output": text, **fields}


def told(*, arguments: str = '{"port": "Oban"}') -> list[JSON]:
    """One call as the server tells it, seven times."""
    empty, whole = call("call_1", "item_1", "", status="in_progress"), call("call_1", "item_1", arguments)
    return [
        server("response.output_item.added", response_id="resp_1", item=empty),
        server("conversation.item.created", item=empty),
        server("conversation.item.added", item=empty),
        server("response.function_call_arguments.done", response_id="resp_1", item_id="item_1", call_id="call_1", arguments=arguments),
        server("response.output_item.done", response_id="resp_1", item=whole),
        server("conversation.item.done", item=whole),
        done(whole),
    ]


BEGIN = server("session.created", session={"id": "sess_1", "object": "realtime.session", "model": "gpt-realtime"})
ECHO = output("call_1", id="item_2")
ANSWERED = [create(**output("call_1")), server("conversation.item.added", item=ECHO), server("conversation.item.done", item=ECHO)]
SPOKEN = server("input_audio_buffer.speech_started", item_id="item_9")


# -------------------------------------------------------------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([BEGIN, create(**output("call_7")), done()], ("orphan-result", "error", 2, "/item")),
        ([BEGIN, *told(), *ANSWERED, create(**output("call_1"))], ("duplicate-result", "warning", 12, "/item")),
        (
            [BEGIN, done(call("call_1", "i1", '{"a": ')), create(**output("call_1"))],
            ("truncated-call", "warning", 2, "/response/output/0/arguments"),
        ),
        (
            [BEGIN, done(call("call_1", "i1", "[1]")), create(**output("call_1"))],
            ("malformed-arguments", "warning", 2, "/response/output/0/arguments"),
        ),
        ([BEGIN, done(call("call_1", "i1")), create(**output("i1"))], ("mismatched-id", "error", 3, "/item/call_id")),
        (
            [BEGIN, done(call("call_1", "i1", '{"a": 1}'), call("call_1", "i2", '{"a": 2}')), create(**output("call_1"))],
            ("duplicate-call-id", "error", 2, "/response/output/1"),
        ),
        (
            [BEGIN, *told(), *ANSWERED, server("conversation.item.deleted", item_id="item_1"), done(key="resp_2")],
            ("orphan-result", "error", 9, "/item"),
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_fault(lines: list[JSON], found: tuple[Any, ...]) -> None:
    assert said(audited(lines)) == [found]


def test_a_call_that_nobody_answers_is_a_note() -> None:
    said_then = done(
        {"id": "item_3", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Well."}]}, key="r2"
    )
    asked_then = create(type="message", role="user", content=[{"type": "input_text", "text": "And now?"}])
    assert said(audited([BEGIN, *told(), asked_then, said_then])) == [("open-call", "note", 8, "/response/output/0")]


# ------------------------------------------------------------------------------------------------------------ what is no fault


@pytest.mark.parametrize(
    ("lines", "counted"),
    [
        pytest.param([*told(), *ANSWERED], (1, 1), id="echoes"),
        pytest.param(
            [*told(), create(**output("call_1", id="own")), server("conversation.item.added", item=output("call_1", id="own"))],
            (1, 1),
            id="own id",
        ),
        pytest.param([*told(), *ANSWERED[1:]], (1, 1), id="the server's side only"),
        pytest.param([*told(), create(type="message", role="user", content=[]), *ANSWERED], (1, 1), id="words between"),
        pytest.param([*told(), SPOKEN, done(key="resp_2")], (1, 0), id="the user spoke"),
        pytest.param([*told()[:5], done(call("call_1", "item_1"), status="cancelled"), done(key="resp_2")], (1, 0), id="cancelled"),
        pytest.param([done(call("c", "i", '{"a', status="incomplete"), status="incomplete"), done(key="resp_2")], (1, 0), id="incomplete"),
        pytest.param([*told()[:3]], (1, 0), id="still being made"),
        pytest.param(
            [*told(), *ANSWERED, *(server("conversation.item.deleted", item_id=key) for key in ("item_1", "item_2")), done(key="r2")],
            (0, 0),
            id="deleted together",
        ),
        pytest.param(
            [
                *told(),
                {**create(**output("call_1")), "event_id": "own_1"},
                server("error", error={"type": "invalid_request_error", "event_id": "own_1"}),
                *ANSWERED,
            ],
            (1, 1),
            id="refused, and created again",
        ),
    ],
)
def test_no_fault(lines: list[JSON], counted: tuple[int, int]) -> None:
    report = audited([BEGIN, *lines])
    assert said(report) == []
    assert counts(report) == counted
    assert [given.format for given in report.inputs] == [FORM if counted[0] else None]


def test_an_output_of_before_the_record_is_not_judged() -> None:
    assert said(audited([create(**output("call_0")), *told(), *ANSWERED])) == []


def test_a_new_session_is_a_new_conversation() -> None:
    report = audited([BEGIN, *told(), *ANSWERED, BEGIN, *told(), *ANSWERED])
    assert said(report) == [] and counts(report) == (2, 2)
    assert report.inputs[0].trajectories == 2


def test_declared_tools_are_held_against_calls() -> None:
    tools = [{"type": "function", "name": "tide", "parameters": {"type": "object", "required": ["port"]}}]
    update = {"type": "session.update", "session": {"type": "realtime", "tools": tools}}
    assert said(audited([BEGIN, update, *told(), *ANSWERED])) == []
    found = said(audited([BEGIN, update, *told(arguments="{}"), *ANSWERED]))
    assert [(rule, line) for rule, _, line, _ in found] == [("invalid-arguments", 9)]


# ---------------------------------------------------------------------------------------------------------------- recognition


def test_the_stream_of_responses_is_another_api() -> None:
    events = [{"type": kind, "sequence_number": n, "response": {"id": "r"}} for n, kind in enumerate(("response.created", "response.done"))]
    [given] = audited(events).inputs
    assert given.format == "openai-responses-stream"


def test_a_request_over_a_socket_is_another_api() -> None:
    [given] = audited([{"type": "response.create", "model": "gpt-5", "input": [{"role": "user", "content": "Hello"}]}]).inputs
    assert given.format != FORM


def test_a_list_is_read_like_lines() -> None:
    events = [BEGIN, create(**output("call_7")), server("ping"), done()]
    found = audited_bytes(json.dumps(events, indent=1).encode()).findings
    assert [(entry.rule, entry.pointer) for entry in found] == [("orphan-result", "/1/item")]


def test_no_beginning_is_something_else() -> None:
    for data in beginnings(FORM):
        report = audited_bytes(data)
        assert {given.format for given in report.inputs} <= {FORM, None}
        assert [entry.rule for entry in report.findings if entry.rule not in ("unreadable-record", "open-call")] == []


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(lines=changed(FORM))
def test_nothing_makes_it_fail(lines: list[JSON]) -> None:
    audited(lines)
    audited([lines])
    audited(lines, input_format=FORM, sent=True)
