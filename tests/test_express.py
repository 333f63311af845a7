"""The short way and the long way agree: what is proved healthy has no finding, and the same counts."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from conversations import FORMATS, Exchange, audited, conversation, exchanges, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.corpus import conversations as lines
from toolaudit.express import prove
from toolaudit.model import JSON

checked = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def agree(value: JSON, data: bytes | None = None) -> bool:
    """Whether the record is proved healthy; fails when the long way does not bear that out."""
    proved = prove(data or orjson.dumps(value))
    if proved is None:
        return False
    report = audited(value)
    assert not report.findings, [(entry.rule, entry.pointer, entry.message) for entry in report.findings]
    count = len(proved.called)
    summary = report.summary
    assert (summary.calls, summary.results, summary.paired, summary.trajectories) == (count, count, count, 1)
    assert (summary.turns, report.inputs[0].format) == (proved.turns, proved.form)
    return True


@checked
@given(all_=exchanges)
@pytest.mark.parametrize("form", FORMATS)
def test_whole_conversations_are_proved(form: str, all_: list[Exchange]) -> None:
    assert agree(written(conversation(all_), form))


def test_the_benchmarks_lines_are_proved() -> None:
    """Nearly all: one in a hundred lacks a result."""
    found = [agree(json.loads(line), line) for line in lines(3)]
    assert sum(found) >= 0.8 * len(found)


def test_a_user_who_calls_tools_is_not_proved() -> None:
    """Not even where the list of calls is empty: it is refused there as well."""
    for calls in ([], [{"id": "call_1", "type": "function", "function": {"name": "now", "arguments": "{}"}}]):
        assert not agree({"model": "gpt-4.1", "messages": [{"role": "user", "content": "Hi", "tool_calls": calls}]})


TEXTS = [
    "",
    "ok",
    "Error: no such file",
    "read timeout after 30s",
    "AKIAQ3EGRX7ZT2LMWB5K",
    "[Result of get_weather]: 4 C",
    "cancelled by the user",
]
TEXTS += ['<tool_call>{"name": "x", "arguments": {}}</tool_call>', "postgres://app:h7Kx2pQ9@db.internal/x", "x" * 700, "null"]


def _nodes(value: JSON, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, dict):
        found += [p for key, child in value.items() for p in _nodes(child, (*path, key))]
    elif isinstance(value, list):
        found += [p for index, child in enumerate(value) for p in _nodes(child, (*path, index))]
    return found


def _parent(value: JSON, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        value = value[key]
    return value


def delete(value: JSON, path: tuple[Any, ...], _: random.Random) -> None:
    del _parent(value, path)[path[-1]]


def double(value: JSON, path: tuple[Any, ...], _: random.Random) -> None:
    parent = _parent(value, path)
    if isinstance(parent, list):
        parent.insert(path[-1], parent[path[-1]])


def nullify(value: JSON, path: tuple[Any, ...], _: random.Random) -> None:
    _parent(value, path)[path[-1]] = None


def retext(value: JSON, path: tuple[Any, ...], rng: random.Random) -> None:
    if isinstance(_parent(value, path)[path[-1]], str):
        _parent(value, path)[path[-1]] = rng.choice(TEXTS)


def swap(value: JSON, path: tuple[Any, ...], _: random.Random) -> None:
    parent = _parent(value, path)
    if isinstance(parent, list) and path[-1] + 1 < len(parent):
        at = path[-1]
        parent[at], parent[at + 1] = parent[at + 1], parent[at]


def mistype(value: JSON, path: tuple[Any, ...], rng: random.Random) -> None:
    _parent(value, path)[path[-1]] = rng.choice([7, True, [], {}, [{}], "", "tool", "user", "assistant", {"type": "text", "text": "x"}])


def add(value: JSON, path: tuple[Any, ...], rng: random.Random) -> None:
    parent = _parent(value, path)
    if isinstance(parent, dict):
        key = rng.choice(
            ["is_error", "name", "id", "status", "type", "content", "tool_calls", "response", "thread", "previous_response_id"]
        )
        parent[key] = rng.choice([True, "x", "error", [], {"error": "x"}, "incomplete", "tool_result", None])


CHANGES: list[Callable[[JSON, tuple[Any, ...], random.Random], None]] = [delete, double, nullify, retext, swap, mistype, add]


@settings(parent=checked, max_examples=150)
@given(all_=exchanges, seed=st.integers(0, 2**32), count=st.integers(1, 3))
@pytest.mark.parametrize("form", FORMATS)
def test_the_two_ways_agree_on_damaged_records(form: str, all_: list[Exchange], seed: int, count: int) -> None:
    rng = random.Random(seed)
    value = json.loads(json.dumps(written(conversation(all_), form)))
    for _ in range(count):
        paths = [path for path in _nodes(value) if path]
        rng.choice(CHANGES)(value, rng.choice(paths), rng)
        if not _nodes(value)[1:]:
            return
    agree(value)


@checked
@given(all_=exchanges, seed=st.integers(0, 2**32))
@pytest.mark.parametrize("form", FORMATS)
def test_the_counts_add_up_whatever_is_damaged(form: str, all_: list[Exchange], seed: int) -> None:
    """And no damage makes the long way fail."""
    rng = random.Random(seed)
    value = json.loads(json.dumps(written(conversation(all_), form)))
    for _ in range(4):
        paths = [path for path in _nodes(value) if path]
        if paths:
            rng.choice(CHANGES)(value, rng.choice(paths), rng)
    summary = audited(value).summary
    assert summary.calls == summary.paired + summary.missing + summary.open + summary.unjudged


WRAPPERS: list[Callable[[JSON], JSON]] = [
    lambda body: {"ts": 1, "request": body},
    lambda body: {"data": {"body": body, "headers": {"content-type": "json"}}, "status": 200},
    lambda body: {"request": body, "response": {"id": "x", "object": "chat.completion", "choices": []}},
    lambda body: {"request": body, "error": {"message": "refused"}, "tags": ["a", "b"]},
    lambda body: {"log": json.dumps(body), "request": body},
    lambda body: {"type": "session.update", "request": body},
    lambda body: {"a": body, "b": body},
]


@checked
@given(all_=exchanges, wrap=st.sampled_from(WRAPPERS))
@pytest.mark.parametrize("form", FORMATS)
def test_the_two_ways_agree_on_wrapped_records(form: str, all_: list[Exchange], wrap: Callable[[JSON], JSON]) -> None:
    agree(wrap(written(conversation(all_), form)))


@pytest.mark.parametrize("form", FORMATS)
def test_a_plain_wrapper_is_no_obstacle(form: str) -> None:
    turns = conversation([Exchange("oslo", [[("get_weather", {"city": "oslo"}, "4 C")]], "lima")])
    assert agree(WRAPPERS[0](written(turns, form)))
    assert agree(WRAPPERS[1](written(turns, form)))
