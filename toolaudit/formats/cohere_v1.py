"""Cohere v1 chat: request bodies with `message`, `chat_history` and `tool_results`, and responses.

Nothing has an id. A call is `{name, parameters}` of a `CHATBOT` message or of the response; a result is `{call, outputs}` and repeats the
call it answers, in a `TOOL` message or in the body's own `tool_results`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from toolaudit.formats import DECISIVE, STRONG, Evidence, Message
from toolaudit.formats._json import has, indexed, mapping, number, sequence, strongest, text_or_none
from toolaudit.model import JSON, Call, Place, Result, Role, Text, Tool, Trajectory, Turn, Unknown
from toolaudit.text import quote

NAME: Final = "cohere-v1"
TITLE: Final = "Cohere v1 chat"
TARGET: Final = "cohere-v1"
ADDRESS: Final = r"^https?://api\.cohere\.(?:com|ai)/v1/chat\b"

_ROLES: Final[dict[str, Role]] = {"USER": "user", "CHATBOT": "assistant", "SYSTEM": "system", "TOOL": "tool"}


# --------------------------------------------------------------------------------------------------------------- recognising


def recognise(value: JSON) -> Evidence | None:
    """Evidence that `value` is a request body, a history, or a response."""
    if isinstance(value, list):
        return strongest(value, recognise_message)
    if not isinstance(value, dict) or has(value, "messages"):
        return None
    if is_response(value):
        return Evidence(DECISIVE, "a response with `generation_id`")
    history = value.get("chat_history")
    if isinstance(history, list) and all(recognise_message(message) for message in history):
        return Evidence(DECISIVE, "`chat_history`") if history or isinstance(value.get("message"), str) else None
    results = sequence(value.get("tool_results"))
    if not isinstance(value.get("message"), str):
        return None
    if results and all(map(_is_result, results)):
        return Evidence(DECISIVE, "`tool_results` that repeat their calls")
    return Evidence(DECISIVE, "`message` beside `preamble`") if has(value, "preamble", "connectors") else None


def recognise_message(value: JSON) -> Evidence | None:
    """Evidence that `value` is one message of a history."""
    if (
        not isinstance(value, dict)
        or str(value.get("role")).upper() not in _ROLES
        or not has(value, "message", "tool_results", "tool_calls")
    ):
        return None
    if has(value, "content", "parts") or not isinstance(value.get("message"), (str, type(None))):
        return None
    return Evidence(STRONG, "messages whose text is `message`")


def is_response(value: JSON) -> bool:
    """A response, as against a request."""
    return isinstance(value, dict) and isinstance(value.get("generation_id"), str) and has(value, "text", "tool_calls", "response_id")


def _is_result(value: JSON) -> bool:
    return isinstance(value, dict) and isinstance(value.get("call"), dict) and isinstance(value.get("outputs"), list)


# ------------------------------------------------------------------------------------------------------------------- reading


def read(value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
    """The trajectory of a request body, a history or a response; a response that tells its history is read with it."""
    if is_response(value) and not has(value, "chat_history"):
        trajectory = _begun(mapping(value), place, "response")
        trajectory.turns = number([_said(value, place)])
    else:
        trajectory = _begun(mapping(value), place, "log" if is_response(value) else "request")
        trajectory.turns = number(_turns(value, place, trajectory.unknown))
        if answer is not None:
            trajectory.sent, trajectory.sent_turns = True, len(trajectory.turns)
            trajectory.turns = number([*trajectory.turns, _said(mapping(answer[0]), answer[1])])
    yield trajectory


def read_messages(messages: list[Message]) -> Trajectory:
    """A conversation that was stored one message a record."""
    trajectory = _begun({}, Place(messages[0].place.record), "log")
    trajectory.turns = number(_turn(mapping(one.value), one.place, trajectory.unknown) for one in messages)
    trajectory.fragment = trajectory.turns[0].role in ("assistant", "tool")
    return trajectory


def _begun(body: dict[str, JSON], place: Place, kind: str) -> Trajectory:
    trajectory = Trajectory(place=place, format=NAME, kind="request", carrier="tool", named=True, model=text_or_none(body.get("model")))
    trajectory.kind = kind  # type: ignore[assignment]
    trajectory.id = text_or_none(body.get("conversation_id")) or text_or_none(body.get("generation_id"))
    if isinstance(body.get("tools"), list):
        names = [mapping(tool).get("name") for tool in body["tools"]]
        trajectory.tools = tuple(Tool(name=name) for name in names if isinstance(name, str))
    if has(body, "conversation_id") and kind == "request":
        trajectory.hidden = "the body goes on from a conversation that the provider keeps"
    return trajectory


def _turns(value: JSON, place: Place, unknown: list[Unknown]) -> Iterator[Turn]:
    """The history; then, of a request, what the user says now, or what the tools said."""
    body = mapping(value)
    base, history = (place / "chat_history", sequence(body.get("chat_history"))) if body else (place, sequence(value))
    for index, message in indexed(history):
        yield _turn(mapping(message), base / index, unknown)
    if is_response(value):
        return
    if isinstance(body.get("message"), str) and (body["message"] or not has(body, "tool_results")):
        yield Turn(place=place / "message", number=0, role="user", parts=[Text(place=place / "message", text=body["message"])])
    if has(body, "tool_results"):
        where = place / "tool_results"
        yield Turn(place=where, number=0, role="tool", parts=[*_results(body["tool_results"], where)])


def _turn(value: dict[str, JSON], place: Place, unknown: list[Unknown]) -> Turn:
    raw = text_or_none(value.get("role")) or ""
    turn = Turn(place=place, number=0, role=_ROLES.get(raw.upper(), "unknown"), raw_role=raw)
    if turn.role == "unknown":
        unknown.append(Unknown(place=place, what=f"a message with the role {quote(raw)}"))
    if isinstance(value.get("message"), str) and value["message"]:
        turn.parts.append(Text(place=place / "message", text=value["message"]))
    turn.parts += _calls(value, place)
    turn.parts += _results(value.get("tool_results"), place / "tool_results")
    return turn


def _said(value: dict[str, JSON], place: Place) -> Turn:
    """What the model answered."""
    turn = Turn(place=place, number=0, role="assistant")
    if isinstance(value.get("text"), str) and value["text"]:
        turn.parts.append(Text(place=place / "text", text=value["text"]))
    turn.parts += _calls(value, place)
    return turn


def _calls(value: dict[str, JSON], place: Place) -> Iterator[Call]:
    for index, call in enumerate(sequence(value.get("tool_calls"))):
        inner = mapping(call)
        yield Call(
            place=place.down("tool_calls", index),
            id=None,
            name=text_or_none(inner.get("name")),
            args=inner.get("parameters") if inner.get("parameters") is not None else {},
            args_key="parameters",
        )


def _results(results: JSON, place: Place) -> Iterator[Result]:
    for index, result in enumerate(sequence(results)):
        value = mapping(result)
        yield Result(
            place=place / index,
            ref=None,
            ref_key="call",
            name=text_or_none(mapping(value.get("call")).get("name")),
            body=value.get("outputs"),
            body_key="outputs",
            kind="tool_result",
        )


def raw_messages(value: JSON, place: Place) -> Iterable[tuple[JSON, Place]]:
    """Every message of a history, as stored, with its place."""
    base, history = (place, value) if isinstance(value, list) else (place / "chat_history", mapping(value).get("chat_history"))
    return [(message, base / index) for index, message in indexed(sequence(history))]
