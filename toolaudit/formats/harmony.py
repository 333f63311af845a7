"""Harmony, the text that gpt-oss models read and write: records with such a text, or a prompt with its completion.

A call is a message of the assistant to `functions.NAME` that ends in `<|call|>`; its result is the next message from `functions.NAME`.
There are no ids. Tools of the model's own (`python`, `browser.search`) are asked in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolaudit.formats import DECISIVE, Evidence
from toolaudit.formats._json import mapping, number
from toolaudit.model import JSON, Call, Other, Part, Place, Result, Role, Text, Trajectory, Turn
from toolaudit.regex import regex

NAME: Final = "harmony"
TITLE: Final = "Harmony text of gpt-oss"
TARGET: Final = "hf-template"

_FIELDS: Final = (("prompt", "completion"), ("text",), ("harmony",), ("conversation",), ("content",), ("output",))
_MESSAGE: Final = regex(r"<\|start\|>([^<]{0,400}(?:<\|(?:channel|constrain)\|>[^<]{0,400}){0,4})<\|message\|>")
_END: Final = regex(r"<\|(end|call|return|start)\|>")
_TO: Final = regex(r"\bto=([\w.-]+)")
_ROLES: Final[dict[str, Role]] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


# --------------------------------------------------------------------------------------------------------------- recognising


def recognise(value: JSON) -> Evidence | None:
    """Evidence that `value` is a record with such a text."""
    return Evidence(DECISIVE, "`<|start|>` and `<|message|>`") if isinstance(value, dict) and _texts(value) else None


def _texts(value: dict[str, JSON]) -> list[tuple[str, str]]:
    """The texts of a record, each with its key, where they are of this kind."""
    for keys in _FIELDS:
        found = [(key, value[key]) for key in keys if isinstance(value.get(key), str)]
        if found and "<|start|>" in found[0][1] and "<|message|>" in found[0][1]:
            return found
    return []


# ------------------------------------------------------------------------------------------------------------------- reading


def read(value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
    """The trajectory of a record."""
    del answer
    trajectory = Trajectory(place=place, format=NAME, kind="dataset", carrier="tool", named=True)
    turns: list[Turn] = []
    for key, text in _texts(mapping(value)):
        turns += _turns(text, place / key, open_header=key == "completion")
    trajectory.turns = number(turns)
    yield trajectory


def _turns(text: str, place: Place, *, open_header: bool) -> Iterator[Turn]:
    """The messages of a text. A completion begins behind the header that its prompt ends with."""
    if open_header and not text.lstrip().startswith("<|start|>"):
        text = f"<|start|>assistant{text}"
    at = 0
    while (found := _MESSAGE.search(text, at)) is not None:
        end = _END.search(text, found.end())
        stop = end.start() if end is not None else len(text)
        yield _turn(found[1], text[found.end() : stop], end[1] if end is not None else "", place)
        at = stop


def _turn(header: str, body: str, end: str, place: Place) -> Turn:
    who, recipient = header.split("<|", maxsplit=1)[0].split()[:1], _TO.search(header)
    speaker, to = who[0] if who else "", recipient[1] if recipient else ""
    role = _ROLES.get(speaker, "tool")
    turn = Turn(place=place, number=0, role=role, raw_role=speaker)
    part: Part
    if role == "tool":
        part = Result(place=place, ref=None, ref_key="", name=_name(speaker), body=body, body_key="", kind="text")
    elif role == "assistant" and to not in ("", "all", "user"):
        json = "json" in header or to.startswith("functions.")
        part = Call(
            place=place,
            id=None,
            name=_name(to),
            args=body.strip(),
            args_form="string" if json else "text",
            args_key="",
            name_key="",
            kind="text",
        )
        part.state = "done" if end == "call" else "partial" if not end else "done"
    elif "<|channel|>analysis" in header:
        part = Other(place=place, kind="reasoning")
    else:
        part = Text(place=place, text=body)
    turn.parts = [part]
    return turn


def _name(recipient: str) -> str:
    return recipient.removeprefix("functions.")
