"""ShareGPT conversations, as LLaMA-Factory and others train on: `{conversations: [{from, value}]}`.

A `function_call` turn holds one call or a list of them as JSON, and the next `observation` turn what came of them all, several results
joined by the tags of a template. In the flavour of Hermes, calls are `<tool_call>` blocks of a `gpt` turn, and results come from `tool`.
Nothing has an id: results belong to the calls of the turn before, by their names or their order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Final

from toolaudit.formats import DECISIVE, Evidence, _text_calls
from toolaudit.formats._json import indexed, mapping, number, sequence, text_or_none
from toolaudit.model import JSON, Other, Part, Place, Result, Role, Text, Tool, Trajectory, Turn, Unknown
from toolaudit.text import quote

NAME: Final = "sharegpt"
TITLE: Final = "ShareGPT conversations"
TARGET: Final = "sharegpt"

_ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "function_call": "assistant",
    "observation": "user",
    "tool": "user",
}
_RESULTS: Final = frozenset({"observation", "tool"})
_SEAM: Final = "</tool_response>\n<tool_response>"


# --------------------------------------------------------------------------------------------------------------- recognising


def recognise(value: JSON) -> Evidence | None:
    """Evidence that `value` is a conversation."""
    turns = mapping(value).get("conversations")
    if not isinstance(turns, list) or not turns or not all(map(_is_turn, turns)):
        return None
    return Evidence(DECISIVE, "`conversations` of `from` and `value`")


def _is_turn(value: JSON) -> bool:
    return isinstance(value, dict) and isinstance(value.get("from"), str) and "value" in value and "role" not in value


# ------------------------------------------------------------------------------------------------------------------- reading


def read(value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
    """The trajectory of a conversation."""
    del answer
    body = mapping(value)
    trajectory = Trajectory(place=place, format=NAME, kind="dataset", carrier="user", named=True)
    trajectory.id = text_or_none(body.get("id"))
    base = place / "conversations"
    turns = [_turn(mapping(one), base / index, trajectory.unknown) for index, one in indexed(sequence(body.get("conversations")))]
    for index, turn in enumerate(turns):
        if turn.calls:
            _fit(turn, list(itertools.takewhile(lambda one: one.raw_role in _RESULTS, turns[index + 1 :])))
    trajectory.turns = number(turns)
    trajectory.tools = _tools(body.get("tools"))
    yield trajectory


def _turn(value: dict[str, JSON], place: Place, unknown: list[Unknown]) -> Turn:
    speaker = text_or_none(value.get("from")) or ""
    turn = Turn(place=place, number=0, role=_ROLES.get(speaker, "unknown"), raw_role=speaker)
    text, where = value.get("value"), place / "value"
    if turn.role == "unknown":
        unknown.append(Unknown(place=place, what=f"a turn from {quote(speaker)}"))
    if not isinstance(text, str):
        turn.parts = [Other(place=where, kind="no text")]
    elif speaker == "function_call":
        turn.parts = list(_calls(text, where))
    elif speaker in _RESULTS:
        turn.parts = list(_text_calls.results(text, where)) if speaker == "tool" else [_observed(part, where) for part in text.split(_SEAM)]
    elif turn.role == "assistant" and _text_calls.holds_calls(text):
        turn.parts = list(_text_calls.said(text, where))
    elif text:
        turn.parts = [Text(place=where, text=text)]
    return turn


def _calls(text: str, place: Place) -> Iterator[Part]:
    value = _text_calls.value_of(text.strip())
    for one in value if isinstance(value, list) and value else [None]:
        if one is None:
            yield _text_calls.call(text.strip(), place)
        else:
            yield _text_calls.call(_text(one), place)


def _text(value: JSON) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, default=str)


def _observed(text: str, place: Place) -> Result:
    return Result(place=place, ref=None, ref_key="", body=text, body_key="", kind="observation")


def _fit(turn: Turn, answers: list[Turn]) -> None:
    """One observation that is not told apart answers all calls of the turn before it; several answer them in their order."""
    found = [result for one in answers for result in one.results]
    if len(found) == 1:
        for call in turn.calls[1:]:
            call.expects = "none"
    for call, result in zip(turn.calls, found, strict=False):
        result.name = result.name or call.name


def _tools(tools: JSON) -> tuple[Tool, ...] | None:
    """The declared tools, which are stored as a text of JSON."""
    value = _text_calls.value_of(tools) if isinstance(tools, str) and tools.strip() else tools
    if not isinstance(value, list):
        return None
    found = [mapping(mapping(one).get("function")) or mapping(one) for one in value]
    return tuple(Tool(name=one["name"], schema=one.get("parameters")) for one in found if isinstance(one.get("name"), str))


def raw_messages(value: JSON, place: Place) -> Iterable[tuple[JSON, Place]]:
    """Every turn of a conversation, as stored, with its place."""
    return [(turn, place.down("conversations", index)) for index, turn in indexed(sequence(mapping(value).get("conversations")))]
