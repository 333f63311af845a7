"""`toolaudit targets`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from toolaudit.cli import Work
from toolaudit.cli._options import target_names

if TYPE_CHECKING:
    from toolaudit.cli._page import Page
    from toolaudit.targets import Line


def targets(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show this target's law.", autocompletion=target_names)] = None,
) -> Work:
    """List the targets (who would receive a transcript), or show the law of one: what it refuses and tolerates."""
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


def _law(name: str) -> int:
    from toolaudit import targets as known
    from toolaudit.cli._choices import chosen
    from toolaudit.cli._page import Page

    law = known.law(chosen("target", name, known.names()))
    page = Page()
    page.head(law.name, law.title)
    page.paragraph(law.about)
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
