"""The pipeline: paths → sources → records → trajectories → ledgers → findings → report.

Nothing here knows a format, a rule or an output by name. The options say what to judge by; clock, console and environment are not
read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from msgspec import Struct, field

from toolaudit import formats, places, rules, targets
from toolaudit.errors import InputError, UsageError
from toolaudit.formats import Message
from toolaudit.formats._look import ErrorBody, Found, Loose, Seen, Tie, is_response, look
from toolaudit.model import JSON, Finding, Key, Ledger, Pair, Place, Severity, Tool, Trajectory, Unknown
from toolaudit.pairing import pair
from toolaudit.report import Entry, InferredCause, Input, RelatedPlace, Report, Row, Summary, TargetVerdict
from toolaudit.sources import Source, Unusable, find
from toolaudit.sources.records import NotJSON, NotText, Record, Unreadable, decode, records, salvage, unreadable

LOOK_AHEAD = 64
"""Responses stored a record each are held back until this many, in case messages beside them show that they are one conversation."""
REMEMBERED = 65_536
"""How many of the latest call ids are remembered, to say where the call of an orphan stands."""


class Options(Struct, frozen=True, kw_only=True):
    """What to judge, and by what."""

    rules: frozenset[str] = frozenset()
    """Names of the rules to run; empty: the default set."""
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

    def chosen(self) -> frozenset[str]:
        return self.rules or rules.select()


class Memory(Struct):
    """Where the latest calls stand, and the orphans that still look for theirs."""

    calls: dict[str, str] = field(default_factory=dict)
    orphans: list[Entry] = field(default_factory=list)

    def enter(self, key: str, where: str) -> None:
        """Remember a call; the oldest is forgotten when there are too many."""
        if key not in self.calls and len(self.calls) >= REMEMBERED:
            del self.calls[next(iter(self.calls))]
        self.calls[key] = where


class Audit:
    """One run: told what to read, it fills `report`."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.report = Report()
        self.memory = Memory()
        self.chosen = options.chosen()
        self.only = formats.format(options.input_format) if options.input_format else None
        if options.target is not None:
            targets.law(options.target)

    # ---------------------------------------------------------------------------------------------------------- inputs

    def paths(self, given: Sequence[str], stdin: BinaryIO | None = None, stdin_name: str = "<stdin>") -> None:
        """Audit files, folders, globs and `-`."""
        for source in find(given, stdin_name=stdin_name):
            if isinstance(source, Unusable):
                self._count(Input(path=source.path, status="failed" if source.named else "skipped", reason=source.reason, named=source.named))
            else:
                self._source(source, stdin)
        self.finish(given)

    def value(self, value: JSON, name: str = "<value>") -> None:
        """Audit a decoded JSON value: a message list, a request body, a response."""
        one = _One(self, Input(path=name), b"")
        one.record_value(0, value)
        self._count(one.end())
        self.finish([name])

    def _source(self, source: Source, stdin: BinaryIO | None) -> None:
        given = Input(path=source.path, named=source.named)
        try:
            if source.file is None:
                assert stdin is not None
                self._stream(stdin, given)
            else:
                with open(source.file, "rb", buffering=0) as stream:  # noqa: PTH123 - the fastest way to open 20,000 small files
                    self._stream(stream, given)
        except OSError as error:
            given.status, given.reason = "failed", f"it cannot be read: {error.strerror or error}"
        self._count(given)

    def _stream(self, stream: BinaryIO, given: Input) -> None:
        one = _One(self, given, b"")
        for record in records(stream, given.path, max_record=self.options.max_record):
            if isinstance(record, NotText):
                given.status, given.reason = "skipped", record.reason
                return
            one.record(record)
        one.end()

    def _count(self, given: Input) -> None:
        if given.status == "skipped" and (given.named or self.options.strict):
            given.status = "failed" if given.named else "skipped"
            self.report.incomplete.append(f"{given.path}: {given.reason}")
        elif given.status == "failed":
            self.report.incomplete.append(f"{given.path}: {given.reason}")
        elif given.status == "partly-read" and self.options.strict:
            self.report.incomplete.append(f"{given.path}: {given.reason}")
        self.report.inputs.append(given)
        summary = self.report.summary
        summary.files += given.status in ("read", "partly-read")
        summary.skipped += given.status == "skipped"
        summary.failed += given.status == "failed"

    def finish(self, given: Sequence[str]) -> None:
        """Name the calls of orphans, and say so when there was nothing to check."""
        self._reunite()
        if not self.report.summary.files and not self.report.incomplete:
            names = ", ".join(given)
            self.report.incomplete.append(f"no transcripts found in {names}" if given else "nothing to check")

    def _reunite(self) -> None:
        for orphan in self.memory.orphans:
            where = self.memory.calls.get(orphan.call_id or "")
            if where is not None:
                orphan.message += f"; a call with this id stands in another trajectory, at {where}"

    # --------------------------------------------------------------------------------------------------------- judging

    def judge(self, trajectory: Trajectory, value: JSON, given: Input, document: bytes) -> None:
        """Pair one trajectory, run the rules its ledger calls for, and enter what they find."""
        law = targets.law(self.options.target or formats.format(trajectory.format).TARGET)
        trajectory.sent = trajectory.sent or self.options.sent
        ledger = pair(trajectory, law)
        found = list(self.findings(ledger, value))
        self._tally(ledger, given)
        self._remember(ledger, given)
        if found:
            self._enter(ledger, found, given, document)

    def findings(self, ledger: Ledger, value: JSON = None) -> Iterator[Finding]:
        """What the chosen rules find on a ledger, before any law is applied."""
        context = rules.Context(deep=self.options.deep, tools=self.options.tools, document=value)
        for name, header in rules.catalogue().items():
            if name in self.chosen and (not header.needs or not ledger.signs.isdisjoint(header.needs)):
                yield from rules.check(name)(ledger, context)

    def _tally(self, ledger: Ledger, given: Input) -> None:
        summary, states = self.report.summary, [p.state for p in ledger.pairs]
        given.trajectories += 1
        given.calls += len(states)
        given.results += len(ledger.answers)
        given.format = given.format or ledger.trajectory.format
        given.target = given.target or ledger.law.name
        summary.trajectories += 1
        summary.turns += len(ledger.trajectory.turns)
        summary.calls += len(states)
        summary.results += len(ledger.answers)
        for state in states:
            setattr(summary, state, getattr(summary, state) + 1)

    def _remember(self, ledger: Ledger, given: Input) -> None:
        for p in ledger.pairs:
            if p.call.id is not None:
                record = p.call.place.record
                self.memory.enter(p.call.id, f"{given.path}:{record}" if record else f"{given.path}{p.call.place.pointer}")

    def _enter(self, ledger: Ledger, found: list[Finding], given: Input, document: bytes) -> None:
        judged = [(finding, verdict) for finding in found if (verdict := self.verdict(ledger, finding)) is not None]
        judged.sort(key=lambda one: _order(one[0]))
        lines = _lines(document, [finding for finding, _ in judged])
        maker = _Entries(ledger, given, lines, self.options)
        for entry in maker.entries(judged):
            self.report.findings.append(entry)
            self.report.summary.errors += entry.severity == Severity.ERROR
            self.report.summary.warnings += entry.severity == Severity.WARNING
            self.report.summary.notes += entry.severity == Severity.NOTE
            if entry.rule in ("orphan-result", "dropped-assistant-turn") and entry.call_id:
                self.memory.orphans.append(entry)

    def verdict(self, ledger: Ledger, finding: Finding) -> tuple[Severity, TargetVerdict] | None:
        """What the target's law makes of a finding; None where its law does not hold for this transcript."""
        law: targets.Law = ledger.law
        line = law.lookup(finding.rule, finding.variant)
        default = rules.catalogue()[finding.rule].severity
        if line is None:
            return finding.severity or default, TargetVerdict("unknown")
        if line.vendor and self.options.target is None and not law.is_vendor_of(ledger.trajectory):
            return None
        decided = finding.severity or targets.severity(line) or default
        error = line.error.replace("ID", finding.call_id or "…") if line.error else None
        return decided, TargetVerdict(line.verdict, error)


