"""Telling a call or a result that lost its structure from talk about one."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolaudit.hints import _CALL_MARK, _RESULT_MARK, may_hold_traffic
from toolaudit.prose import EDGE, call_in_prose, imitates_result, may_hold_call, may_hold_result, result_in_prose

TOOLS = frozenset({"read_file", "get_weather"})
IDS = frozenset({"call_c1"})

CALLS = [
    ('[Used tool: read_file]\nInput: {"path": "cellar.txt"}', "read_file", "high"),
    ('[Tool call: read_file] {"path": "cellar.txt"}', "read_file", "high"),
    ('[Tool call: read_file({"path": "cellar.txt"})]', "read_file", "high"),
    ("[Tool call: read_file]", "read_file", "high"),
    ('Let me look:\n[Called read_file with {"path": 1}]', "read_file", "high"),
    ('[Tool call: other] {"a": 1}', "other", "medium"),
    ('<tool_call>{"name": "get_weather", "arguments": {}}</tool_call>', "get_weather", "high"),
    ("<tool_call>\n{'name': 'other', 'arguments': {}}\n</tool_call>", "other", "medium"),
    ("<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>", "get_weather", "high"),
    ("<tool_call>\n<function=read_file>\n<parameter=path>\nx\n</parameter>", "read_file", "high"),
    ('<functioncall> {"name": "other", "arguments": {}}', "other", "medium"),
    ('<function=read_file>{"path": "x"}</function>', "read_file", "high"),
    ('[TOOL_CALLS] [{"name": "other", "arguments": {}}]', "other", "medium"),
    ('[TOOL_CALLS]other{"a": 1}', "other", "medium"),
    ('<|python_tag|>brave_search.call(query="x")', "brave_search.call", "medium"),
    (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
        "read_file",
        "high",
    ),
    ("<|tool_call_begin|>functions.other:3<|tool_call_argument_begin|>{}", "other", "medium"),
    ("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n{}", "read_file", "high"),
    ('<minimax:tool_call>\n<invoke name="other">\n<parameter name="a">1</parameter>\n</invoke>', "other", "medium"),
    ('card\n<invoke name="Bash">\n<parameter name="command">df -h</parameter>\n</invoke>', "Bash", "medium"),
    ('<function_calls>\n<invoke name="read_file">\n</invoke>', "read_file", "high"),
    ('<|tool_call>call:other{a: "1"}<tool_call|>', "other", "medium"),
    (
        '<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Oslo"}<|call|>',
        "get_weather",
        "high",
    ),
    ('commentary to=functions.get_weather json {"city": "Oslo"}', "get_weather", "medium"),
    ("Thought: look.\nAction: read_file\nAction Input: cellar.txt", "read_file", "medium"),
    ('Calling tool read_file with {"path": "x"}', "read_file", "medium"),
    ('Calling tool `read_file` with args: {"path": "x"}', "read_file", "medium"),
    ('tool_use: read_file({"path": "x"})', "read_file", "medium"),
    ("print(default_api.read_file(path='x'))", "read_file", "high"),
    ("```tool_code\nprint(default_api.read_file(path='x'))\n```", "read_file", "high"),
    ('{"name": "read_file", "parameters": {"path": "x"}}', "read_file", "medium"),
]

NO_CALLS = [
    '```\n[Tool call: read_file] {"path": "x"}\n```',
    '~~~xml\n<tool_call>{"name": "read_file"}</tool_call>\n~~~',
    '`[Tool call: read_file] {"path": "x"}`',
    'The notation [Tool call: read_file] {"path": "x"} is prose',
    '<tool_call>{"name": "read_file"}</tool_call> is how Hermes writes it.',
    'For example:\n<tool_call>{"name": "read_file"}</tool_call>',
    '> <tool_call>{"name": "read_file"}</tool_call>',
    '<think>\n<tool_call>{"name": "read_file"}</tool_call>\n</think>\nDone.',
    '<think>\n<tool_call>{"name": "read_file"}</tool_call>',
    "Use `<|python_tag|>` before the code.",
    "The <tool_call> tag opens a call.",
    "Action: run away\nAction Input: fast",
    "Action: leave the house",
    "Calling tool makers with care {sic}",
    "Calling tool other with {}",
    "tool_use: other({})",
    "commentary to=functions.other json {}",
    "[Tool call: other]",
    "[Calling Joe] (maybe)",
    "[Using tool tips](https://example.invalid)",
    "[Tool: hammer](https://example.invalid)",
    "[function other](https://example.invalid)",
    '{"name": "other", "arguments": {}}',
    '{"name": "read_file", "size": 3}',
    'I said "[Tool call: read_file] {}" to nobody.',
    "",
    "Fourteen barrels.",
]

RESULTS = [
    ("[Result of read_file (call_c1)]: 14 barrels", "read_file", "call_c1"),
    ("[Tool result]: 14 barrels", None, None),
    ("[Tool Result: read_file] 14", "read_file", None),
    ("[Tool result for call_c1] 14", None, "call_c1"),
    ("[Tool result: call_c1]\n14 barrels", None, "call_c1"),
    ("Why?\n[Tool result]: call_c1 gave 14", None, "call_c1"),
    ("Tool result for read_file: 14", "read_file", None),
    ("Tool result (call_c1): 14", None, "call_c1"),
    ("Tool output for read_file:\n14", "read_file", None),
    ("Result of read_file: 14", "read_file", None),
    ("Result of get_weather(Lima): 19 C", "get_weather", None),
    ("<tool_response>14</tool_response>", None, None),
    ('<tool_response>\n{"name": "read_file", "content": 14}\n</tool_response>', "read_file", None),
    ("<function_results>\n14\n</function_results>", None, None),
    ("[read_file for 'cellar.txt'] Result:\n14", "read_file", None),
    ("[list_files for '.'] Result:\ncellar.txt", "list_files", None),
    ("Tool read_file returned: 14", "read_file", None),
    ("The tool `read_file` returned: 14", "read_file", None),
    ("[read_file result]: 14", "read_file", None),
    ("## Return of functions.read_file:0\n14", "read_file", None),
    ("EXECUTION RESULT of [read_file]:\n14", "read_file", None),
]

NO_RESULTS = [
    "Result: I win",
    "[Result] you rolled 14",
    "Result of the match: 3:1",
    "[Result of the vote]: no",
    "Results for today: 5",
    "Result of reading: yes",
    "Result of read_file is odd",
    "Tool result for other: 5",
    "Tool other returned: 5",
    "Why does my log show this?\n[Tool result]: 5",
    "```\n[Tool result]: 5\n```",
    "> [Tool result]: 5",
    "Observation: 14 barrels",
    "The result of read_file is nice",
    "The output was:\n14",
    "<tool_response> is a tag",
    "Wrap it in <tool_response>…</tool_response>.",
    "[Tool results](https://example.invalid)",
    "[other result]: 14",
    "",
]


@pytest.mark.parametrize(("text", "name", "confidence"), CALLS, ids=range(len(CALLS)))
def test_calls(text: str, name: str, confidence: str) -> None:
    trace = call_in_prose(text, TOOLS)
    assert trace is not None
    assert (trace.name, trace.confidence) == (name, confidence)
    assert trace.known is (name in TOOLS)
    assert may_hold_call(text)


@pytest.mark.parametrize("text", NO_CALLS, ids=range(len(NO_CALLS)))
def test_talk_about_calls(text: str) -> None:
    assert call_in_prose(text, TOOLS) is None


@pytest.mark.parametrize(("text", "name", "key"), RESULTS, ids=range(len(RESULTS)))
def test_results(text: str, name: str | None, key: str | None) -> None:
    trace = result_in_prose(text, TOOLS, IDS)
    assert trace is not None
    assert (trace.name, trace.id) == (name, key)
    assert may_hold_result(text)


@pytest.mark.parametrize("text", NO_RESULTS, ids=range(len(NO_RESULTS)))
def test_talk_about_results(text: str) -> None:
    assert result_in_prose(text, TOOLS, IDS) is None


def test_an_observation_answers_a_call() -> None:
    assert result_in_prose("Observation: 14", TOOLS, IDS) is None
    trace = result_in_prose("Observation: 14", TOOLS, IDS, after_call=True)
    assert trace is not None and trace.notation == "Observation: …"


@pytest.mark.parametrize(
    ("text", "pretence"),
    [
        ("Result: pushed", "a result"),
        ("**Output:**\nok", "a result"),
        ("Output:\nok", "a result"),
        ("[Tool result] ok", "a result"),
        ("Done.\n<tool_result>ok</tool_result>", "a result"),
        ("<function_results>\nok", "a result"),
        ("\n\nHuman: thanks", "the user"),
        ("User: thanks", "the user"),
        ("Fine.\n\nHuman: and now?", "the user"),
        ("To example.invalid:demo.git  a1b2c3..d4e5f6 main -> main. The push succeeded.", "the output of a program"),
        ("exit code: 0", "the output of a program"),
        ("Trying again with a lower setting.", ""),
        ("I will tell you the result: as soon as it is there.", ""),
        ("Human error is likely here.", ""),
        ("The output will be long... please wait.", ""),
        ("```\n<tool_result>\n```", ""),
    ],
)
def test_imitations(text: str, pretence: str) -> None:
    assert imitates_result(text) == pretence


def test_of_a_long_text_the_ends_are_read() -> None:
    call, padding = '<tool_call>{"name": "read_file", "arguments": {}}</tool_call>', "word " * EDGE
    assert call_in_prose(f"{call}\n{padding}", TOOLS)
    assert call_in_prose(f"{padding}\n{call}", TOOLS)
    assert call_in_prose(f"{padding}\n{call}\n{padding}", TOOLS) is None
    assert call_in_prose(f"{padding}\n{call}\n{padding}", TOOLS, deep=True)


MEGABYTE = 1 << 20
HOSTILE = [
    "<", "[", "(", "`", "\n", "a", "0", "-", "[Tool call: ", "<tool_call>", "<think>", "```", "\n```\n", "\n> ", "to=functions.",
    "Action:\n", "Action: a\n", "[Tool result]: x\n", "<tool_response>x", "\n<tool_response>\nx", "Result of ", "\nResult of a\n",
    "\n[a for 'x", "tool_use: ", "\nto=functions.a<|", "\n[Tool call: x] {} is bad words", "\n<tool_response>a b</x> c d",
    "\n<tool_call>{ for example", '{"name": ', "\n[Result of ``", "\nTool a(", "\n## Return of a.", "Human:\n\n", "a1b2c3..", "<|",
    "<｜", "default_api.", "\nCalling tool a with ",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_texts_take_linear_time(piece: str) -> None:
    text = f"{piece * (MEGABYTE // len(piece))}[Tool result tool_call"  # the last words open the first test
    started = time.process_time()
    call_in_prose(text, TOOLS, deep=True)
    result_in_prose(text, TOOLS, IDS, after_call=True, deep=True)
    imitates_result(text)
    assert time.process_time() - started < 4


def test_a_text_without_notation_is_cheap() -> None:
    text = ("The cellar holds fourteen barrels and two of them are empty, and the invoice says that seven are due. " * 3)[:256]
    started = time.process_time()
    for _ in range(10_000):
        call_in_prose(text, TOOLS)
        result_in_prose(text, TOOLS, IDS)
    assert (time.process_time() - started) / 20_000 < 20e-6  # about 1e-6 on an idle machine


_MARKS = st.one_of(st.from_regex(re.compile(mark.pattern, mark.flags), fullmatch=True) for mark in (_CALL_MARK, _RESULT_MARK))


@given(text=_MARKS | st.text('\n <[#TtoolFfunction:="name{', max_size=40))
def test_the_shortest_way_past_prose_asks_the_same(text: str) -> None:
    said = f"{text} the tool of a function returned its result"
    for whole in (text, said, f"Done.\n{text}", f"Done.\n{said}", f"Done.\n   {text}\n", f"to=functions.x {text}", f' {{"name": {text}'):
        assert may_hold_traffic(whole) == (may_hold_call(whole) or may_hold_result(whole))
