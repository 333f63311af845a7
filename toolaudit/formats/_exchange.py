"""One HTTP exchange as recorders store it: cassettes of vcrpy, HAR files, captures of test harnesses.

All of them are mappings with a `request` that has an address and a `response`; they differ in where a body is (`body`, `parsed_body`,
`postData`, `content`) and in how it is stored: decoded, as text, in base64, compressed. The address says which API was called; what
was sent is read as it was sent.
"""

from __future__ import annotations

from msgspec import Struct

from toolaudit.formats._events import is_text, of_frames, of_text
from toolaudit.formats._json import has, mapping, text_or_none
from toolaudit.model import JSON, Place

MOST = 1 << 26
"""A compressed body is unpacked up to so many bytes."""
_BINARY = ("H4sI", "AAA")
"""How base64 of gzip begins, and that of the frames of an event stream."""


class Body(Struct):
    """What was sent, or came back."""

    value: JSON
    place: Place
    stream: bool = False
    """It came as events, one after another."""


class Exchange(Struct):
    """A request, and its response where it was recorded."""

    address: str
    request: Body | None
    response: Body | None
    status: int | None = None


def exchange(value: dict[str, JSON], place: Place) -> Exchange | None:
    """The exchange that a mapping is; None for anything else."""
    request, response = value.get("request"), mapping(value.get("response"))
    if not isinstance(request, dict):
        return None
    address = text_or_none(request.get("uri")) or text_or_none(request.get("url"))
    if address is None:
        return None
    status = response.get("status", response.get("statusCode", response.get("status_code")))
    code = mapping(status).get("code", status)
    return Exchange(
        address=address,
        request=_body(request, place / "request"),
        response=_body(response, place / "response"),
        status=code if isinstance(code, int) else None,
    )


def _body(message: dict[str, JSON], place: Place) -> Body | None:
    """The body of one side; None where there is none, or none that is JSON."""
    for key in ("parsed_body", "body", "postData", "content", "json"):
        if has(message, key):
            return _stored(message[key], place / key, base64=False)
    return None


def _stored(body: JSON, place: Place, *, base64: bool) -> Body | None:
    if isinstance(body, str):
        return _text(body, place, base64=base64)
    if isinstance(body, dict):
        for key in ("string", "base64_string", "text", "value"):  # the wrappers of vcrpy, HAR and harnesses
            if has(body, key) and not has(body, "messages", "input", "contents", "role"):
                return _stored(body[key], place / key, base64=key == "base64_string" or body.get("encoding") == "base64")
    return Body(body, place) if isinstance(body, (dict, list)) else None


def _text(text: str, place: Place, *, base64: bool) -> Body | None:
    """The value in a text; what stands within is found by keys in that text. Of a stream it is the list of its events."""
    import orjson

    inner = Place(place.record, place.path, ())
    if base64 or text.startswith(_BINARY):
        unpacked = _unpacked(text)
        if isinstance(unpacked, bytes):
            return Body(of_frames(unpacked) or None, inner, stream=True)
        text = unpacked
    if is_text(text):
        return Body(of_text(text) or None, inner, stream=True)
    if not text.lstrip()[:1].startswith(("{", "[")):
        return None
    try:
        return Body(orjson.loads(text), inner)
    except orjson.JSONDecodeError:
        return Body(of_text(text) or None, inner, stream=True) if "\n{" in text else None


def _unpacked(text: str) -> str | bytes:
    """What is in base64, perhaps compressed: text, or the bytes that are none. Empty where it cannot be unpacked."""
    import binascii
    import zlib
    from base64 import b64decode

    try:
        data = b64decode(text, validate=True)
        if data[:2] == b"\x1f\x8b":
            data = zlib.decompressobj(31).decompress(data, MOST)
    except (binascii.Error, ValueError, zlib.error):
        return ""
    try:
        return data if data[:2] == b"\0\0" else data.decode()
    except UnicodeDecodeError:
        return data