# ----------------------------------------------------------------------------------------------------------------- one source


class _One:
    """One source being read: finds the transcripts of each record, and gathers messages that are stored one a record."""

    def __init__(self, audit: Audit, given: Input, document: bytes) -> None:
        self.audit = audit
        self.given = given
        self.document = document
        self.loose: dict[str | None, list[Loose]] = {}
        self.held: list[tuple[Found, bytes]] = []
        self.records = 0
        self.understood = 0
        self.bad: list[Unknown] = []
        self.salvaged: set[str] = set()
        self.last: Record | None = None
        self.answered = 0

    def record(self, record: Record | Unreadable) -> None:
        self.records += 1
        if isinstance(record, Unreadable):
            self._unreadable(record)
            return
        try:
            value = decode(record.data)
        except NotJSON as error:
            self._unreadable(unreadable(record, error, last=False))
            return
        self.document = b"" if record.number else record.data
        self.seen(record.number, value)

    def _unreadable(self, record: Unreadable) -> None:
        self.bad.append(Unknown(place=Place(record.number), what=record.reason, of="record"))
        self.salvaged |= salvage(record.data)

    def record_value(self, number: int, value: JSON) -> None:
        """Take a value that is decoded already."""
        self.records += 1
        self.seen(number, value)

    def seen(self, number: int, value: JSON) -> None:
        """Look for transcripts in one value and judge, or gather, what is found."""
        found = [one for root, place in self._roots(number, value) for one in look(root, place, self.audit.only)]
        self.understood += bool(found)
        for one in found:
            if isinstance(one, Loose):
                self.loose.setdefault(one.message.key, []).append(one)
            elif isinstance(one, Found) and number and is_response(one.value) and one.answer is None and self._may_be_loose():
                self._hold(one)
            else:
                self._judge(one)

    def _roots(self, number: int, value: JSON) -> Iterable[tuple[JSON, Place]]:
        place = Place(number)
        if not self.audit.options.at:
            return [(value, place)]
        return [found for pointer in self.audit.options.at if (found := _follow(value, place, pointer)) is not None]

    def _may_be_loose(self) -> bool:
        return bool(self.loose) or len(self.held) < LOOK_AHEAD

    def _hold(self, one: Found) -> None:
        self.held.append((one, self.document))

    def _judge(self, one: Seen) -> None:
        if isinstance(one, Found):
            if one.also and self.given.format is None:
                self.given.format = " or ".join((*one.also, one.format.NAME))
            for trajectory in one.read():
                self._uncertain(trajectory)
                self.audit.judge(trajectory, (one.value, one.place), self.given, self.document)
        elif isinstance(one, Tie):
            self._tie(one.place, one.names)

    def _tie(self, place: Place, names: Iterable[str]) -> None:
        listed = " and ".join(f"`{name}`" for name in names)
        self.bad.append(Unknown(place=place, what=f"tool traffic that fits {listed} equally well", of="tie"))

    def _uncertain(self, trajectory: Trajectory) -> None:
        if any(unknown.of == "record" for unknown in self.bad):
            trajectory.lenient, trajectory.salvaged = True, frozenset(self.salvaged)

    def end(self) -> Input:
        """Judge what was gathered, and say how much of the source was understood."""
        if self.loose:
            self._join_held()
        for one, document in self.held:
            self.document = document
            self._judge(one)
        for gathered in self.loose.values():
            self._conversation(gathered)
        if self.bad:
            self._judge_bad()
        self._status()
        return self.given

    def _join_held(self) -> None:
        """Responses beside loose messages are messages of the same log."""
        for one, _ in self.held:
            evidence = {one.format.NAME: one.evidence.strength}
            value = one.value if "role" in one.value else None
            message = value if value is not None else _message_of(one.value)
            if message is not None:
                self.loose.setdefault(next(iter(self.loose)), []).append(Loose(message=Message(message, one.place), evidence=evidence))
        for gathered in self.loose.values():
            gathered.sort(key=lambda loose: loose.message.place.record)
        self.held = []

    def _conversation(self, gathered: list[Loose]) -> None:
        """Read messages that were stored one a record, by the format that fits all of them best."""
        names = set.intersection(*(set(loose.evidence) for loose in gathered))
        strength = {name: max(loose.evidence[name] for loose in gathered) for name in names}
        best = max(strength.values(), default=0)
        leaders = sorted(name for name in names if strength[name] == best)
        if not leaders or (len(leaders) > 1 and best > formats.BARE):
            self._tie(gathered[0].message.place, leaders or sorted({name for loose in gathered for name in loose.evidence}))
            return
        trajectory = formats.format(leaders[-1]).read_messages([loose.message for loose in gathered])
        trajectory.id = trajectory.id or gathered[0].message.key
        self._uncertain(trajectory)
        self.audit.judge(trajectory, gathered, self.given, self.document)

    def _judge_bad(self) -> None:
        """Findings of the input itself hang on a trajectory without turns."""
        nothing = Trajectory(place=Place(0), format="", unknown=self.bad)
        law = targets.law(self.audit.options.target or "anthropic")
        ledger = Ledger(trajectory=nothing, law=law, signs={f"unknown-{unknown.of}" for unknown in self.bad})
        found = list(self.audit.findings(ledger))
        if found:
            self.audit._enter(ledger, found, self.given, self.document)

    def _status(self) -> None:
        given, bad = self.given, sum(unknown.of == "record" for unknown in self.bad)
        other = self.records - self.understood - bad
        if given.trajectories == 0 and not self.understood:
            given.status = "failed" if bad else "skipped"
            given.reason = "nothing in it could be read as JSON" if bad and not other else "no transcript is recognised in it"
        elif any(unknown.of == "tie" for unknown in self.bad) and given.trajectories == 0:
            given.status, given.reason = "failed", "two formats fit it equally well: name one with --input-format"
        elif bad or other:
            given.status = "partly-read"
            parts = [f"{bad} of {self.records} records cannot be read"] if bad else []
            parts += [f"{other} of {self.records} records hold no transcript"] if other else []
            given.reason = " and ".join(parts)


