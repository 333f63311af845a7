"""The provider's own check of a history, before its SDK sends it again, as an oracle for function calls."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import pytest

from toolaudit.engine import Options, audit
from toolaudit.model import JSON, Severity

Items: TypeAlias = list[dict[str, JSON]]
TOOLS = [{"type": "function", "name": name, "parameters": {"type": "object"}, "strict": False} for name in ("get_weather", "get_time")]


@cache
def _check() -> Callable[[Any, Any], object]:
    """The check of the SDK. It has no public name, so that it may be gone in another version."""
    runner = pytest.importorskip("openai.lib.responses_tool_runner", reason="the openai package with its tool runner is not installed")
    found = getattr(runner, "_history_calls", None)
    if found is None:
        pytest.skip("this version of the openai package has no check of histories")
    return found  # type: ignore[no-any-return]


def theirs(items: Items) -> bool:
    """Whether the SDK would send the history."""
    try:
        _check()(copy.deepcopy(items), TOOLS)
    except ValueError:
        return False
    return True


def ours(items: Items) -> bool:
    """Whether nothing worse than a note is found in a request with the history."""
    report = audit({"model": "gpt-5", "input": items, "tools": TOOLS}, Options(sent=True, target="openai-responses"))
    assert not report.incomplete
    return not any(entry.severity > Severity.NOTE for entry in report.findings)


def history(source: random.Random) -> Items:
    """A whole history: turns of one to three calls, their outputs in any order behind them."""
    items: Items = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "q"}]}]
    for turn in range(source.randint(1, 4)):
        ids = [f"call_{turn}_{index}" for index in range(source.randint(1, 3))]
        items += [
            {"type": "function_call", "call_id": key, "name": source.choice(("get_weather", "get_time")), "arguments": f'{{"n": "{key}"}}'}
            for key in ids
        ]
        outputs: Items = [{"type": "function_call_output", "call_id": key, "output": f"4 C, {key}"} for key in ids]
        source.shuffle(outputs)
        items += outputs
    if source.random() < 0.5:
        items.append({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And now?"}]})
    return items


def of_kind(items: Items, kind: str) -> list[int]:
    return [index for index, item in enumerate(items) if item["type"] == kind]


def pick(items: Items, source: random.Random, kind: str) -> int:
    return source.choice(of_kind(items, kind)) if of_kind(items, kind) else -1


def drop(kind: str) -> Callable[[Items, random.Random], None]:
    def change(items: Items, source: random.Random) -> None:
        if (at := pick(items, source, kind)) >= 0:
            del items[at]

    return change


def double(kind: str) -> Callable[[Items, random.Random], None]:
    def change(items: Items, source: random.Random) -> None:
        if (at := pick(items, source, kind)) >= 0:
            items.insert(at + 1, copy.deepcopy(items[at]))

    return change


def rename(kind: str, key: JSON) -> Callable[[Items, random.Random], None]:
    def change(items: Items, source: random.Random) -> None:
        if (at := pick(items, source, kind)) >= 0:
            items[at]["call_id"] = key

    return change


def early(items: Items, source: random.Random) -> None:
    """An output stands before all calls."""
    if (at := pick(items, source, "function_call_output")) >= 0:
        items.insert(1, items.pop(at))


def late(items: Items, source: random.Random) -> None:
    """An output stands at the very end: it may, anywhere behind its call."""
    if (at := pick(items, source, "function_call_output")) >= 0:
        items.append(items.pop(at))


def talk(items: Items, source: random.Random) -> None:
    """Somebody speaks in between: that breaks nothing here."""
    said: dict[str, JSON] = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hm."}]}
    items.insert(source.randint(1, len(items)), said)


def again(items: Items, source: random.Random) -> None:
    """A later turn uses an id again."""
    key = items[pick(items, source, "function_call")].get("call_id")
    items += [
        {"type": "function_call", "call_id": key, "name": "get_time", "arguments": '{"of": "day"}'},
        {"type": "function_call_output", "call_id": key, "output": "noon"},
    ]


CHANGES: dict[str, Callable[[Items, random.Random], None]] = {
    "an output is lost": drop("function_call_output"),
    "a call is lost": drop("function_call"),
    "an output comes twice": double("function_call_output"),
    "a call comes twice": double("function_call"),
    "an output has an invented id": rename("function_call_output", "call_invented"),
    "a call has another id": rename("function_call", "call_other"),
    "an output has no id": rename("function_call_output", ""),
    "an output comes first": early,
    "an output comes last": late,
    "somebody speaks": talk,
    "an id is used again": again,
}


def test_whole_histories_are_taken_by_both() -> None:
    for seed in range(40):
        items = history(random.Random(seed))
        assert theirs(items)
        assert ours(items), items


@pytest.mark.parametrize("name", CHANGES)
def test_one_fault_has_one_verdict(name: str) -> None:
    refused = 0
    for seed in range(25):
        source = random.Random(seed)
        items = history(source)
        CHANGES[name](items, source)
        assert ours(items) == theirs(items), items
        refused += not theirs(items)
    assert refused in (0, 25), "each of these is a fault, or is none"


def test_several_faults_have_one_verdict() -> None:
    verdicts = set()
    for seed in range(150):
        source = random.Random(seed)
        items = history(source)
        for name in source.sample(sorted(CHANGES), source.randint(1, 3)):
            CHANGES[name](items, source)
        verdicts.add(theirs(items))
        assert ours(items) == theirs(items), items
    assert verdicts == {True, False}


def test_where_the_sdk_is_stricter_than_the_service_it_is_told_without_a_refusal() -> None:
    """A tool that is not declared any more: the service takes its calls in a history, the SDK would not know how to go on."""
    items = history(random.Random(1))
    items[pick(items, random.Random(1), "function_call")]["name"] = "get_tide"
    assert not theirs(items)
    found = audit({"model": "gpt-5", "input": items, "tools": TOOLS}, Options(sent=True, target="openai-responses")).findings
    assert {(entry.rule, entry.severity) for entry in found} == {("unknown-tool", Severity.WARNING)}
    assert {entry.verdicts["openai-responses"].verdict for entry in found} == {"accepted"}
