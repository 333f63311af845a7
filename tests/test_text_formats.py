"""Training data and calls as text: what answers what, what a loader drops, and what is only quoted."""

from __future__ import annotations

import json

import pytest

from toolaudit import formats
from toolaudit.engine import audit
from toolaudit.formats import _text_calls
from toolaudit.model import JSON, Place, Severity


def worse(value: JSON, form: str) -> list[tuple[str, str]]:
    report = audit(value)
    assert {one.format for one in report.inputs} == {form}
    return [(entry.rule, entry.pointer) for entry in report.findings if entry.severity > Severity.NOTE]


def call(name: str = "tide", **arguments: JSON) -> str:
    return json.dumps({"name": name, "arguments": arguments})


# ------------------------------------------------------------------------------------------------------------------ ShareGPT


def told(*turns: tuple[str, str]) -> JSON:
    return {"conversations": [{"from": speaker, "value": value} for speaker, value in turns]}


ASK, SAY = ("human", "q"), ("gpt", "So it is.")
BOTH = f"[{call(at=1)}, {call(at=2)}]"


@pytest.mark.parametrize(
    "turns",
    [
        (ASK, ("function_call", call()), ("observation", "5 m"), SAY),
        (ASK, ("function_call", BOTH), ("observation", "5 m\n</tool_response>\n<tool_response>\n6 m"), SAY),
        (ASK, ("function_call", BOTH), ("observation", "5 m and 6 m"), SAY),
        (ASK, ("function_call", "{'name': 'tide', 'arguments': {'at': 1}}"), ("observation", "5 m"), SAY),
        (ASK, ("gpt", f"<tool_call>{call()}</tool_call>"), ("tool", "<tool_response>5 m</tool_response>"), SAY),
        (("system", "Write <tool_call>{}</tool_call>."), ("human", "What is <tool_call>?"), SAY),
    ],
)
def test_samples_that_a_loader_takes(turns: tuple[tuple[str, str], ...]) -> None:
    report = audit(told(*turns))
    assert (report.inputs[0].format, report.findings) == ("sharegpt", [])
    assert report.summary.missing == 0


def test_samples_that_a_loader_drops() -> None:
    form = "sharegpt"
    assert worse(told(ASK, ("function_call", call()), SAY), form) == [("missing-result", "/conversations/1/value")]
    assert worse(told(ASK, SAY, ("observation", "5 m"), SAY), form) == [("orphan-result", "/conversations/2/value")]
    split = told(ASK, ("function_call", BOTH), ("observation", "5 m"), ("observation", "6 m"), SAY)
    assert [rule for rule, _ in worse(split, form)] == ["split-results"]


def test_a_call_that_is_no_json_is_malformed() -> None:
    found = worse(told(ASK, ("function_call", '{"name": "tide", "arguments": '), ("observation", "5 m"), SAY), "sharegpt")
    assert ("malformed-arguments", "/conversations/1/value") in found or ("truncated-call", "/conversations/1/value") in found


def test_declared_tools_are_a_text() -> None:
    tools = json.dumps([{"name": "tide", "parameters": {"type": "object", "required": ["at"]}}])
    found = worse({**told(ASK, ("function_call", call()), ("observation", "5 m"), SAY), "tools": tools}, "sharegpt")
    assert [rule for rule, _ in found] == ["invalid-arguments"]


# ------------------------------------------------------------------------------------------------------- <tool_call>, and others


def messages(*said: tuple[str, str]) -> list[JSON]:
    return [{"role": role, "content": content} for role, content in said]


CALLED = ("assistant", f"<tool_call>{call(at=1)}</tool_call><tool_call>{call(at=2)}</tool_call>")
ANSWERED = ("tool", "<tool_response>5 m</tool_response><tool_response>6 m</tool_response>")


def test_blocks_of_a_turn_are_answered_by_blocks_in_their_order() -> None:
    report = audit(messages(("user", "q"), CALLED, ANSWERED, ("assistant", "So.")))
    assert (report.inputs[0].format, report.summary.paired, report.findings) == ("hermes", 2, [])
    assert worse(messages(("user", "q"), CALLED, ("tool", "<tool_response>5 m"), ("assistant", "So.")), "hermes") == [
        ("missing-result", "/1/content")
    ]


