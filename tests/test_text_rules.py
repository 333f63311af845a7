"""The rules on arguments, results, retries and reasoning, where the notation cannot express the case."""

from __future__ import annotations

from typing import Any

import pytest

from toolaudit import rules
from toolaudit.engine import Options, audit
from toolaudit.model import Tool
from toolaudit.rules._declared import Schema, is_valid

JSON = Any
_OURS = rules.select(["arguments", "results", "retries", "reasoning", "collapsed-results", "mismatched-name", "duplicate-result"])
CITY = {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}, "additionalProperties": False}


def _chat(*calls: tuple[str, str, JSON], results: list[JSON] | None = None, **body: JSON) -> dict[str, JSON]:
    """A request body with one assistant turn: (id, name, arguments) of each call, and their results."""
    made = [{"id": key, "type": "function", "function": {"name": name, "arguments": args}} for key, name, args in calls]
    given = results if results is not None else ["fine"] * len(calls)
    answers = [{"role": "tool", "tool_call_id": call[0], "content": content} for call, content in zip(calls, given, strict=False)]
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": None, "tool_calls": made}, *answers]
    return {"model": "gpt-4.1-mini", "messages": [*messages, {"role": "assistant", "content": "there"}], **body}


def _anthropic(*blocks: dict[str, JSON], results: list[dict[str, JSON]], **body: JSON) -> dict[str, JSON]:
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": list(blocks)}, {"role": "user", "content": results}]
    return {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [*messages, {"role": "assistant", "content": "there"}], **body}


def _use(key: str, name: str = "gate", given: JSON = None, **more: JSON) -> dict[str, JSON]:
    return {"type": "tool_use", "id": key, "name": name, "input": {} if given is None else given, **more}


def _result(key: str, **more: JSON) -> dict[str, JSON]:
    return {"type": "tool_result", "tool_use_id": key, **more}


def _found(value: JSON, **options: JSON) -> list[tuple[str, str, str]]:
    return [(entry.rule, str(entry.severity), entry.pointer) for entry in audit(value, Options(rules=_OURS, **options)).findings]


def _rules(value: JSON, **options: JSON) -> list[str]:
    return [rule for rule, _, _ in _found(value, **options)]


# ----------------------------------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('{"a": 1}{"b": 2}', "glued together"),
        ('{"a": 1} and so on', "more text behind it"),
        ('"{\\"a\\": 1}"', "encoded twice"),
        ("[1]", "a list"),
        ("null", "null"),
        ("7", "a number"),
        ("get_weather", "no JSON"),
        ("{'a': 1}", "no JSON"),
    ],
)
def test_malformed(arguments: str, words: str) -> None:
    (entry,) = audit(_chat(("c1", "f", arguments))).findings
    assert (entry.rule, entry.pointer) == ("malformed-arguments", "/messages/1/tool_calls/0/function/arguments")
    assert words in entry.message


@pytest.mark.parametrize("arguments", ["", " ", "{}", {"a": 1}, None, '{"a": NaN}', '{"a": "\\ud800"}', '{"a":' * 3000 + "1" + "}" * 3000])
def test_well_formed(arguments: JSON) -> None:
    assert _rules(_chat(("c1", "f", arguments))) == []


@pytest.mark.parametrize("arguments", ['{"a": "b', '{"a"', '{"a":', '{"a": tru', "{", '{"a": [1, 2', '{"a": "\\u00'])
def test_truncated(arguments: str) -> None:
    assert _rules(_chat(("c1", "f", "{}"), ("c2", "f", arguments))) == ["truncated-call"]
    assert _rules(_chat(("c1", "f", arguments), ("c2", "f", "{}"))) == ["malformed-arguments"], "only the last call of a turn can be cut"


def test_truncated_and_kept() -> None:
    body = _chat(("c1", "f", '{"a": "b'), results=[])
    body["messages"][1]["finish_reason"] = "length"
    body["messages"].append({"role": "user", "content": "go on"})
    assert _found(body) == [("truncated-call", "error", "/messages/1/tool_calls/0")]
    body["messages"] = body["messages"][:2]
    assert _found(body) == [("truncated-call", "note", "/messages/1/tool_calls/0")]
    assert _found(body, sent=True)[0][:2] == ("truncated-call", "error")


_DEEP = 3000


