"""What the notation of examples cannot express of the rules about turns, texts and flattening."""

from __future__ import annotations

from typing import Any

import pytest

from toolaudit import targets
from toolaudit.engine import Options, audit
from toolaudit.model import Call, Place, Result, Text, Trajectory, Turn
from toolaudit.pairing import pair
from toolaudit.rules import Context, check
from toolaudit.rules.split_assistant_turn import split_turns

JSON = Any
TOOLS = [{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}}]


def found(value: JSON, *names: str, target: str | None = None) -> list[tuple[str, str, str]]:
    """Rule, severity and place of what the named rules find."""
    report = audit(value, Options(target=target))
    assert not report.incomplete
    return [(one.rule, str(one.severity), one.pointer) for one in report.findings if one.rule in names]


def entry(value: JSON, name: str) -> Any:
    return next(one for one in audit(value).findings if one.rule == name)


def chat(*messages: JSON, **body: JSON) -> JSON:
    return {"model": "gpt-4.1-mini", "tools": TOOLS, **body, "messages": [{"role": "user", "content": "q"}, *messages]}


def asks(*keys: str, content: str | None = None, name: str = "read_file", **more: JSON) -> JSON:
    calls = [{"id": key, "type": "function", "function": {"name": name, "arguments": f'{{"path": "{key}"}}'}} for key in keys]
    return {"role": "assistant", "content": content, "tool_calls": calls, **more}


def says(role: str, text: str, **more: JSON) -> JSON:
    return {"role": role, "content": text, **more}


def gives(key: str, text: str = "14 barrels") -> JSON:
    return {"role": "tool", "tool_call_id": key, "content": text}


def uses(key: str) -> JSON:
    return {"type": "tool_use", "id": key, "name": "bash", "input": {"command": key}}


def outcome(key: str, text: str = "ok") -> JSON:
    return {"type": "tool_result", "tool_use_id": key, "content": text}