def test_quoted_notation_is_no_call() -> None:
    thought = ("assistant", f"<think>Use <tool_call>.</think><tool_call>{call()}</tool_call>")
    error = ("tool", "<tool_response>Error: write <tool_call></tool_call></tool_response>")
    report = audit(messages(("system", "<tool_call>{}</tool_call>"), ("user", "q"), thought, error, ("assistant", "So.")))
    assert (report.inputs[0].format, report.summary.calls, report.summary.paired) == ("hermes", 1, 1)


def test_text_beside_calls_of_its_own_or_declared_tools_is_a_leak() -> None:
    own = {"id": "c1", "type": "function", "function": {"name": "tide", "arguments": "{}"}}
    structured = [
        *messages(("user", "q")),
        {"role": "assistant", "content": None, "tool_calls": [own]},
        {"role": "tool", "tool_call_id": "c1", "content": "5 m"},
        *messages(CALLED, ANSWERED),
    ]
    assert audit(structured).inputs[0].format == "openai-chat"
    request = {
        "model": "m",
        "tools": [{"type": "function", "function": {"name": "tide"}}],
        "messages": messages(("user", "q"), CALLED, ANSWERED),
    }
    assert "flattened-call" in [entry.rule for entry in audit(request).findings]


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ('{"type": "function", "name": "tide", "parameters": {"at": 1}}', "tide"),
        ('<function=tide>{"at": 1}</function><|eom_id|>', "tide"),
        ('<|python_tag|>brave_search.call(query="tide")', "code_interpreter"),
        ("[tide(at=1), tide(at=2)]", "tide"),
        ("print(1)", None),
    ],
)
def test_a_turn_of_llama_has_one_call(said: str, name: str | None) -> None:
    value = messages(("user", "q"), ("assistant", said), ("ipython", "5 m"), ("assistant", "So."))
    report = audit(value)
    assert (report.inputs[0].format, report.summary.calls, report.summary.paired) == ("llama", 1, 1)
    (trajectory,) = formats.format("llama").read(value, Place(0))
    assert [one.name for turn in trajectory.turns for one in turn.calls] == [name]
    assert worse(messages(("user", "q"), ("assistant", "Hm."), ("user", "p"), ("ipython", "5 m")), "llama") == [
        ("dropped-assistant-turn", "/3/content")
    ]


HARMONY = "<|start|>user<|message|>q<|end|><|start|>assistant<|channel|>commentary to=functions.tide <|constrain|>json<|message|>{}<|call|>"
RESULT = "<|start|>functions.tide to=assistant<|channel|>commentary<|message|>5 m<|end|>"
FINAL = "<|start|>assistant<|channel|>final<|message|>So.<|return|>"


def test_harmony_links_by_name_and_place() -> None:
    for value in ({"text": HARMONY + RESULT + FINAL}, {"prompt": HARMONY + RESULT + "<|start|>assistant", "completion": FINAL[18:]}):
        report = audit(value)
        assert (report.inputs[0].format, report.summary.paired, report.findings) == ("harmony", 1, [])
    assert [rule for rule, _ in worse({"text": HARMONY + FINAL}, "harmony")] == ["missing-result"]
    assert [rule for rule, _ in worse({"text": "<|start|>user<|message|>q<|end|>" + RESULT + FINAL}, "harmony")] == [
        "dropped-assistant-turn"
    ]


def test_the_convention_of_templates_has_no_ids() -> None:
    own = {"type": "function", "function": {"name": "tide", "arguments": {"at": 1}}}
    value: list[JSON] = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "tool_calls": [own, own]},
        {"role": "tool", "name": "tide", "content": "5 m"},
        {"role": "tool", "name": "tide", "content": "6 m"},
    ]
    report = audit(value)
    assert (report.inputs[0].format, report.inputs[0].target, report.findings) == ("openai-chat", "hf-template", [])
    assert [rule for rule, _ in worse([*value[:2], value[2], {"role": "user", "content": "p"}], "openai-chat")] == ["missing-result"]


@pytest.mark.parametrize("text", ["", "{", "[" * 5000, "{'a': __import__('os')}", "{'a': 1", "9" * 5000, "\0", "{'a': " + "(" * 500])
def test_payloads_that_mean_harm_are_no_values(text: str) -> None:
    value = _text_calls.value_of(text)
    assert value is None or isinstance(value, int)
    assert _text_calls.call(text, Place(0)).name is None
