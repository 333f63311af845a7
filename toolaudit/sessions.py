"""Requests of one conversation, linked: what stands in a later one is held against what was sent, and received, in the one before it.

Linked are the requests of one source: the exchanges of a cassette, of a HAR file, of a capture, and the lines of a proxy's log. Ids of
calls link them, or else a history that goes on from the whole of the former one, compared by meaning: the order of keys and the spelling
of JSON do not count. Only a bounded stretch is looked back over, so memory is bounded, and what is found does not depend on where a file
is cut for its readers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from msgspec import Struct, field

from toolaudit.identifiers import recurring
from toolaudit.model import Call, Cause, Place, Trajectory, Turn
from toolaudit.report import Entry
from toolaudit.rules._again import key_of_arguments

BACK: Final = 8
"""So many requests, or lines, are looked back: conversations that go on side by side take turns."""
REACH: Final = 8 << 20
"""So many bytes of them at most."""


Key: TypeAlias = tuple[int, int]
"""What a request is known by: its line, or 0 in a document, and its number there."""
Gist: TypeAlias = tuple[object, ...]
"""What tells a finding from the others of its request, and is the same in the next request that carries it."""


class Request(Struct):
    """One of the latest requests of a source."""

    key: Key
    size: int
    """Bytes of its line."""
    trajectory: Trajectory
    ids: frozenset[str]
    firm: bool
    """It was built for its own sake: no matter what stands before it, it would have been."""
    former: Request | None = None
    """The one before it in its conversation, where both are firm: what that one carries is told there."""
    found: frozenset[Gist] = field(default=frozenset())
    """What was found in it, told there or before."""


class Proved(Struct):
    """A line right before that was proved to be in order, so that nothing was built of it."""

    number: int
    data: bytes
    read: Callable[[], Trajectory | None]


class Sessions:
    """The latest requests of a source."""

    def __init__(self) -> None:
        self.latest: deque[Request] = deque()
        self._last: Key = (0, 0)

    def follow(
        self, trajectory: Trajectory, number: int = 0, size: int = 0, proved: Iterable[Proved] = (), *, firm: bool = True
    ) -> Request | None:
        """Note which of the latest requests a request goes on from; those that were `proved` are only read where a pair may be torn."""
        if trajectory.kind != "request" or trajectory.unknown:
            return None
        self._forget(number)
        self._last = number, self._last[1] + 1 if self._last[0] == number else 0
        request = Request(self._last, size, trajectory, ids_of(trajectory.turns), firm)
        before = self._before(request)
        nearer = _read(trajectory, proved, 0 if before is None else before.key[0])
        trajectory.former = nearer or (before.trajectory if before is not None else None)
        request.former = before if before is not None and firm and before.firm else None
        self._enter(request)
        return request

    def _before(self, request: Request) -> Request | None:
        trajectory = request.trajectory
        for other in reversed(self.latest):
            former = other.trajectory
            if former.format != trajectory.format or former.id != trajectory.id:
                continue
            if not request.ids.isdisjoint(other.ids) or goes_on(former, trajectory):
                return other
        return None

    def _forget(self, number: int) -> None:
        """Let go of the lines that are too far back."""
        while number and self.latest and self.latest[0].key[0] < number - BACK:
            self._drop()

    def _enter(self, request: Request) -> None:
        if len(self.latest) == BACK:
            self._drop()
        self.latest.append(request)
        while len(self.latest) > 1 and sum(one.size for one in self.latest) > REACH:
            self._drop()

    def _drop(self) -> None:
        request = self.latest.popleft()
        request.former = request.trajectory.former = None  # nobody asks any more, and the chain has an end


class Repeats(Struct):
    """Findings that go on from request to request: where each began, and which later ones carry it."""

    told: dict[Key, dict[Gist, Entry]] = field(default_factory=dict)
    carried: list[tuple[Key, Key, frozenset[Gist]]] = field(default_factory=list)
    """A request, the one it goes on from, and what it has of that one's."""

    def tell(self, key: Key, found: Iterable[Entry]) -> None:
        """Note the findings that are told of a request."""
        told = {gist_of(entry): entry for entry in found}
        if told:
            self.told.setdefault(key, {}).update(told)

    def carry(self, key: Key, former: Key, found: frozenset[Gist]) -> None:
        """Note what a request has of the findings of a former one."""
        if found:
            self.carried.append((key, former, found))

    def add(self, later: Repeats) -> None:
        """Take what stands behind."""
        self.told.update(later.told)
        self.carried += later.carried

    def moved(self, lines: int) -> Repeats:
        """The same, so many lines further down."""

        def down(key: Key) -> Key:
            return key[0] + lines, key[1]

        return Repeats({down(key): told for key, told in self.told.items()}, [(down(a), down(b), found) for a, b, found in self.carried])

    def count(self) -> None:
        """Enter into each finding how many requests have it."""
        for key, former, found in self.carried:
            began, here = self.told.get(former, {}), self.told.setdefault(key, {})
            for one in found & began.keys():
                began[one].repeats += 1
                here[one] = began[one]
        self.told, self.carried = {}, []


