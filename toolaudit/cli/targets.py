"""`toolaudit targets`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from toolaudit.cli import Work
from toolaudit.cli._options import target_names

if TYPE_CHECKING:
    from toolaudit.cli._page import Page
    from toolaudit.matrix import Row
    from toolaudit.targets import Line


def targets(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show this target's law.", autocompletion=target_names)] = None,
    matrix: Annotated[str | None, typer.Option(metavar="FILE", help="Say what each target would do with this transcript.")] = None,
) -> Work:
    """List the targets (who would receive a transcript), show the law of one, or hold a transcript against all of them.

    With `--matrix`, the transcript is judged as if it were sent as it stands: would it be accepted, degraded (taken, but with what was said
    lost or changed) or rejected, and for what. Exits 0, or 2 when it could not be read.
    """
    if matrix is not None:
        return lambda: _matrix(matrix, name)
    return _list if name is None else lambda: _law(name)


def _list() -> int:
    from toolaudit import targets as known
    from toolaudit.cli._page import Page

    page = Page()
    for number, name in enumerate(known.names()):
        page.blank(number)
        law = known.law(name)
        page.head(name, law.title)
        page.paragraph(law.about, indent=2)
    return page.show()


def _matrix(path: str, name: str | None) -> int:
    from toolaudit import targets as known
    from toolaudit.cli import INCOMPLETE
    from toolaudit.cli._choices import chosen
    from toolaudit.cli._faults import say
    from toolaudit.cli._page import Page
    from toolaudit.engine import Audit, Options
    from toolaudit.matrix import rows

    names = known.names() if name is None else (chosen("target", name, known.names()),)
    run = Audit(Options(target=names, sent=True))
    run.paths([path])
    page = Page()
    summary = run.report.summary
    if summary.files:
        of = f"{summary.trajectories} trajector{'y' if summary.trajectories == 1 else 'ies'}, {summary.calls} calls"
        page.head(path, f"{run.report.inputs[0].format}, {of}, as if sent as it stands")
        page.blank()
        page.table(("target", "verdict", "why"), [(row.target, row.verdict, _why(row)) for row in rows(run.report, names)])
        page.show()
    for reason in run.report.incomplete:
        say(f"error: {reason}")
    return INCOMPLETE if run.report.incomplete else 0


def _why(row: Row) -> str:
    """The rules that decided, how often, and where first."""
    if row.first is None:
        return ""
    reasons = ", ".join(rule if count == 1 else f"{rule} ({count})" for rule, count in row.reasons.items())
    place = f"line {row.first.line}" if row.first.line else row.first.pointer
    return f"{reasons}; first at {place}: {row.first.message}"


def _law(name: str) -> int:
    from toolaudit import targets as known
    from toolaudit.cli._choices import chosen
    from toolaudit.cli._page import Page

    law = known.law(chosen("target", name, known.names()))
    page = Page()
    page.head(law.name, law.title)
    page.paragraph(law.about)
    if law.extends:
        page.paragraph(f"Like `{law.extends}`, but for what its own file says.")
    page.blank()
    page.table(("rule", "verdict", "evidence"), [_row(line) for line in law.line])
    _errors(page, law.line)
    return page.show()


def _row(line: Line) -> tuple[str, str, str]:
    rule = f"{line.rule} ({line.case})" if line.case else line.rule
    verdict = f"{line.verdict}, {line.severity}" if line.severity else line.verdict
    return rule, f"{verdict} (vendor)" if line.vendor else verdict, line.evidence


def _errors(page: Page, lines: list[Line]) -> None:
    """What the receiver is known to say, each text once."""
    texts: dict[str, list[str]] = {}
    for line in lines:
        if line.error:
            texts.setdefault(line.error, []).append(line.rule)
    if texts:
        page.blank()
        page.head("what it says", "the error texts that were seen; providers reword them")
    for text, rules in texts.items():
        page.paragraph(f"{', '.join(dict.fromkeys(rules))}: {text}", indent=2)
