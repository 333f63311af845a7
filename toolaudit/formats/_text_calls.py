"""Calls and results that templates write into text: `<tool_call>` and `<tool_response>`, and what stands in them.

Only what the model said is read for calls, and only what tools said for results: prompts explain the notation, and errors quote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolaudit.formats._json import mapping, text_or_none
from toolaudit.model import JSON, Call, Part, Place, Result, Text
from toolaudit.regex import regex

LONGEST: Final = 1 << 20
"""A payload of more characters is not looked into."""
_THOUGHT: Final = regex(r"<(think|scratch_pad)>.*?</\1>", re.DOTALL)
_CALL: Final = "<tool_call>"
_RESPONSE: Final = regex(r"<tool_response>(.*?)(?:</tool_response>|(?=<tool_response>)|\Z)", re.DOTALL)


def holds_calls(text: JSON) -> bool:
    """Whether a text of the model holds the notation of a call."""
    return isinstance(text, str) and _CALL in text


def holds_results(text: JSON) -> bool:
    """Whether a text begins with the notation of a result."""
    return isinstance(text, str) and text.lstrip().startswith("<tool_response>")


def said(text: str, place: Place) -> Iterator[Part]:
    """The prose of the model, and the calls in it in their order. The last may be cut off."""
    plain = _THOUGHT.sub("", text) if "</" in text else text
    prose, *pieces = plain.split(_CALL)
    if prose.strip():
        yield Text(place=place, text=prose.strip())
    for piece in pieces:
        payload, closed, _ = piece.partition("</tool_call>")
        yield call(payload.strip(), place, cut=not closed and piece is pieces[-1])


def call(payload: str, place: Place, *, cut: bool = False, key: str = "arguments") -> Call:
    """The call in a payload: JSON with a name and arguments, or the same as Python writes it; else the payload as it stands."""
    value = mapping(value_of(payload))
    name = text_or_none(value.get("name"))
    if name is None:
        return Call(
            place=place,
            id=None,
            name=None,
            args=payload,
            args_form="string",
            args_key="",
            name_key="",
            kind="text",
            state="partial" if cut else "done",
        )
    args = value.get(key, value.get("parameters"))
    form = "string" if isinstance(args, str) else "object" if args is not None else "none"
    return Call(place=place, id=None, name=name, args=args, args_form=form, args_key="", name_key="", kind="text")  # type: ignore[arg-type]


def results(text: str, place: Place) -> Iterator[Result]:
    """The results in a text: its `<tool_response>` blocks, which may be left open, or all of it where it has none."""
    blocks = [block.strip() for block in _RESPONSE.findall(text)] if "<tool_response>" in text else [text]
    for block in blocks:
        value = mapping(value_of(block)) if block[:1] == "{" else {}
        yield Result(
            place=place,
            ref=None,
            ref_key="",
            name=text_or_none(value.get("name")),
            body=block,
            body_key="",
            kind="text",
        )


def value_of(text: str) -> JSON:
    """The value that a text is, as JSON or as a Python literal; None where it is neither, or too long to try."""
    import orjson

    if len(text) > LONGEST:
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    if text[:1] not in ("{", "[") or len(text) > LONGEST >> 4:
        return None
    import ast

    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
