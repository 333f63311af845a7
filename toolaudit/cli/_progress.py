"""How far a long audit has come: one line on the terminal, rewritten in place, that is gone when the audit is done.

It is drawn when a piece of work is finished, at most ten times a second and not in the first half second: no thread, and nothing to
see of the many audits that are over by then.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Sequence
from types import FrameType
from typing import Any, TextIO

QUIET, PAUSE = 0.5, 0.1
"""Seconds before the first line, and between two."""
BAR = 20
"""Cells of the bar."""

_ERASE = "\r\x1b[2K"


def size_of(paths: Sequence[str]) -> int | None:
    """The bytes of these files; None where one is a folder, a pattern or standard input: looking for what it holds is half the work."""
    from stat import S_ISREG

    total = 0
    for path in paths:
        try:
            status = os.stat(path)  # noqa: PTH116 - quick to start
        except (OSError, ValueError):
            return None
        if not S_ISREG(status.st_mode):
            return None
        total += status.st_size
    return total


class Progress:
    """A context in which `advance` tells the user how far the work is; `total` is all its bytes, None where that is not known."""

    def __init__(self, stream: TextIO, total: int | None = None) -> None:
        self._stream = stream
        self._total = total
        self._bytes = self._files = 0
        self._path: str | None = None
        self._began = self._due = 0.0
        self._drawn = False
        self._process = os.getpid()
        self._handler: Any = None

    def __enter__(self) -> Progress:
        self._began = time.monotonic()
        self._due = self._began + QUIET
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            self._write(_ERASE)
            signal.signal(signal.SIGTERM, self._handler or signal.SIG_DFL)

    def advance(self, bytes_done: int, files_done: int, path: str) -> None:
        """So many more bytes and files are done, the latest of them at `path`."""
        self._bytes += bytes_done
        self._files += files_done
        now = time.monotonic()
        if now >= self._due:
            self._due = now + PAUSE
            self._draw(path, now - self._began)

    def piece(self, bytes_done: int, path: str) -> None:
        """A piece of the file at `path` is done; pieces of one file follow each other."""
        self.advance(bytes_done, int(path != self._path), path)
        self._path = path

    def _draw(self, path: str, seconds: float) -> None:
        from toolaudit.cli._terminal import style
        from toolaudit.outputs._terminal import Ink, cells

        look = style(self._stream, color="never")
        ink, room = Ink(look), look.width - 1  # a full line would wrap
        line = ink.clip(self._numbers(seconds, ascii_only=look.ascii), room)
        if (left := room - cells(line) - 2) > 8:  # less shows nothing of a path
            line += "  " + ink.tail(ink.shown(path), left)
        if not self._drawn:
            self._drawn, self._handler = True, signal.signal(signal.SIGTERM, self._terminated)
        self._write(_ERASE + line)

    def _numbers(self, seconds: float, *, ascii_only: bool) -> str:
        counts = f"{self._files:,} {'file' if self._files == 1 else 'files'}, {_size(self._bytes / seconds)}/s"
        if not self._total:
            return f"checked {_size(self._bytes)}, {counts}"
        part = min(self._bytes / self._total, 1.0)
        full, empty = ("#", ".") if ascii_only else ("━", "╌")
        done = int(part * BAR)
        return f"{full * done}{empty * (BAR - done)} {part:4.0%} of {_size(self._total)}, {counts}"

    def _terminated(self, number: int, _: FrameType | None) -> None:
        """Wipe the line away, then die of the signal as if nothing had been here."""
        if os.getpid() == self._process:  # a worker has this handler from its parent, but no line
            self._write(_ERASE)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def _write(self, text: str) -> None:
        """Write past the stream's buffer, in which nothing must stay behind; a terminal that is gone is no reason to fail."""
        with contextlib.suppress(OSError):
            os.write(self._stream.fileno(), text.encode(self._stream.encoding, "replace"))


def _size(count: float) -> str:
    """Bytes in the unit that keeps them short: `950 bytes`, `1.2 MB`."""
    if count < 1000:
        return f"{count:.0f} bytes"
    power = min(len(f"{count:.0f}") - 1, 9) // 3
    number = count / 1000**power
    return f"{number:,.1f} {' kMG'[power]}B" if number < 100 else f"{number:,.0f} {' kMG'[power]}B"
