"""Requests that repeat a history: what was audited in a record just before is recognised by its bytes, and not audited again.

The same bytes up to the end of an element of a list leave a JSON parser in the same state, so what follows is all that has to be read.
What is known of a record depends on the lines right before it and on nothing else.
"""

from __future__ import annotations

import sys
from collections import deque

import msgspec
from msgspec import Raw, Struct, field

from toolaudit.express import LONG, NotProved, Walk, conversation, finish, prove
from toolaudit.model import Trajectory, Turn
from toolaudit.regex import regex
from toolaudit.report import Entry, Tally
from toolaudit.sessions import BACK, REACH, Gist, Key, gist_of
from toolaudit.sources.scan import past_blank, past_value

SHORT = 4096
"""A record of no more bytes may hold less of messages than of what stands beside them."""

_KEYS = (b'"messages"', b'"input"')
_OPENING = regex(rb'"[a-z]++"\s*+:\s*+\[\s*+')


class Kept(Struct, gc=False):
    """A record that later ones may begin with."""

    number: int
    data: bytes
    start: int
    """Where the first element of its list begins."""
    end: int = -1
    """Where its list ends, at the bracket; -1 as long as nobody asked."""
    alone: bool = False
    """Surely no other list of messages stands beside its own."""
    walk: Walk | None = None
    """The proof of it, to be gone on with; None where there is none, or where it was gone on with."""
    turns: int = 0
    calls: int = 0
    marks: tuple[tuple[int, ...], ...] = ()
    """How many messages and calls that had proved, and what was in doubt."""
    goes_on: bool = False
    """Nothing of the record it repeats has to be judged again: what is told of it is what is new."""
    total: Tally | None = None
    """What was counted in it, with all that it repeats; None where it holds more than one conversation."""
    told: frozenset[tuple[object, ...]] = field(default=frozenset())
    """What was found in it,"""
    gists: frozenset[Gist] = field(default=frozenset())
    """and what of that stays the same from one request to the next."""
    asked: int = 0
    """How many turns its list has, where `answer` follows them."""
    answer: tuple[object, ...] = ()
    """What is stored beside the list as the answer it got: it goes on from the former only if that is its next message."""

    @property
    def key(self) -> Key:
        """What it is known by."""
        return self.number, 0

    def stop(self) -> int:
        """Where its last element ends."""
        if self.end < 0:
            self.end = _end(self.data, self.start)
        end = self.end
        while self.data[end - 1] in b" \t\r\n":
            end -= 1
        return end

    def go_on(self, former: Kept, new: Tally) -> None:
        """Note what came of a record of which only what is new was told."""
        if former.total is not None:
            self.total, self.told, self.gists = Tally(), former.told, former.gists
            self.total.add(former.total)
            self.total.add(new)

    def close(self, judged: list[Trajectory], total: Tally, found: list[Entry]) -> None:
        """Note what came of it; `judged` are the trajectories that were not merely proved."""
        if self.marks and (total.trajectories != 1 or any(trajectory.counted for trajectory in judged)):
            self.walk = None  # no excerpt would do, so neither will one of what goes on from it
        if total.trajectories == 1 and not any(trajectory.kind == "response" for trajectory in judged):
            self.total, self.told, self.gists = total, frozenset(map(_identity, found)), frozenset(map(gist_of, found))
            if judged and judged[0].sent_turns:
                self.asked = judged[0].sent_turns
                self.answer = tuple(map(_gist, judged[0].turns[self.asked :]))

    def repeated(self, later: Kept, judged: list[Trajectory]) -> Tally | None:
        """What a later record, whose messages go on from these, counts a second time; None when it holds something else as well."""
        if self.total is None or later.total is None:
            return None
        if self.answer:
            turns = judged[0].turns[self.asked :] if judged and judged[0].counted else []
            if tuple(map(_gist, turns[: len(self.answer)])) != self.answer:
                return None
        return self.total

    def told_of(self, found: list[Entry]) -> list[Entry]:
        """Those findings of a later record that are in this one as well."""
        return [entry for entry in found if _identity(entry) in self.told]


def _gist(turn: Turn) -> tuple[object, ...]:
    """What an answer and the message that it became have in common."""
    return tuple(call.id for call in turn.calls), "".join(text.text for text in turn.texts)


def _identity(entry: Entry) -> tuple[object, ...]:
    """What tells a finding from every other of its conversation."""
    return entry.rule, entry.turn, entry.call_id, entry.pointer, entry.inner, entry.message


