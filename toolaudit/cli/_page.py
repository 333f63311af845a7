"""Pages for people: headings, paragraphs and tables, wrapped to the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from toolaudit.cli._terminal import stdout, style
from toolaudit.outputs._terminal import BOLD, Ink, cells, pad

WIDEST = 100
"""Prose in longer lines is hard to read."""


class Page:
    """Lines that are gathered, and shown at the end."""

    def __init__(self, color: str = "auto") -> None:
        self.stream = stdout()
        self.style = style(self.stream, color=color)
        self.ink = Ink(self.style)
        self.width = min(self.style.width, WIDEST)
        self.lines: list[str] = []
        self.section = ""
        self._fenced = False
        self._prose: list[str] = []

    def show(self) -> int:
        """Write the page; the exit code of having done so."""
        self._flow()
        self.stream.write("".join(f"{line}\n" for line in self.lines))
        return 0

    def blank(self, unless_first: int = 1) -> None:
        """An empty line; none when its argument is 0, the number of the first of many."""
        self._flow()
        if unless_first:
            self.lines.append("")

    def head(self, name: str, text: str = "") -> None:
        self.lines.append(self.ink.paint(self.ink.shown(name), BOLD) + (f"  {self.ink.shown(text)}" if text else ""))

    def paragraph(self, text: str, indent: int = 0) -> None:
        self.lines += [" " * indent + line for line in self.ink.wrap(self.ink.shown(" ".join(text.split())), self.width - indent)]

    def item(self, name: str, text: str, indent: int = 2, column: int = 28) -> None:
        """A name and what it is, in two columns."""
        first, *rest = self.ink.wrap(self.ink.shown(text), max(self.width - indent - column, 20))
        self.lines.append(f"{' ' * indent}{pad(name, column - 1)} {first}")
        self.lines += [" " * (indent + column) + line for line in rest]

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Columns, of which the last is wrapped."""
        rows = [[self.ink.shown(cell) for cell in row] for row in rows]
        widths = [max(cells(row[column]) for row in [head, *rows]) + 2 for column in range(len(head) - 1)]
        self.lines.append(self.ink.paint(self._row(head, widths), BOLD))
        for row in rows:
            first, *rest = self.ink.wrap(row[-1], max(self.width - sum(widths), 20))
            self.lines.append(self._row([*row[:-1], first], widths))
            self.lines += [" " * sum(widths) + line for line in rest]

    def markdown(self, line: str) -> None:
        """One line of a manual page: headings in bold, examples as they are, prose wrapped."""
        if line.startswith("```"):
            self._flow()
            self._fenced = not self._fenced
        elif self._fenced:
            self.lines.append(f"    {self.ink.shown(line)}")
        elif line.startswith("## "):
            self.section = line[3:]
            self.head(self.section)
        elif line.strip():
            self._prose.append(line)
        else:
            self.blank()

    def raw(self, text: str) -> None:
        """Lines that are drawn already."""
        self.lines += [f"{line}" for line in text.splitlines()]

    def _row(self, row: Sequence[str], widths: list[int]) -> str:
        return "".join(pad(cell, width) for cell, width in zip(row, [*widths, 0], strict=True)).rstrip()

    def _flow(self) -> None:
        prose, self._prose = " ".join(self._prose), []
        if prose:
            self.paragraph(prose)