def messages(*turns: tuple[str, JSON]) -> JSON:
    return {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": role, "content": content} for role, content in turns]}


# ----------------------------------------------------------------------------------------------------------------- flattening

FLAT = ("flattened-call", "flattened-results")


def test_a_history_in_prose() -> None:
    value = chat(
        says("assistant", '[Used tool: read_file]\nInput: {"path": "x"}'),
        says("user", "[Result of read_file (call_c1)]: 14 barrels"),
        says("assistant", "Fourteen."),
    )
    assert found(value, *FLAT) == [
        ("flattened-call", "warning", "/messages/1/content"),
        ("flattened-results", "warning", "/messages/2/content"),
    ]


def test_an_observation_behind_a_call_in_prose() -> None:
    value = chat(says("assistant", "Action: read_file\nAction Input: x"), says("user", "Observation: 14 barrels"))
    assert [one[0] for one in found(value, *FLAT)] == list(FLAT)
    assert found(chat(says("assistant", "Look!"), says("user", "Observation: 14 barrels")), *FLAT) == []


def test_a_protocol_that_the_instructions_ask_for_is_no_accident() -> None:
    system = says("system", 'Call tools as <tool_call>{"name": …}</tool_call>.')
    call = says("assistant", '<tool_call>{"name": "read_file", "arguments": {}}</tool_call>')
    assert found({"model": "m", "messages": [system, says("user", "q"), call, says("user", "…")]}, *FLAT) == []
    assert len(found({"model": "m", "messages": [says("user", "q"), call, says("user", "…")]}, *FLAT)) == 1


def test_instructions_and_echoes_of_a_stored_call_are_silent() -> None:
    assert found({"messages": [says("system", "[Tool result]: 5"), says("user", "q")]}, *FLAT) == []
    echo = asks("call_a1", content='<tool_call>{"name": "read_file"}</tool_call>')
    assert found(chat(echo, gives("call_a1"), says("assistant", "x")), *FLAT) == []


def test_a_result_in_prose_has_the_missing_one_for_its_root() -> None:
    value = chat(asks("call_a1"), says("user", "[Tool result]: 14 barrels"), says("assistant", "x"))
    prose, missing = entry(value, "flattened-results"), entry(value, "missing-result")
    assert prose.root == missing.fingerprint
    assert prose.call_id == "call_a1" and "`call_a1` belongs" in prose.message
    assert [(one.label, one.pointer) for one in prose.related] == [("call", "/messages/1/tool_calls/0")]


def test_a_result_in_prose_that_names_no_one_of_two_missing_has_no_root() -> None:
    value = chat(asks("call_a1", "call_b1"), says("user", "[Tool result]: 14 barrels"), says("assistant", "x"))
    assert entry(value, "flattened-results").root is None


def test_what_a_transcript_says_is_shown_safely() -> None:
    value = chat(says("assistant", '[Tool call: read_file`\x1b[31m] {"a": 1}'), says("user", "…"))
    assert all("\x1b" not in one.message + one.help for one in audit(value).findings)


def test_merged_results_are_told_by_ids_tools_or_length() -> None:
    for text in ("call_b1: 14", '["14", "9"]', "read_file: 14\nread_file: 9"):
        value = chat(asks("call_a1", "call_b1"), gives("call_a1", text), says("user", "…"))
        assert found(value, "merged-results") == [("merged-results", "warning", "/messages/2")], text
        assert [one.pointer for one in entry(value, "merged-results").related] == ["/messages/1/tool_calls/1"]


def test_a_result_that_holds_only_its_own_output_is_not_merged() -> None:
    for text in ("14", '["14"]', '["14", "9", "8"]', "read_file says 14", "see call_b12", "[14, 9"):
        assert found(chat(asks("call_a1", "call_b1"), gives("call_a1", text), says("user", "…")), "merged-results") == [], text
    both = chat(asks("call_a1", "call_b1"), gives("call_a1", "call_b1: 14"), gives("call_b1", "9"), says("user", "…"))
    assert found(both, "merged-results") == []


# ------------------------------------------------------------------------------------------------------------ text after a call


@pytest.mark.parametrize("text", ["Result: pushed", "<function_results>\nok", "\n\nHuman: thanks", "Output:\nok"])
def test_a_made_up_result(text: str) -> None:
    value = messages(("user", "q"), ("assistant", [uses("t1"), {"type": "text", "text": text}]), ("user", [outcome("t1")]))
    assert found(value, "text-after-call") == [("text-after-call", "warning", "/messages/1/content/1")]


def test_honest_text_behind_a_call_is_taken_by_some() -> None:
    text = {"type": "text", "text": "Trying again with a lower setting."}
    value = messages(("user", "q"), ("assistant", [uses("t1"), text, uses("t2")]), ("user", [outcome("t1"), outcome("t2")]))
    assert found(value, "text-after-call") == []
    assert found(value, "text-after-call", target="strict") == [("text-after-call", "warning", "/messages/1/content/1")]


def test_text_before_calls_and_empty_text_are_silent() -> None:
    parts = [{"type": "text", "text": "Result: none yet."}, uses("t1"), {"type": "text", "text": " "}]
    value = messages(("user", "q"), ("assistant", parts), ("user", [outcome("t1")]))
    assert found(value, "text-after-call", target="strict") == []


# ----------------------------------------------------------------------------------------------------------------------- turns


def test_starts_with_call() -> None:
    history = [says("system", "s"), asks("call_a1"), gives("call_a1"), says("assistant", "x")]
    assert found({"model": "m", "messages": history}, "starts-with-call") == [("starts-with-call", "note", "/messages/1/tool_calls/0")]


def test_starts_with_call_keeps_silent_where_the_beginning_may_be_elsewhere() -> None:
    call, output = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}, {"type": "function_call_output"}
    items = [call, {**output, "call_id": "c1", "output": "1"}]
    assert found({"model": "m", "input": items}, "starts-with-call") == [("starts-with-call", "note", "/input/0")]
    assert found({"model": "m", "input": items, "previous_response_id": "r1"}, "starts-with-call") == []
    assert found({"object": "response", "id": "r1", "model": "m", "output": [call]}, "starts-with-call") == []
    compacted = messages(("assistant", [{"type": "compaction", "content": "…"}, uses("t1")]), ("user", [outcome("t1")]))
    assert found(compacted, "starts-with-call") == []


def test_a_list_of_calls_that_is_empty() -> None:
    value = chat(says("assistant", "x", tool_calls=[]))
    assert found(value, "empty-tool-calls") == [("empty-tool-calls", "error", "/messages/1/tool_calls")]
    assert found(chat(says("assistant", "x", tool_calls=None)), "empty-tool-calls") == []


def test_a_turn_whose_calls_were_not_stored() -> None:
    value = chat(says("assistant", "", finish_reason="tool_calls"), says("assistant", "Archived.", finish_reason="stop"))
    assert found(value, "text-only-turn") == [("text-only-turn", "warning", "/messages/1")]
    assert entry(value, "text-only-turn").cause.name == "persistence"


def test_a_turn_whose_calls_were_not_stored_names_the_results_behind_it() -> None:
    value = chat(says("assistant", "", finish_reason="tool_calls"), gives("call_a1"), gives("call_b1"), says("assistant", "x"))
    assert [one.pointer for one in entry(value, "text-only-turn").related] == ["/messages/2", "/messages/3"]


def test_text_only_turns_that_lost_nothing() -> None:
    assert found(chat(says("assistant", "x", finish_reason="stop")), "text-only-turn") == []
    assert found(chat(asks("call_a1", finish_reason="tool_calls"), gives("call_a1")), "text-only-turn") == []
    tuned = chat(says("assistant", "x", finish_reason="tool_calls", weight=1))
    assert found(tuned, "text-only-turn") == []
    prose = chat(says("assistant", '[Tool call: read_file] {"a": 1}', finish_reason="tool_calls"), says("user", "…"))
    assert [one[0] for one in found(prose, "text-only-turn", "flattened-call")] == ["flattened-call"]


