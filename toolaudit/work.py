"""Work that is done beside other work: sources become units, workers make outcomes of them, and those are entered in the order of the
units. A unit is a batch of small sources, one source, or a range of a long one; what it says is where to read, never what was read.

The report does not depend on how many workers there are, nor on where ranges end.
"""

from __future__ import annotations

import functools
import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from msgspec import Struct

from toolaudit.engine import Audit, Options, Outcome, size_of
from toolaudit.report import Input
from toolaudit.sources import Source, Unusable

if TYPE_CHECKING:
    from typing import TypeAlias

    from toolaudit.engines import Lost
    from toolaudit.ranges import Joining, Part, Range

    Result: TypeAlias = "list[Outcome] | Part"

SPAN = 32 << 20
"""Bytes of a range of a long file, or a line more."""
BATCH = 8 << 20
"""So many bytes of small sources make a unit of work,"""
MOST = 256
"""or so many of them."""


class Crew(Struct, frozen=True):
    """Who does the work."""

    jobs: int
    engine: str = "processes"


class Unit(Struct, frozen=True):
    """A piece of work."""

    items: tuple[Source | Unusable, ...]
    range: Range | None = None
    """The part of the one source that is meant; None for all of each."""


def spread(audit: Audit, found: Iterable[Source | Unusable], crew: Crew) -> None:
    """Let the `crew` audit what was found. What makes no more than one unit is not worth a worker, unless they are elsewhere."""
    units = planned(found, audit.options)
    first = tuple(itertools.islice(units, 2))  # most runs need neither workers nor the code for them
    if len(first) < 2 and crew.engine == "processes":
        for unit in first:
            for item in unit.items:
                audit.here(item)
        return
    _Entering(audit, crew).all(itertools.chain(first, units))


def planned(found: Iterable[Source | Unusable], options: Options) -> Iterator[Unit]:
    """The units of work that sources make, in their order."""
    batch: list[Source | Unusable] = []
    size = 0
    for item in found:
        bytes_of = size_of(item)
        ranges = _ranges(item, bytes_of, options) if isinstance(item, Source) and bytes_of >= 2 * SPAN else None
        if batch and (ranges is not None or len(batch) == MOST or size + bytes_of > BATCH):
            yield Unit(tuple(batch))
            batch, size = [], 0
        if ranges is not None:
            yield from (Unit((item,), one) for one in ranges)
        else:
            batch.append(item)
            size += bytes_of
    if batch:
        yield Unit(tuple(batch))


def _ranges(source: Source, size: int, options: Options) -> Iterator[Range] | None:
    from toolaudit.ranges import divided

    return divided(source, size, SPAN, options.max_record)


def work(options: Options, unit: Unit) -> Result:
    """What comes of a unit: this is what workers do."""
    audit = Audit(options)
    if unit.range is not None and isinstance(source := unit.items[0], Source):
        from toolaudit.ranges import part_of

        return part_of(audit, source, unit.range)
    return [outcome for item in unit.items for outcome in audit.outcomes(item)]


class _Entering:
    """Results on their way into the report."""

    def __init__(self, audit: Audit, crew: Crew) -> None:
        from toolaudit import engines

        self.audit = audit
        self.lost = engines.Lost
        self.run = engines.run
        self.start = functools.partial(engines.engine, crew.engine, crew.jobs)
        self.function = functools.partial(work, audit.options)
        self.joining: Joining | None = None

    def all(self, units: Iterable[Unit]) -> None:
        """Have units done, and enter what comes of them. When the user interrupts it, what is entered so far holds."""
        flight: deque[Unit] = deque()

        def noted() -> Iterator[Unit]:
            for unit in units:
                flight.append(unit)
                yield unit

        try:
            with closing(self.run(self.start, self.function, noted())) as results:
                for result in results:
                    unit = flight.popleft()
                    self._enter(unit, result)
                    self._tell(unit)
        except KeyboardInterrupt:
            if self.joining is not None:
                self.audit.merge(self.joining.interrupted())
            raise

    def _enter(self, unit: Unit, result: Result | Lost[Unit]) -> None:
        if isinstance(result, list):
            for outcome in result:
                self.audit.merge(outcome)
        elif unit.range is not None and isinstance(source := unit.items[0], Source):
            self._join(source, unit.range, result)
        elif isinstance(result, self.lost):
            self._lost(unit, result.reason)

    def _join(self, source: Source, span: Range, result: Part | Lost[Unit]) -> None:
        if self.joining is None:
            from toolaudit.ranges import Joining

            self.joining = Joining(self.audit, source)
        self.joining.add(span, result)
        if span.last:
            joining, self.joining = self.joining, None
            for outcome in joining.finish():
                self.audit.merge(outcome)

    def _lost(self, unit: Unit, reason: str) -> None:
        """Workers died of a unit: of a batch, each source is tried by itself, and the one that kills them is named."""
        if len(unit.items) > 1:
            with closing(self.run(self.start, self.function, (Unit((item,)) for item in unit.items))) as results:
                for item, result in zip(unit.items, results, strict=True):
                    self._enter(Unit((item,)), result)
            return
        for item in unit.items:
            given = Input(path=item.path, status="failed", reason=f"it was not checked: {reason}", named=item.named)
            self.audit.merge(Outcome(given=given))

    def _tell(self, unit: Unit) -> None:
        progress = self.audit.progress
        if progress is None:
            return
        for item in unit.items:
            progress(size_of(item) if unit.range is None else unit.range.end - unit.range.start, item.path)