def _message_of(response: JSON) -> JSON:
    choices = response.get("choices") if isinstance(response, dict) else None
    return choices[0].get("message") if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None


def _follow(value: JSON, place: Place, pointer: str) -> tuple[JSON, Place] | None:
    """The value a JSON pointer leads to; None where it leads nowhere. Raises UsageError for text that is no pointer."""
    if pointer and not pointer.startswith("/"):
        raise UsageError(f"`{pointer}` is no JSON pointer", "a pointer begins with a slash: --at /data/messages")
    for word in pointer.split("/")[1:]:
        key: Key = word.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and str(key).isdigit():
            key = int(key)
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
        place = place / key
    return value, place


# -------------------------------------------------------------------------------------------------------------------- entries


def _order(finding: Finding) -> tuple[object, ...]:
    """In order of the file; what comes from one root stands right after it."""
    own = _position(finding.place)
    root = _position(finding.root) if finding.root is not None else own
    return (root, finding.root is not None and finding.root != finding.place, own, finding.rule)


def _position(place: Place) -> tuple[object, ...]:
    return (place.record, tuple((0, key, "") if isinstance(key, int) else (1, 0, key) for key in place.path))


def _lines(document: bytes, found: list[Finding]) -> dict[tuple[Key, ...], int]:
    """The lines of the values of a document that findings speak of."""
    if not document:
        return {}
    wanted = {place.path for finding in found for place in (finding.place, *(other.place for other in finding.related))}
    return places.lines_of(document, wanted)


