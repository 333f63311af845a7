"""From findings to entries: the law is applied, lines are counted, followers are put behind their root, fingerprints are given."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from toolaudit import places, rules, targets
from toolaudit.model import Finding, Key, Ledger, Place, Severity
from toolaudit.report import Entry, InferredCause, RelatedPlace, Row, TargetVerdict
from toolaudit.text import digest


class Judged(Struct, frozen=True):
    """A finding, with what the target's law makes of it."""

    finding: Finding
    severity: Severity
    verdict: TargetVerdict


class Whereabouts(Struct, frozen=True, kw_only=True):
    """Where a trajectory is stored, and how much of it may be drawn."""

    path: str
    document: places.Document = b""
    first_line: int = 1
    scenes: bool = False
    content: bool = False


def judged(ledger: Ledger, found: Iterable[Finding], *, named: bool) -> Iterator[Judged]:
    """The findings that the ledger's law knows of, each with its verdict.

    A limit that only one vendor sets holds when the target was `named` by the user, or the transcript shows that vendor. What was taken by
    the provider that it was sent to is not refused, whatever the law says: it is no more than a warning.
    """
    law: targets.Law = ledger.law
    accepted = ledger.trajectory.accepted and not named
    sent = ledger.trajectory.sent_turns
    even = _even(ledger) if law.counts else frozenset()
    for finding in found:
        line = law.lookup(finding.rule, finding.variant)
        if line is not None and finding.rule in _OF_IDS and finding.turn in even:
            yield Judged(finding, min(finding.severity or Severity.WARNING, Severity.WARNING), TargetVerdict("accepted"))
            continue
        default = finding.severity or rules.catalogue()[finding.rule].severity
        if line is None:
            yield Judged(finding, default, TargetVerdict("unknown"))
        elif not line.vendor or named or law.is_vendor_of(ledger.trajectory):
            if accepted and line.verdict == "rejected" and not (sent and (finding.turn or 0) > sent):
                yield Judged(finding, min(finding.severity or Severity.WARNING, Severity.WARNING), TargetVerdict("accepted"))
                continue
            error = _filled(line.error, finding) if line.error else None
            yield Judged(finding, finding.severity or targets.severity(line) or default, TargetVerdict(line.verdict, error))


_OF_IDS = frozenset({"missing-result", "orphan-result", "mismatched-id", "duplicate-result", "duplicate-call-id"})


def _even(ledger: Ledger) -> frozenset[int]:
    """Numbers of the turns that call, and of those that answer right behind them, where there are as many results as calls."""
    turns, found = ledger.trajectory.turns, set[int]()
    for batch in ledger.batches:
        answers = list(itertools.takewhile(lambda turn: turn.role == "tool", turns[batch.turns[-1].index + 1 :]))
        if sum(len(turn.results) for turn in answers) == len(batch.pairs):
            found.update(turn.number for turn in (*batch.turns, *answers))
    return frozenset(found)


def _filled(error: str, finding: Finding) -> str:
    """The text of a refusal with the id and the indexes of this finding, counted from 0 as providers count."""
    index = dict(zip(finding.place.keys, finding.place.keys[1:], strict=False))
    text = error.replace("ID", finding.call_id or "…")
    for sign, name, filled in _INDEXES:
        if sign in text and isinstance(index.get(name), int):
            text = text.replace(sign, filled.format(index[name]))
    return text


_INDEXES = (("messages.N", "messages", "messages.{}"), ("content.M", "content", "content.{}"), ("input[N]", "input", "input[{}]"))


def entries(ledger: Ledger, found: list[Judged], where: Whereabouts) -> Iterator[Entry]:
    """The entries of one trajectory's findings, in order of the file, each root right before what comes from it."""
    ordered = sorted(found, key=lambda one: _order(one.finding))
    lines = _lines(where.document, ordered)
    marks = list(_fingerprints(ledger, ordered, where.path))
    scene = _scenes(ledger, where)
    roots = {one.finding.place: mark for one, mark in zip(reversed(ordered), reversed(marks), strict=True) if one.finding.root is None}
    for one, mark in zip(ordered, marks, strict=True):
        root = roots.get(one.finding.root) if one.finding.root is not None else None
        entry = _entry(ledger, one, where, lines, (mark, root))
        entry.scene = scene(one.finding)
        yield entry


def _order(finding: Finding) -> tuple[object, ...]:
    own = _position(finding.place)
    root = _position(finding.root) if finding.root is not None else own
    return (root, finding.root is not None, own, finding.rule)


