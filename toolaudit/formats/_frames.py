"""Messages between two programs, as recorders store them: bare, or in a frame that says when, which way and on which connection.

`{"direction": "out", "connection_id": "c1", "message": {…}}`, `{"request": {…}, "response": {…}}`, `{"type": "send", "data": "{…}"}`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from toolaudit.model import JSON, Place

_HOLDERS: Final = ("message", "payload", "data", "event", "body", "msg", "frame", "raw", "rpc", "json", "request", "response")
_HOLDS: Final = frozenset(_HOLDERS)
_WAYS: Final = ("direction", "dir", "sender", "from", "origin", "flow", "source", "type")
_LANES: Final = (
    "connection_id",
    "connectionId",
    "connection",
    "session_id",
    "sessionId",
    "mcp_session_id",
    "server",
    "server_name",
    "serverName",
    "server_id",
    "client_id",
)


class Frame(Struct, frozen=True):
    """A message, with what its recorder says of it."""

    value: dict[str, JSON]
    place: Place
    way: str | None = None
    """The recorder's own word for the direction: two messages of one connection went the same way if their words are equal."""
    lane: str | None = None
    """The connection, where it is named."""


def frames(value: JSON, place: Place, is_message: Callable[[dict[str, JSON]], bool]) -> Iterator[Frame]:
    """The messages in a record: itself, or those that stand in it, as they are or as JSON text."""
    if not isinstance(value, dict):
        return
    if is_message(value):
        yield Frame(value, place)
        return
    if _HOLDS.isdisjoint(value):
        return  # asked of every record that nobody knows: this is the quickest way to say no
    for key in _HOLDERS:
        child = value.get(key)
        if not isinstance(child, (dict, str)):
            continue
        where = place / key
        if isinstance(child, str) and child[:1] == "{" and place.inner is None:
            child, where = _decoded(child), Place(where.record, where.path, ())
        if isinstance(child, dict) and is_message(child):
            yield Frame(child, where, _way(value, key), _lane(value))


def _decoded(text: str) -> JSON:
    """The value in a JSON text; None where it is none."""
    import orjson

    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _way(frame: dict[str, JSON], key: str) -> str | None:
    if key in ("request", "response"):
        return key
    return next((found.casefold() for name in _WAYS if isinstance(found := frame.get(name), str)), None)


def _lane(frame: dict[str, JSON]) -> str | None:
    found = [str(value) for name in _LANES if isinstance(value := frame.get(name), (str, int)) and not isinstance(value, bool)]
    return " ".join(found) or None
