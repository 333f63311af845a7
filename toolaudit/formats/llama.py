"""Chat messages in the notation of Llama 3: calls are text of the model, and results are messages of the role `ipython`.

A call is JSON with `name` and `parameters`, `<function=NAME>{…}</function>`, code behind `<|python_tag|>`, or a list as Python writes it. A
turn has one result, whatever it asks for.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Final

from toolaudit.formats import STRONG, Evidence, _chat, _text_calls
from toolaudit.formats._json import has, mapping, text_of
from toolaudit.model import JSON, Call, Part, Place, Result, Role, Text, Trajectory, Turn, Unknown
from toolaudit.regex import regex

NAME: Final = "llama"
TITLE: Final = "Chat messages in the notation of Llama 3"
TARGET: Final = "hf-template"

_ROLES: Final[dict[str, Role]] = {"system": "system", "user": "user", "assistant": "assistant", "ipython": "tool"}
_FUNCTION: Final = regex(r"<function=([\w.-]{1,200})>(.*?)(?:</function>|\Z)", re.DOTALL)
_LIST: Final = regex(r"\[\s*([A-Za-z_][\w.]{0,200})\(")
_MARKS: Final = ("<|python_tag|>", "<|eom_id|>", "<|eot_id|>")


# --------------------------------------------------------------------------------------------------------------- recognising


def recognise(value: JSON) -> Evidence | None:
    """Evidence that `value` is a list of messages, or a body with one, with results of the role `ipython`."""
    messages = value if isinstance(value, list) else mapping(value).get("messages")
    if not isinstance(messages, list) or not any(mapping(message).get("role") == "ipython" for message in messages):
        return None
    if any(has(mapping(message), "tool_calls", "tool_call_id", "parts") for message in messages):
        return None
    return Evidence(STRONG + 5, "the role `ipython`")


# ------------------------------------------------------------------------------------------------------------------- reading


def read(value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
    """The trajectory of a list of messages, or of a body with one."""
    del answer
    trajectory = _chat.conversation(NAME, value, place, _turn)
    turns = trajectory.turns
    for turn, following in itertools.pairwise(turns):
        if turn.role == "assistant" and following.role == "tool" and not turn.calls:
            turn.parts = [_as_call(turn)]  # what it said is what was run
    trajectory.named = True
    yield trajectory


def _turn(value: dict[str, JSON], place: Place, unknown: list[Unknown]) -> Turn:
    turn = _chat.begun(value, place, unknown, _ROLES)
    text, where = text_of(value.get("content")), place / "content"
    if turn.role == "tool":
        turn.parts = [Result(place=where, ref=None, ref_key="", body=text, body_key="", kind="ipython")]
    elif turn.role == "assistant":
        turn.parts = list(_said(text, where))
    elif text:
        turn.parts = [Text(place=where, text=text)]
    return turn


def _said(text: str, place: Place) -> Iterator[Part]:
    """The one call that a turn of the model makes; prose where it makes none."""
    plain = text
    for mark in _MARKS:
        plain = plain.replace(mark, "")
    plain = plain.strip()
    if (found := _FUNCTION.search(plain)) is not None:
        yield Call(place=place, id=None, name=found[1], args=found[2], args_form="string", args_key="", name_key="", kind="text")
    elif text.lstrip().startswith(_MARKS[0]):
        yield Call(place=place, id=None, name="code_interpreter", args=plain, args_form="text", args_key="", name_key="", kind="text")
    elif plain[:1] == "{" and isinstance(mapping(_text_calls.value_of(plain)).get("name"), str):
        yield _text_calls.call(plain, place, key="parameters")
    elif (called := _LIST.match(plain)) is not None:
        yield Call(place=place, id=None, name=called[1], args=plain, args_form="text", args_key="", name_key="", kind="text")
    elif plain:
        yield Text(place=place, text=plain)


def _as_call(turn: Turn) -> Call:
    text = "\n".join(part.text for part in turn.texts)
    return Call(place=turn.place / "content", id=None, name=None, args=text, args_form="text", args_key="", name_key="", kind="text")


def raw_messages(value: JSON, place: Place) -> Iterable[tuple[JSON, Place]]:
    """Every message of a value that `read` takes, as stored, with its place."""
    return _chat.stored(value, place)
