"""What identifiers look like: one that is recognisably another form of a call's id, one that is not unique by design."""

from __future__ import annotations

from toolaudit.model import Call
from toolaudit.regex import regex

_SEPARATORS = "|:_-#./"


def relation(ref: str, call: Call) -> str:
    """In which way `ref` is recognisably not this call's id but some other form of it; empty when it is no relation."""
    own = call.id
    if ref in call.other_ids or (call.item_id is not None and ref == call.item_id):
        return "another identifier of the call"
    if call.name is not None and ref == call.name:
        return "the tool's name"
    if own is None:
        return ""
    if ref.strip() == own.strip():
        return "the id with white space"
    if ref.casefold() == own.casefold():
        return "the id in other letter case"
    if _plain(ref) == _plain(own) and len(_plain(own)) >= 4:
        return "the id with other punctuation"
    if (stem := _stem(ref)) == _stem(own) and ref not in (stem, own) and own != stem:
        return "the id with another prefix"
    return _affix(ref, own)


_PREFIX = regex(r"^(?:call|fc|ctc|toolu|tooluse|toolu_bdrk|toolu_vrtx|srvtoolu|chatcmpl-tool|fco|tool|functions)[_.-]")


def _stem(key: str) -> str:
    """An id without the prefix that its vendor gives it."""
    return _PREFIX.sub("", key)


def _affix(ref: str, own: str) -> str:
    short, long = sorted((ref, own), key=len)
    more = "longer" if ref is long else "shorter"
    if len(short) < 4 or short == long:
        return ""
    if long.startswith(short) and (long[len(short)] in _SEPARATORS or len(short) in (40, 64)):
        return f"the id {more} by a suffix"
    if long.endswith(short) and long[-len(short) - 1] in _SEPARATORS and len(short) >= 6:
        return f"the id {more} by a prefix"
    return ""


def _plain(key: str) -> str:
    return "".join(character for character in key if character.isalnum()).casefold()


def recurring(key: str) -> bool:
    """Whether an id is of a kind that is not unique by design: a counter, or a short constant."""
    stem, _, digits = key.rpartition(":")
    if stem and digits.isdigit():
        return True
    stem, _, digits = key.rpartition("_")
    return len(key) < 8 or (digits.isdigit() and len(digits) <= 3)
