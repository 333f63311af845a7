"""Stored event streams: the text of server-sent events, JSON Lines, and the binary frames of Amazon's event streams."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from toolaudit.model import JSON

_FIELDS: Final = ("data:", "event:", "id:", "retry:", ": ", ":\n")
_MOST: Final = 1 << 20
"""So many events of one response are read."""


def is_text(text: str) -> bool:
    """Whether a text begins like server-sent events."""
    return text.lstrip()[:6].startswith(_FIELDS)


def of_text(text: str) -> list[JSON]:
    """The events of a text, or the values of its lines; what is no JSON is left out, as the mark of the end is."""
    import orjson

    found: list[JSON] = []
    for line in text.splitlines():
        data = line[5:].strip() if line.startswith("data:") else line.strip()
        if data[:1] in ("{", "[") and len(found) < _MOST:
            try:
                found.append(orjson.loads(data))
            except orjson.JSONDecodeError:
                continue
    return found


def of_frames(data: bytes) -> list[JSON]:
    """The events of binary frames; those up to where the data is no frame any more.

    A frame is its length, that of its headers, a checksum, headers, payload and a checksum. The header `:event-type` names the event. What
    InvokeModel streams is an event of another provider, in base64.
    """
    import orjson

    found: list[JSON] = []
    for name, payload in _frames(data):
        try:
            value = orjson.loads(payload)
            inner = value.get("bytes") if isinstance(value, dict) else None
            if name == "chunk" and isinstance(inner, str):
                from base64 import b64decode

                found.append(orjson.loads(b64decode(inner)))
            else:
                found.append({name: value} if name else value)
        except ValueError:
            return found
    return found


def _frames(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The name and the payload of each frame."""
    at = 0
    while at + 16 <= len(data):
        total, headers = struct.unpack_from(">II", data, at)
        if not 16 <= total <= len(data) - at or headers > total - 16:
            return
        yield _name(data[at + 12 : at + 12 + headers]), data[at + 12 + headers : at + total - 4]
        at += total


def _name(headers: bytes) -> str:
    """The value of `:event-type`, or of `:exception-type`. All headers of these streams are strings (type 7)."""
    at = 0
    while at < len(headers):
        end = at + 1 + headers[at]
        if headers[end : end + 1] != b"\x07" or end + 3 > len(headers):
            return ""
        (size,) = struct.unpack_from(">H", headers, end + 1)
        value = headers[end + 3 : end + 3 + size]
        if headers[at + 1 : end] in (b":event-type", b":exception-type"):
            return value.decode("utf-8", "replace")
        at = end + 3 + size
    return ""