class _Entries:
    """Makes entries of the findings of one trajectory."""

    def __init__(self, ledger: Ledger, given: Input, lines: dict[tuple[Key, ...], int], options: Options) -> None:
        self.ledger, self.given, self.lines, self.options = ledger, given, lines, options
        self.used: dict[str, int] = {}

    def entries(self, judged: list[tuple[Finding, tuple[Severity, TargetVerdict]]]) -> Iterator[Entry]:
        marks = [self._fingerprint(finding) for finding, _ in judged]
        roots = {finding.place: mark for (finding, _), mark in zip(reversed(judged), reversed(marks), strict=True) if finding.root is None}
        roots |= {finding.place: mark for (finding, _), mark in zip(judged, marks, strict=True) if finding.root == finding.place}
        for (finding, (severity, verdict)), mark in zip(judged, marks, strict=True):
            root = roots.get(finding.root) if finding.root is not None else None
            yield self._entry(finding, severity, verdict, mark, None if root == mark else root)

    def _entry(self, finding: Finding, severity: Severity, verdict: TargetVerdict, mark: str, root: str | None) -> Entry:
        trajectory, header = self.ledger.trajectory, rules.catalogue()[finding.rule]
        confidence = finding.confidence
        if trajectory.lenient and header.side in ("unanswered", "unasked", "place"):
            confidence, severity = "low", min(severity, Severity.WARNING)
        return Entry(
            rule=finding.rule,
            category=header.category,
            severity=severity,
            confidence=confidence,
            side=finding.side or header.side,
            message=finding.message,
            help=finding.help,
            path=self.given.path,
            record=None,
            line=self._line(finding.place),
            pointer=finding.place.pointer,
            inner=None,
            trajectory=trajectory.id,
            turn=finding.turn,
            call_id=finding.call_id,
            tool=finding.tool,
            format=trajectory.format,
            target=self.ledger.law.name,
            verdicts={self.ledger.law.name: verdict} if trajectory.format else {},
            cause=InferredCause(finding.cause.name, finding.cause.confidence) if finding.cause else None,
            root=root,
            related=tuple(RelatedPlace(other.label, self._line(other.place), other.place.pointer) for other in finding.related),
            fingerprint=mark,
            why=rules.why(finding.rule) if self.options.scenes else "",
            scene=self._scene(finding),
        )

    def _line(self, place: Place) -> int | None:
        return place.record or self.lines.get(place.path)

    def _scene(self, finding: Finding) -> tuple[Row, ...]:
        if not self.options.scenes or not self.ledger.trajectory.turns:
            return ()
        from toolaudit.rails import scene

        return scene(self.ledger, finding, content=self.options.content)

    def _fingerprint(self, finding: Finding) -> str:
        """Stable when lines move or messages are added: what it is, in which conversation, about which call."""
        trajectory = self.ledger.trajectory
        subject = finding.call_id or f"{finding.tool}"
        text = "\0".join(["1", finding.rule, trajectory.id or self.given.path, subject])
        ordinal = self.used[text] = self.used.get(text, -1) + 1
        return hashlib.sha256(f"{text}\0{ordinal}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


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
        run.value(given)
    return run.report


__all__ = ["Audit", "ErrorBody", "Options", "Pair", "Summary", "audit"]