def turn(number: int, role: Any, *parts: Any, **more: Any) -> Turn:
    return Turn(place=Place(0, (number - 1,)), number=number, role=role, raw_role=role, parts=list(parts), **more)


def call(key: str, number: int) -> Call:
    return Call(place=Place(0, (number - 1, "content", 0)), id=key, name="read_file", args={"path": key})


def result(key: str, number: int) -> Result:
    return Result(place=Place(0, (number - 1, "content", 0)), ref=key, body="14 barrels")


def run(name: str, *turns: Turn, law: str = "anthropic", **more: Any) -> list[Any]:
    ledger = pair(Trajectory(place=Place(0), format="anthropic-messages", turns=list(turns), **more), targets.law(law))
    return list(check(name)(ledger, Context()))


def test_usage_tells_of_lost_calls() -> None:
    text = Text(place=Place(0), text="x")
    lost = [turn(1, "user", text), turn(2, "assistant", text, call_count=2)]
    assert [one.place for one in run("text-only-turn", *lost)] == [Place(0, (1,))]
    assert "it made 2 calls" in run("text-only-turn", *lost)[0].message
    assert run("text-only-turn", *lost, kind="dataset") == []
    paused = [turn(1, "user", text), turn(2, "assistant", text, call_count=2, stop="pause_turn")]
    assert run("text-only-turn", *paused) == []
    blocks = [turn(1, "user", text), turn(2, "assistant", text, stop="tool_use", key="m"), turn(3, "assistant", call("c1", 3), key="m")]
    assert run("text-only-turn", *blocks) == []


def test_calls_of_failed_turns() -> None:
    text = Text(place=Place(0), text="x")
    gone = [turn(1, "user", text), turn(2, "assistant", call("c1", 2), failed=True), turn(3, "user", text)]
    assert [(one.variant, one.call_id) for one in run("errored-turn-call", *gone)] == [("kept", "c1")]
    answered = [*gone[:2], turn(3, "user", result("c1", 3)), turn(4, "user", text)]
    assert [(one.variant, one.related[0].label) for one in run("errored-turn-call", *answered)] == [("", "result")]
    assert [one.variant for one in run("errored-turn-call", *gone[:2])] == [""]


# ----------------------------------------------------------------------------------------------------------------- split turns


def test_a_split_turn_is_refused_where_messages_are_read_one_by_one() -> None:
    value = chat(asks("call_a1"), asks("call_b1"), asks("call_c1"), gives("call_a1"), gives("call_b1"), gives("call_c1"), says("user", "…"))
    assert found(value, "split-assistant-turn") == [
        ("split-assistant-turn", "error", "/messages/2"),
        ("split-assistant-turn", "error", "/messages/3"),
    ]


def test_a_split_turn_is_doubtful_where_messages_are_joined() -> None:
    value = messages(("user", "q"), ("assistant", [uses("t1")]), ("assistant", [uses("t2")]), ("user", [outcome("t1"), outcome("t2")]))
    assert found(value, "split-assistant-turn") == [("split-assistant-turn", "warning", "/messages/2")]


def test_turns_that_are_not_one() -> None:
    given_up = chat(asks("call_a1"), asks("call_b1"), gives("call_b1"), says("user", "…"))
    assert found(given_up, "split-assistant-turn") == []
    in_turn = chat(asks("call_a1"), gives("call_a1"), asks("call_b1"), gives("call_b1"))
    assert found(in_turn, "split-assistant-turn") == []
    items = [{"type": "function_call", "call_id": key, "name": "f", "arguments": "{}"} for key in ("c1", "c2")]
    outputs = [{"type": "function_call_output", "call_id": key, "output": key} for key in ("c1", "c2")]
    assert found({"model": "m", "input": [says("user", "q"), *items, *outputs]}, "split-assistant-turn") == []
    same = [turn(1, "assistant", call("c1", 1), key="m"), turn(2, "assistant", call("c2", 2), key="m")]
    assert run("split-assistant-turn", *same, turn(3, "user", result("c1", 3), result("c2", 3))) == []


def test_split_turns_name_the_pairs_of_the_turns_before() -> None:
    turns = [turn(n, "assistant", call(f"c{n}", n)) for n in (1, 2, 3)]
    ledger = pair(
        Trajectory(place=Place(0), format="x", turns=[*turns, turn(4, "user", *(result(f"c{n}", 4) for n in (1, 2, 3)))]),
        targets.law("strict"),
    )
    found = [(one.number, [p.call.id for p in pairs[:count]]) for one, pairs, count in split_turns(ledger)]
    assert found == [(2, ["c1"]), (3, ["c1", "c2"])]


def test_the_results_of_a_split_turn_are_not_misplaced_besides() -> None:
    value = chat(asks("call_a1"), asks("call_b1"), gives("call_a1"), gives("call_b1"), says("user", "…"))
    assert found(value, "split-assistant-turn", "misplaced-result") == [("split-assistant-turn", "error", "/messages/2")]
