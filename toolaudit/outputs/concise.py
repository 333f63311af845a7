"""One line per finding, `path:line: severity rule: message`: for editors, for `grep`, and for screen readers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from toolaudit.outputs import Style
from toolaudit.outputs._closing import closing, is_foreign
from toolaudit.outputs._terminal import TONES, WORDS, Ink
from toolaudit.report import Entry, Input, Summary
from toolaudit.text import LONGEST, clip, plural


class Report:
    """The findings, a line each, and the line that sums them up."""

    human = True

    def __init__(self, stream: TextIO, style: Style) -> None:
        self._write = stream.write
        self._style = style
        self._ink = Ink(style)
        self._inputs: list[str] = []
        self._notable: list[Input] = []
        self._any = False

    def start(self) -> None:
        """Nothing stands before the findings."""

    def finding(self, entry: Entry) -> None:
        if not self._style.quiet:
            self._any = True
            self._write(line(entry, self._ink) + "\n")

    def input(self, given: Input) -> None:
        if given.status == "partly-read" or is_foreign(given):
            self._notable.append(given)
        if self._style.verbose and not self._style.quiet:
            self._inputs.append(fate(given, self._ink))

    def finish(self, summary: Summary, incomplete: Sequence[str] = ()) -> None:  # noqa: ARG002 (said on the error stream)
        last = [self._ink.shown(closing(summary, self._notable))] if self._style.quiet < 2 else []
        for block in (self._inputs, last):
            if block:
                self._write(("\n" if self._any else "") + "".join(f"{text}\n" for text in block))
                self._any = True


def line(entry: Entry, ink: Ink) -> str:
    """The finding on one line, however many its strings were written on."""
    where, word, said = f"{place(entry)}: ", WORDS[entry.severity], f" {entry.rule}: {clip(entry.message, LONGEST)}{_repeats(entry)}"
    if not ink.color:
        return ink.line(where + word + said)
    return ink.line(where) + ink.paint(word, TONES[entry.severity]) + ink.shown(said)


def _repeats(entry: Entry) -> str:
    """How many requests have it, where it is more than one."""
    return f" (in {entry.repeats:,} requests, first here)" if entry.repeats > 1 else ""


def place(entry: Entry) -> str:
    """The path, with the line if there is one, else the row of a table, else the pointer."""
    spot = entry.line or entry.record or pointer(entry)
    return f"{entry.path}:{clip(str(spot), LONGEST)}" if spot else entry.path


def pointer(entry: Entry) -> str:
    """The pointer, through the string that had to be decoded where there is one."""
    return entry.pointer if entry.inner is None else f"{entry.pointer} > {entry.inner or '/'}"


def fate(given: Input, ink: Ink) -> str:
    """What became of a file, on one line."""
    read = given.status in {"read", "partly-read"}
    counts = (
        f"{given.format}, {plural(given.trajectories, 'trajectory', 'trajectories')}, {plural(given.calls, 'call')}, "
        f"{plural(given.results, 'result')}"
    )
    target = f", judged as {given.target}" if read and given.target else ""
    state = "" if given.status == "read" else ("; partly read" if read else given.status)
    reason = f", {given.reason}" if given.reason else ""
    return ink.line(f"{given.path}: {counts + target if read else ''}{state}{reason}")
