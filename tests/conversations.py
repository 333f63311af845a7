"""Conversations made by hypothesis: well-formed ones, and the ways in which they break."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct

from toolaudit import formats
from toolaudit.engine import Audit, Options
from toolaudit.model import JSON, Call, Place, Result, Text, Trajectory, Turn
from toolaudit.report import Report

NOWHERE = Place(0)
FORMATS = ("anthropic-messages", "openai-chat", "openai-responses")
WORDS = ("oslo", "lima", "read the deed", "two wells", "Ærø", "a “quoted” line", "14 °C", "日本")
TOOLS = ("get_weather", "read_file", "list_wells", "find_road")


class Exchange(Struct):
    """A user's words, the batches of calls they lead to (each with its results), and the model's answer."""

    asked: str
    batches: list[list[tuple[str, JSON, str]]]
    """(tool, arguments, output) of each call."""
    said: str


_text = st.sampled_from(WORDS)
_args = st.dictionaries(st.sampled_from(["city", "path", "n"]), st.one_of(_text, st.integers(-5, 500)), max_size=2)
_call = st.tuples(st.sampled_from(TOOLS), _args, st.text("abcdefgh ", min_size=1, max_size=12))
_exchange = st.builds(Exchange, asked=_text, batches=st.lists(st.lists(_call, min_size=1, max_size=4), max_size=3), said=_text)
exchanges = st.lists(_exchange, min_size=1, max_size=4).filter(lambda all_: any(one.batches for one in all_))


def turn(role: Any, *parts: Any) -> Turn:
    """A message."""
    return Turn(place=NOWHERE, number=0, role=role, raw_role=role, parts=list(parts))


def say(role: Any, text: str) -> Turn:
    """A message of prose."""
    return turn(role, Text(place=NOWHERE, text=text))


def conversation(all_: list[Exchange]) -> list[Turn]:
    """The turns of well-formed exchanges; every id is its own."""
    turns, count = [], 0
    for one in all_:
        turns.append(say("user", one.asked))
        for batch in one.batches:
            calls, results = [], []
            for name, args, output in batch:
                count += 1
                key = f"call_{count:04d}xyz{count * 7919:08d}"
                calls.append(Call(place=NOWHERE, id=key, name=name, args=args))
                results.append(Result(place=NOWHERE, ref=key, body=output))
            turns += [turn("assistant", *calls), turn("tool", *results)]
        turns.append(say("assistant", one.said))
    return turns


def written(turns: list[Turn], form: str) -> JSON:
    """The request body in a format."""
    return formats.format(form).write(Trajectory(place=NOWHERE, format="", turns=turns))


def audited(value: JSON, **options: Any) -> Report:
    """The report on a decoded value."""
    audit = Audit(Options(**options))
    audit.value(value)
    return audit.report


def rules_of(report: Report) -> set[str]:
    """The names of the rules that were found."""
    return {entry.rule for entry in report.findings}


def answers(turns: list[Turn]) -> list[int]:
    """Indexes of the turns that hold results."""
    return [index for index, one in enumerate(turns) if one.role == "tool"]


Breaker = Callable[[list[Turn], Callable[[list[int]], int]], None]
