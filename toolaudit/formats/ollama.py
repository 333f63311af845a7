"""Ollama `/api/chat`: request bodies, message lists, and responses, also one chunk a line.

Calls are `tool_calls` of an assistant message, without a type and with arguments as an object; results are messages of the role `tool`.
Ids came late, and the SDK for Python drops them: a result names its call by `tool_call_id` where both sides have it, else by
`tool_name`, else by its place. A chunk of a stream holds whole calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from toolaudit.formats import DECISIVE, MEDIUM, STRONG, CannotExpress, Evidence, Message, _chat
from toolaudit.formats._json import has, key_of, mapping, sequence, strongest, text_of, text_or_none
from toolaudit.model import JSON, Call, Other, Place, Result, Role, Trajectory, Turn, Unknown

NAME: Final = "ollama"
TITLE: Final = "Ollama chat"
TARGET: Final = "ollama"
ADDRESS: Final = r"/api/chat\b"

_ROLES: Final[dict[str, Role]] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_FAILED: Final = frozenset({"error"})
_NO_ID: Final = "ollama_compaction"
"""What its own compaction writes as the id of every call that it makes up."""


# --------------------------------------------------------------------------------------------------------------- recognising


def recognise(value: JSON) -> Evidence | None:
    """Evidence that `value` is a request body, a list of messages, or a response."""
    if isinstance(value, list):
        return _strongest(value)
    if not isinstance(value, dict):
        return None
    if is_response(value):
        return Evidence(DECISIVE, "`done` beside `message`")
    if not isinstance(value.get("messages"), list):
        return None
    found = _strongest(value["messages"])
    if found is not None and found.strength < MEDIUM and has(value, "keep_alive"):
        return Evidence(MEDIUM, "`keep_alive`")
    return found


def _strongest(messages: list[JSON]) -> Evidence | None:
    """The strongest evidence in a list; none where some calls are those of another format."""
    others = any(mapping(message).get("tool_calls") and recognise_message(message) is None for message in messages)
    return None if others else strongest(messages, recognise_message)


def fits(value: JSON) -> bool:
    """Whether a body may be a request, where its address says that it is one."""
    return isinstance(value, dict) and isinstance(value.get("messages"), list)


def recognise_message(value: JSON) -> Evidence | None:
    """Evidence that `value` is one message."""
    if not isinstance(value, dict) or text_or_none(value.get("role")) not in _ROLES or has(value, "parts", "type", "tool_plan"):
        return None
    if value["role"] == "tool" and isinstance(value.get("tool_name"), str):
        return Evidence(STRONG + 5, "`tool_name`")
    if sequence(value.get("tool_calls")):
        own = _are_own([mapping(call) for call in value["tool_calls"]])
        return Evidence(STRONG + 5, "calls without a type, with arguments as objects") if own else None
    if isinstance(value.get("content"), str) and isinstance(value.get("thinking"), str):
        return Evidence(MEDIUM, "`thinking` beside `content`")
    return Evidence(_chat.HINT, "messages") if isinstance(value.get("content"), str) else None


def _are_own(calls: list[dict[str, JSON]]) -> bool:
    """Calls as only this format has them: those of others have a type, or arguments as text."""
    functions = [mapping(call.get("function")) for call in calls]
    if not calls or any(has(call, "type") for call in calls) or not all(isinstance(one.get("arguments"), dict) for one in functions):
        return False
    return any("index" in one for one in functions) or not any(has(call, "id") for call in calls)


def is_response(value: JSON) -> bool:
    """A response, or a chunk of one, as against a request."""
    return (
        isinstance(value, dict) and isinstance(value.get("done"), bool) and isinstance(value.get("message"), dict) and has(value, "model")
    )


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
    trajectory.named = True
    yield trajectory


def read_messages(messages: list[Message]) -> Trajectory:
    """A conversation that was stored one message a record."""
    trajectory = _chat.log(NAME, messages, _turn)
    trajectory.named = True
    return trajectory


def _close(turn: Turn, value: dict[str, JSON]) -> None:
    turn.stop = text_or_none(value.get("done_reason"))
    turn.failed = turn.stop in _FAILED


def _turn(value: dict[str, JSON], place: Place, unknown: list[Unknown]) -> Turn:
    turn = _chat.begun(value, place, unknown, _ROLES)
    if turn.role == "tool":
        turn.parts = [_result(value, place)]
        return turn
    if isinstance(value.get("thinking"), str) and value["thinking"]:
        turn.parts.append(Other(place=place / "thinking", kind="reasoning"))
    turn.parts += _chat.spoken(value.get("content"), place / "content", unknown)
    turn.parts += [_call(mapping(call), place.down("tool_calls", at)) for at, call in enumerate(sequence(value.get("tool_calls")))]
    return turn


def _call(value: dict[str, JSON], place: Place) -> Call:
    function = mapping(value.get("function"))
    name = text_or_none(function.get("name"))
    return Call(
        place=place,
        id=_own(value.get("id"), name),
        raw_id=value.get("id"),
        name=name,
        args=function.get("arguments"),
        args_form="string" if isinstance(function.get("arguments"), str) else "object" if "arguments" in function else "none",
        args_key="function/arguments",
        name_key="function/name",
    )


def _result(value: dict[str, JSON], place: Place) -> Result:
    name = text_or_none(value.get("tool_name")) or text_or_none(value.get("name"))
    return Result(
        place=place,
        ref=_own(value.get("tool_call_id"), name),
        raw_ref=value.get("tool_call_id"),
        ref_key="tool_call_id",
        name=name,
        body=value.get("content"),
        kind="tool",
    )


def _own(value: JSON, name: str | None) -> str | None:
    """An id that tells calls apart: clients that need one use the name of the tool."""
    key = key_of(value)
    return None if key in (name, _NO_ID) else key


# ------------------------------------------------------------------------------------------------------------------- writing


def write(trajectory: Trajectory) -> JSON:
    """The trajectory as a request body. Raises CannotExpress for parts that only other formats have, and for what has no id."""
    body: dict[str, JSON] = {"model": trajectory.model or "qwen3"}
    if trajectory.tools is not None:
        body["tools"] = [{"type": "function", "function": {"name": t.name, "parameters": t.schema or {}}} for t in trajectory.tools]
    body["messages"] = [message for turn in trajectory.turns for message in _written(turn)]
    return body


def _written(turn: Turn) -> list[dict[str, JSON]]:
    if turn.empty_calls or turn.failed or turn.stop is not None:
        raise CannotExpress("a list of calls that is empty, a failed turn, or the reason a turn ended for")
    if turn.results:
        if set(turn.order) != {"r"}:
            raise CannotExpress("a message that holds a result and other parts")
        return [_written_result(result) for result in turn.results]
    if set(turn.order) - {"t", "c"} or turn.order.rstrip("c").count("c"):
        raise CannotExpress("parts in an order, or of a kind, that a message has not")
    message: dict[str, JSON] = {"role": turn.role, "content": "\n".join(part.text for part in turn.texts)}
    if turn.calls:
        message["tool_calls"] = [_written_call(call, index) for index, call in enumerate(turn.calls)]
    return [message]


def _written_call(call: Call, index: int) -> dict[str, JSON]:
    if call.id is None or not isinstance(call.args, dict):
        raise CannotExpress("a call without an id, or arguments that are no object")
    return {"id": call.id, "function": {"index": index, "name": call.name, "arguments": call.args}}


def _written_result(result: Result) -> dict[str, JSON]:
    if result.ref is None or result.flag is not None:
        raise CannotExpress("a result without an id, or with a mark of how it went")
    message = {"role": "tool", "tool_call_id": result.ref, "content": text_of(result.body)}
    return message if result.name is None else {**message, "tool_name": result.name}


def raw_messages(value: JSON, place: Place) -> Iterable[tuple[JSON, Place]]:
    """Every message of a value that `read` takes, as stored, with its place."""
    return [(value["message"], place / "message")] if is_response(value) else _chat.stored(value, place)
