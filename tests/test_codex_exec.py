"""Events of `codex exec --json`: a call and its outcome in one item, told twice."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.log_helper import audited, audited_bytes, beginnings, changed, counts, said
from toolaudit.model import JSON

FORM = "codex-exec"
BEGIN: list[JSON] = [{"type": "thread.started", "thread_id": "t1"}, {"type": "turn.started"}]
END = {"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}}
FAILED = {"type": "turn.failed", "error": {"message": "gone"}}


def tell(when: str, key: str, kind: str, **fields: JSON) -> dict[str, JSON]:
    return {"type": f"item.{when}", "item": {"id": key, "type": kind, **fields}}


def command(when: str, key: str = "item_1") -> dict[str, JSON]:
    status, output = ("in_progress", "") if when == "started" else ("completed", "spade and rake")
    return tell(when, key, "command_execution", command="ls shed", aggregated_output=output, status=status)


def tide(when: str, key: str = "item_1", **fields: JSON) -> dict[str, JSON]:
    status = "in_progress" if when == "started" else "completed"
    return tell(when, key, "mcp_tool_call", **{"server": "sea", "tool": "tide", "arguments": {"port": "Oban"}, "status": status, **fields})


DONE = tide("completed", result={"content": [{"type": "text", "text": "high at 14:02"}]})


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([*BEGIN, tide("started"), END], ("missing-result", "error", 3, "/item")),
        ([*BEGIN, command("started"), END], ("open-call", "note", 3, "/item")),
        ([*BEGIN, tide("started"), DONE, DONE, END], ("duplicate-result", "error", 5, "/item")),
        ([*BEGIN, tide("completed", arguments=[1]), END], ("malformed-arguments", "warning", 3, "/item/arguments")),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_fault(lines: list[JSON], found: tuple[Any, ...]) -> None:
    assert said(audited(lines)) == [found]


@pytest.mark.parametrize(
    ("lines", "counted"),
    [
        pytest.param(
            [command("started"), tide("started", "item_2"), command("completed"), tide("completed", "item_2"), END], (2, 2), id="mixed"
        ),
        pytest.param([command("completed"), END], (1, 1), id="told once"),
        pytest.param([tell("started", "item_1", "web_search", query="rakes"), END], (1, 0), id="a search"),
        pytest.param([tide("started"), FAILED], (1, 0), id="a turn that failed"),
        pytest.param([command("started"), END, command("completed")], (1, 1), id="completed in the background"),
        pytest.param(
            [command("started"), command("completed"), END, *BEGIN, command("started"), command("completed"), END], (2, 2), id="two runs"
        ),
        pytest.param(
            [tell("completed", "item_1", "a_new_kind", status="completed"), END, command("completed", "item_2")], (1, 1), id="a new kind"
        ),
    ],
)
def test_no_fault(lines: list[JSON], counted: tuple[int, int]) -> None:
    report = audited([*BEGIN, *lines])
    assert said(report) == []
    assert counts(report) == counted
    assert [(given.status, given.format) for given in report.inputs] == [("read", FORM)]


def test_a_call_in_flight_at_the_end_is_a_note() -> None:
    assert said(audited([*BEGIN, tide("started")])) == [("open-call", "note", 3, "/item")]


def test_an_array_is_read_like_lines() -> None:
    found = audited_bytes(json.dumps([*BEGIN, tide("started"), END], indent=1).encode()).findings
    assert [(entry.rule, entry.pointer) for entry in found] == [("missing-result", "/2/item")]


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
