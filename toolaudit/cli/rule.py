"""`toolaudit rule`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from toolaudit.cli import Work
from toolaudit.cli._options import Color

if TYPE_CHECKING:
    from toolaudit.cli._page import Page
    from toolaudit.rules import Header


def _names() -> list[str]:
    from toolaudit import rules

    return list(rules.catalogue())


def rule(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show this rule's page.", autocompletion=_names)] = None,
    output_format: Annotated[str, typer.Option("-f", "--output-format", metavar="NAME", help="Print text or json.")] = "text",
    color: Color = "auto",
) -> Work:
    """Show a rule's manual page, with its bad example drawn as a report; without a name, list the rules."""
    return lambda: _rule(name, output_format, color)


def _rule(name: str | None, output_format: str, color: str) -> int:
    from toolaudit import rules
    from toolaudit.cli._choices import chosen

    headers = list(rules.catalogue().values()) if name is None else [rules.known(name)]
    if chosen("output", output_format, ("text", "json")) == "json":
        found = [_metadata(header) for header in headers]
        return _json(found if name is None else found[0])
    return _list(headers, color) if name is None else _manual(headers[0], color)


def _metadata(header: Header) -> dict[str, object]:
    from toolaudit import rules

    return {
        "name": header.name,
        "title": rules.title(header.name),
        "category": header.category,
        "severity": str(header.severity),
        "side": header.side,
        "default": header.default,
        "since": header.since,
        "why": rules.why(header.name),
        "manual": rules.manual(header.name),
    }


def _json(value: object) -> int:
    from toolaudit.cli._terminal import stdout, style
    from toolaudit.outputs.json import encoded

    stream = stdout()
    stream.write(encoded(value, ascii_only=style(stream).ascii) + "\n")
    return 0


def _list(headers: list[Header], color: str) -> int:
    from toolaudit import rules
    from toolaudit.cli._page import Page

    page = Page(color)
    for number, category in enumerate(rules.categories()):
        page.blank(number)
        page.head(category)
        for header in headers:
            if header.category == category:
                off = "" if header.default else " (off by default)"
                page.item(header.name, f"{rules.title(header.name)}{off}")
    return page.show()


def _manual(header: Header, color: str) -> int:
    from toolaudit import rules
    from toolaudit.cli._page import Page

    page = Page(color)
    page.head(header.name, f"{header.category}, {header.severity}{'' if header.default else ', off by default'}, since {header.since}")
    page.blank()
    drawn = False
    for line in rules.manual(header.name).splitlines():
        page.markdown(line)
        if line == "```" and not drawn and page.section.startswith("Bad"):
            drawn = True
            _draw(page, header.name)
    return page.show()


def _draw(page: Page, name: str) -> None:
    """The report on the bad example that was just printed."""
    from toolaudit.example import drawing

    if text := drawing(name, page.style):
        page.blank()
        page.raw(text)