def _position(place: Place) -> tuple[object, ...]:
    return (place.record, tuple((0, key, "") if isinstance(key, int) else (1, 0, key) for key in place.keys))


def _lines(document: places.Document, found: list[Judged]) -> dict[tuple[Key, ...], int]:
    """The lines of the values of a document that findings speak of."""
    if not document:
        return {}
    wanted = {place.path for one in found for place in (one.finding.place, *(other.place for other in one.finding.related))}
    return places.lines_of(document, wanted)


def _fingerprints(ledger: Ledger, found: list[Judged], path: str) -> Iterator[str]:
    """Stable when lines move or messages are added: which rule, in which conversation, about which call."""
    used: dict[str, int] = {}
    for one in found:
        finding = one.finding
        text = "\0".join(["1", finding.rule, ledger.trajectory.id or path, finding.call_id or f"{finding.tool}"])
        ordinal = used[text] = used.get(text, -1) + 1
        yield digest(f"{text}\0{ordinal}")


def _entry(ledger: Ledger, one: Judged, where: Whereabouts, lines: dict[tuple[Key, ...], int], marks: tuple[str, str | None]) -> Entry:
    finding, trajectory, header = one.finding, ledger.trajectory, rules.catalogue()[one.finding.rule]

    def line(place: Place) -> int | None:
        if not where.document:
            return place.record or None
        return where.first_line - 1 + lines.get(place.path, 1)

    return Entry(
        rule=finding.rule,
        category=header.category,
        severity=one.severity,
        confidence=finding.confidence,
        side=finding.side or header.side,
        message=finding.message,
        help=finding.help,
        path=where.path,
        record=None,
        line=line(finding.place),
        pointer=finding.place.pointer,
        inner=finding.place.inner_pointer,
        trajectory=trajectory.id,
        turn=finding.turn,
        call_id=finding.call_id,
        tool=finding.tool,
        format=trajectory.format,
        target=ledger.law.name,
        verdicts={ledger.law.name: one.verdict} if trajectory.format else {},
        cause=InferredCause(finding.cause.name, finding.cause.confidence) if finding.cause else None,
        root=marks[1],
        related=tuple(RelatedPlace(other.label, line(other.place), other.place.pointer) for other in finding.related),
        fingerprint=marks[0],
        why=rules.why(finding.rule) if where.scenes else "",
    )


def _scenes(ledger: Ledger, where: Whereabouts) -> Callable[[Finding], tuple[Row, ...]]:
    """What draws the findings of one trajectory."""
    if not where.scenes or not ledger.trajectory.turns:
        return lambda _: ()
    from toolaudit.rails import Stage

    return Stage(ledger, content=where.content).scene


def merged(found: list[Entry], more: list[Entry]) -> list[Entry]:
    """The findings of one trajectory under several laws: what is found under more than one is told once, with the verdict of each.

    It has the severity, and the words, of the law that takes it worst.
    """
    known = {_identity(entry): index for index, entry in enumerate(found)}
    behind: dict[int, list[Entry]] = {}
    at = -1
    for entry in more:
        index = known.get(_identity(entry))
        if index is None:
            behind.setdefault(at, []).append(entry)
            continue
        at, same = index, found[index]
        same.verdicts = {**same.verdicts, **entry.verdicts}
        if entry.severity > same.severity:
            same.severity, same.target, same.message, same.help = entry.severity, entry.target, entry.message, entry.help
    return [*behind.get(-1, ()), *(one for index, entry in enumerate(found) for one in (entry, *behind.get(index, ())))]


def _identity(entry: Entry) -> tuple[object, ...]:
    return (entry.rule, entry.line, entry.pointer, entry.inner, entry.call_id)


def uncertain(found: list[Entry], salvaged: set[str]) -> tuple[list[Entry], list[Entry]]:
    """The findings of a source that has unreadable records, and those that are taken back: what is missing may stand in one of those.

    A finding about an id that was made out in one of them is taken back; the others about pairs are no more than warnings.
    """
    kept, taken_back = [], []
    for entry in found:
        if entry.side in ("unanswered", "unasked", "place"):
            if entry.call_id in salvaged and entry.rule in TAKEN_BACK:
                taken_back.append(entry)
                continue
            entry.severity, entry.confidence = min(entry.severity, Severity.WARNING), "low"
        kept.append(entry)
    return kept, taken_back


TAKEN_BACK = frozenset({"missing-result", "open-call", "orphan-result", "dropped-assistant-turn"})
