"""The pipeline: paths → sources → records → trajectories → ledgers → findings → report.

Nothing here knows a format, a rule or an output by name. The options say what to judge by; clock, console and environment are not
read.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, TypeVar

from msgspec import Struct, field

from toolaudit import formats, rules, targets
from toolaudit.errors import InputError
from toolaudit.identifiers import recurring
from toolaudit.model import JSON, Finding, Ledger, Place, Severity, Tool, Trajectory
from toolaudit.pairing import pair
from toolaudit.reading import Group, Healthy, Reading, Stored
from toolaudit.report import Entry, Input, Report, Tally, add_up
from toolaudit.sessions import Repeats, Request, gist_of
from toolaudit.signs import OF_TEXT
from toolaudit.sources import Archive, Source, Unusable, find, globs_of, opened
from toolaudit.sources.records import Record, records

if TYPE_CHECKING:
    from toolaudit.snapshots import Kept
    from toolaudit.work import Crew

STEP = 4 << 20
"""Progress within a file is told after so many bytes."""
REMEMBERED = 16_384
"""How many of the latest call ids are remembered, to say where the call of an orphan stands."""


class Options(Struct, frozen=True, kw_only=True):
    """What to judge, and by what."""

    rules: Collection[str] | None = None
    """Names of rules, or of categories, to run; None: the default set."""
    target: str | Sequence[str] | None = None
    """The receiver, or the receivers, whose law holds; None: the natural one of each format."""
    input_format: str | None = None
    at: tuple[str, ...] = ()
    """JSON pointers to look at, for shapes that nobody could guess."""
    sent: bool = False
    deep: bool = False
    tools: tuple[Tool, ...] | None = None
    strict: bool = False
    content: bool = False
    """Drawings may quote transcript content."""
    scenes: bool = False
    """Make drawings (human outputs)."""
    max_record: int = 1 << 30
    include: tuple[str, ...] = ()
    """Patterns of what is read of that which folders and archives hold; empty: everything."""
    exclude: tuple[str, ...] = ()
    """Patterns of what is not."""

    def chosen(self) -> frozenset[str]:
        """The rules to run."""
        return rules.select() if self.rules is None else rules.select(sorted(self.rules))


Spot: TypeAlias = Place | int
"""Where a call stands, or merely the number of its record: of most calls nobody ever asks."""


class Outcome(Struct, gc=False):
    """What came of one source, or of a part of one: pieces of work are told of by these, across processes as well."""

    given: Input
    findings: list[Entry] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    calls: dict[str, Spot] = field(default_factory=dict)
    """Where the latest calls stand, by their ids."""
    orphans: list[Entry] = field(default_factory=list)
    """Those of the findings that look for a call with their id in other trajectories."""
    repeats: Repeats = field(default_factory=Repeats)
    """Those of the findings that other requests may carry."""

    def enter(self, key: str, place: Place) -> None:
        """Remember where a call stands."""
        self.calls.pop(key, None)  # it is the latest
        self.calls[key] = place
        if len(self.calls) > 2 * REMEMBERED:
            self.calls = _latest(self.calls, {})

    def enter_all(self, calls: dict[str, Spot]) -> None:
        """Remember where calls stand."""
        self.calls = _latest(self.calls, calls)

    def add(self, later: Outcome) -> None:
        """Take what came of the part of the source behind this one."""
        self.given.format, self.given.target = self.given.format or later.given.format, self.given.target or later.given.target
        self.findings += later.findings
        self.tally.add(later.tally)
        self.calls = _latest(self.calls, later.calls)
        self.orphans += later.orphans
        self.repeats.add(later.repeats)


T = TypeVar("T")
V = TypeVar("V")


def _latest(calls: dict[str, V], more: dict[str, V]) -> dict[str, V]:
    """`calls` with later ones behind them, and when there are too many without the first: the latest are those, however it was cut up."""
    if not calls.keys().isdisjoint(more):
        for key in more:
            calls.pop(key, None)  # it is among the latest now
    calls.update(more)
    if len(calls) <= 2 * REMEMBERED:
        return calls
    return dict(itertools.islice(calls.items(), len(calls) - REMEMBERED, None))


class Memory:
    """Where the latest calls of a run stand, and the orphans that still look for theirs."""

    def __init__(self) -> None:
        self.calls: dict[str, tuple[str, Spot]] = {}
        self.orphans: list[Entry] = []

    def enter(self, calls: dict[str, Spot], path: str) -> None:
        """Remember the calls of a source."""
        self.calls = _latest(self.calls, {key: (path, place) for key, place in calls.items()})

    def reunite(self) -> None:
        """Say of each orphan where a call with its id stands, if one was seen in another trajectory."""
        if not self.orphans:
            return
        self.calls = dict(itertools.islice(self.calls.items(), max(0, len(self.calls) - REMEMBERED), None))
        for orphan in self.orphans:
            if (found := self.calls.get(orphan.call_id or "")) is not None:
                path, spot = found
                place = Place(spot) if isinstance(spot, int) else spot
                where = f"{path}:{place.record}" if place.record else f"{path} at {place.pointer or 'its root'}"
                orphan.message += f"; a call with this id stands in another trajectory: {where}"


class Audit:
    """One run: told what to read, it fills `report`.

    `progress` is told of each finished piece of work, and of parts of a long file: how many bytes they had, and the path they belong to.
    """

    def __init__(self, options: Options, progress: Callable[[int, str], None] | None = None) -> None:
        self.options = options
        self.progress = progress
        self.report = Report()
        self.memory = Memory()
        self.only = formats.format(options.input_format) if options.input_format else None
        self.globs = globs_of(options.include, options.exclude)
        self.named = tuple(targets.law(name) for name in ([options.target] if isinstance(options.target, str) else options.target or ()))
        """The laws that the user named; empty: the natural one of each format."""
        self._told = 0
        """How many bytes of the source that is being read progress was told of."""

    @functools.cached_property
    def chosen(self) -> frozenset[str]:
        """The rules to run; looked up when the first record needs judging."""
        return self.options.chosen()

    @functools.cached_property
    def raw(self) -> bool:
        """A chosen rule looks at messages as they are stored."""
        return any(rules.catalogue()[name].raw for name in self.chosen)

    # ---------------------------------------------------------------------------------------------------------- inputs

    def paths(self, given: Sequence[str], stdin: BinaryIO | None = None, stdin_name: str = "<stdin>", crew: Crew | None = None) -> None:
        """Audit files, folders, archives, globs and `-`; all but the last by a `crew` where there is one."""
        found = find(given, stdin_name=stdin_name, globs=self.globs)
        if crew is not None and stdin is None:
            from toolaudit.work import spread

            spread(self, found, crew)
        else:
            for item in found:
                self.here(item, stdin)
        self.finish(given)

    def here(self, item: Source | Unusable, stdin: BinaryIO | None = None) -> None:
        """Audit one source in this process."""
        self._told = 0
        for outcome in self.outcomes(item, stdin):
            self.merge(outcome)
        if self.progress is not None:
            self.progress(max(size_of(item) - self._told, 0), item.path)

    def value(self, value: JSON, name: str = "<value>") -> None:
        """Audit a decoded JSON value: a message list, a request body, a response."""
        reading = self.reading(Input(path=name))
        self.merge(self.complete(reading, reading.value(value)))
        self.finish([name])

    def outcomes(self, item: Source | Unusable, stdin: BinaryIO | None = None) -> Iterator[Outcome]:
        """What comes of a source: one outcome, or of an archive one for each member."""
        stream = item if isinstance(item, Unusable) else opened(item, stdin, self.globs)
        if isinstance(stream, Unusable):
            yield _unused(stream)
        elif isinstance(stream, Archive):
            yield from self._archive(item, stream)
        else:
            try:
                yield self._stream(item, stream)
            finally:
                if isinstance(item, Source) and item.file is not None:
                    stream.close()

    def _archive(self, source: Source | Unusable, archive: Archive) -> Iterator[Outcome]:
        """Audit the members of an archive. One that holds no transcript is said, unless it was found and its members are said."""
        count = useful = 0
        for member in archive.members:
            outcome = _unused(member) if isinstance(member, Unusable) else self._stream(member.source, member.stream)
            count, useful = count + 1, useful + (outcome.given.status in ("read", "partly-read"))
            yield outcome
        if not useful and (source.named or not count):
            yield _unused(Unusable(source.path, "no transcript is recognised in this archive", source.named))

    def _stream(self, source: Source | Unusable, stream: BinaryIO) -> Outcome:
        reading = self.reading(Input(path=source.path, named=source.named), quick=self.quick)
        items = records(stream, source.path, max_record=self.options.max_record)
        return self.complete(reading, reading.read(items if self.progress is None else self._telling(items, source.path, self.progress)))

    def _telling(self, items: Iterable[T], path: str, progress: Callable[[int, str], None]) -> Iterator[T]:
        """The records of a source, with progress told of those that stand in it as they are."""
        for item in items:
            if isinstance(item, Record) and item.again is not None and item.offset - self._told >= STEP:
                progress(item.offset - self._told, path)
                self._told = item.offset
            yield item

    def reading(self, given: Input, *, quick: bool = False) -> Reading:
        """How a source is read under these options."""
        return Reading(given, only=self.only, at=self.options.at, quick=quick)

    @functools.cached_property
    def quick(self) -> bool:
        """The short way for what is in order may be taken: it proves what is asked, the default rules under the natural laws."""
        asked = self.options
        if asked.target or asked.input_format or asked.at or asked.deep or asked.tools is not None:
            return False
        return asked.rules is None or self.chosen <= rules.select()

    def complete(self, reading: Reading, groups: Iterable[Group]) -> Outcome:
        """The outcome of a source of which `groups` are all."""
        outcome = Outcome(given=reading.given)
        try:
            self.take(groups, outcome)
        finally:
            reading.close()
        settle(outcome, reading)
        return outcome

    def take(self, groups: Iterable[Group], outcome: Outcome) -> None:
        """Judge groups of trajectories and add what comes of it. What a record repeats of a former one is counted and told once."""
        for group in groups:
            if group.kept is not None:
                self._record(group.items, group.kept, group.former, outcome)
                continue
            for item in group.items:
                before = len(outcome.findings)
                self._item(item, outcome)
                if isinstance(item, Stored):
                    outcome.findings[before:] = _untold(item.request, outcome.findings[before:], outcome.repeats)

    def _record(self, items: Iterable[Stored | Healthy], kept: Kept, former: Kept | None, outcome: Outcome) -> None:
        """Take what a record holds that others may repeat, or that repeats a former one."""
        own, seen = Outcome(given=outcome.given, calls=outcome.calls), []
        found: list[tuple[Request | None, list[Entry]]] = []
        for item in items:
            before = len(own.findings)
            self._item(item, own)
            if isinstance(item, Stored):
                seen.append(item.trajectory)
                found.append((item.request, own.findings[before:]))
        outcome.tally.add(own.tally)
        outcome.calls = own.calls
        if kept.goes_on and former is not None:
            kept.go_on(former, own.tally)
            outcome.repeats.carry(kept.key, former.key, former.gists)
            return
        kept.close(seen, own.tally, own.findings)
        again: list[Entry] = []
        if former is not None and (total := former.repeated(kept, seen)) is not None:
            outcome.tally.add(total, -1)
            again = former.told_of(own.findings)
            outcome.repeats.carry(kept.key, former.key, frozenset(map(gist_of, again)))
        told = set(map(id, again))
        new = [entry for request, entries in found for entry in _untold(request, entries, outcome.repeats, told)]
        outcome.repeats.tell(kept.key, new)
        own_orphans = set(map(id, new))
        outcome.findings += new
        outcome.orphans += [entry for entry in own.orphans if id(entry) in own_orphans]

    def _item(self, item: Stored | Healthy, outcome: Outcome) -> None:
        if isinstance(item, Healthy):
            _pass(item, outcome)
        else:
            self.judge(item, outcome)

    def merge(self, outcome: Outcome) -> None:
        """Enter the outcome of a source into the report."""
        given, tally, summary = outcome.given, outcome.tally, self.report.summary
        given.trajectories, given.calls, given.results = tally.trajectories, tally.calls, tally.results
        add_up(summary, tally)
        for entry in outcome.findings:
            summary.errors += entry.severity == Severity.ERROR
            summary.warnings += entry.severity == Severity.WARNING
            summary.notes += entry.severity == Severity.NOTE
        self.report.findings += outcome.findings
        self.memory.enter(outcome.calls, given.path)
        self.memory.orphans += outcome.orphans
        self._count(given)

    def _count(self, given: Input) -> None:
        if given.status == "skipped" and given.named:
            given.status = "failed"
        if given.status == "failed" or (self.options.strict and given.status != "read"):
            self.report.incomplete.append(f"{given.path}: {given.reason}")
        self.report.inputs.append(given)
        summary = self.report.summary
        summary.files += given.status in ("read", "partly-read")
        summary.skipped += given.status == "skipped"
        summary.failed += given.status == "failed"

    def finish(self, given: Sequence[str]) -> None:
        """Name the calls of orphans, and say so when there was nothing to check."""
        self.memory.reunite()
        if not self.report.summary.files and not self.report.incomplete:
            self.report.incomplete.append(f"no transcripts found in {', '.join(given)}" if given else "nothing to check")

    # --------------------------------------------------------------------------------------------------------- judging

    def judge(self, stored: Stored, outcome: Outcome) -> None:
        """Pair one trajectory, run the rules its ledger calls for, and enter what they find; counts are those under the first law."""
        stored.trajectory.sent = stored.trajectory.sent or self.options.sent
        first, *others = self.named or (self._natural(stored.trajectory),)
        found = self._judged(stored, first, outcome)
        if others:
            from toolaudit.entries import merged

            for law in others:
                found = merged(found, self._judged(stored, law, Outcome(given=Input(path=outcome.given.path))))
            outcome.given.target = ",".join(law.name for law in self.named)
        outcome.findings += found

    def _judged(self, stored: Stored, law: targets.Law, outcome: Outcome) -> list[Entry]:
        """What is found in a trajectory under one law; what is counted goes into the outcome."""
        trajectory = stored.trajectory
        ledger = pair(trajectory, law)
        messages = stored.messages() if self.raw else ()
        found = [finding for finding in self.findings(ledger, messages) if finding.turn not in trajectory.told]
        if trajectory.format:
            tally(ledger, outcome)
        entries = self._entries(ledger, found, outcome, stored) if found else []
        ledger.let_go()
        return entries

    def _natural(self, trajectory: Trajectory) -> targets.Law:
        """The law to judge by unless one is named; what belongs to no format is judged by none in particular."""
        return targets.proven(trajectory, formats.format(trajectory.format or formats.names()[0]).TARGET)

    def findings(self, ledger: Ledger, messages: Iterable[tuple[JSON, Place]] = ()) -> Iterator[Finding]:
        """What the chosen rules find on a ledger, before any law is applied; `messages` are those as stored."""
        context = rules.Context(deep=self.options.deep, tools=self.options.tools, messages=tuple(messages))
        signs = ledger.signs | OF_TEXT if self.options.deep else ledger.signs
        for check in rules.called_for(self.chosen, frozenset(signs)):
            yield from check(ledger, context)

    def _entries(self, ledger: Ledger, found: list[Finding], outcome: Outcome, stored: Stored) -> list[Entry]:
        from toolaudit.entries import Whereabouts, entries, judged  # a healthy run needs none of it

        where = Whereabouts(
            path=outcome.given.path,
            document=stored.document,
            first_line=stored.first_line,
            scenes=self.options.scenes,
            content=self.options.content,
        )
        own = {p.call.id for p in ledger.pairs}
        made = list(entries(ledger, list(judged(ledger, found, named=bool(self.named))), where))
        outcome.orphans += [
            entry for entry in made if entry.rule in _LOST and entry.call_id not in own and not recurring(entry.call_id or "")
        ]
        return made


_LOST = frozenset({"orphan-result", "dropped-assistant-turn"})


def _untold(request: Request | None, found: list[Entry], repeats: Repeats, told: Collection[int] = ()) -> list[Entry]:
    """Those of the findings of a request that are told of none before it; what of it was `told`, by identity, is left out as well."""
    new = [entry for entry in found if id(entry) not in told]
    if request is None or not found:
        return new
    request.found = frozenset(map(gist_of, found))
    if request.former is not None and (common := request.found & request.former.found):
        repeats.carry(request.key, request.former.key, common & frozenset(map(gist_of, new)))
        new = [entry for entry in new if gist_of(entry) not in common]
    repeats.tell(request.key, new)
    return new


def tally(ledger: Ledger, outcome: Outcome) -> None:
    """Count what a ledger holds; of an excerpt, what is not there for context."""
    trajectory, own, given, told = ledger.trajectory, Tally(), outcome.given, ledger.trajectory.told
    pairs = [p for p in ledger.pairs if p.turn.number not in told] if told else ledger.pairs
    for p in pairs:
        if p.call.id is not None:
            outcome.enter(p.call.id, p.call.place)
    for state, count in Counter([p.state for p in pairs]).items():
        setattr(own, state, count)
    own.trajectories = int(trajectory.counted)
    own.turns = len(trajectory.turns) - len(told)
    own.calls = len(pairs)
    own.results = sum(answer.turn.number not in told for answer in ledger.answers) if told else len(ledger.answers)
    outcome.tally.add(own)
    given.format, given.target = given.format or trajectory.format, given.target or ledger.law.name


def _pass(healthy: Healthy, outcome: Outcome) -> None:
    """Count what needs no judging."""
    count, given = len(healthy.calls), outcome.given
    outcome.tally.add(Tally(healthy.trajectories, healthy.turns, count, count, count))
    given.format, given.target = given.format or healthy.format, given.target or formats.format(healthy.format).TARGET
    if healthy.lines is None:
        outcome.enter_all(dict.fromkeys(healthy.calls, healthy.number))
        return
    outcome.enter_all(dict(zip(healthy.calls, healthy.lines, strict=True)))


def settle(outcome: Outcome, reading: Reading) -> None:
    """Take the certainty out of findings beside records that could not be read, and put them in order."""
    outcome.repeats.count()
    if reading.unreadable:
        from toolaudit.entries import uncertain

        outcome.findings, taken_back = uncertain(outcome.findings, reading.salvaged)
        for entry in taken_back:
            if entry.rule in ("missing-result", "open-call"):
                state = "missing" if entry.rule == "missing-result" else "open"
                setattr(outcome.tally, state, getattr(outcome.tally, state) - 1)
                outcome.tally.unjudged += 1
    outcome.findings = in_order(outcome.findings)


def _unused(source: Unusable) -> Outcome:
    given = Input(path=source.path, status="failed" if source.named else "skipped", reason=source.reason, named=source.named)
    return Outcome(given=given)


def size_of(item: Source | Unusable) -> int:
    """The bytes of a source; 0 where that cannot be told."""
    if isinstance(item, Unusable) or item.file is None:
        return 0
    if item.size is not None:
        return item.size
    try:
        return os.stat(item.file).st_size  # noqa: PTH116
    except OSError:
        return 0


def in_order(found: list[Entry]) -> list[Entry]:
    """Findings in order of their lines; what comes from one root stays behind it."""
    if len(found) < 2:
        return found
    heads: list[int] = []
    for entry in found:
        heads.append(heads[-1] if entry.root is not None and heads else entry.line or 0)
    return [entry for _, _, entry in sorted(zip(heads, range(len(found)), found, strict=True), key=lambda one: one[:2])]


def audit(given: JSON, options: Options | None = None) -> Report:
    """Audit a path (`str` or `Path`), or a decoded value such as a message list or a request body.

    Raises InputError when a named path cannot be read at all; everything else is in the report.
    """
    run = Audit(options or Options())
    if isinstance(given, (str, os.PathLike)):
        run.paths([os.fspath(given)])
        if not run.report.summary.files:
            raise InputError(run.report.incomplete[0], "`toolaudit formats` lists what is recognised")
    else:
        from toolaudit.formats._json import plain

        run.value(plain(given))
    return run.report
