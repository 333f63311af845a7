"""Lines for people: text measured in cells, cut, wrapped and coloured, with nothing in it that a terminal or a runner obeys."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Severity
from toolaudit.outputs import Style
from toolaudit.text import LONGEST, clip, inert, is_command

WORDS = ("", *(str(severity) for severity in Severity))
"""The words for the severities, by number: quicker than asking the enum, which is felt in reports of ten thousand lines."""

BOLD, DIM = "1", "2"
TONES = ("", "36", "33", "31")
"""The colours of the severities, by number."""

_TYPOGRAPHY = str.maketrans(
    {chr(0x2400 + code): f"^{chr(64 + code)}" for code in range(32)}  # the pictures of controls
    | {
        "…": "...",
        "’": "'",
        "‘": "'",
        "“": '"',
        "”": '"',
        "–": "-",
        "—": "-",
        "·": "-",
        "→": "->",
        "←": "<-",
        "×": "x",
        "≤": "<=",
        "≥": ">=",
    }
)


def cells(text: str) -> int:
    """The columns that `text` takes on a terminal."""
    if text.isascii() or text.replace("…", "").isascii():
        return len(text)
    from rich.cells import cell_len  # twenty milliseconds that plain transcripts do not owe

    return cell_len(text)


class Ink:
    """How text is put down in one `Style`: what is shown of it, how it is cut, whether it has colour."""

    def __init__(self, style: Style) -> None:
        self.color = style.color
        self.ascii = style.ascii
        self.dots = "..." if style.ascii else "…"

    def shown(self, text: str) -> str:
        """`text` on one line and harmless: no controls, no commands to a build runner, ASCII where nothing else can be written."""
        text = inert(text)
        if self.ascii and not text.isascii():
            text = text.translate(_TYPOGRAPHY).encode("ascii", "backslashreplace").decode()
        return text

    def sentence(self, text: str) -> str:
        """`shown`, for text that may have names and places of any length in it."""
        return self.shown(clip(text, LONGEST))

    def line(self, text: str) -> str:
        """`shown`, for text that begins a line with a path: `::` there is a command to GitHub's runner, which also skips white space."""
        text = self.shown(text)
        return f"./{text}" if is_command(text) else text

    def paint(self, text: str, *codes: str) -> str:
        """`text` in the given colours, if there are any to be had."""
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if self.color and codes and text else text

    def clip(self, text: str, width: int) -> str:
        """At most `width` cells from the beginning of `text`."""
        if len(text) <= 4 * width and cells(text) <= width:
            return text
        text = text[: 4 * width]  # what takes no cells (combining marks) is not endless either
        while text and cells(text) + len(self.dots) > width:
            text = text[:-1]
        return (text + self.dots)[: max(width, 0)]

    def tail(self, text: str, width: int) -> str:
        """At most `width` cells from the end of `text`, where ids differ."""
        if len(text) <= 4 * width and cells(text) <= width:
            return text
        text = text[-4 * width :]
        while text and cells(text) + len(self.dots) > width:
            text = text[1:]
        return (self.dots + text)[: max(width, 0)]

    def wrap(self, text: str, width: int) -> list[str]:
        """`text` in lines of at most `width` cells, none of which begins with a command to a runner."""
        lines = _lines(text, max(width - ("::" in text), 8))
        return [f": {line[1:]}" if line.startswith("::") else line for line in lines]


def pad(text: str, width: int) -> str:
    """`text` filled with spaces to `width` cells."""
    return text + " " * (width - cells(text))


def _lines(text: str, width: int) -> Iterator[str]:
    line, taken = "", 0
    for word in _pieces(text, width):
        size = cells(word)
        if line and taken + 1 + size > width:
            yield line
            line, taken = word, size
        elif line:
            line, taken = f"{line} {word}", taken + 1 + size
        else:
            line, taken = word, size
    yield line


def _pieces(text: str, width: int) -> Iterator[str]:
    """The words of `text`, those that are too long in pieces."""
    for word in text.split():
        if len(word) <= width and word.isascii():
            yield word
        else:
            yield from pieces(word, width)


def pieces(text: str, width: int) -> Iterator[str]:
    """`text` in pieces of at most `width` cells, white space and all."""
    at = 0
    while True:
        piece = text[at : at + 4 * width]  # what takes no cells is not endless either
        if cells(piece) > width:
            piece = piece[: next(n for n in range(min(width, len(piece)), 0, -1) if n == 1 or cells(piece[:n]) <= width)]
        yield piece
        at += len(piece)
        if at >= len(text):
            return
