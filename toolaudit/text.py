"""Text that came from a transcript, made safe to show: nothing in it acts on a terminal, a page or a runner."""

from __future__ import annotations

import re

# C0 and C1 controls, DEL, bidirectional overrides and isolates, zero-width characters, line separators, tags, lone surrogates.
_UNSAFE = re.compile(
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


def clip(text: str, width: int) -> str:
    """At most `width` characters of `text`; what is cut is marked with `…`."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def tail(text: str, width: int) -> str:
    """The end of `text`, which is what tells ids apart; what is cut is marked with `…`."""
    return text if len(text) <= width else "…" + text[len(text) - max(0, width - 1) :]


def quote(text: str, width: int = 40) -> str:
    """`text` as it may stand inside a message: safe, cut, in backticks."""
    return f"`{clip(safe(text).replace('`', chr(0x2019)), width)}`"


def plural(count: int, noun: str, nouns: str = "") -> str:
    """`1 call`, `2 calls`, `1,204 calls`."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def listed(words: list[str], most: int = 4) -> str:
    """`a`, `a and b`, `a, b and c`; what is over `most` is counted."""
    if len(words) > most:
        words = [*words[:most], f"{len(words) - most} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""
