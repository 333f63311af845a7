"""Claude Code's `stream-json`, which its SDK yields too: one message a line as it comes, or all of them in an array.

A message of the model comes block by block under one `message.id`. `parent_tool_use_id` names the call that started a sub-agent: what it
says is a conversation of its own, told between the lines of the main one. Events of the stream and progress of tools repeat or
foretell what whole messages say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct, field

from toolaudit.formats import DECISIVE, CannotExpress, Evidence, Message
from toolaudit.formats._json import has, kind_of, number, text_or_none
from toolaudit.formats._pieces import joined
from toolaudit.formats.anthropic_messages import turn_of
from toolaudit.model import JSON, Other, Place, Trajectory, Turn, Unknown

NAME: Final = "claude-stream-json"
TITLE: Final = "Claude Code stream-json and Agent SDK messages"
TARGET: Final = "anthropic"

_SAYS: Final = frozenset({"user", "assistant"})
_OTHERS: Final = frozenset({"system", "result", "stream_event", "tool_progress", "auth_status", "control_request", "control_response"})


# --------------------------------------------------------------------------------------------------------------- recognising


def _is_named(value: JSON) -> bool:
    """A record that no other log has."""
    kind = kind_of(value)
    if kind == "system":
        return value.get("subtype") == "init" and has(value, "session_id")
    if kind not in _SAYS or "parentUuid" in value:
        return False
    return "parent_tool_use_id" in value and isinstance(value.get("message"), dict)


def _is_record(value: JSON) -> bool:
    """A record, in a log that is known."""
    kind = kind_of(value)
    if kind in _SAYS:
        return isinstance(value.get("message"), dict) and "parentUuid" not in value
    return kind in _OTHERS or (kind is not None and has(value, "session_id") and "tool_" not in kind)


def recognise(value: JSON) -> Evidence | None:
    """Evidence that `value` is an array of all messages of a run."""
    if isinstance(value, list) and any(map(_is_named, value[:64])) and all(map(_is_record, value)):
        return Evidence(DECISIVE, "messages of a run, with `session_id` or `parent_tool_use_id`")
    return None


def recognise_message(value: JSON) -> Evidence | None:
    """None: a record is no message by itself; see `session`."""
    del value
    return None


def session(value: JSON) -> Log | None:
    """The log that a record which names itself belongs to."""
    return Log() if _is_named(value) else None


# ------------------------------------------------------------------------------------------------------------------- reading


def read(value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
    """The conversations of a run."""
    del answer
    log = Log()
    for index, record in enumerate(value):
        log.take(record, place / index)
    yield from log.end()


def read_messages(messages: list[Message]) -> Trajectory:
    """Never asked for: no message is recognised by itself."""
    raise NotImplementedError


def write(trajectory: Trajectory) -> JSON:
    """Raises CannotExpress: a log is written by the program alone."""
    del trajectory
    raise CannotExpress("a log that its program alone writes")


def raw_messages(value: JSON, place: Place) -> Iterable[tuple[JSON, Place]]:
    """None: records are not messages as a provider knows them."""
    del value, place
    return ()


class _Thread(Struct):
    """The main conversation, or that of a sub-agent."""

    pieces: list[Turn] = field(default_factory=list)
    unknown: list[Unknown] = field(default_factory=list)
    model: str | None = None


class Log:
    """A run being read."""

    def __init__(self) -> None:
        self._threads: dict[str, _Thread] = {}
        self._id: str | None = None

    def take(self, value: JSON, place: Place) -> Iterable[Trajectory] | None:
        """Take a record. Sub-agents speak between the lines, so nothing is told before the end."""
        if not _is_record(value):
            return None
        self._id = self._id or text_or_none(value.get("session_id"))
        kind = value["type"]
        if kind in _SAYS:
            thread = self._threads.setdefault(text_or_none(value.get("parent_tool_use_id")) or "", _Thread())
            message = value["message"]
            turn = turn_of({"role": kind, **message}, place / "message", thread.unknown)
            turn.failed = value.get("aborted") is True
            thread.model = thread.model or text_or_none(message.get("model"))
            thread.pieces.append(turn)
        elif kind == "system" and value.get("subtype") == "compact_boundary":
            thread = self._threads.setdefault("", _Thread())
            thread.pieces.append(Turn(place=place, number=0, role="system", parts=[Other(place=place, kind="compaction")]))
        return ()

    def end(self) -> Iterator[Trajectory]:
        """The conversations, the main one first if it spoke first."""
        for name, thread in self._threads.items():
            turns = joined(thread.pieces)
            trajectory = Trajectory(place=turns[0].place, format=NAME, kind="log", carrier="user", id=name or self._id, model=thread.model)
            trajectory.turns, trajectory.unknown = number(turns), thread.unknown
            yield trajectory

    def messages(self, trajectory: Trajectory) -> Iterable[tuple[JSON, Place]]:
        """None: records are not messages as a provider knows them."""
        del trajectory
        return ()