class Snapshots:
    """The latest records of one source."""

    def __init__(self) -> None:
        self.kept: deque[Kept] = deque(maxlen=BACK)

    def prove(self, data: bytes, number: int) -> tuple[Walk | None, Kept | None, Kept | None]:
        """The proof of a record, what is kept of it, and the record that it goes on from. Each of them may be None."""
        start = first(data) if len(data) <= REACH else -1
        if start < 0:
            return prove(data), None, None
        kept = Kept(number, data, start)
        walk, former = None, None
        if (found := self._former(kept)) is not None:
            former, at = found
            rest = data[:start] + data[at + 1 :]
            kept.end = at + 1 + _end(rest, start) - start
            walk = _continued(rest, former)
            kept.goes_on = walk is not None and former.marks == _marks(walk) and walk.is_settled(former.turns)
        if walk is None:
            walk = prove(data)
        if walk is not None:
            kept.walk, kept.turns, kept.calls, kept.marks = walk, walk.index, len(walk.called), _marks(walk)
        self.kept.append(kept)
        while len(self.kept) > 1 and sum(len(one.data) for one in self.kept) > REACH:
            self.kept.popleft()
        return walk, kept, former

    def _former(self, kept: Kept) -> tuple[Kept, int] | None:
        """The latest record whose messages are those with which this one begins, and where the comma behind them stands in this one."""
        for former in reversed(self.kept):
            if former.number < kept.number - BACK:
                return None
            if _is_alike(former, kept):
                at = past_blank(kept.data, kept.start + former.stop() - former.start)
                if kept.data[at : at + 1] == b",":  # it goes on; the very same once more is a record of its own
                    former.alone = former.alone or _is_alone(former, former.end)
                    kept.alone = former.alone and _is_alone(kept, at)
                    return (former, at) if kept.alone else None
        return None


def _continued(rest: bytes, former: Kept) -> Walk | None:
    """Go on with the proof of the former record through the `rest` that is new; None when that does not work out."""
    walk, former.walk = former.walk, None
    if walk is None:
        return None
    try:
        tools, messages, items = conversation(rest)
        if tools != walk.tools or items != bool(walk.items):
            return None
        walk.all(messages, in_part=walk.index + len(messages) >= LONG)
    except NotProved:
        return None
    return walk if finish(walk) else None


def _marks(walk: Walk) -> tuple[tuple[int, ...], ...]:
    """What was in doubt when a proof came so far."""
    return tuple(map(tuple, walk.doubts))


def first(data: bytes, start: int = 0, end: int = sys.maxsize) -> int:
    """Where the first message or item of a record, or of a part of it, begins; -1 where there is no list of them."""
    if end - start > SHORT and (near := first(data, start, start + SHORT)) >= 0:
        return near  # a key that does not occur is looked for in all of a record only where the other is not near
    for key in _KEYS:
        at = data.find(key, start, end)
        while at >= 0:
            if (found := _OPENING.match(data, at, end)) is not None:
                return found.end()
            at = data.find(key, at + 1, end)
    return -1


def _is_alone(kept: Kept, behind: int) -> bool:
    """Whether no other list of messages stands before the list, or from `behind` on: else what is counted might be of that one."""
    return first(kept.data, 0, _bracket(kept.data, kept.start)) < 0 and first(kept.data, behind) < 0


class _Lists(Struct, gc=False):
    """The lists of a record, as they stand there."""

    messages: Raw = Raw(b"")
    input: Raw = Raw(b"")


_lists = msgspec.json.Decoder(_Lists).decode


def _end(data: bytes, start: int) -> int:
    """Where the list ends, at the bracket, whose first element begins at `start`."""
    at = _bracket(data, start)
    try:
        found = _lists(data)
    except (msgspec.MsgspecError, RecursionError):
        found = _Lists()
    for value in (found.messages, found.input):
        # A decoder is far quicker than to count brackets. What it says holds for this list if this is the one that it means.
        if len(value) > 1 and data.startswith(value, at):
            return at + len(value) - 1
    return past_value(data, at) - 1


def _bracket(data: bytes, start: int) -> int:
    """Where the list opens whose first element begins at `start`."""
    return data.rfind(b"[", 0, start)


def _is_alike(former: Kept, kept: Kept) -> bool:
    """The beginning of the former record's messages stands in this one, and of a long record half of it.

    Where its list ends may not be known yet, and takes longer to find than that two conversations begin in different ways. Where it is
    known, all is compared at once.
    """
    whole = len(former.data) - former.start
    enough = former.start + (16 if whole <= SHORT else whole // 2)
    if former.end < 0 and not _goes_on(kept, former, enough):
        return False
    stop = former.stop()
    return _goes_on(kept, former, stop) and (stop >= enough or _goes_on(kept, former, enough))


def _goes_on(kept: Kept, former: Kept, end: int) -> bool:
    """Whether what stands in the former record from its first element up to `end` stands in this one too; it is compared in place."""
    return kept.data.startswith(memoryview(former.data)[former.start : end], kept.start)