@pytest.mark.parametrize(
    ("arguments", "rule", "words"),
    [
        ('{"a":' * _DEEP, "truncated-call", "breaks off"),
        ("[" * 100_000, "truncated-call", "breaks off"),
        ('{"a":' * _DEEP + '"b', "truncated-call", "breaks off"),
        ("[" * _DEEP + "]" * _DEEP, "malformed-arguments", "a list"),
        ('{"a":' * _DEEP + "1" + "}" * _DEEP + "{}", "malformed-arguments", "glued together"),
    ],
)
def test_broken_deeper_than_decoders_go(arguments: str, rule: str, words: str) -> None:
    (entry,) = audit(_chat(("c1", "f", arguments))).findings
    assert entry.rule == rule
    assert words in entry.message


def test_a_number_of_thousands_of_digits_is_well_formed() -> None:
    assert _rules(_chat(("c1", "f", '{"a": ' + "9" * 5000 + "}"))) == []


@pytest.mark.parametrize("given", ['{"open": true}', "", "yes", [1], 7])
def test_input_is_no_object(given: JSON) -> None:
    body = _anthropic(_use("t1", given=given), results=[_result("t1", content="done")])
    assert _found(body) == [("malformed-arguments", "error", "/messages/1/content/0/input")]


def test_free_text_is_not_parsed() -> None:
    items = [
        {"type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": "select {"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "1"},
        {"type": "computer_call", "call_id": "c2", "actions": [{"type": "wait"}]},
        {"type": "computer_call_output", "call_id": "c2", "output": {"type": "computer_screenshot"}},
    ]
    assert _rules({"model": "gpt-5-mini", "input": items}) == []


# ------------------------------------------------------------------------------------------------------------------- schemas


def _declared(schema: JSON, **more: JSON) -> list[JSON]:
    return [{"type": "function", "function": {"name": "f", "parameters": schema, **more}}]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("{}", "`city` is missing"),
        ('{"city": 7}', "`city` is a number where a string belongs"),
        ('{"city": "Oslo", "zip": 1}', "a field that the schema does not have"),
    ],
)
def test_against_the_schema(arguments: str, words: str) -> None:
    (entry,) = audit(_chat(("c1", "f", arguments), tools=_declared(CITY))).findings
    assert (entry.rule, str(entry.severity)) == ("invalid-arguments", "warning")
    assert words in entry.message


def _multiplying(count: int) -> JSON:
    """Each definition asks for the next twice."""
    chain: dict[str, JSON] = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(count)}
    return {"$defs": {**chain, f"d{count}": {"type": "integer"}}, "properties": {"city": {"$ref": "#/$defs/d0"}}}


def _nested(count: int) -> JSON:
    schema: JSON = {}
    for _ in range(count):
        schema = {"not": schema}
    return schema


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "STRING"}, "`type` in it"),
        ({"type": "object", "properties": {"city": {"$ref": "https://example.com/city.json"}}}, "refers to something that is not in it"),
        ({"type": "object", "properties": {"city": {"$ref": "file:///etc/passwd"}}}, "refers to something that is not in it"),
        ({"type": "object", "properties": {"city": {"$ref": "#/$defs/gone"}}}, "refers to something that is not in it"),
        ({"type": "object", "properties": {"city": {"pattern": "("}}}, "`properties.city.pattern` in it"),
        ({"$schema": "https://example.com/no-such-draft", "required": ["x"]}, "is not in it"),
        ({"maximum": 10**30}, "out of range"),
        (_multiplying(40), "too many places"),
        ({"$defs": {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(2000)}, "$ref": "#/$defs/d0"}, "too many places"),
        ({"allOf": [{"$ref": "#d"}] * 40, "$defs": {"d": {"$anchor": "d"}}}, "too many places"),
        ("object", "is a string"),
        ([1], "is a list"),
    ],
)
def test_a_schema_that_cannot_be_used_is_noted_once(schema: JSON, why: str) -> None:
    calls = _chat(("c1", "f", '{"city": 7}'), ("c2", "f", '{"city": 8}'), tools=_declared(schema))
    (entry,) = audit(calls).findings
    assert (entry.rule, str(entry.severity), entry.pointer) == ("invalid-arguments", "note", "/messages/1/tool_calls/0")
    assert why in entry.message and entry.message.endswith("so its arguments are not checked")


