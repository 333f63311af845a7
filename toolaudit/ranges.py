"""A long file of JSON Lines, audited in ranges of bytes beside one another: where it may be cut, what comes of one range, and how those
join to what the whole would have given.

A range begins and ends where lines do. Most of what stands in one depends on nothing before it; the rest is this: requests may repeat
those on the eight lines before, which are read again; conversations stored a message a line may begin earlier, and are joined, as are
responses, which may belong to them. Only session logs, of which every line may depend on any other, are read as a whole after all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct, field

from toolaudit.errors import InputError
from toolaudit.model import Place, Unknown
from toolaudit.reading import Group, Reading
from toolaudit.report import Entry, Input, RelatedPlace, Status
from toolaudit.sources import Archive, Source, Unusable, opened
from toolaudit.sources.records import Between, divisible

if TYPE_CHECKING:
    from toolaudit.engine import Audit, Outcome, Spot
    from toolaudit.engines import Lost
    from toolaudit.threads import Thread
    from toolaudit.work import Unit

LONG = 32 << 20
"""Where one of the first two lines is longer, a file is not cut."""
BACK = 1 << 20
"""So many bytes are read at a time to look back."""
_CHANGED = "it changed while it was being read"


class Range(Struct, frozen=True):
    """A part of a file, in bytes."""

    start: int
    end: int
    first: int
    """Where the first line of the file begins that is not blank."""
    blank: int = 0
    """How many lines stand before that one."""
    last: bool = False
    """No record follows."""


class Part(Struct):
    """What came of a range. Lines are counted from its beginning, or from that of the lines before it that were looked back at."""

    outcome: Outcome
    apart: Outcome
    """What comes of responses that were held back, where they turn out to be no messages of a log."""
    lines: int
    """How many it has."""
    before: int
    """How many were looked back at."""
    records: int
    understood: int
    trajectories: int
    bad: list[Unknown] = field(default_factory=list)
    salvaged: set[str] = field(default_factory=set)
    elsewhere: str | None = None
    session: bool = False
    """It holds lines of a session log."""
    threads: list[Thread] = field(default_factory=list)
    held: list[tuple[int, int, int]] = field(default_factory=list)
    """Number, offset and length of the records of those responses, one for each."""


# -------------------------------------------------------------------------------------------------------------- where to cut


def divided(source: Source, size: int, span: int, max_record: int) -> Iterator[Range] | None:
    """The ranges of a file of `size` bytes, each of `span` bytes or a line more; None when it is short, packed, or no JSON Lines."""
    if size < 2 * span or source.file is None:
        return None
    try:
        stream = opened(source)
    except InputError:
        return None  # whoever reads it will say so
    if isinstance(stream, (Archive, Unusable)):
        return None
    try:
        first = divisible(stream, min(max_record, LONG))
        end = _end(stream, size) if first is not None else 0
    except OSError:
        first, end = None, 0
    if first is None or end - first[0] < 2 * span:
        stream.close()
        return None
    return _cut(stream, Range(first[0], end, first[0], first[1]), span)


def _end(stream: BinaryIO, size: int) -> int:
    """Where the text ends, but for blank space; 0 when there is a lot of that."""
    at = max(0, size - BACK)
    stream.seek(at)
    tail = stream.read(size - at).rstrip()
    return at + len(tail) if tail else 0


def _cut(stream: BinaryIO, whole: Range, span: int) -> Iterator[Range]:
    """Ranges one after another; the next is looked for when the last is taken."""
    start = whole.start
    with stream:
        while start < whole.end:
            end = _line(stream, start + span)
            last = end >= whole.end
            yield Range(start, end, whole.first, whole.blank, last)
            start = end


def _line(stream: BinaryIO, at: int) -> int:
    """Where a line begins at `at` or behind it."""
    stream.seek(at - 1)
    while (piece := stream.readline(BACK)) and not piece.endswith(b"\n"):
        at += len(piece)
    return at - 1 + len(piece)


# --------------------------------------------------------------------------------------------------------------- in a worker


def part_of(audit: Audit, source: Source, span: Range) -> Part:
    """Read a range, and judge what can be judged of it alone."""
    from toolaudit.engine import Outcome

    given = Input(path=source.path, named=source.named)
    stream = opened(source, until=span.end)
    if isinstance(stream, (Archive, Unusable)):
        given.status, given.reason = "failed", stream.reason if isinstance(stream, Unusable) else _CHANGED
        return Part(Outcome(given=given), Outcome(given=given), 0, 0, 0, 0, 0)
    with stream:
        reading = audit.reading(given, quick=audit.quick)
        outcome, apart = Outcome(given=given), Outcome(given=Input(path=source.path))
        before = _follow(audit, reading, stream, span) if span.start > span.first else 0
        lines = Between(stream, span.start, span.end, audit.options.max_record, before)
        try:
            audit.take(reading.part(lines, last=span.last), outcome)
            held = [(record.number, record.offset, len(record.data)) for _, record in reading.held if record is not None]
            if span.start > span.first:
                audit.take((Group(reading.whole(one, record)) for one, record in reading.held), apart)
        finally:
            reading.close()
    threads = list(reading.threads) if reading.has_threads else []
    for thread in threads:
        thread.sleep()
    return Part(
        outcome,
        apart,
        lines.count,
        before,
        reading.records,
        reading.understood,
        reading.trajectories,
        reading.bad,
        reading.salvaged,
        reading.elsewhere,
        reading.session is not None,
        threads,
        held,
    )


def _follow(audit: Audit, reading: Reading, stream: BinaryIO, span: Range) -> int:
    """Let a reading know that it does not begin with the file; how many lines before it were looked back at."""
    if audit.quick:
        from toolaudit.threads import Threads

        reading.threads = Threads(later=True)
    start = _before(stream, span)
    known = audit.reading(Input(path=reading.given.path), quick=audit.quick)
    lines = Between(stream, start, span.start, audit.options.max_record)
    from toolaudit.engine import Outcome

    audit.take(known.part(lines, last=False), Outcome(given=known.given))  # what is found in them is told elsewhere
    known.close()
    for name in ("snapshots", "sessions"):
        if name in known.__dict__:
            setattr(reading, name, known.__dict__[name])
    return lines.count


def _before(stream: BinaryIO, span: Range) -> int:
    """Where the lines before a range begin that its first ones may repeat, or go on from."""
    from toolaudit.sessions import BACK as LINES  # the file's own is a number of bytes
    from toolaudit.sessions import REACH

    at, text = span.start, b""
    while at > span.first and span.start - at < 2 * REACH and text.count(b"\n") <= LINES:
        step = min(BACK, at - span.first)
        at -= step
        stream.seek(at)
        text = stream.read(step) + text
    lines = text.splitlines(keepends=True)
    if at > span.first:
        lines = lines[1:]  # its beginning was not read
    return span.start - sum(map(len, lines[-LINES:]))


# ------------------------------------------------------------------------------------------------------------------- joining


class Joining:
    """One file of which the ranges come in their order."""

    def __init__(self, audit: Audit, source: Source) -> None:
        from toolaudit.engine import Outcome

        self.audit = audit
        self.source = source
        self.given = Input(path=source.path, named=source.named)
        self.reading = audit.reading(self.given, quick=audit.quick)
        self.outcome = Outcome(given=self.given)
        self.lines = 0
        self.held: list[tuple[int, int, int]] = []
        self.answers = False
        """Some of it holds responses that may be messages of a log."""
        self.session = False
        """Some of it is a session log."""
        self.missed: list[str] = []
        self._stream: BinaryIO | None = None

    def add(self, span: Range, part: Part | Lost[Unit]) -> None:
        """Take what came of the next range."""
        reason = part.outcome.given.reason if isinstance(part, Part) else part.reason
        if reason is not None or not isinstance(part, Part):
            self.missed.append(f"its bytes from {span.start:,} to {span.end:,} were not checked: {reason}")
            return
        if span.start == span.first:
            self.lines = span.blank
        self.answers = self.answers or bool(part.held)
        self.session = self.session or part.session
        moved(part, self.lines - part.before)
        self._count(part)
        if span.start == span.first:
            self.held = part.held
        else:
            self.outcome.add(part.apart)
        self.outcome.add(part.outcome)
        for thread in part.threads:
            self.reading.threads.join(thread, self._again)
        self.lines += part.lines

    def finish(self) -> Iterator[Outcome]:
        """The outcome of the file, once all ranges are there."""
        from toolaudit.engine import settle

        try:
            if self.missed:
                yield self._incomplete("failed", "; ".join(self.missed))
            elif self.session or (self.answers and self.reading.has_threads):
                yield from self.audit.outcomes(self.source)  # what of it belongs together, only the whole can tell
            else:
                self.reading.reads(self._again)
                self.reading.hold(self.held)
                self.audit.take(self.reading.end(), self.outcome)
                settle(self.outcome, self.reading)
                yield self.outcome
        finally:
            self.close()

    def interrupted(self) -> Outcome:
        """What came of the ranges that are there."""
        self.close()
        return self._incomplete("partly-read", f"only its first {self.lines:,} lines were checked")

    def close(self) -> None:
        """Let go of the file."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _incomplete(self, status: Status, reason: str) -> Outcome:
        """What was found so far in records of their own; a conversation that goes on over several is not judged without its end."""
        from toolaudit.engine import settle

        self.given.status, self.given.reason = status, reason
        settle(self.outcome, self.reading)
        return self.outcome

    def _count(self, part: Part) -> None:
        reading = self.reading
        reading.records += part.records
        reading.understood += part.understood
        reading.trajectories += part.trajectories
        reading.bad += part.bad
        reading.salvaged |= part.salvaged
        reading.elsewhere = reading.elsewhere or part.elsewhere

    def _again(self, offset: int, length: int) -> bytes:
        """Bytes of the file, once more."""
        if self._stream is None:
            stream = opened(self.source)
            if isinstance(stream, (Archive, Unusable)):
                raise InputError(f"{self.source.path}: {_CHANGED}")
            self._stream = stream
        self._stream.seek(offset)
        return self._stream.read(length)


def moved(part: Part, lines: int) -> None:
    """Count the lines of a part from the beginning of the file: so many stand before it."""
    if not lines:
        return
    for outcome in (part.outcome, part.apart):
        for entry in {id(one): one for one in (*outcome.findings, *outcome.orphans)}.values():
            _move(entry, lines)
        outcome.repeats = outcome.repeats.moved(lines)
        outcome.calls = {key: _moved(spot, lines) for key, spot in outcome.calls.items()}
    part.bad = [Unknown(place=_placed(one.place, lines), what=one.what, of=one.of) for one in part.bad]
    part.held = [(number + lines, offset, length) for number, offset, length in part.held]
    for thread in part.threads:
        for index, number in enumerate(thread.numbers):
            thread.numbers[index] = number + lines


def _move(entry: Entry, lines: int) -> None:
    if entry.line is not None:
        entry.line += lines
    entry.related = tuple(RelatedPlace(one.label, one.line if one.line is None else one.line + lines, one.pointer) for one in entry.related)


def _moved(spot: Spot, lines: int) -> Spot:
    return spot + lines if isinstance(spot, int) else _placed(spot, lines)


def _placed(place: Place, lines: int) -> Place:
    return Place(place.record + lines, place.path, place.inner)
