"""Text that came from a transcript, made safe to show: nothing in it acts on a terminal, a page or a runner."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from toolaudit.regex import regex

LONGEST = 1_000
"""So many characters of one text are shown: a sentence with its names is far shorter."""
IDENTIFIER = 256
"""An id or a name of so many characters is written whole where a program reads it."""
DIGEST = 16
_LONG = 1 << 16
_RUNNER = regex(r"##(?=vso\[|\[)", re.IGNORECASE)

# C0 and C1 controls, DEL, bidirectional overrides and isolates, zero-width characters, line separators, tags, lone surrogates.
_UNSAFE = regex(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)  # the control pictures
    return "\u2421" if code == 0x7F else f"<U+{code:04X}>"


def safe(text: str) -> str:
    """`text` with every character that could act on a terminal replaced by a visible stand-in, on one line."""
    return text if text.isascii() and text.isprintable() else _UNSAFE.sub(_visible, text)


def inert(text: str) -> str:
    """`text` as `safe` shows it, with no command to a build runner in it: Azure obeys `##vso[` wherever it stands in a line."""
    text = safe(text)
    return _RUNNER.sub("## ", text) if "##" in text else text


def is_command(line: str) -> bool:
    """Whether a build runner may obey a line that is `inert`: it is what stands at its beginning that counts, white space apart."""
    return line.lstrip().startswith(("::", "##"))


def identifier(text: str | None) -> str | None:
    """An id or a name for programs: a long one is cut, and a digest of all of it keeps it apart from others that begin alike."""
    if text is None or len(text) <= IDENTIFIER:
        return text
    return f"{text[: IDENTIFIER - DIGEST - 1]}…{digest(text)}"


def digest(text: str) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of `text`."""
    data = text.encode("utf-8", "surrogatepass")
    sha256 = _small_sha256() if len(data) < _LONG else import_module("hashlib").sha256
    return str(sha256(data).hexdigest()[:DIGEST])


@functools.cache
def _small_sha256() -> Callable[[bytes], Any]:
    """The interpreter's own SHA-256, where it has one: `hashlib` loads OpenSSL first, which pays for long texts only."""
    try:
        home = import_module("_sha2" if sys.version_info >= (3, 12) else "_sha256")
    except ImportError:
        home = import_module("hashlib")
    found: Callable[[bytes], Any] = home.sha256
    return found


def clip(text: str, width: int) -> str:
    """At most `width` characters of `text`; what is cut is marked with `…`."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def tail(text: str, width: int) -> str:
    """The end of `text`, which is what tells ids apart; what is cut is marked with `…`."""
    return text if len(text) <= width else "…" + text[len(text) - max(0, width - 1) :]


def quote(text: str, width: int = 40) -> str:
    """`text` as it may stand inside a message: safe, cut, in backticks."""
    return f"`{clip(safe(text[: width + 1]).replace('`', chr(0x2019)), width)}`"


def plural(count: int, noun: str, nouns: str = "") -> str:
    """`1 call`, `2 calls`, `1,204 calls`."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def listed(words: list[str], most: int = 4) -> str:
    """`a`, `a and b`, `a, b and c`; what is over `most` is counted."""
    if len(words) > most:
        words = [*words[:most], f"{len(words) - most} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


_TYPES = {
    "string": "a string",
    "array": "a list",
    "object": "an object",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "a boolean",
}


def one_of_types(types: list[str]) -> str:
    """The types of a JSON Schema in words: `a string`, `a list or null`."""
    return " or ".join(_TYPES.get(word, word) for word in types)


_KINDS = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}


def word_for(value: object) -> str:
    """What kind of JSON value `value` is, with its article."""
    return _KINDS.get(type(value), "something else")
