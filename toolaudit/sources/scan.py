"""Where JSON values end in bytes, found without building them: for text that the decoders refuse."""

from __future__ import annotations

import re

from toolaudit.regex import regex

STRING = regex(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
BLANK = regex(rb"[ \t\r\n]*+")
_SCALAR = regex(rb'[^\s,:"{}\[\]]*+')
_TOKEN = regex(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\[\]]', re.DOTALL)


def past_blank(data: bytes | bytearray, at: int) -> int:
    """The first offset from `at` on that is not blank space."""
    found = BLANK.match(data, at)
    return found.end() if found else at


def past_value(data: bytes | bytearray, at: int) -> int:
    """The offset behind the value that begins at `at`; -1 when the data ends before it does.

    Brackets are counted, not matched with one another, and what stands between them is not looked at: the value need not be JSON.
    """
    opening = data[at : at + 1]
    if opening == b'"':
        found = STRING.match(data, at)
        return found.end() if found else -1
    if opening not in (b"{", b"["):
        found = _SCALAR.match(data, at)
        return found.end() if found else at
    depth = 0
    for token in _TOKEN.finditer(data, at):
        first = token[0]
        if first == b"{" or first == b"[":  # noqa: PLR1714 (the loop is hot)
            depth += 1
        elif first == b"}" or first == b"]":  # noqa: PLR1714
            depth -= 1
            if not depth:
                return token.end()
        elif len(first) == 1:  # a string that never ends
            break
    return -1
