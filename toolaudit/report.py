"""What leaves the program: findings with their lines and pointers worked out, the inputs, and the numbers that add up.

These are the shapes of `schemas/report-v1.schema.json`; every output (`outputs/`) is a rendering of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct, field

from toolaudit.errors import InputError, ToolauditError
from toolaudit.model import Confidence, Severity, Side, Verdict

Status = Literal["read", "partly-read", "skipped", "failed"]


class RelatedPlace(Struct, frozen=True, gc=False):
    """Another place of the same file that a finding speaks of."""

    label: str
    line: int | None
    pointer: str


class TargetVerdict(Struct, frozen=True, gc=False):
    """What a target does with the finding, and the error text a user would see, where one is known."""

    verdict: Verdict
    provider_error: str | None = None


class InferredCause(Struct, frozen=True, gc=False):
    """The door by which the fault probably came in."""

    name: str
    confidence: Confidence


class Row(Struct, gc=False):
    """One line of a drawing: an event of a turn. A scene is a tuple of them, from the turns round the finding."""

    kind: Literal["message", "call", "result", "gap", "fold", "cut"]
    turn: int | None = None
    role: str = ""
    """Set on the first row of a turn only."""
    id: str | None = None
    name: str | None = None
    text: str = ""
    """Safe, short text: sizes and status by default; a preview of the content when the user asked for content."""
    rail: int | None = None
    """Number of the rail of the call this row belongs to, counted from 0 in order of the calls of the scene; None for none."""
    closes: bool = False
    """A result that closes its rail for the first time (a later one is drawn as a second arrival)."""
    ghost: bool = False
    """The other half is not in the transcript."""
    mark: str = ""
    """Words at the end of the row that say why it is shown: `this call`, `expected here`, `answers nothing`, …"""
    focus: bool = False
    """The row the finding is about."""


class Entry(Struct, kw_only=True, gc=False):
    """One finding, ready to be shown; see `schemas/report-v1.schema.json` for every field."""

    rule: str
    category: str
    severity: Severity
    confidence: Confidence
    side: Side | None
    message: str
    help: str
    path: str
    record: int | None
    line: int | None
    pointer: str
    inner: str | None
    trajectory: str | None
    turn: int | None
    call_id: str | None
    tool: str | None
    format: str
    target: str
    verdicts: dict[str, TargetVerdict]
    cause: InferredCause | None
    root: str | None
    """Fingerprint of the finding this one comes from; None when it stands alone or is the root."""
    repeats: int = 1
    related: tuple[RelatedPlace, ...] = ()
    fingerprint: str = ""
    why: str = ""
    """The rule's constant sentence on why it matters (human outputs)."""
    scene: tuple[Row, ...] = ()
    """The drawing (human outputs); empty where there is nothing to draw."""


class Tally(Struct, gc=False):
    """What was counted in a record, or in all records of a source. `calls = paired + missing + open + unjudged`."""

    trajectories: int = 0
    turns: int = 0
    calls: int = 0
    results: int = 0
    paired: int = 0
    missing: int = 0
    open: int = 0
    unjudged: int = 0

    def add(self, other: Tally, times: int = 1) -> None:
        """Count what `other` counts as well, or no more (`times` of -1)."""
        add_up(self, other, times)


def add_up(into: Tally | Summary, other: Tally, times: int = 1) -> None:
    """Add what `other` counts."""
    into.trajectories += times * other.trajectories
    into.turns += times * other.turns
    into.calls += times * other.calls
    into.results += times * other.results
    into.paired += times * other.paired
    into.missing += times * other.missing
    into.open += times * other.open
    into.unjudged += times * other.unjudged


class Input(Struct, kw_only=True, gc=False):
    """One file, and what became of it."""

    path: str
    format: str | None = None
    target: str | None = None
    trajectories: int = 0
    calls: int = 0
    results: int = 0
    status: Status = "read"
    reason: str | None = None
    """Why it is not `read`, in one sentence."""
    named: bool = True
    """Named on the command line, as against found in a folder."""


class Summary(Struct, kw_only=True, gc=False):
    """Totals of a run. `calls = paired + missing + open + unjudged`; `files` counts what was read, `skipped` what was not."""

    files: int = 0
    skipped: int = 0
    failed: int = 0
    trajectories: int = 0
    turns: int = 0
    calls: int = 0
    results: int = 0
    paired: int = 0
    missing: int = 0
    open: int = 0
    unjudged: int = 0
    errors: int = 0
    warnings: int = 0
    notes: int = 0
    allowed: int = 0
    baselined: int = 0
    seconds: float = 0.0


class FindingsError(ToolauditError):
    """Raised by `Report.raise_for_findings` with the findings in its text."""

    def __init__(self, entries: list[Entry]) -> None:
        first = entries[0]
        more = f" (and {len(entries) - 1} more)" if len(entries) > 1 else ""
        super().__init__(f"{first.rule} at {first.pointer or '/'}: {first.message}{more}", first.help)
        self.findings = entries


class Report(Struct, kw_only=True):
    """The result of an audit."""

    findings: list[Entry] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    summary: Summary = field(default_factory=Summary)
    incomplete: list[str] = field(default_factory=list)
    """Why the audit could not be completed, a sentence each; empty when everything asked for was judged."""

    def at_least(self, severity: Severity) -> Iterator[Entry]:
        """The findings of `severity` or worse."""
        return (entry for entry in self.findings if entry.severity >= severity)

    @property
    def ok(self) -> bool:
        """Nothing at `warning` or worse, and everything asked for was judged."""
        return not self.incomplete and not any(self.at_least(Severity.WARNING))

    def raise_for_findings(self, severity: Severity = Severity.WARNING) -> None:
        """Raise `FindingsError` when there is a finding of `severity` or worse, `InputError` when something could not be judged."""
        if self.incomplete and not self.findings:
            raise InputError(self.incomplete[0], "`toolaudit formats` lists what is recognised")
        found = list(self.at_least(severity))
        if found:
            raise FindingsError(found)
