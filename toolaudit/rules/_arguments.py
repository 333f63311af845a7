"""How the arguments of a call stand: whole, cut off, or no object. Decided once, so that a call gets at most one finding for them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Literal

import orjson
from msgspec import Struct

from toolaudit.model import JSON, Ledger, Pair, Place
from toolaudit.pairing import CUT_OFF
from toolaudit.rules._say import is_judged
from toolaudit.sources.scan import past_value
from toolaudit.text import word_for

_ANYTHING = frozenset(
    {"computer_call", "shell_call", "apply_patch_call", "local_shell_call", "tool_search_call", "multi_agent_call"}
    | {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"}
)
"""Kinds of calls whose arguments are not (or not always) an object."""


class Arguments(Struct, frozen=True, gc=False):
    """What became of the arguments of one call."""

    fault: Literal["", "truncated", "malformed"] = ""
    what: str = ""
    """What stands where the object belongs."""
    value: JSON = None
    """The object, when there is one."""


def place_of(pair: Pair) -> Place:
    """Where the arguments of a call stand."""
    return pair.call.place.within(pair.call.args_key)


def read_arguments(ledger: Ledger) -> Sequence[tuple[Pair, Arguments]]:
    """Every call that counts, with how its arguments stand; several rules ask, and they are read once."""
    if ledger.arguments is None:
        ledger.arguments = tuple(_read(ledger))
    return ledger.arguments


def _read(ledger: Ledger) -> Iterator[tuple[Pair, Arguments]]:
    for pair, following in itertools.zip_longest(ledger.pairs, ledger.pairs[1:]):
        if pair.copy_of is None and is_judged(ledger, pair.turn):
            yield pair, _arguments_of(ledger, pair, last=following is None or following.turn is not pair.turn)


def _arguments_of(ledger: Ledger, pair: Pair, *, last: bool) -> Arguments:
    """Look at the arguments of a call: first whether they are cut off, then whether they are an object."""
    call = pair.call
    read = Arguments(value=call.args) if isinstance(call.args, dict) else _of_other(ledger, pair)
    if pair.why == "truncated":
        return Arguments("truncated", "the turn was cut off before it was complete")
    # only the last call of a turn can be cut off by what ends the turn
    if read.what == _BROKEN_OFF and (last or pair.turn.stop in CUT_OFF or call.state == "partial"):
        return Arguments("truncated", _BROKEN_OFF)
    return read


def _of_other(ledger: Ledger, pair: Pair) -> Arguments:
    """Arguments that are not stored as an object."""
    call = pair.call
    if call.kind == "tool_use" and call.args_form == "none":
        return Arguments("malformed", "nothing stands")
    if call.args_form in ("none", "text") or call.kind in _ANYTHING or call.expects == "none":
        return Arguments()
    wants_object = ledger.trajectory.format == "anthropic-messages"
    if call.args is None and not wants_object:
        return Arguments()
    if isinstance(call.args, str):
        return _stored_as_object(call.args) if call.args_form == "object" else parse(call.args)
    return Arguments("malformed", f"{word_for(call.args)} stands")


def _stored_as_object(text: str) -> Arguments:
    """A string where the format wants the object itself."""
    read = parse(text) if text.strip() else Arguments()
    return Arguments("malformed", "a string that holds JSON stands") if not read.fault and text.strip() else _string(read)


def _string(read: Arguments) -> Arguments:
    return read if read.what == _BROKEN_OFF else Arguments("malformed", "a string stands")


def parse(text: str) -> Arguments:
    """Arguments that are stored as a string; an empty one is a call without arguments."""
    if not text.strip():
        return Arguments(value={})
    try:
        value = _loads(text)
    except json.JSONDecodeError as error:
        return Arguments("malformed", _why_broken(text, error))
    except (ValueError, RecursionError):  # more digits, or deeper, than the decoders go
        return _unbuilt(text.strip())
    if isinstance(value, dict):
        return Arguments(value=value)
    if isinstance(value, str) and isinstance(_loads_or_none(value), dict):
        return Arguments("malformed", "JSON that is encoded twice stands")
    return Arguments("malformed", f"{word_for(value)} stands")


def _loads(text: str) -> JSON:
    try:
        return orjson.loads(text)
    except ValueError:  # what only the slower reader takes: NaN, half a surrogate pair
        return json.loads(text)


def _loads_or_none(text: str) -> JSON:
    try:
        return _loads(text)
    except (ValueError, RecursionError):
        return None


def _unbuilt(text: str) -> Arguments:
    """What can be said of JSON that no decoder builds: where it ends, and with what it begins."""
    data = text.encode("utf-8", "surrogatepass")
    end = past_value(data, 0)
    if end < 0:
        return Arguments("malformed", _BROKEN_OFF)
    if end < len(data):
        return Arguments("malformed", _followed_by(data[end:].decode("utf-8", "surrogatepass")))
    return Arguments() if text.startswith("{") else Arguments("malformed", f"{'a list' if text.startswith('[') else 'a number'} stands")


_BROKEN_OFF = "JSON that breaks off in the middle stands"


def _why_broken(text: str, error: json.JSONDecodeError) -> str:
    if error.msg == "Extra data":
        return _followed_by(text[error.pos :])
    if text.lstrip()[0] in "{[" and _at_its_end(text.rstrip(), error):
        return _BROKEN_OFF
    return "text that is no JSON stands"


def _followed_by(rest: str) -> str:
    return "several objects glued together stand" if rest.lstrip().startswith("{") else "an object with more text behind it stands"


def _at_its_end(text: str, error: json.JSONDecodeError) -> bool:
    """The reader got to the end of the text, or to the beginning of a word or escape that its end cuts in two."""
    rest = text[error.pos :]
    return (
        error.msg.startswith("Unterminated string")
        or not rest
        or (len(rest) < 6 and error.msg.startswith("Invalid \\"))
        or any(word.startswith(rest) for word in ("true", "false", "null", "-"))
    )
