"""The report for people: each finding as a picture of the turns it concerns, with why it matters and what mends it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

from toolaudit.outputs import Style, concise
from toolaudit.outputs._terminal import BOLD, DIM, TONES, WORDS, Ink, cells, pieces
from toolaudit.rails import SHORT_ID, draw, gutter
from toolaudit.report import Entry, Row, Summary
from toolaudit.text import identifier

NARROW = 60
"""Below so many columns a picture does not fit, and findings are written one to a line."""
ALSO = 8
"""So many findings that come from another one are named under it; the rest is counted."""

_CAUSES = {
    "retry": "a retry",
    "partial-failure": "a partial failure",
    "first-call-only": "code that handles only the first call of a turn",
    "persistence": "the way the history was stored",
    "trimming": "trimming of the history",
    "interruption": "an interruption",
    "translation": "a translation between formats",
    "streaming": "the joining of a stream",
    "concurrency": "writers running side by side",
}


class Report(concise.Report):
    """The findings as pictures; those that come from another one stand under it."""

    def __init__(self, stream: TextIO, style: Style) -> None:
        super().__init__(stream, style)
        self._root: Entry | None = None
        self._also: list[Entry] = []
        self._more = 0

    def finding(self, entry: Entry) -> None:
        """A finding waits until the next one that does not come from it, for those that do are drawn with it."""
        if self._style.quiet or self._style.width < NARROW:
            super().finding(entry)
        elif self._root is None or entry.root is None or entry.root != self._root.fingerprint:
            self._flush()
            self._root = entry
        elif len(self._also) < ALSO:
            self._also.append(entry)
        else:
            self._more += 1

    def finish(self, summary: Summary, incomplete: Sequence[str] = ()) -> None:
        self._flush()
        super().finish(summary, incomplete)

    def _flush(self) -> None:
        if self._root is not None:
            lines = Block(self._root, self._style).lines(self._also, self._more)
            self._write(("\n" if self._any else "") + "".join(f"{line}\n" for line in lines))
            self._any = True
        self._root, self._also, self._more = None, [], 0


class Block:
    """One finding, drawn."""

    def __init__(self, entry: Entry, style: Style) -> None:
        self.entry = entry
        self.style = style
        self.ink = Ink(style)
        self.width = min(style.width, 80)
        self.indent = " " * (gutter(entry.scene) + 1)
        self.bar = self.ink.paint(f"{self.indent}{'|' if style.ascii else '│'}", DIM)

    def lines(self, also: list[Entry], more: int) -> Iterator[str]:
        """The block, with the findings that come from this one, and how many more of these there are."""
        yield from self._headline()
        yield from self._place()
        yield self.bar
        if self.entry.scene:
            yield from draw(self.entry.scene, self.style, self.entry.severity)
            yield self.bar
        for label, text in self._remarks():
            yield from self._remark(label, self.ink.wrap(self.ink.sentence(text), self._room))
        yield from self._remark("also", list(self._followers(also, more)))
        yield from self._remark("more", [self._manual()])

    @property
    def _room(self) -> int:
        """What is left of a line beside the label of a remark."""
        return self.width - len(self.indent) - 8

    def _headline(self) -> Iterator[str]:
        head = f"{WORDS[self.entry.severity]}[{self.ink.shown(self.entry.rule)}]:"
        first, *rest = self.ink.wrap(f"{head} {self.ink.sentence(self.entry.message)}", self.width - 4)
        yield self.ink.paint(first[: len(head)], BOLD, TONES[self.entry.severity]) + self.ink.paint(first[len(head) :], BOLD)
        yield from (f"    {self.ink.paint(line, BOLD)}" for line in rest)

    def _place(self) -> Iterator[str]:
        """Path and line, then turn and format; below each other where they do not fit on one line."""
        lead = self.ink.paint(f"{self.indent}{'+-' if self.style.ascii else '╭─'}", DIM)
        path, aside = self.ink.shown(_path(self.entry)), self.ink.sentence(_aside(self.entry))
        room = self.width - len(self.indent) - 3
        if cells(path) + 3 + cells(aside) <= room:
            yield f"{lead} {path}   {aside}"
            return
        first, *rest = [*_path_lines(path, room), *self.ink.wrap(aside, room)]
        yield f"{lead} {first}"
        yield from (f"{self.bar}  {line}" for line in rest)

    def _remarks(self) -> Iterator[tuple[str, str]]:
        entry = self.entry
        if entry.why:
            yield "why", entry.why
        if entry.help:
            yield "help", entry.help
        if entry.cause is not None:
            probably = "possibly" if entry.cause.confidence == "low" else "probably"
            yield "cause", f"{probably} {_CAUSES.get(entry.cause.name, entry.cause.name)} ({entry.cause.confidence} confidence)"
        if error := _refusal(entry):
            yield "error", error
        if entry.repeats > 1:
            yield "note", f"{entry.repeats:,} requests have it; this is the first of them"
        if entry.confidence != "high":
            yield "note", f"confidence {entry.confidence}: this is inferred, not recorded in the file"

    def _remark(self, label: str, lines: list[str]) -> Iterator[str]:
        for number, line in enumerate(lines):
            yield f"{self.indent}{self.ink.paint(f'= {label:<6}', BOLD) if not number else ' ' * 8}{line}"

    def _followers(self, also: list[Entry], more: int) -> Iterator[str]:
        for entry in also:
            spot = f"line {entry.line}" if entry.line is not None else concise.pointer(entry)
            where = f"turn {entry.turn}" if entry.turn is not None else spot
            if entry.call_id is not None:  # what tells the followers of one root apart
                where = f"{where}, {self.ink.tail(self.ink.shown(identifier(entry.call_id) or ''), FOLLOWER_ID)}"
            text = self.ink.sentence(f"{WORDS[entry.severity]}[{entry.rule}]{f' {where}' if where else ''}: {entry.message}")
            yield self.ink.clip(text, self._room)
        if more:
            yield f"{self.ink.dots} {more:,} more"

    def _manual(self) -> str:
        """Where to read on, and the name under which this finding can be allowed."""
        text = f"toolaudit rule {self.ink.shown(self.entry.rule)}"
        mark = f"[{self.ink.shown(self.entry.fingerprint)}]" if self.entry.fingerprint else ""
        gap = self._room - 3 - len(text) - len(mark)
        return text + (" " * max(gap, 1) + self.ink.paint(mark, DIM) if mark else "")


FOLLOWER_ID = 24
"""Cells for the id of a call in the line of a follower."""


def _path(entry: Entry) -> str:
    number = entry.line or entry.record
    return f"{entry.path}:{number}" if number else entry.path


def _aside(entry: Entry) -> str:
    """Which turn and which half of a pair; the pointer where no line is known or no turn is concerned. A long id always."""
    id_ = identifier(entry.call_id) if entry.call_id is not None and len(entry.call_id) > SHORT_ID else None
    pointer = concise.pointer(entry)
    if entry.turn is not None and (_path(entry) != entry.path or not pointer):
        where = [f"turn {entry.turn}", id_ or _half(entry)]
    else:
        where = [pointer, id_]
    return "   ".join(filter(None, (", ".join(filter(None, where)), f"({entry.format})" if entry.format else "")))


def _half(entry: Entry) -> str | None:
    """`call 2 of 2`, counted in the drawing; the id where that shows not all of them."""
    turn = [row for row in _turn_rows(entry) if row.kind in {"call", "result", "fold"}]
    focus = next((row for row in turn if row.focus), None)
    if focus is None or any(row.kind == "fold" for row in turn):
        return identifier(entry.call_id)
    alike = [row for row in turn if row.kind == focus.kind]
    number = next(number for number, row in enumerate(alike, 1) if row is focus)
    return f"{focus.kind} {number} of {len(alike)}"


def _turn_rows(entry: Entry) -> Iterator[Row]:
    """The rows of the finding's turn: from the one that has its number to the next that has one."""
    current: int | None = None
    for row in entry.scene:
        current = row.turn if row.turn is not None else current
        if current is not None and current == entry.turn:
            yield row


def _refusal(entry: Entry) -> str:
    """What the target would answer, where it refuses and its words are known."""
    given = entry.verdicts.get(entry.target)
    if given is None or given.verdict != "rejected" or not given.provider_error:
        return ""
    status = "" if given.provider_error[:3].isdigit() else "400: "
    return f"{entry.target} would answer {status}{given.provider_error}"


def _path_lines(path: str, room: int) -> Iterator[str]:
    """A path that is too long for a line, broken behind its slashes: nothing of it is lost."""
    line = ""
    for step in path.replace("/", "/\0").split("\0"):
        if line and cells(line) + cells(step) > room:
            yield from pieces(line, room)
            line = ""
        line += step
    yield from pieces(line, room)
