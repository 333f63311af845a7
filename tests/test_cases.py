"""Small transcripts, each with what must be found in it: the rule, its severity and the place, and nothing else above a note.

One case a line in `cases.jsonl`. `lines` says that the transcript is JSON Lines; a place is a pointer, behind `line:` for those. Lists of
rules and places are alternatives; `also` names rules that may be reported besides.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolaudit.engine import Audit, Options
from toolaudit.model import Severity
from toolaudit.report import Entry

CASES = [json.loads(line) for line in (Path(__file__).parent / "cases.jsonl").read_text("utf-8").splitlines()]


def _audited(case: dict[str, Any], folder: Path) -> list[Entry]:
    path = folder / ("case.jsonl" if case.get("lines") else "case.json")
    body = case["transcript"]
    path.write_text("\n".join(map(json.dumps, body)) if case.get("lines") else json.dumps(body, indent=1), "utf-8")
    audit = Audit(Options())
    audit.paths([str(path)])
    return audit.report.findings


def _near(wanted: str, entry: Entry) -> bool:
    """The place meant, or one up to two steps above or below it."""
    line, _, pointer = wanted.rpartition(":") if wanted[:1].isdigit() else ("", "", wanted)
    want, got = pointer.split("/")[1:], entry.pointer.split("/")[1:]
    shared = min(len(want), len(got))
    return (not line or int(line) == entry.line) and (not want or (want[:shared] == got[:shared] and abs(len(want) - len(got)) <= 2))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case: dict[str, Any], tmp_path: Path) -> None:
    left = _audited(case, tmp_path)
    for wanted in case["findings"]:
        found = next((e for e in left if e.rule in wanted["rules"] and any(_near(place, e) for place in wanted["at"])), None)
        assert found is not None, (wanted, [(e.rule, e.pointer) for e in left])
        assert str(found.severity) in wanted["severity"]
        left.remove(found)
    assert not [(e.rule, e.pointer) for e in left if e.severity >= Severity.WARNING and e.rule not in case.get("also", [])]
