"""Every example of every rule's manual page, written out in every format that can express it and read back."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from msgspec import Struct

from toolaudit import formats, notation, rules, targets
from toolaudit.engine import Audit, Options
from toolaudit.entries import judged
from toolaudit.example import written
from toolaudit.formats._look import Found, look
from toolaudit.model import Call, Finding, Place, Result, Trajectory
from toolaudit.pairing import pair


class Case(Struct, frozen=True):
    """One block of one manual page, in one format."""

    rule: str
    title: str
    number: int
    block: str
    format: str


def _cases() -> list[Case]:
    return [
        Case(name, title, number, block, form)
        for name in rules.catalogue()
        for number, (title, block) in enumerate(notation.blocks(rules.manual(name)))
        for form in formats.names()
        if _expressible(block, form)
    ]


def _expressible(block: str, form: str) -> bool:
    return written(notation.parse(block)[:1], formats.format(form)) is not None


def _read_back(example: notation.Example, form: str) -> Trajectory:
    value = orjson.loads(orjson.dumps(formats.format(form).write(example.trajectory)))
    found = look(value, Place(0), formats.format(form))
    assert len(found) == 1 and isinstance(found[0], Found)
    trajectory = next(found[0].read())
    trajectory.sent = example.trajectory.sent
    return trajectory


def _line(finding: Finding, read: Trajectory, example: notation.Example) -> int | None:
    """The line of the example that a finding's subject was written from; None when it has no call or result for its subject."""
    for kind in (Call, Result):
        if isinstance(finding.subject, kind):
            ours = [part for _, part in read.parts() if isinstance(part, kind)]
            theirs = [part for _, part in example.trajectory.parts() if isinstance(part, kind)]
            return theirs[next(i for i, part in enumerate(ours) if part is finding.subject)].place.record
    return None


def _findings(case: Case) -> tuple[list[tuple[str, int | None]], notation.Example]:
    example = notation.parse(case.block)[0]
    header = rules.known(case.rule)
    options = Options(rules=rules.select(extend=[] if header.default else [case.rule]), target=example.target)
    audit = Audit(options)
    read = _read_back(example, case.format)
    ledger = pair(read, targets.law(example.target or formats.format(case.format).TARGET))
    found = list(audit.findings(ledger))
    return [(one.finding.rule, _line(one.finding, read, example)) for one in judged(ledger, found, named=bool(audit.named))], example


@pytest.mark.parametrize("case", _cases(), ids=lambda case: f"{case.rule}-{case.title}-{case.number}-{case.format}")
def test_example(case: Case) -> None:
    found, example = _findings(case)
    expected = sorted(example.expected)
    assert sorted(name for name, _ in found) == sorted(name for name, _ in expected)
    for name, line in found:
        assert line is None or (name, line) in expected


@pytest.mark.parametrize("name", rules.catalogue())
def test_manual(name: str) -> None:
    """Every page has its sections, and at least one bad and one good example that some format can express."""
    page = rules.manual(name)
    for heading in ("## Why it matters", "## Bad", "## Good", "## How to fix"):
        assert heading in page, heading
    titles = {case.title for case in _cases() if case.rule == name} | {title for title, _, _ in notation.documents(page)}
    assert titles == {"Bad", "Good"}
    for title, block in notation.blocks(page):
        expected = notation.parse(block)[0].expected
        assert (name in {rule for rule, _ in expected}) if title == "Bad" else not expected


@pytest.mark.parametrize(
    ("name", "title", "text"),
    [
        pytest.param(name, title, text, id=f"{name}-{title}-{number}")
        for name in rules.catalogue()
        for number, (title, _, text) in enumerate(notation.documents(rules.manual(name)))
    ],
)
def test_document(name: str, title: str, text: str, tmp_path: Path) -> None:
    """Examples that are files: the bad one reports exactly its rule, the good one nothing."""
    path = tmp_path / "example.jsonl"
    path.write_text(text, "utf-8")
    audit = Audit(Options(rules=rules.select(extend=[name])))
    audit.paths([str(path)])
    roots = {entry.root for entry in audit.report.findings if entry.rule == name}  # what explains another fault stands beside it
    found = {entry.rule for entry in audit.report.findings if entry.fingerprint not in roots}
    assert found == ({name} if title == "Bad" else set())
