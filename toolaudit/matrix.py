"""The verdict of every target on what a file holds: where a replay would be accepted, degraded or refused, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from toolaudit import targets
from toolaudit.model import Verdict
from toolaudit.report import Entry, Report

_WORST: tuple[Verdict, ...] = ("rejected", "degraded", "unknown", "accepted")


class Row(Struct, frozen=True):
    """What one target makes of the transcripts."""

    target: str
    verdict: Verdict
    reasons: dict[str, int]
    """The rules with that verdict, and how many findings each of them has."""
    first: Entry | None
    """The first of those findings."""


def rows(report: Report, names: Sequence[str]) -> Iterator[Row]:
    """A row for each of `names`, the targets that the transcripts of `report` were judged by.

    A finding of which a law does not speak is no matter of acceptance; one whose outcome is not known makes the whole unknown.
    """
    for name in names:
        law = targets.law(name)
        spoken = [(entry.verdicts[name].verdict, entry) for entry in report.findings if name in entry.verdicts and law.lookup(entry.rule)]
        verdict = next((one for one in _WORST if any(one == said for said, _ in spoken)), _WORST[-1])
        why = [entry for said, entry in spoken if said == verdict and verdict != "accepted"]
        yield Row(name, verdict, dict(Counter(entry.rule for entry in why)), why[0] if why else None)
