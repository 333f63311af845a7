"""Sessions of Managed Agents: what answers what, what needs no answer, and events of other programs that look alike."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.log_helper import audited, audited_bytes, beginnings, changed, counts, said
from toolaudit.model import JSON

FORM = "anthropic-managed-agents"
_numbers = itertools.count(1000)


def event(kind: str, **fields: JSON) -> dict[str, JSON]:
    number = next(_numbers)
    return {"type": kind, "id": f"sevt_{number}", "processed_at": f"2026-04-02T10:00:00.{number}Z", **fields}


def text(words: str) -> list[JSON]:
    return [{"type": "text", "text": words}]


def custom(key: str, **fields: JSON) -> dict[str, JSON]:
    return event("agent.custom_tool_use", **{"id": key, "name": "sweep", "input": {"yard": 1}, **fields})


def builtin(key: str, **fields: JSON) -> dict[str, JSON]:
    return event("agent.tool_use", **{"id": key, "name": "bash", "input": {"command": "date"}, **fields})


def answer(key: str, words: str = "swept, but for one corner", **fields: JSON) -> dict[str, JSON]:
    return event("user.custom_tool_result", custom_tool_use_id=key, content=text(words), **fields)


def result(key: str, **fields: JSON) -> dict[str, JSON]:
    return event("agent.tool_result", tool_use_id=key, content=text("Thursday, by all accounts"), **fields)


def idle(*owed: str) -> dict[str, JSON]:
    return event("session.status_idle", stop_reason={"type": "requires_action", "event_ids": list(owed)} if owed else {"type": "end_turn"})


ASKED = event("user.message", content=text("Sweep the yard."))
SAID = event("agent.message", content=text("Done."))
AGAIN = event("user.message", content=text("And the barn?"))


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([ASKED, custom("a"), idle("a"), idle(), AGAIN, SAID], ("missing-result", "error", 2, "")),
        ([ASKED, custom("a"), answer("b_other"), SAID], ("orphan-result", "error", 3, "")),
        ([ASKED, custom("a"), answer("a"), answer("a"), SAID], ("duplicate-result", "warning", 4, "")),
        ([ASKED, builtin("a"), result("a"), result("a"), SAID], ("duplicate-result", "warning", 4, "")),
        ([ASKED, custom("a"), AGAIN, custom("b"), answer("b"), SAID], ("open-call", "note", 2, "")),
        ([ASKED, custom("a", input=[1]), answer("a"), SAID], ("malformed-arguments", "warning", 2, "/input")),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_fault(lines: list[JSON], found: tuple[Any, ...]) -> None:
    left = [one for one in said(audited(lines)) if one[0] == found[0] or one[1] != "note"]
    assert left == [found]


@pytest.mark.parametrize(
    ("lines", "counted"),
    [
        pytest.param([ASKED, custom("a"), builtin("b"), result("b"), idle("a"), answer("a"), SAID], (2, 2), id="others first"),
        pytest.param([ASKED, custom("a"), idle("a")], (1, 0), id="waiting"),
        pytest.param([ASKED, custom("a"), builtin("b"), result("b"), idle("a")], (2, 1), id="waiting for one of two"),
        pytest.param([ASKED, custom("a"), idle("a"), event("user.interrupt"), idle(), AGAIN, SAID], (1, 0), id="interrupted"),
        pytest.param([ASKED, builtin("a", evaluated_permission="deny"), SAID, AGAIN, SAID], (1, 0), id="denied by a policy"),
        pytest.param(
            [ASKED, builtin("a"), idle("a"), event("user.tool_confirmation", tool_use_id="a", result="deny"), SAID, AGAIN, SAID],
            (1, 0),
            id="denied by the user",
        ),
        pytest.param([ASKED, builtin("a", session_thread_id="sthr_2"), AGAIN, SAID], (1, 0), id="of another thread"),
        pytest.param([ASKED, answer("z", session_thread_id="sthr_2"), SAID], (0, 0), id="for another thread"),
        pytest.param([answer("z"), custom("a"), answer("a"), SAID], (1, 2), id="of before the record"),
        pytest.param([ASKED, custom("a"), *[answer("a", id="twice")] * 2, SAID], (1, 1), id="brought by a stream and by a list"),
        pytest.param(
            [
                ASKED,
                custom("a"),
                {"type": "user.custom_tool_result", "custom_tool_use_id": "a", "content": text("swept")},
                answer("a", "swept"),
                SAID,
            ],
            (1, 1),
            id="sent, and echoed",
        ),
        pytest.param([ASKED, {"type": "event_start", "event": {"type": "agent.message", "id": "p"}}, SAID], (0, 0), id="previews"),
    ],
)
def test_no_fault(lines: list[JSON], counted: tuple[int, int]) -> None:
    report = audited(lines)
    assert said(report) == []
    assert counts(report) == counted
    assert [(given.status, given.format) for given in report.inputs] == [("read", FORM)]


@pytest.mark.parametrize("wrap", [lambda events: events, lambda events: {"data": events, "next_page": None}])
@pytest.mark.parametrize("order", [1, -1])
def test_lists_and_pages_in_either_order(wrap: Any, order: int) -> None:
    numbered = [ASKED, custom("a"), answer("a"), event("agent.message", content=text("Swept."))]
    times = [{**one, "processed_at": f"2026-04-02T10:00:0{index}Z"} for index, one in enumerate(numbered)]
    report = audited_bytes(json.dumps(wrap(times[::order]), indent=1).encode())
    assert said(report) == [] and counts(report) == (1, 1)


def test_events_of_another_program_are_not_taken() -> None:
    other = [
        {"type": "session.start", "id": "1", "timestamp": "t", "data": {"sessionId": "s"}},
        {"type": "user.message", "id": "2", "timestamp": "t", "data": {"content": "Hello"}},
        {"type": "session.updated", "properties": {"info": {}}},
    ]
    assert [given.format for given in audited(other).inputs] == [None]


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
    audited([{"data": lines}])
    audited(lines, input_format=FORM, sent=True)