@pytest.mark.parametrize("schema", [True, None, {}, _multiplying(5), {"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#"}}}}])
def test_a_schema_that_asks_for_nothing_here(schema: JSON) -> None:
    assert _rules(_chat(("c1", "f", "{}"), tools=_declared(schema))) == []


def test_a_schema_nested_too_deeply() -> None:
    schema = Schema(_nested(300))
    assert (schema.unusable, schema.faults({})) == ("it is nested too deeply", [])
    with pytest.raises(ValueError, match="nested too deeply"):
        is_valid(_nested(300))


@pytest.mark.parametrize("word", ["allOf", "anyOf"])
def test_a_schema_that_leads_back_to_itself_twice(word: str) -> None:
    """It is followed into shallow arguments, and not into deep ones, where the ways double with each level."""
    schema = {"type": "object", "properties": {"x": {word: [{"$ref": "#"}, {"$ref": "#"}]}}}

    def nested(depth: int) -> str:
        return '{"x":' * depth + "5" + "}" * depth

    assert _rules(_chat(("c1", "f", nested(3)), tools=_declared(schema))) == ["invalid-arguments"]
    assert _rules(_chat(("c1", "f", nested(40)), tools=_declared(schema))) == []


def test_a_tree_of_any_depth_is_checked() -> None:
    schema = {"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}, "additionalProperties": False}
    arguments = '{"left": {}, "right":' * 50 + '{"up": 1}' + "}" * 50
    assert _rules(_chat(("c1", "f", arguments), tools=_declared(schema))) == ["invalid-arguments"]


def test_only_declared_names_are_quoted() -> None:
    schema = {
        "type": "object",
        "properties": {"symbol": {"type": "string"}, "headers": {"type": "object", "additionalProperties": {"type": "string"}}},
        "additionalProperties": False,
    }

    def message(arguments: str) -> str:
        return str(audit(_chat(("c1", "f", arguments), tools=_declared(schema))).findings[0].message)

    assert "2 fields that the schema does not have (did the model mean `symbol`?)" in message('{"symbl": "x", "secret plan": 1}')
    assert message('{"secret plan": 1}').endswith("a field that the schema does not have")
    assert "`headers.…` is a number where a string belongs" in message('{"headers": {"secret plan": 1}}')


def test_references_within_the_schema() -> None:
    schema = {"type": "object", "properties": {"city": {"$ref": "#/$defs/city"}}, "$defs": {"city": {"enum": ["Oslo", "Lima"]}}}
    (entry,) = audit(_chat(("c1", "f", '{"city": "my secret"}'), tools=_declared(schema))).findings
    assert "`city` is none of `Oslo` and `Lima`" in entry.message
    assert "secret" not in entry.message


def test_strict_mode_is_mentioned() -> None:
    (entry,) = audit(_chat(("c1", "f", "{}"), tools=_declared(CITY, strict=True))).findings
    assert "strict mode" in entry.message


def test_tools_that_are_given() -> None:
    tools = (Tool(name="f", schema=CITY),)
    assert _rules(_chat(("c1", "f", "{}")), tools=tools) == ["invalid-arguments"]
    assert _rules(_chat(("c1", "g", "{}")), tools=tools) == ["unknown-tool"]


def test_output_schema() -> None:
    tools = _declared(CITY, output_schema={"type": "object", "required": ["degrees"]})
    assert _found(_chat(("c1", "f", '{"city": "Oslo"}'), tools=tools, results=['{"celsius": 4}'])) == [
        ("invalid-arguments", "warning", "/messages/2/content")
    ]
    assert _rules(_chat(("c1", "f", '{"city": "Oslo"}'), tools=tools, results=['{"degrees": 4}'])) == []


# -------------------------------------------------------------------------------------------------------------- unknown tool


def test_unknown_tool() -> None:
    body = _chat(("c1", "weather", "{}"), ("c2", "weather", "{}"), tools=_declared(CITY), results=["no such tool", "no such tool"])
    (entry,) = audit(body).findings
    assert (entry.rule, str(entry.severity), entry.pointer) == ("unknown-tool", "warning", "/messages/1/tool_calls/0/function/name")
    assert "2 calls" in entry.message


def test_a_tool_that_answered_was_declared_once() -> None:
    assert _found(_chat(("c1", "weather", "{}"), tools=_declared(CITY), results=["4 C"]))[0][:2] == ("unknown-tool", "note")


def test_a_near_miss_is_named() -> None:
    tools = [{"type": "function", "function": {"name": "get_weather"}}]
    (entry,) = audit(_chat(("c1", "get_wether", "{}"), tools=tools)).findings
    assert "`get_weather`" in entry.help


@pytest.mark.parametrize("tools", [[], None, [{"type": "mcp_toolset", "mcp_server_name": "x"}, {"name": "gate", "input_schema": {}}]])
def test_nothing_is_unknown_where_not_everything_is_declared(tools: JSON) -> None:
    body = _anthropic(_use("t1", name="other"), results=[_result("t1", content="done")], tools=tools)
    assert _rules(body) == []


# ------------------------------------------------------------------------------------------------------------------- results


@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": ""}, {"content": []}, {"content": [{"type": "text", "text": ""}]}])
def test_empty_error(content: dict[str, JSON]) -> None:
    assert _found(_anthropic(_use("t1"), results=[_result("t1", is_error=True, **content)])) == [
        ("empty-error", "error", "/messages/2/content/0")
    ]
    assert _rules(_anthropic(_use("t1"), results=[_result("t1", **content)])) == []


@pytest.mark.parametrize(
    ("content", "severity"),
    [(None, "error"), (7, "error"), ([{"type": "image_url", "image_url": {"url": "x"}}], "error"), ({"degrees": 4}, "warning")],
)
def test_chat_content(content: JSON, severity: str) -> None:
    assert _found(_chat(("c1", "f", "{}"), results=[content])) == [("wrong-result-type", severity, "/messages/2")]


@pytest.mark.parametrize("content", ["", "text", [], [{"type": "text", "text": "4 C"}]])
def test_chat_content_that_is_fine(content: JSON) -> None:
    assert _rules(_chat(("c1", "f", "{}"), results=[content])) == []


@pytest.mark.parametrize(
    ("kind", "fine"),
    [
        *((kind, True) for kind in ("text", "image", "document", "search_result", "tool_reference", "new_in_2027")),
        *((kind, False) for kind in ("tool_use", "thinking", "tool_result")),
    ],
)
def test_anthropic_content(kind: str, fine: bool) -> None:
    body = _anthropic(_use("t1"), results=[_result("t1", content=[{"type": kind, "text": "x"}])])
    assert _rules(body) == ([] if fine else ["wrong-result-type"])


def test_toolset_content() -> None:
    def body(kind: str) -> JSON:
        result = _result("t1", toolset_name="computer", content=[{"type": kind, "text": "x"}])
        return _anthropic(_use("t1", name="click", toolset_name="computer"), results=[result])

    assert _rules(body("image")) == []
    assert _rules(body("document")) == ["wrong-result-type"]


@pytest.mark.parametrize(
    ("call", "output", "fine"),
    [
        ("function_call", "function_call_output", True),
        ("custom_tool_call", "function_call_output", False),
        ("function_call", "custom_tool_call_output", False),
        ("local_shell_call", "function_call_output", True),
        ("tool_search_call", "tool_search_output", True),
    ],
)
def test_kind_of_output(call: str, output: str, fine: bool) -> None:
    items = [
        {"role": "user", "content": "go"},
        {"type": call, "call_id": "c1", "id": "x_1", "name": "f", "arguments": "{}", "input": "", "action": {}},
        {"type": output, "call_id": "c1", "output": "x", "tools": []},
    ]
    assert _rules({"model": "gpt-5-mini", "input": items}) == ([] if fine else ["wrong-result-type"])


def test_unmarked_error() -> None:
    body = _anthropic(_use("t1"), results=[_result("t1", content="Error: the gate is stuck")])
    assert _found(body) == [("unmarked-error", "note", "/messages/2/content/0")]
    assert _rules(_chat(("c1", "f", "{}"), results=["Error: the gate is stuck"])) == []
    assert _rules(_anthropic(_use("t1"), results=[_result("t1", content="Error handling, a guide")])) == []


def test_a_secret_in_the_middle_is_found_when_deep() -> None:
    address = "postgres://ledger:hunter2@db.internal/prod"
    body = _chat(("c1", "f", "{}"), results=["a " * 500 + address + " b" * 500])
    assert _rules(body) == []
    assert _found(body, deep=True) == [("leaked-secret", "warning", "/messages/2/content")]
    assert "hunter2" not in audit(body, Options(deep=True)).findings[0].message


def test_a_second_placeholder_is_a_duplicate_only() -> None:
    result = [_result("t1", content="shut"), _result("t1", content="No result provided")]
    assert _rules(_anthropic(_use("t1"), results=result)) == ["duplicate-result"]


# ------------------------------------------------------------------------------------------------------------------- retries


def _again(name: str, args: JSON, first: str, between: list[JSON] | None = None, args2: JSON = None) -> list[JSON]:
    """One call twice, in two turns."""
    turns: list[JSON] = [{"role": "user", "content": "go"}]
    for key, given, content in (("c1", args, first), ("c2", args if args2 is None else args2, "done")):
        turns.append({"role": "assistant", "tool_calls": [{"id": key, "type": "function", "function": {"name": name, "arguments": given}}]})
        turns.append({"role": "tool", "tool_call_id": key, "content": content})
        turns += (between or []) if key == "c1" else []
    return [*turns, {"role": "assistant", "content": "there"}]


@pytest.mark.parametrize(
    ("name", "args", "first", "expected"),
    [
        ("send_email", '{"to": "Kim"}', "error: read timeout", ["unsafe-retry"]),
        ("sendEmail", '{"to": "Kim"}', "Connection reset by peer", ["unsafe-retry"]),
        ("bash", '{"command": "make deploy"}', "Command timed out after 2m", ["unsafe-retry"]),
        ("bash", '{"command": "git status"}', "Command timed out after 2m", []),
        ("get_order", '{"id": 7}', "error: read timeout", []),
        ("mcp__mail__list_letters", '{"id": 7}', "error: read timeout", []),
        ("WebFetch", '{"id": 7}', "error: read timeout", []),
        ("send_email", '{"to": "Kim", "idempotency_key": "k"}', "error: read timeout", []),
        ("send_email", '{"to": "Kim"}', "error: no such address", []),
        ("send_email", '{"to": "Kim"}', "sent, number 17", ["replayed-call"]),
        ("send_email", '{"to": "Kim"}', "error 429: quota reached, not sent", []),
        ("send_email", '{"to": "Kim"}', "HTTP 503 Service Unavailable", []),
        ("send_email", '{"to": "Kim"}', "message rejected by policy", []),
        ("get_order", '{"id": 7}', "shipped", []),
        ("write_file", '{"path": "a"}', "written", []),
        ("submit", "{}", "submitted", []),
    ],
)
def test_call_again(name: str, args: str, first: str, expected: list[str]) -> None:
    assert _rules(_again(name, args, first)) == expected


def test_the_order_of_keys_does_not_matter() -> None:
    assert _rules(_again("pay", '{"a": 1, "b": 2}', "timed out", args2='{"b": 2, "a": 1}')) == ["unsafe-retry"]
    assert _rules(_again("pay", '{"a": 1, "b": 2}', "timed out", args2='{"a": 1, "b": 3}')) == []


def test_the_user_may_ask_again() -> None:
    assert _rules(_again("pay", '{"a": 1}', "paid", between=[{"role": "user", "content": "once more"}])) == []


def test_many_calls_again_are_judged_one_by_one() -> None:
    """What lies between is counted for each pair of calls apart."""
    turns: list[JSON] = [{"role": "user", "content": "go"}]
    for key, name, args, content in (
        ("c1", "pay", '{"a": 1}', "timed out"),
        ("c2", "pay", '{"a": 2}', "timed out"),
        ("c3", "pay", '{"a": 1}', "done"),
        ("c4", "get_balance", "{}", "7"),
        ("c5", "pay", '{"a": 2}', "done"),
    ):
        turns.append({"role": "assistant", "tool_calls": [{"id": key, "type": "function", "function": {"name": name, "arguments": args}}]})
        turns.append({"role": "tool", "tool_call_id": key, "content": content})
    assert _found(turns) == [("unsafe-retry", "warning", "/5/tool_calls/0")]


# ---------------------------------------------------------------------------------------------------------------------- ids

_ALL = Options(rules=rules.select(["pairing", "containers"]))


def test_a_kind_of_result_that_only_the_provider_gives() -> None:
    given = {"type": "code_execution_tool_result", "tool_use_id": "t1", "content": "paid"}
    (entry,) = audit(_anthropic(_use("t1"), results=[given]), _ALL).findings
    assert (entry.rule, str(entry.severity), entry.pointer) == ("unpaired-server-call", "error", "/messages/2/content/0")
    assert "`code_execution_tool_result` answers `gate` (`t1`)" in entry.message
    (entry,) = audit(_anthropic(_use("t1"), results=[_result("t1", content="paid"), given]), _ALL).findings
    assert (entry.rule, entry.pointer) == ("unpaired-server-call", "/messages/2/content/1")


@pytest.mark.parametrize(
    ("stored", "words"),
    [({"x": "CANARY"}, "is an object, which"), (["CANARY"], "is a list, which"), (True, "is true, which"), ("null", "is `null`, which")],
)
def test_what_stands_for_an_id(stored: JSON, words: str) -> None:
    body = _anthropic(_use("t1"), results=[{"type": "tool_result", "tool_use_id": stored, "content": "shut"}])
    (entry,) = audit(body, _ALL).findings
    assert entry.rule == "missing-id"
    assert words in entry.message and "CANARY" not in entry.message
    assert "tool_result.tool_use_id" in str(entry.verdicts["anthropic"].provider_error)
    body = _anthropic(_use(stored), results=[])
    assert all("CANARY" not in entry.message for entry in audit(body, _ALL).findings)


# ------------------------------------------------------------------------------------------------------- collapsed and names


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        (["Lima: 18 C, light wind"] * 2, ["collapsed-results"]),
        (["ok, everything is done now"] * 2, []),
        (["18 C"] * 2, []),
        (["Error: service not reachable"] * 2, []),
        (["No matches found in this folder"] * 2, []),
    ],
)
def test_collapsed_results(results: list[JSON], expected: list[str]) -> None:
    assert _rules(_chat(("c1", "f", '{"city": "Oslo"}'), ("c2", "f", '{"city": "Lima"}'), results=results)) == expected
    assert _rules(_chat(("c1", "f", '{"city": "Lima"}'), ("c2", "f", '{"city": "Lima"}'), results=results)) == []


