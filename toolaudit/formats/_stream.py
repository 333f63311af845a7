"""Streams: the events of a response become the response that they stood for, by the rules of its provider.

What one event says about a call is put together in a `Stream`, one kind for each provider; the response is then read like one that came
whole, but for its places: a call stands where its first event does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Protocol

from msgspec import Struct, field

from toolaudit import formats
from toolaudit.formats import DECISIVE, Evidence
from toolaudit.formats._frames import frames
from toolaudit.formats._json import sequence
from toolaudit.model import JSON, Call, Key, Place, StreamFault, Trajectory

OPEN: Final = 64
"""So many streams may be told at the same time, one event of this and one of that."""
LONGEST: Final = 1 << 22
"""Prose is kept up to so many characters: what rules look for in it stands at its ends."""


class Gathered(Struct):
    """A call, or another piece of a response, of which the parts come one by one."""

    place: Place
    id: str | None = None
    name: str | None = None
    pieces: list[str] = field(default_factory=list)
    whole: JSON = None
    """What it is, where it came in one piece or is told once more at its end."""
    ended: bool = False
    size: int = 0

    def add(self, piece: JSON) -> None:
        """Add a piece of its text."""
        if isinstance(piece, str) and piece and self.size < LONGEST:
            self.pieces.append(piece)
            self.size += len(piece)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class Stream:
    """One response being put together. A subclass knows the events of one provider."""

    def __init__(self) -> None:
        self.first: Place | None = None
        self.last = Place(0)
        self.ended = False
        """The event was seen by which a response says that it is complete."""
        self.failed = False
        self.faults: list[StreamFault] = []

    def take(self, event: dict[str, JSON], place: Place) -> None:
        """Take the next event."""
        self.first, self.last = self.first or place, place
        self.event(event, place)

    def event(self, event: dict[str, JSON], place: Place) -> None:
        """What an event adds."""
        raise NotImplementedError

    def response(self) -> tuple[JSON, dict[tuple[Key, ...], Place]]:
        """The response, and where the parts of it that stand at these keys came from."""
        raise NotImplementedError

    def collision(self, place: Place, call: Gathered) -> None:
        """A call came under an index that another one has."""
        self.faults.append(StreamFault("index-collision", place, call.id, call.name))

    def indexless(self, place: Place, call: Gathered) -> None:
        """A call came without an index; once a call."""
        self.faults.append(StreamFault("missing-index", place, call.id, call.name))


class Kind(Protocol):
    """What a format of a stream says of its events."""

    NAME: str
    OF: str
    """The format that reads its responses."""
    make: Callable[[], Stream]

    def is_event(self, value: dict[str, JSON]) -> bool:
        """Whether a value is an event of this kind, in a log that is known."""

    def key(self, event: dict[str, JSON]) -> str | None:
        """The stream that an event belongs to; None where events do not say."""

    def begins(self, event: dict[str, JSON], ended: bool) -> bool:
        """Whether an event begins another stream, behind one that has `ended` or has not."""


class Log:
    """Events being read in turn, of one stream or of several."""

    def __init__(self, kind: Any) -> None:
        self._kind: Kind = kind
        self._streams: dict[str | None, Stream] = {}

    def take(self, value: JSON, place: Place) -> Iterable[Trajectory] | None:
        """Take an event: one that begins a stream tells the one before it."""
        found = list(frames(value, place, self._kind.is_event))
        if not found:
            return None
        told: list[Trajectory] = []
        for frame in found:
            key = self._kind.key(frame.value)
            stream = self._streams.get(key)
            if stream is not None and self._kind.begins(frame.value, stream.ended):
                told += self._told(self._streams.pop(key))
                stream = None
            if stream is None:
                if len(self._streams) >= OPEN:
                    told += self._told(self._streams.pop(next(iter(self._streams))))
                stream = self._streams[key] = self._kind.make()
            stream.take(frame.value, frame.place)
        return told

    def end(self) -> Iterator[Trajectory]:
        """The streams that are left."""
        streams, self._streams = list(self._streams.values()), {}
        for stream in streams:
            yield from self._told(stream)

    def messages(self, trajectory: Trajectory) -> Iterable[tuple[JSON, Place]]:
        """None: events are not messages as a provider knows them."""
        del trajectory
        return ()

    def _told(self, stream: Stream) -> Iterator[Trajectory]:
        value, places = stream.response()
        origin = stream.first or Place(0)
        if not stream.ended and not stream.failed:
            stream.faults.append(StreamFault("unfinished-stream", stream.last))
        faults = stream.faults
        for trajectory in formats.format(self._kind.OF).read(value, Place(origin.record)):
            trajectory.format, trajectory.kind, trajectory.place = self._kind.NAME, "response", origin
            trajectory.streamed, trajectory.faults, faults = True, faults, []
            for turn in trajectory.turns:
                turn.place = origin
                turn.failed = turn.failed or stream.failed
                for call in turn.calls if not stream.ended else ():
                    call.state = "partial" if _is_cut(call) else call.state
                for part in turn.parts:
                    part.place = _found(part.place.path, places) or origin
            yield trajectory


def _is_cut(call: Call) -> bool:
    """Whether the arguments of a call are no JSON; where a stream broke off, that is why."""
    if not isinstance(call.args, str):
        return False
    import orjson

    try:
        orjson.loads(call.args)
    except orjson.JSONDecodeError:
        return True
    return False


def _found(path: tuple[Key, ...], places: dict[tuple[Key, ...], Place]) -> Place | None:
    """Where a part of a response came from: that of the nearest value around it of which it is known."""
    for end in range(len(path), 0, -1):
        if (place := places.get(path[:end])) is not None:
            return place
    return None


# What the files of streams have in common: each is a format that is recognised by its events.


def functions(
    name: str, telling: Callable[[dict[str, JSON]], bool], reason: str
) -> tuple[
    Callable[[JSON], Evidence | None],
    Callable[[JSON], bool],
    Callable[[JSON], Log | None],
    Callable[..., Iterator[Trajectory]],
]:
    """The functions `recognise`, `fits`, `session` and `read` of the format in the module `name`.

    `telling`: whether an event proves what it is one of; `reason`: what the evidence is called.
    """
    kind: Any = sys.modules[name]

    def recognise(value: JSON) -> Evidence | None:
        """Evidence that `value` is a list of events: all of them are, and one proves it."""
        return Evidence(DECISIVE, reason) if fits(value) and any(_holds(one, telling) for one in value) else None

    def fits(value: JSON) -> bool:
        """Whether all of a list are events, where it is known to be a stream."""
        return isinstance(value, list) and bool(value) and all(_holds(one, kind.is_event) for one in value)

    def session(value: JSON) -> Log | None:
        """The log that an event which names itself belongs to."""
        return Log(kind) if _holds(value, telling) else None

    def read(value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
        """The responses in a list of events."""
        del answer
        log = Log(kind)
        for index, event in enumerate(sequence(value)):
            yield from log.take(event, place / index) or ()
        yield from log.end()

    return recognise, fits, session, read


def _holds(value: JSON, is_event: Callable[[dict[str, JSON]], bool]) -> bool:
    """Whether a record is an event, or the frame of one."""
    return any(True for _ in frames(value, Place(0), is_event))


def is_response(value: JSON) -> bool:
    """Always: a stream is what came back."""
    del value
    return True
