"""Values that name themselves as something no reader here takes.

Their messages often look like those of a format that is read. To read them as that would be to report faults that are none, and to
pass them over in silence would be to call them clean: they are named instead.
"""

from __future__ import annotations

from typing import Final

from toolaudit.formats._json import has, kind_of, text_or_none
from toolaudit.model import JSON

_STREAM_TYPES: Final = frozenset(
    {"message_start", "message_delta", "message_stop", "content_block_start", "content_block_delta", "content_block_stop", "ping"}
)
_CONVERSE_EVENTS: Final = ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop")
_COHERE_V1: Final = frozenset({"stream-start", "text-generation", "tool-calls-generation", "tool-calls-chunk", "stream-end"})


def elsewhere(value: dict[str, JSON]) -> str | None:
    """What `value` says it is, when that is none of the formats that are read; None otherwise."""
    return _stream(value) or _protocol(value) or _log(value)


def _stream(value: dict[str, JSON]) -> str | None:
    """An event that stands alone, or among what is none: a stream is read as a whole, before anybody looks here."""
    kind, event_type = kind_of(value) or "", text_or_none(value.get("event_type")) or ""
    if value.get("object") == "chat.completion.chunk":
        return "the chunk of a Chat stream"
    if kind in _STREAM_TYPES and "role" not in value:
        return "an event of a Messages stream"
    if kind.startswith("response.") and has(value, "sequence_number", "response", "item", "item_id", "output_index", "event_id"):
        return "an event of a Responses stream"
    if event_type.startswith(("interaction.", "step.", "content.")):
        return "an event of an Interactions stream"
    if event_type in _COHERE_V1:
        return "an event of a Cohere v1 stream"
    return "an event of a Converse stream" if any(isinstance(value.get(key), dict) for key in _CONVERSE_EVENTS) else None


def _protocol(value: dict[str, JSON]) -> str | None:
    if value.get("jsonrpc") == "2.0":  # a sampling request holds a message list like any other wrapper
        return None if value.get("method") == "sampling/createMessage" else "a JSON-RPC message"
    kind = kind_of(value) or ""
    of_session = kind.startswith("session.") and isinstance(value.get("session"), dict)  # not so the events of other services
    return "a Realtime event" if of_session or kind.startswith(("conversation.item.", "input_audio_buffer.")) else None


def _log(value: dict[str, JSON]) -> str | None:
    """Session logs that store a block a line, as a tree: read as plain messages they would seem full of splits."""
    return "a line of a Claude Code session" if "parentUuid" in value and has(value, "sessionId", "uuid") else None
