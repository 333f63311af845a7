"""Cohere v2 chat: request bodies, message lists, and responses.

Calls are `tool_calls` of an assistant message, beside a `tool_plan` that says what they are for; a result is a message of the role `tool`,
and the documents in it, however many, are that one result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from toolaudit.formats import DECISIVE, STRONG, CannotExpress, Evidence, Message, _chat
from toolaudit.formats._json import has, key_of, kinds_of, mapping, sequence, strongest, text_or_none
from toolaudit.model import JSON, Call, Place, Result, Role, Text, Trajectory, Turn, Unknown

NAME: Final = "cohere"
TITLE: Final = "Cohere v2 chat"
TARGET: Final = "cohere"
ADDRESS: Final = r"^https?://api\.cohere\.(?:com|ai)/v2/chat\b"

_ROLES: Final[dict[str, Role]] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_ENDS: Final = frozenset({"COMPLETE", "TOOL_CALL", "MAX_TOKENS", "STOP_SEQUENCE", "ERROR", "TIMEOUT"})


# --------------------------------------------------------------------------------------------------------------- recognising


def recognise(value: JSON) -> Evidence | None:
    """Evidence that `value` is a request body, a list of messages, or a response."""
    if isinstance(value, list):
        return strongest(value, recognise_message)
    if not isinstance(value, dict):
        return None
    if is_response(value):
        return Evidence(DECISIVE, "`message` beside a `finish_reason` in capitals")
    return strongest(value["messages"], recognise_message) if isinstance(value.get("messages"), list) else None


def fits(value: JSON) -> bool:
    """Whether a body may be a request, where its address says that it is one."""
    return isinstance(value, dict) and isinstance(value.get("messages"), list)


def recognise_message(value: JSON) -> Evidence | None:
    """Evidence that `value` is one message."""
    if not isinstance(value, dict) or text_or_none(value.get("role")) not in _ROLES or has(value, "parts", "type"):
        return None
    if value["role"] == "assistant" and isinstance(value.get("tool_plan"), str):
        return Evidence(STRONG + 5, "`tool_plan`")
    if value["role"] == "tool" and "tool_call_id" in value and "document" in kinds_of(value.get("content")):
        return Evidence(STRONG + 5, "documents as a result")
    return Evidence(_chat.HINT, "messages") if has(value, "content", "tool_calls") else None


def is_response(value: JSON) -> bool:
    """A response, as against a request."""
    return isinstance(value, dict) and isinstance(value.get("message"), dict) and text_or_none(value.get("finish_reason")) in _ENDS


# ------------------------------------------------------------------------------------------------------------------- reading


def read(value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
    """The trajectory of a request body, a list of messages or a response."""
    if is_response(value):
        trajectory = _chat.response(NAME, value, place, _turn)
        _close(trajectory.turns[-1], value)
    else:
        trajectory = _chat.conversation(NAME, value, place, _turn)
        if answer is not None:
            said = mapping(answer[0])
            _chat.answered(trajectory, said.get("message"), answer[1] / "message", _turn)
            if len(trajectory.turns) > trajectory.sent_turns:
                _close(trajectory.turns[-1], said)
    yield trajectory


def read_messages(messages: list[Message]) -> Trajectory:
    """A conversation that was stored one message a record."""
    return _chat.log(NAME, messages, _turn)


def _close(turn: Turn, value: dict[str, JSON]) -> None:
    turn.stop = "length" if value.get("finish_reason") == "MAX_TOKENS" else text_or_none(value.get("finish_reason"))
    turn.failed = turn.stop in ("ERROR", "TIMEOUT")


def _turn(value: dict[str, JSON], place: Place, unknown: list[Unknown]) -> Turn:
    turn = _chat.begun(value, place, unknown, _ROLES)
    if turn.role == "tool":
        ref = value.get("tool_call_id")
        turn.parts = [
            Result(place=place, ref=key_of(ref), raw_ref=ref, ref_key="tool_call_id", body=_body(value.get("content")), kind="tool")
        ]
        return turn
    if isinstance(value.get("tool_plan"), str) and value["tool_plan"]:
        turn.parts.append(Text(place=place / "tool_plan", text=value["tool_plan"]))
    turn.parts += _chat.spoken(value.get("content"), place / "content", unknown)
    turn.parts += [_call(mapping(call), place.down("tool_calls", at)) for at, call in enumerate(sequence(value.get("tool_calls")))]
    return turn


def _body(content: JSON) -> JSON:
    """What a tool said: documents are of this format alone, and their text is in `document.data`."""
    if "document" not in kinds_of(content):
        return content
    texts = (mapping(mapping(part).get("document")).get("data", mapping(part).get("text")) for part in content)
    return "\n".join(text for text in texts if isinstance(text, str))


def _call(value: dict[str, JSON], place: Place) -> Call:
    function = mapping(value.get("function"))
    return Call(
        place=place,
        id=key_of(value.get("id")),
        raw_id=value.get("id"),
        name=text_or_none(function.get("name")),
        args=function.get("arguments"),
        args_form="string" if isinstance(function.get("arguments"), str) else "object" if "arguments" in function else "none",
        args_key="function/arguments",
        name_key="function/name",
    )


# ------------------------------------------------------------------------------------------------------------------- writing


def write(trajectory: Trajectory) -> JSON:
    """The trajectory as a request body. Raises CannotExpress: what this format does not share with Chat is not written."""
    del trajectory
    raise CannotExpress("what is told apart from Chat by a plan alone")


def raw_messages(value: JSON, place: Place) -> Iterable[tuple[JSON, Place]]:
    """Every message of a value that `read` takes, as stored, with its place."""
    return [(value["message"], place / "message")] if is_response(value) else _chat.stored(value, place)
