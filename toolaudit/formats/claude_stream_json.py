"""Claude Code's `stream-json`, which its SDK yields too: one message a line as it comes, or all of them in an array.

A message of the model comes block by block under one `message.id`. `parent_tool_use_id` names the call that started a sub-agent: what it
says is a conversation of its own, told between the lines of the main one. Events of the stream and progress of tools repeat or
foretell what whole messages say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct, field

from toolaudit.formats import DECISIVE, Evidence
from toolaudit.formats._json import has, kind_of, number, sequence, text_or_none
from toolaudit.formats._pieces import joined
from toolaudit.formats.anthropic_messages import turn_of
from toolaudit.model import JSON, Other, Place, Trajectory, Turn, Unknown

NAME: Final = "claude-stream-json"
TITLE: Final = "Claude Code stream-json and Agent SDK messages"
TARGET: Final = "anthropic"

_SAYS: Final = frozenset({"user", "assistant"})
_OTHERS: Final = frozenset(
    {"system", "result", "stream_event", "tool_progress", "tool_use_summary", "auth_status", "control_request", "control_response"}
)


# --------------------------------------------------------------------------------------------------------------- recognising


def _is_named(value: JSON) -> bool:
    """A record that no other log has."""
    kind = kind_of(value)
    if kind == "system":
        return has(value, "session_id") and isinstance(value.get("subtype"), str)
    if kind == "stream_event":
        return has(value, "session_id") and isinstance(value.get("event"), dict)
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


class _Thread(Struct):
    """The main conversation, or that of a sub-agent."""

    pieces: list[Turn] = field(default_factory=list)
    uuids: list[str | None] = field(default_factory=list)
    """Of each piece, the name of its record."""
    unknown: list[Unknown] = field(default_factory=list)
    model: str | None = None

    def is_open(self) -> bool:
        """Whether a call waits for its result."""
        answered = {result.ref for piece in self.pieces for result in piece.results}
        return any(call.executor == "client" and call.id not in answered for piece in self.pieces for call in piece.calls)


class Log:
    """One or more runs being read."""

    def __init__(self) -> None:
        self._threads: dict[str, _Thread] = {}
        self._ended: list[tuple[str | None, str, _Thread, bool]] = []
        """What was said in former runs: id, name, thread, whether it goes on from one before it."""
        self._id: str | None = None
        self._resumed = False
        self._seen: set[str] = set()
        self._replaced: set[str] = set()
        """Records that a later one stands in the place of."""

    def take(self, value: JSON, place: Place) -> Iterable[Trajectory] | None:
        """Take a record. Sub-agents speak between the lines, so nothing is told before the end."""
        if not _is_record(value):
            return None
        kind = value["type"]
        if kind == "system" and value.get("subtype") == "init":
            self._init(text_or_none(value.get("session_id")))
        self._id = self._id or text_or_none(value.get("session_id"))
        if kind in _SAYS:
            self._message(value, place)
        elif kind == "system" and value.get("subtype") == "compact_boundary":
            self._add("", Turn(place=place, number=0, role="system", parts=[Other(place=place, kind="compaction")]), None)
        return ()

    def _init(self, session: str | None) -> None:
        """A run begins. A run tells so before each prompt; it is another one where its id is, or where the last one was killed."""
        if self._id is not None and (session != self._id or any(thread.is_open() for thread in self._threads.values())):
            self._ended += [(self._id, name, thread, self._resumed) for name, thread in self._threads.items()]
            self._resumed = session == self._id
            self._threads, self._id = {}, session

    def _message(self, value: dict[str, JSON], place: Place) -> None:
        uuid = text_or_none(value.get("uuid"))
        if uuid is not None:
            if uuid in self._seen:
                return  # told again to a client that came later
            self._seen.add(uuid)
        self._replaced.update(one for one in sequence(value.get("supersedes")) if isinstance(one, str))
        name, message = text_or_none(value.get("parent_tool_use_id")) or "", value["message"]
        thread = self._threads.setdefault(name, _Thread())
        turn = turn_of({"role": value["type"], **message}, place / "message", thread.unknown)
        turn.failed = value.get("aborted") is True
        thread.model = thread.model or text_or_none(message.get("model"))
        self._add(name, turn, uuid)

    def _add(self, name: str, turn: Turn, uuid: str | None) -> None:
        thread = self._threads.setdefault(name, _Thread())
        thread.pieces.append(turn)
        thread.uuids.append(uuid)

    def end(self) -> Iterator[Trajectory]:
        """The conversations, the main one first if it spoke first."""
        self._ended += [(self._id, name, thread, self._resumed) for name, thread in self._threads.items()]
        for session_id, name, thread, resumed in self._ended:
            turns = joined(piece for piece, uuid in zip(thread.pieces, thread.uuids, strict=True) if uuid not in self._replaced)
            if not turns:
                continue
            trajectory = Trajectory(
                place=turns[0].place, format=NAME, kind="log", carrier="user", id=name or session_id, model=thread.model
            )
            trajectory.turns, trajectory.unknown, trajectory.fragment = number(turns), thread.unknown, resumed
            trajectory.drops_failed = True
            yield trajectory

    def messages(self, trajectory: Trajectory) -> Iterable[tuple[JSON, Place]]:
        """None: records are not messages as a provider knows them."""
        del trajectory
        return ()
