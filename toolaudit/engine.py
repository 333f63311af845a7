"""The pipeline: paths → sources → records → trajectories → ledgers → findings → report.

Nothing here knows a format, a rule or an output by name. The options say what to judge by; clock, console and environment are not
read.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import BinaryIO

from msgspec import Struct, field

from toolaudit import formats, rules, targets
from toolaudit.errors import InputError
from toolaudit.identifiers import recurring
from toolaudit.model import JSON, Finding, Ledger, Place, Severity, Tool
from toolaudit.pairing import pair
from toolaudit.reading import Healthy, Prove, Reading, Stored
from toolaudit.report import Entry, Input, Report
from toolaudit.signs import OF_TEXT
from toolaudit.sources import Archive, Source, Unusable, chosen, find, opened
from toolaudit.sources.records import records

REMEMBERED = 65_536
"""How many of the latest call ids are remembered, to say where the call of an orphan stands."""


class Options(Struct, frozen=True, kw_only=True):
    """What to judge, and by what."""

    rules: Collection[str] | None = None
    """Names of rules, or of categories, to run; None: the default set."""
    target: str | None = None
    """The receiver whose law holds; None: the natural one of each format."""
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


class Memory(Struct):
    """Where the latest calls stand, and the orphans that still look for theirs."""

    calls: dict[str, tuple[str, Place]] = field(default_factory=dict)
    orphans: list[Entry] = field(default_factory=list)

    def enter(self, keys: Iterable[str], path: str, place: Place) -> None:
        """Remember calls of one record; the oldest are forgotten when there are too many."""
        self.calls.update(dict.fromkeys(keys, (path, place)))
        if len(self.calls) > 2 * REMEMBERED:
            self.calls = dict(itertools.islice(self.calls.items(), len(self.calls) - REMEMBERED, None))

    def reunite(self) -> None:
        """Say of each orphan where a call with its id stands, if one was seen in another trajectory."""
        for orphan in self.orphans:
            if (found := self.calls.get(orphan.call_id or "")) is not None:
                path, place = found
                where = f"{path}:{place.record}" if place.record else f"{path} at {place.pointer or 'its root'}"
                orphan.message += f"; a call with this id stands in another trajectory: {where}"


class Audit:
    """One run: told what to read, it fills `report`."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.report = Report()
        self.memory = Memory()
        self.only = formats.format(options.input_format) if options.input_format else None
        self.globs = chosen(options.include, options.exclude)
        self.named_law = targets.law(options.target) if options.target is not None else None

    @functools.cached_property
    def chosen(self) -> frozenset[str]:
        """The rules to run; looked up when the first record needs judging."""
        return self.options.chosen()

    @functools.cached_property
    def raw(self) -> bool:
        """A chosen rule looks at messages as they are stored."""
        return any(rules.catalogue()[name].raw for name in self.chosen)

    # ---------------------------------------------------------------------------------------------------------- inputs

    def paths(self, given: Sequence[str], stdin: BinaryIO | None = None, stdin_name: str = "<stdin>") -> None:
        """Audit files, folders, archives, globs and `-`."""
        for source in find(given, stdin_name=stdin_name, globs=self.globs):
            if isinstance(source, Unusable):
                self._unusable(source)
            else:
                self._source(source, stdin)
        self.finish(given)

    def value(self, value: JSON, name: str = "<value>") -> None:
        """Audit a decoded JSON value: a message list, a request body, a response."""
        reading = self._reading(Input(path=name), None)
        self._all(reading, reading.value(value))
        self.finish([name])

    def _source(self, source: Source, stdin: BinaryIO | None) -> None:
        stream = opened(source, stdin, self.globs)
        if isinstance(stream, Unusable):
            self._unusable(stream)
        elif isinstance(stream, Archive):
            self._archive(source, stream)
        else:
            try:
                self._stream(source, stream)
            finally:
                if source.file is not None:
                    stream.close()

    def _archive(self, source: Source, archive: Archive) -> None:
        """Audit the members of an archive. One that holds no transcript is said, unless it was found and its members are said."""
        summary, files, inputs = self.report.summary, self.report.summary.files, len(self.report.inputs)
        for member in archive.members:
            if isinstance(member, Unusable):
                self._unusable(member)
            else:
                self._stream(member.source, member.stream)
        if summary.files == files and (source.named or len(self.report.inputs) == inputs):
            self._unusable(Unusable(source.path, "no transcript is recognised in this archive", source.named))

    def _stream(self, source: Source, stream: BinaryIO) -> None:
        reading = self._reading(Input(path=source.path, named=source.named), self._prove())
        self._all(reading, reading.read(records(stream, source.path, max_record=self.options.max_record)))

    def _reading(self, given: Input, prove: Prove | None) -> Reading:
        return Reading(given, only=self.only, at=self.options.at, prove=prove)

    def _prove(self) -> Prove | None:
        """The short way for healthy records, where what it proves is what is asked: the default rules under the natural laws."""
        asked = self.options
        if asked.target or asked.input_format or asked.at or asked.deep or asked.tools is not None:
            return None
        if asked.rules is not None and not self.chosen <= rules.select():
            return None
        from toolaudit.express import prove

        return prove

    def _unusable(self, source: Unusable) -> None:
        self._count(Input(path=source.path, status="failed" if source.named else "skipped", reason=source.reason, named=source.named))

    def _all(self, reading: Reading, items: Iterator[Stored | Healthy]) -> None:
        start = len(self.report.findings)
        for item in items:
            if isinstance(item, Healthy):
                self._pass(item, reading.given)
            else:
                self.judge(item, reading.given)
        if reading.unreadable:
            self._soften(start, reading.salvaged)
            self.report.findings[start:] = in_order(self.report.findings[start:])
        self._count_findings(start)
        self._count(reading.given)

    def _soften(self, start: int, salvaged: set[str]) -> None:
        """Take the certainty out of the findings of a source, all from `start` on, beside records that could not be read."""
        from toolaudit.entries import uncertain

        kept, taken_back = uncertain(self.report.findings[start:], salvaged)
        self.report.findings[start:] = kept
        summary = self.report.summary
        for entry in taken_back:
            if entry.rule in ("missing-result", "open-call"):
                state = "missing" if entry.rule == "missing-result" else "open"
                setattr(summary, state, getattr(summary, state) - 1)
                summary.unjudged += 1

    def _count_findings(self, start: int) -> None:
        summary = self.report.summary
        for entry in self.report.findings[start:]:
            summary.errors += entry.severity == Severity.ERROR
            summary.warnings += entry.severity == Severity.WARNING
            summary.notes += entry.severity == Severity.NOTE

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

    def judge(self, stored: Stored, given: Input) -> None:
        """Pair one trajectory, run the rules its ledger calls for, and enter what they find."""
        trajectory = stored.trajectory
        trajectory.sent = trajectory.sent or self.options.sent
        ledger = pair(trajectory, self._law(trajectory.format))
        found = [
            finding
            for finding in self.findings(ledger, stored.messages() if self.raw else ())
            if finding.turn is None or finding.turn > trajectory.told
        ]
        if trajectory.format:
            self._tally(ledger, given)
        if found:
            self._enter(ledger, found, given, stored)

    def _law(self, form: str) -> targets.Law:
        """The law to judge by; what belongs to no format is judged by none in particular."""
        return self.named_law or targets.law(formats.format(form or formats.names()[0]).TARGET)

    def findings(self, ledger: Ledger, messages: Iterable[tuple[JSON, Place]] = ()) -> Iterator[Finding]:
        """What the chosen rules find on a ledger, before any law is applied; `messages` are those as stored."""
        context = rules.Context(deep=self.options.deep, tools=self.options.tools, messages=tuple(messages))
        signs = ledger.signs | OF_TEXT if self.options.deep else ledger.signs
        for name, header in rules.catalogue().items():
            if name in self.chosen and (not header.needs or not signs.isdisjoint(header.needs)):
                yield from rules.check(name)(ledger, context)

    def _tally(self, ledger: Ledger, given: Input) -> None:
        summary, told = self.report.summary, ledger.trajectory.told
        pairs = [p for p in ledger.pairs if p.turn.number > told]
        results = sum(answer.turn.number > told for answer in ledger.answers)
        self._add(given, ledger.trajectory.format, len(ledger.trajectory.turns) - told, len(pairs), results)
        given.target = given.target or ledger.law.name
        for p in pairs:
            setattr(summary, p.state, getattr(summary, p.state) + 1)
            if p.call.id is not None:
                self.memory.enter((p.call.id,), given.path, p.call.place)

    def _pass(self, healthy: Healthy, given: Input) -> None:
        """Count a record that needs no judging."""
        count = len(healthy.calls)
        self._add(given, healthy.format, healthy.turns, count, count)
        given.target = given.target or formats.format(healthy.format).TARGET
        self.report.summary.paired += count
        self.memory.enter(healthy.calls, given.path, Place(healthy.number))

    def _add(self, given: Input, form: str, turns: int, calls: int, results: int) -> None:
        summary = self.report.summary
        given.format = given.format or form
        given.trajectories += 1
        given.calls += calls
        given.results += results
        summary.trajectories += 1
        summary.turns += turns
        summary.calls += calls
        summary.results += results

    def _enter(self, ledger: Ledger, found: list[Finding], given: Input, stored: Stored) -> None:
        from toolaudit.entries import Whereabouts, entries, judged  # a healthy run needs none of it

        where = Whereabouts(
            path=given.path,
            document=stored.document,
            first_line=stored.first_line,
            scenes=self.options.scenes,
            content=self.options.content,
        )
        own = {p.call.id for p in ledger.pairs}
        for entry in entries(ledger, list(judged(ledger, found, named=self.named_law is not None)), where):
            self.report.findings.append(entry)
            if (
                entry.rule in ("orphan-result", "dropped-assistant-turn")
                and entry.call_id not in own
                and not recurring(entry.call_id or "")
            ):
                self.memory.orphans.append(entry)


def in_order(found: list[Entry]) -> list[Entry]:
    """Findings in order of their lines; what comes from one root stays behind it."""
    heads: list[int] = []
    for entry in found:
        heads.append(heads[-1] if entry.root is not None and heads else entry.line or 0)
    return [entry for _, _, entry in sorted(zip(heads, range(len(found)), found, strict=True), key=lambda one: one[:2])]


def audit(given: JSON, options: Options | None = None) -> Report:
    """Audit a path (`str` or `Path`), or a decoded value such as a message list or a request body.

    Raises InputError when a named path cannot be read at all; everything else is in the report.
    """
    import os

    run = Audit(options or Options())
    if isinstance(given, (str, os.PathLike)):
        run.paths([os.fspath(given)])
        if not run.report.summary.files:
            raise InputError(run.report.incomplete[0], "`toolaudit formats` lists what is recognised")
    else:
        from toolaudit.formats._json import plain

        run.value(plain(given))
    return run.report
