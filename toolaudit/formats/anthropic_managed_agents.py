"""Anthropic Managed Agents: the events of a session, one a line, as a list, or as pages of the endpoint that lists them.

A call is an event, and what links its result to it is that event's id, under a key of its own for each kind. What the service runs, it
answers itself; the session waits for the rest (`session.status_idle` with `requires_action` names what it waits for). A confirmation is
no result, and a call that was denied gets none. An event that a stream and a list both brought is one event.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct, field

from toolaudit.formats import DECISIVE, Evidence
from toolaudit.formats._frames import Frame, frames
from toolaudit.formats._json import has, key_of, kind_of, mapping, number, sequence, text_or_none
from toolaudit.model import JSON, Call, Other, Part, Place, Result, Role, Text, Trajectory, Turn

NAME: Final = "anthropic-managed-agents"
TITLE: Final = "Anthropic Managed Agents events"
TARGET: Final = "anthropic-managed-agents"

_CALLS: Final = frozenset({"agent.tool_use", "agent.custom_tool_use", "agent.mcp_tool_use"})
_RESULTS: Final = {
    "agent.tool_result": "tool_use_id",
    "user.tool_result": "tool_use_id",
    "user.custom_tool_result": "custom_tool_use_id",
    "agent.mcp_tool_result": "mcp_tool_use_id",
}
"""Kinds of results, and by which key they name their call."""
_SPEAKERS: Final[dict[str, Role]] = {"user.message": "user", "agent.message": "assistant", "system.message": "system"}
_FAMILIES: Final = ("agent.", "user.", "session.", "span.", "system.", "workflow_run.")
_PREVIEWS: Final = ("event_start", "event_delta")


# --------------------------------------------------------------------------------------------------------------- recognising


def _is_event(value: dict[str, JSON]) -> bool:
    """Whether a value is an event of a session: other programs have some of the names, but not these fields."""
    kind = value.get("type")
    if not isinstance(kind, str):
        return False
    if kind in _PREVIEWS:
        return has(value, "event", "event_id")
    if not kind.startswith(_FAMILIES) or "data" in value or "event_id" in value:
        return False
    return "processed_at" in value or _is_sent(value, kind)


def _is_sent(value: dict[str, JSON], kind: str) -> bool:
    """An event as a client sends it: without an id or a time."""
    if kind in _RESULTS:
        return isinstance(value.get(_RESULTS[kind]), str)
    if kind == "user.tool_confirmation":
        return isinstance(value.get("tool_use_id"), str)
    return kind == "user.interrupt" or (kind == "user.message" and isinstance(value.get("content"), list))


def _is_telling(value: dict[str, JSON]) -> bool:
    """Whether an event proves what it is one of."""
    return (_is_event(value) and value["type"] not in (*_PREVIEWS, "user.interrupt", "user.message")) or _is_timed(value)


def _is_timed(value: dict[str, JSON]) -> bool:
    return "processed_at" in value and isinstance(value.get("id"), str) and _is_event(value)


def recognise(value: JSON) -> Evidence | None:
    """Evidence that `value` is a list of events, or a page or a request that holds one."""
    events = value if isinstance(value, list) else _listed(value)
    if not events:
        return None
    telling = False
    for record in events:
        own = list(frames(record, Place(0), _is_event))
        if not own:
            return None
        telling = telling or any(_is_telling(frame.value) for frame in own)
    return Evidence(DECISIVE, "events of Managed Agents") if telling else None


def _listed(value: JSON) -> list[JSON]:
    found = mapping(value)
    return sequence(found.get("data")) or sequence(found.get("events"))


def session(value: JSON) -> Log | None:
    """The log that an event which names itself belongs to."""
    return Log() if any(True for _ in frames(value, Place(0), _is_telling)) else None


# ------------------------------------------------------------------------------------------------------------------- reading


def read(value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
    """The sessions in a list of events."""
    del answer
    log = Log()
    key = None if isinstance(value, list) else "data" if sequence(mapping(value).get("data")) else "events"
    events = value if key is None else value[key]
    placed = [(record, (place if key is None else place / key) / index) for index, record in enumerate(events)]
    for record, where in reversed(placed) if _is_newest_first(events) else placed:
        log.take(record, where)
    for trajectory in log.end():
        if has(mapping(value), "next_page", "first_id") or key == "events":
            trajectory.hidden = trajectory.hidden or "there are other events of the session"
        yield trajectory


def _is_newest_first(events: list[JSON]) -> bool:
    """Lists can be asked for in either order."""
    times = [time for event in events if isinstance(time := mapping(event).get("processed_at"), str)]
    return sum(itertools.starmap(_step, itertools.pairwise(times))) > 0


def _step(before: str, after: str) -> int:
    """1 where time goes back from one event to the next, -1 where it goes on."""
    return (after < before) - (before < after)


class _Call(Struct):
    """A call, and what became of it."""

    call: Call
    owed: bool = False
    """The session said that it waits for the result."""
    excused: bool = False
    """It was denied, interrupted, or made by another thread, which has the result."""
    answered: bool = False


class _Session(Struct):
    """What is known of one session."""

    lane: str | None
    turns: list[Turn] = field(default_factory=list)
    calls: dict[str, _Call] = field(default_factory=dict)
    open: list[_Call] = field(default_factory=list)
    """Calls without a result so far."""
    seen: set[str] = field(default_factory=set)
    """Ids of events."""
    sent: list[tuple[str, str, JSON]] = field(default_factory=list)
    """Results that the client sent and the service has not echoed so far: kind, call, content."""
    time: str = ""
    """The time of the latest event taken."""
    falls: int = 0
    """How many more events are older than the one before than are newer."""


class Log:
    """Events being read in turn."""

    def __init__(self) -> None:
        self._sessions: dict[str | None, _Session] = {}

    def take(self, value: JSON, place: Place) -> Iterable[Trajectory] | None:
        """Take an event. Nothing is told before the end: events may stand newest first."""
        if _is_preview(value):
            return ()
        found = list(frames(value, place, _is_event))
        if not found:
            return None
        for frame in found:
            self._event(frame)
        return ()

    def end(self) -> Iterable[Trajectory]:
        """The sessions."""
        left, self._sessions = list(self._sessions.values()), {}
        return [_told(one) for one in left if one.turns]

    def messages(self, trajectory: Trajectory) -> Iterable[tuple[JSON, Place]]:
        """None: see `raw_messages`."""
        del trajectory
        return ()

    def _event(self, frame: Frame) -> None:
        session, event = self._sessions.setdefault(frame.lane, _Session(frame.lane)), frame.value
        key, kind = key_of(event.get("id")), str(event["type"])
        if key is not None:
            if key in session.seen:
                return
            session.seen.add(key)
        if isinstance(event.get("processed_at"), str):
            time = event["processed_at"]
            session.falls += _step(session.time or time, time)
            session.time = time
        if kind in _CALLS:
            _called(session, frame, key)
        elif kind in _RESULTS:
            _answered(session, frame, kind)
        elif kind in _SPEAKERS:
            parts = list(_content(event.get("content"), frame.place / "content"))
            session.turns.append(Turn(place=frame.place, number=0, role=_SPEAKERS[kind], raw_role=kind, key=key, parts=parts))
        elif kind == "agent.thread_context_compacted":
            part = Other(place=frame.place, kind="compaction")
            session.turns.append(Turn(place=frame.place, number=0, role="system", parts=[part]))
        else:
            _state(session, kind, event)


def _is_preview(value: JSON) -> bool:
    """A piece of an event that is still being made: the whole of it follows."""
    return isinstance(value, dict) and value.get("type") in _PREVIEWS and _is_event(value)


# -------------------------------------------------------------------------------------------------------------------- events


def _called(session: _Session, frame: Frame, key: str | None) -> None:
    event, kind = frame.value, str(frame.value["type"])
    call = Call(
        place=frame.place,
        id=key,
        raw_id=event.get("id"),
        name=text_or_none(event.get("name")),
        args=event.get("input"),
        args_form="object" if "input" in event else "none",
        expects="later",
        kind=kind,
        group=text_or_none(event.get("mcp_server_name")),
    )
    made = _Call(call, excused=event.get("evaluated_permission") == "deny" or has(event, "session_thread_id"))
    session.turns.append(Turn(place=frame.place, number=0, role="assistant", raw_role=kind, parts=[call]))
    session.open.append(made)
    if key is not None:
        session.calls[key] = made


def _answered(session: _Session, frame: Frame, kind: str) -> None:
    event, ref_key = frame.value, _RESULTS[kind]
    ref = key_of(event.get(ref_key))
    call = session.calls.get(ref or "")
    if call is None and has(event, "session_thread_id"):
        return  # it was routed to another thread, where its call is
    if _is_echo(session, event, (kind, ref or "", event.get("content"))):
        return
    if call is not None:
        call.answered = True
        session.open = [one for one in session.open if one is not call]
    part = Result(
        place=frame.place,
        ref=ref,
        raw_ref=event.get(ref_key),
        ref_key=ref_key,
        flag="error" if event.get("is_error") is True else None,
        body=event.get("content"),
        kind=kind,
    )
    session.turns.append(Turn(place=frame.place, number=0, role="tool", raw_role=kind, parts=[part]))


def _is_echo(session: _Session, event: dict[str, JSON], result: tuple[str, str, JSON]) -> bool:
    """Whether an event is what the service made of one that the client sent, and that stands before it."""
    if key_of(event.get("id")) is None:
        session.sent.append(result)
        return False
    if result in session.sent:
        session.sent.remove(result)
        return True
    return False


def _state(session: _Session, kind: str, event: dict[str, JSON]) -> None:
    """Take what is said of the session, as far as it says what becomes of open calls."""
    if kind == "user.tool_confirmation" and event.get("result") != "allow":
        denied = session.calls.get(key_of(event.get("tool_use_id")) or "")
        if denied is not None:
            denied.excused = True
    elif kind in ("user.interrupt", "session.status_terminated", "session.deleted", "session.error", "session.status_rescheduled"):
        for call in session.open:
            call.excused = True
        session.open = []
    elif kind == "session.status_idle":
        _idle(session, mapping(event.get("stop_reason")))


def _idle(session: _Session, reason: dict[str, JSON]) -> None:
    """The session waits for results, or its turn has ended: then one that it waited for must have come."""
    if reason.get("type") == "requires_action":
        for key in sequence(reason.get("event_ids")):
            if isinstance(key, str) and key in session.calls:
                session.calls[key].owed = True
    elif reason.get("type") == "end_turn":
        for one in session.open:
            if one.owed and not one.excused and one.call.kind == "agent.custom_tool_use":
                one.call.expects = "one"


def _told(session: _Session) -> Trajectory:
    for one in session.calls.values():
        if one.excused and not one.answered:
            one.call.state = "cancelled"
    turns = session.turns[::-1] if session.falls > 0 else session.turns
    trajectory = Trajectory(place=turns[0].place, format=NAME, kind="log", unit="item", id=session.lane, turns=number(turns))
    if turns[0].role != "user":
        trajectory.hidden = "the record begins within a session"
    return trajectory


def _content(content: JSON, place: Place) -> Iterator[Part]:
    for index, part in enumerate(sequence(content)):
        text = mapping(part).get("text")
        if isinstance(text, str):
            yield Text(place=place / index, text=text)
        else:
            yield Other(place=place / index, kind=kind_of(part) or "unknown")
