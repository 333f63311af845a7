"""Events of the Anthropic Messages stream: one a line, in a list, or as a stored event stream.

A block begins, grows and stops under its index; the input of a call comes as pieces of JSON text. A stream without `message_stop` was
interrupted: the blocks that stopped count, the last one does not.
"""

from __future__ import annotations

from typing import Final

from toolaudit.formats import _stream
from toolaudit.formats._json import kind_of, mapping, text_or_none
from toolaudit.formats._stream import Gathered, Stream
from toolaudit.model import JSON, Key, Place

NAME: Final = "anthropic-stream"
TITLE: Final = "Anthropic Messages stream events"
TARGET: Final = "anthropic"
OF: Final = "anthropic-messages"

_KINDS: Final = frozenset(
    {"message_start", "message_delta", "message_stop", "content_block_start", "content_block_delta", "content_block_stop", "ping", "error"}
)
_TELLING: Final = frozenset({"message_start", "content_block_start", "content_block_delta"})
_CALLS: Final = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


def is_event(value: dict[str, JSON]) -> bool:
    """Whether a value is an event, in a stream that is known."""
    kind = kind_of(value)
    if kind == "error":
        return isinstance(value.get("error"), dict)
    return kind in _KINDS and "role" not in value


def is_telling(value: dict[str, JSON]) -> bool:
    """Whether an event proves what it is one of."""
    return kind_of(value) in _TELLING and "role" not in value and bool(value.keys() & {"message", "content_block", "delta"})


def key(event: dict[str, JSON]) -> str | None:
    """None: events do not name their stream."""
    del event
    return None


def begins(event: dict[str, JSON], ended: bool) -> bool:
    """A message begins; or what stands behind the end of one is not an event of it."""
    return kind_of(event) == "message_start" or (ended and kind_of(event) not in ("ping", "error"))


class Reply(Stream):
    """A message being put together."""

    def __init__(self) -> None:
        super().__init__()
        self._message: dict[str, JSON] = {}
        self._stop: JSON = None
        self._blocks: list[tuple[dict[str, JSON], Gathered]] = []
        self._at: dict[int, int] = {}
        """The latest block of each index."""

    def event(self, event: dict[str, JSON], place: Place) -> None:
        """Take an event."""
        kind, index = kind_of(event), event.get("index")
        if kind == "message_start":
            self._message = mapping(event.get("message"))
        elif kind == "content_block_start":
            self._start(mapping(event.get("content_block")), index, place / "content_block")
        elif kind == "content_block_delta":
            self._grow(mapping(event.get("delta")), index)
        elif kind == "content_block_stop":
            if (found := self._block(index)) is not None:
                found[1].ended = True
        elif kind == "message_delta":
            self._stop = mapping(event.get("delta")).get("stop_reason") or self._stop
        elif kind == "message_stop":
            self.ended = True
        elif kind == "error":
            self.failed = True

    def _start(self, block: dict[str, JSON], index: JSON, place: Place) -> None:
        gathered = Gathered(place, text_or_none(block.get("id")), text_or_none(block.get("name")))
        if isinstance(index, int):
            if index in self._at and kind_of(block) in _CALLS:
                self.collision(place, gathered)
            self._at[index] = len(self._blocks)
        elif kind_of(block) in _CALLS:
            self.indexless(place, gathered)
        if isinstance(block.get("text"), str):
            gathered.add(block["text"])
        self._blocks.append((block, gathered))

    def _block(self, index: JSON) -> tuple[dict[str, JSON], Gathered] | None:
        """The block of an index; the last one where there is none."""
        at = self._at.get(index) if isinstance(index, int) else len(self._blocks) - 1
        return self._blocks[at] if at is not None and at >= 0 else None

    def _grow(self, delta: dict[str, JSON], index: JSON) -> None:
        if (found := self._block(index)) is not None:
            gathered = found[1]
            gathered.add(delta.get("partial_json") if "partial_json" in delta else delta.get("text"))
            if isinstance(delta.get("signature"), str):
                gathered.whole = delta["signature"]

    def response(self) -> tuple[JSON, dict[tuple[Key, ...], Place]]:
        """The message. What an interrupted stream had not finished is cut off, as the reason it ended for says then."""
        cut = not self.ended and bool(self._blocks) and not self._blocks[-1][1].ended
        content = [_written(block, gathered) for block, gathered in self._blocks]
        places: dict[tuple[Key, ...], Place] = {("content", at): one.place for at, (_, one) in enumerate(self._blocks)}
        said = {"type": "message", "role": "assistant", **self._message}
        return {**said, "content": content, "stop_reason": "max_tokens" if cut else self._stop}, places


def _written(block: dict[str, JSON], gathered: Gathered) -> JSON:
    kind = kind_of(block)
    if kind == "text":
        return {**block, "text": gathered.text}
    if kind == "thinking" and gathered.whole is not None:
        return {**block, "signature": gathered.whole}
    if kind not in _CALLS or not gathered.pieces:
        return block
    import orjson

    try:
        return {**block, "input": orjson.loads(gathered.text)}
    except orjson.JSONDecodeError:
        return {**block, "input": gathered.text}


make = Reply


recognise, fits, session, read = _stream.functions(__name__, is_telling, "events of a Messages stream")
is_response = _stream.is_response
