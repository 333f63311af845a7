"""What the formats share whose bodies hold a list `messages`, and whose results are messages of the role `tool`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from toolaudit.formats import Message
from toolaudit.formats._json import indexed, kind_of, mapping, number, sequence, text_or_none
from toolaudit.model import JSON, Other, Part, Place, Role, Text, Tool, Trajectory, Turn, Unknown
from toolaudit.text import quote

HINT: Final = 1
"""Plain messages may be of a format, and say nothing of it: only an address can decide for it."""

Reader: TypeAlias = Callable[[dict[str, JSON], Place, list[Unknown]], Turn]
"""What reads one message of a format."""


def stored(value: JSON, place: Place) -> list[tuple[JSON, Place]]:
    """The messages of a body, or of a list of them, each with its place."""
    base, messages = (place, value) if isinstance(value, list) else (place / "messages", mapping(value).get("messages"))
    return [(message, base / index) for index, message in indexed(sequence(messages))]


def conversation(name: str, value: JSON, place: Place, turn: Reader) -> Trajectory:
    """The trajectory of a body or a list."""
    body = mapping(value)
    trajectory = Trajectory(place=place, format=name, kind="request", carrier="tool", model=text_or_none(body.get("model")))
    trajectory.turns = number(turn(mapping(message), where, trajectory.unknown) for message, where in stored(value, place))
    trajectory.tools = functions(body.get("tools"))
    return trajectory


def answered(trajectory: Trajectory, message: JSON, place: Place, turn: Reader) -> None:
    """Put the message that came back behind the request."""
    trajectory.sent, trajectory.sent_turns = True, len(trajectory.turns)
    if isinstance(message, dict):
        trajectory.turns = number([*trajectory.turns, turn(message, place, trajectory.unknown)])


def response(name: str, value: dict[str, JSON], place: Place, turn: Reader) -> Trajectory:
    """The trajectory of a response that holds one message."""
    trajectory = Trajectory(place=place, format=name, kind="response", carrier="tool", model=text_or_none(value.get("model")))
    trajectory.id = text_or_none(value.get("id"))
    trajectory.turns = number([turn(mapping(value.get("message")), place / "message", trajectory.unknown)])
    return trajectory


def log(name: str, messages: list[Message], turn: Reader) -> Trajectory:
    """The trajectory of messages that were stored one a record."""
    trajectory = Trajectory(place=Place(messages[0].place.record), format=name, kind="log", carrier="tool")
    trajectory.turns = number(turn(mapping(one.value), one.place, trajectory.unknown) for one in messages)
    trajectory.fragment = trajectory.turns[0].role in ("assistant", "tool")
    return trajectory


def functions(tools: JSON) -> tuple[Tool, ...] | None:
    """The declared tools of a body; None when it declares none."""
    if not isinstance(tools, list):
        return None
    found = [mapping(mapping(tool).get("function")) for tool in tools]
    return tuple(Tool(name=one["name"], schema=one.get("parameters")) for one in found if isinstance(one.get("name"), str))


def begun(value: dict[str, JSON], place: Place, unknown: list[Unknown], roles: dict[str, Role]) -> Turn:
    """The turn of a message, without its parts."""
    raw = text_or_none(value.get("role")) or ""
    turn = Turn(place=place, number=0, role=roles.get(raw, "unknown"), raw_role=raw)
    if turn.role == "unknown":
        unknown.append(Unknown(place=place, what=f"a message with the role {quote(raw)}" if raw else "a message without a role"))
    return turn


def spoken(content: JSON, place: Place, unknown: list[Unknown]) -> Iterator[Part]:
    """The parts of a content: a text, or a list of typed parts."""
    if isinstance(content, str):
        if content:
            yield Text(place=place, text=content)
        return
    if content is not None and not isinstance(content, list):
        unknown.append(Unknown(place=place, what="content that is neither text nor a list of parts"))
    for index, part in enumerate(sequence(content)):
        text = part if isinstance(part, str) else text_or_none(mapping(part).get("text"))
        if text is not None:
            yield Text(place=place / index, text=text)
        else:
            yield Other(place=place / index, kind="reasoning" if kind_of(part) == "thinking" else kind_of(part) or "unknown")
