"""MCP connections: what answers what, what is no fault there, and what is no MCP."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.log_helper import audited, audited_bytes, beginnings, changed, counts, said
from toolaudit.model import JSON

FORM = "mcp-jsonrpc"


def ask(key: JSON, method: str, **params: JSON) -> dict[str, JSON]:
    return {"jsonrpc": "2.0", "id": key, "method": method, "params": params}


def note(method: str, **params: JSON) -> dict[str, JSON]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def call(key: JSON, name: str = "well", **arguments: JSON) -> dict[str, JSON]:
    return ask(key, "tools/call", name=name, arguments=arguments)


def reply(key: JSON, **result: JSON) -> dict[str, JSON]:
    return {"jsonrpc": "2.0", "id": key, "result": result}


def answer(key: JSON, text: str = "9 m to the water") -> dict[str, JSON]:
    return reply(key, content=[{"type": "text", "text": text}])


BEGIN = [
    ask(0, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "desk", "version": "1"}),
    reply(0, protocolVersion="2025-06-18", capabilities={}, serverInfo={"name": "farm", "version": "1"}),
]
TOOLS = reply(1, tools=[{"name": "well", "inputSchema": {"type": "object", "required": ["id"]}}])


# -------------------------------------------------------------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([*BEGIN, call(1), answer(1), answer(1)], ("duplicate-result", "warning", 5, "")),
        ([*BEGIN, call(1), answer(1), answer(7)], ("orphan-result", "warning", 5, "")),
        ([*BEGIN, call(1, a=1), call(1, a=2), answer(1, "a"), answer(1, "b")], ("duplicate-call-id", "error", 4, "")),
        ([*BEGIN, call(1, a=1), answer(1, "a"), call(1, a=2), answer(1, "b")], ("reused-call-id", "note", 5, "")),
        ([*BEGIN, call(1), answer("1")], ("mismatched-id", "warning", 4, "/id")),
        ([*BEGIN, ask(1, "tools/call", name="well", arguments=[1]), answer(1)], ("malformed-arguments", "error", 3, "/params/arguments")),
        ([*BEGIN, ask(1, "tools/list"), TOOLS, call(2), answer(2)], ("invalid-arguments", "warning", 5, "/params/arguments")),
        ([*BEGIN, ask(1, "tools/list"), TOOLS, call(2, "wel")], ("unknown-tool", "warning", 5, "/params/name")),
        ([*BEGIN, call(1), call(2), answer(2), call(3), answer(3)], ("open-call", "note", 3, "")),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_fault(lines: list[JSON], found: tuple[Any, ...]) -> None:
    assert said(audited(lines)) == [found]


def test_a_place_within_a_text() -> None:
    lines = [{"type": "send" if "method" in one else "receive", "data": json.dumps(one)} for one in [*BEGIN, call(1), answer(1), answer(1)]]
    [entry] = audited(lines).findings
    assert (entry.rule, entry.line, entry.pointer) == ("duplicate-result", 5, "/data")


# ------------------------------------------------------------------------------------------------------------ what is no fault


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([*BEGIN, call(1), call(2), answer(2), answer(1)], id="another order"),
        pytest.param([*BEGIN, call(1), note("notifications/cancelled", requestId=1), call(2), answer(2)], id="cancelled"),
        pytest.param([*BEGIN, call(1), note("notifications/cancelled", requestId=1), answer(1)], id="answered though cancelled"),
        pytest.param([*BEGIN, call(1), answer(1), *BEGIN, call(1), answer(1)], id="a new connection"),
        pytest.param([*BEGIN, call(1), *BEGIN, answer(1)], id="answered after another began"),
        pytest.param([answer(5), call(6), answer(4), answer(6)], id="a log that begins in the middle"),
        pytest.param([*BEGIN, call(1, n=1), answer(1), call("1", n=2), answer("1")], id="a number and a text"),
        pytest.param([*BEGIN, ask(1, "resources/read", uri="x"), reply(1, contents=[]), call(2), answer(2)], id="other requests"),
        pytest.param([*BEGIN, call(1), {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "?"}}, answer(1)], id="no id"),
        pytest.param([*BEGIN, call(1), reply(1, task={"taskId": "t"}), ask(2, "tasks/result", taskId="t"), answer(2)], id="a task"),
        pytest.param([*BEGIN, [call(1), call(2)], [answer(2), answer(1)]], id="batches"),
        pytest.param([*BEGIN, ask(1, "tools/list"), TOOLS, note("notifications/tools/list_changed"), call(2, "pond")], id="changed tools"),
        pytest.param(
            [*BEGIN, ask(1, "tools/list"), {**TOOLS, "result": {**TOOLS["result"], "nextCursor": "2"}}, call(2, "pond")], id="more tools"
        ),
    ],
)
def test_no_fault(lines: list[JSON]) -> None:
    report = audited(lines)
    assert said(report) == []
    assert [(given.status, given.format) for given in report.inputs] == [("read", FORM)]


@pytest.mark.parametrize("ways", [("out", "in"), ("stdio", "stdio"), ("client->server", "server->client")])
def test_ids_of_the_two_directions(ways: tuple[str, str]) -> None:
    asked = ask(1, "elicitation/create", message="Which?")
    lines = [(0, *BEGIN[:1]), (1, *BEGIN[1:]), (0, call(1)), (1, asked), (0, reply(1, action="accept", content={})), (1, answer(1))]
    report = audited([{"direction": ways[way], "message": message} for way, message in lines])
    assert said(report) == [] and counts(report) == (1, 1)


def test_ids_of_two_servers() -> None:
    lines = [{"server": name, "message": one} for one in [*BEGIN, call(1), answer(1)] for name in ("barn", "mill")]
    report = audited(lines)
    assert said(report) == [] and counts(report) == (2, 2)
    assert report.inputs[0].trajectories == 2


def test_sampling_is_a_conversation_of_its_own() -> None:
    called = {"role": "assistant", "content": [{"type": "tool_use", "id": "s1", "name": "look", "input": {}}]}
    messages = [{"role": "user", "content": "look"}, called, {"role": "user", "content": "never mind"}]
    asked = ask(3, "sampling/createMessage", maxTokens=9, messages=messages)
    sampled = reply(3, role="assistant", content={"type": "text", "text": "so"}, model="m")
    report = audited([*BEGIN, call(3), asked, sampled, answer(3)])
    assert [(rule, line) for rule, _, line, _ in said(report)] == [("missing-result", 4)]
    assert report.inputs[0].format == FORM and counts(report) == (2, 1)


# ---------------------------------------------------------------------------------------------------------------- recognition


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([ask(1, "initialize", processId=1, rootUri=None), reply(1, capabilities={})], id="a language server"),
        pytest.param([ask(0, "initialize", protocolVersion=1), ask(1, "session/prompt", prompt=[])], id="an agent client"),
        pytest.param([ask(1, "eth_call"), reply(1)], id="a block chain"),
    ],
)
def test_another_protocol_is_named(lines: list[JSON]) -> None:
    [given] = audited(lines).inputs
    assert given.status == "failed" and "JSON-RPC" in (given.reason or "")


def test_a_list_is_read_like_lines() -> None:
    lines = [*BEGIN, call(1), answer(1), answer(1)]
    assert [(e.rule, e.pointer) for e in audited_bytes(json.dumps(lines, indent=1).encode()).findings] == [("duplicate-result", "/4")]


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
