"""What the command line knows of the stream it writes to: colour, glyphs, width."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

from toolaudit.cli._choices import chosen
from toolaudit.cli._faults import hush
from toolaudit.errors import InputError
from toolaudit.outputs import Style

GLYPHS = "┌└│─╌►◄◌┆╭…"


def style(stream: TextIO, *, color: str = "auto", quiet: int = 0, verbose: int = 0) -> Style:
    """How a report on `stream` may be drawn."""
    return Style(
        color=colored(stream, chosen("colour setting", color, ("auto", "always", "never")), os.environ),
        ascii=not _writes(stream, GLYPHS),
        width=_width(stream),
        quiet=quiet,
        verbose=verbose,
    )


def colored(stream: TextIO, flag: str, environ: Mapping[str, str]) -> bool:
    """Whether to use colour. This is decided here and nowhere else.

    The flag comes first, then NO_COLOR, then FORCE_COLOR and CLICOLOR_FORCE, then whether it is a terminal.
    """
    if flag != "auto":
        return flag == "always"
    if environ.get("NO_COLOR"):
        return False
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        if environ.get(name):
            return environ[name] not in ("0", "false")
    return stream.isatty() and environ.get("TERM") != "dumb"


def _writes(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _width(stream: TextIO) -> int:
    """The columns of the terminal; 80 where there is none, unless COLUMNS says otherwise."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


@contextmanager
def opened(path: str | None) -> Iterator[TextIO]:
    """The stream for the report: the file `path` as UTF-8, else standard output.

    Raises InputError where it cannot be written, except for a pipe that was closed (BrokenPipeError).
    """
    try:
        if path is None:
            yield stdout()
            stdout().flush()
            return
        with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:  # noqa: PTH123 - quick to start
            yield stream
    except BrokenPipeError:
        raise
    except OSError as error:
        if path is None:
            hush()
        raise InputError(f"{path or 'standard output'}: it cannot be written: {(error.strerror or str(error)).lower()}") from error


def descriptor(stream: TextIO) -> int:
    """The number under which the system knows a stream; -1 where it does not."""
    try:
        return stream.fileno()
    except OSError:  # a stream in memory
        return -1


def stdout() -> TextIO:
    """Standard output, set so that a character it cannot encode is written as its escape. Raises InputError where it is closed."""
    if sys.stdout is None:
        raise InputError("standard output is closed", "-o FILE writes the report to a file")
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors != "backslashreplace":
        sys.stdout.reconfigure(errors="backslashreplace", newline="\n")
    return sys.stdout