def gist_of(entry: Entry) -> Gist:
    """What a finding has in common with the same one in the next request, where turns may have other numbers."""
    return entry.rule, entry.severity, entry.call_id, entry.tool, entry.message, entry.turn if entry.call_id is None else None


def _read(trajectory: Trajectory, proved: Iterable[Proved], behind: int) -> Trajectory | None:
    """The latest of the lines `behind` another that were proved and hold the other half of a torn pair."""
    ids = torn(trajectory.turns)
    halves = [key.encode("utf-8", "surrogatepass") for key in ids]
    for line in proved if halves else ():
        if line.number > behind and any(half in line.data for half in halves):
            found = line.read()
            if found is not None and found.format == trajectory.format and not ids_of(found.turns).isdisjoint(ids):
                return found
    return None


def torn(turns: Iterable[Turn], most: int = 4) -> list[str]:
    """Some ids of which there is a call and no result, or a result and no call; not those that recur by design."""
    turns = list(turns)
    called = dict.fromkeys(call.id for turn in turns for call in turn.calls)
    answered = dict.fromkeys(result.ref for turn in turns for result in turn.results)
    halves = (key for key in [*called, *answered] if key is not None and (key in called) != (key in answered) and not recurring(key))
    return [key for key, _ in zip(halves, range(most), strict=False)]


def ids_of(turns: Iterable[Turn]) -> frozenset[str]:
    """The ids that calls have, and results name; not those that recur by design (`call_0`)."""
    found = {call.id for turn in turns for call in turn.calls} | {result.ref for turn in turns for result in turn.results}
    return frozenset(key for key in found if key is not None and not recurring(key))


def asked(trajectory: Trajectory) -> list[Turn]:
    """The turns that were sent."""
    return trajectory.turns[: trajectory.sent_turns or None]


def received(trajectory: Trajectory) -> list[Turn]:
    """The turns that came back; empty where they are not stored."""
    return trajectory.turns[trajectory.sent_turns :] if trajectory.sent_turns else []


class Doors:
    """By which door a pair broke, as far as the request before shows it."""

    def __init__(self, trajectory: Trajectory) -> None:
        former = trajectory.former if trajectory.hidden is None else None
        turns = asked(trajectory) if former is not None else []
        self.calls, self.results = halves(turns)
        self.called, self.answered = halves(former.turns if former is not None else [])
        came, _ = halves(received(former) if former is not None else [])
        self.torn = [key for key in self.called if key in self.answered and (key in self.calls) != (key in self.results)]
        """The ids of which both halves were sent before, and one is sent now."""
        self.unkept = frozenset(key for key in came if key in self.results and key not in self.calls)
        """The ids of calls that were received, and of which only the results are sent."""
        self.left = frozenset(came) if came and all(key in self.calls and key not in self.results for key in came) else frozenset()
        """The ids of the calls that were received, when all are sent back and none is answered."""

    def of(self, key: str | None) -> Cause | None:
        """The cause of what is wrong with the pair of an id; None where the request before does not show it."""
        if key in self.torn:
            return Cause("trimming", "medium")
        if key in self.unkept:
            return Cause("persistence", "medium")
        return Cause("interruption", "low") if key in self.left else None


def halves(turns: list[Turn]) -> tuple[dict[str, tuple[Place, int]], dict[str, tuple[Place, int]]]:
    """Where calls and results stand, and in which turn, by id; those of ids that recur by design are left out."""
    called = {c.id: (c.place, turn.number) for turn in turns for c in turn.calls if c.id is not None and not recurring(c.id)}
    answered = {r.ref: (r.place, turn.number) for turn in turns for r in turn.results if r.ref is not None and not recurring(r.ref)}
    return called, answered


def goes_on(former: Trajectory, later: Trajectory) -> bool:
    """Whether a request begins with all that the former one sent."""
    before, now = asked(former), asked(later)
    return 0 < len(before) < len(now) and all(gist(one) == gist(other) for one, other in zip(before, now, strict=False))


def gist(turn: Turn) -> tuple[object, ...]:
    """What a turn means."""
    text = "\n".join(part.text.strip() for part in turn.texts if part.text.strip())
    return turn.role, text, tuple(map(meaning, turn.calls)), len(turn.results)


def meaning(call: Call) -> tuple[str | None, bytes]:
    """What a call asks for."""
    return call.name, key_of_arguments(call)