@pytest.mark.parametrize(
    ("call", "result", "fine"),
    [
        ("get_time", "get_time", True),
        ("get_time", "GetTime", True),
        ("functions.get_time", "get_time", True),
        ("mcp__clock__get_time", "get_time", True),
        ("get_time", "get_weather", False),
    ],
)
def test_name_of_a_result(call: str, result: str, fine: bool) -> None:
    body = _chat(("c1", call, "{}"))
    body["messages"][2]["name"] = result
    assert _rules(body) == ([] if fine else ["mismatched-name"])


# ----------------------------------------------------------------------------------------------------------------- reasoning

_REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}
_CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"}
_OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "x"}
_USER = {"role": "user", "content": "go"}


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([_USER, _REASONING, _USER], ["lost-reasoning"]),
        ([_USER, _CALL, _REASONING, _OUTPUT], ["lost-reasoning"]),
        ([_USER, _REASONING, _CALL, _OUTPUT], []),
        ([_USER, _CALL, _OUTPUT, _REASONING], []),
        ([_USER, _REASONING, {**_REASONING, "id": "rs_2"}, _CALL, _OUTPUT], []),
        ([_USER, _REASONING, {"type": "item_reference", "id": "msg_1"}, _USER], []),
    ],
)
def test_reasoning_items(items: list[JSON], expected: list[str]) -> None:
    assert [rule for rule in _rules({"model": "gpt-5-mini", "input": items}) if rule == "lost-reasoning"] == expected


def test_thinking_at_the_end_of_a_turn() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}

    def body(*blocks: JSON) -> JSON:
        return {"model": "claude-x", "messages": [_USER, {"role": "assistant", "content": list(blocks)}, _USER]}

    assert _found(body({"type": "text", "text": "well"}, thinking)) == [("lost-reasoning", "error", "/messages/1/content/1")]
    assert _rules(body(thinking, {"type": "text", "text": "well"})) == []
    assert _rules({"model": "claude-x", "messages": [_USER, {"role": "assistant", "content": [thinking]}]}) == []
