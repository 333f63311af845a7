"""Words of the command line that must be one of a list, or a size."""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolaudit.errors import UsageError
from toolaudit.regex import regex
from toolaudit.text import quote

_POINTER = regex(r"(?:/(?:[^~/]|~[01])*)*", re.DOTALL)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def chosen(kind: str, word: str, words: Iterable[str]) -> str:
    """`word`, if it is one of `words`. Raises UsageError with the nearest of them, or all of them."""
    words = list(words)
    if word in words:
        return word
    raise UsageError(f"no {kind} is called {quote(word)}", _hint(word, words))


def _hint(word: str, words: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(word, words, 1)
    return f"did you mean `{near[0]}`?" if near else f"choose one of {', '.join(words)}"


def split(lists: Iterable[str]) -> list[str]:
    """The words of comma lists."""
    return [word.strip() for words in lists for word in words.split(",") if word.strip()]


def size(text: str) -> int:
    """Bytes: a whole number, with K, M or G behind it for multiples of 1024. Raises UsageError for anything else."""
    number = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = number[-1:] if number[-1:] in _UNITS else ""
    digits = number[: len(number) - len(unit)]
    if not (digits.isascii() and digits.isdigit() and int(digits)):
        raise UsageError(f"{quote(text)} is no size", "write a number of bytes, or 64K, 512M, 2G")
    return int(digits) * _UNITS[unit]


def pointer(text: str) -> str:
    """A JSON pointer, as RFC 6901 has it. Raises UsageError for text that is none."""
    if _POINTER.fullmatch(text):
        return text
    hint = (
        "within a pointer `~` is written `~0`, and `/` in a key `~1`"
        if text.startswith("/")
        else "a pointer begins with a slash: --at /data/messages"
    )
    raise UsageError(f"{quote(text)} is no JSON pointer", hint)
