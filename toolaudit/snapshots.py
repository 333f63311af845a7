"""Requests that repeat a history: what was audited in a record just before is recognised by its bytes, and not audited again.

The same bytes up to the end of an element of a list leave a JSON parser in the same state, so what follows is all that has to be read.
What is known of a record depends on the lines right before it and on nothing else.
"""

from __future__ import annotations

from collections import deque

from msgspec import Struct, field

from toolaudit.express import NotProved, Walk, conversation, finish, prove
from toolaudit.regex import regex
from toolaudit.report import Tally
from toolaudit.sources.scan import past_blank, past_value

LINES = 8
"""So many lines are looked back: conversations that go on side by side take turns."""
LONGEST = 8 << 20
"""A longer record is not kept for comparison."""

_LIST = regex(rb'"(?:messages|input)"\s*+:\s*+\[\s*+')


class Kept(Struct, gc=False):
    """A record that later ones may begin with."""

    number: int
    data: bytes
    start: int
    """Where the first element of its list begins."""
    end: int = -1
    """Where its list ends, at the bracket; -1 as long as nobody asked."""
    walk: Walk | None = None
    """The proof of it, to be gone on with; None where there is none, or where it was gone on with."""
    tools: bytes = b""
    total: Tally | None = None
    """What was counted in it, with all that it repeats."""
    told: frozenset[tuple[object, ...]] = field(default=frozenset())
    """What was found in it."""

    def stop(self) -> int:
        """Where its last element ends."""
        if self.end < 0:
            self.end = past_value(self.data, _bracket(self.data, self.start)) - 1
        return len(self.data[self.start : self.end].rstrip()) + self.start


class Snapshots:
    """The latest records of one source."""

    def __init__(self) -> None:
        self.kept: deque[Kept] = deque(maxlen=LINES)

    def prove(self, data: bytes, number: int) -> tuple[Walk | None, Kept | None, Kept | None]:
        """The proof of a record, what is kept of it, and the record that it goes on from. Each of them may be None."""
        found = _LIST.search(data) if len(data) <= LONGEST else None
        if found is None:
            return prove(data), None, None
        kept = Kept(number, data, found.end())
        former = self._former(kept)
        walk = self._continued(kept, former) if former is not None and former.walk is not None else None
        if walk is None:
            walk = prove(data)
        if walk is not None and not walk.doubts:
            kept.walk, kept.tools = walk, walk.tools
        self.kept.append(kept)
        return walk, kept, former

    def _former(self, kept: Kept) -> Kept | None:
        """The latest record whose messages are those with which this one begins."""
        for former in reversed(self.kept):
            if former.number < kept.number - LINES:
                return None
            if _is_alike(former, kept) and kept.data.startswith(former.data[former.start : former.stop()], kept.start):
                at = past_blank(kept.data, kept.start + former.stop() - former.start)
                if kept.data[at : at + 1] == b",":  # it goes on; the very same once more is a record of its own
                    return former
        return None

    def _continued(self, kept: Kept, former: Kept) -> Walk | None:
        """Go on with the proof of the former record; None when that does not work out."""
        data = kept.data
        at = past_blank(data, kept.start + former.stop() - former.start)
        rest = data[: kept.start] + data[at + 1 :]
        try:
            tools, messages, items = conversation(rest)
            walk, former.walk = former.walk, None
            if walk is None or tools != former.tools or items != bool(walk.items):
                return None
            walk.all(messages, in_part=False)
        except NotProved:
            return None
        kept.end = at + 1 + past_value(rest, _bracket(rest, kept.start)) - 1 - kept.start
        return walk if finish(walk) else None


def _bracket(data: bytes, start: int) -> int:
    """Where the list opens whose first element begins at `start`."""
    return data.rfind(b"[", 0, start)


def _is_alike(former: Kept, kept: Kept) -> bool:
    """Half of the former record stands in this one; differences show early, as a rule."""
    half = (len(former.data) - former.start) // 2
    for size in (min(64, half), min(4096, half), half):
        if not kept.data.startswith(former.data[former.start : former.start + size], kept.start):
            return False
    return True
