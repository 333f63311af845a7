"""Events of the Bedrock ConverseStream: one a line or in a list.

A block begins, grows and stops under its `contentBlockIndex`; text begins without a start. The input of a call comes as pieces of JSON
text.
"""

from __future__ import annotations

from typing import Final

from toolaudit.formats import _stream
from toolaudit.formats._json import mapping, text_or_none
from toolaudit.formats._stream import Gathered, Stream
from toolaudit.model import JSON, Key, Place

NAME: Final = "bedrock-converse-stream"
TITLE: Final = "Amazon Bedrock ConverseStream events"
TARGET: Final = "bedrock-converse"
OF: Final = "bedrock-converse"

_KINDS: Final = ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata")
_ERRORS: Final = ("modelStreamErrorException", "internalServerException", "throttlingException", "validationException")


def is_event(value: dict[str, JSON]) -> bool:
    """Whether a value is an event, in a stream that is known."""
    return any(isinstance(value.get(kind), dict) for kind in (*_KINDS, *_ERRORS))


def is_telling(value: dict[str, JSON]) -> bool:
    """Whether an event proves what it is one of."""
    return any(isinstance(value.get(kind), dict) for kind in _KINDS[:-1])


def key(event: dict[str, JSON]) -> str | None:
    """None: events do not name their stream."""
    del event
    return None


def begins(event: dict[str, JSON], ended: bool) -> bool:
    """A message begins; or what stands behind the end of one is not an event of it."""
    return "messageStart" in event or (ended and "metadata" not in event)


class Reply(Stream):
    """A message being put together."""

    def __init__(self) -> None:
        super().__init__()
        self._stop: str | None = None
        self._blocks: list[Gathered] = []
        self._at: dict[int, Gathered] = {}
        """The latest block of each index."""

    def event(self, event: dict[str, JSON], place: Place) -> None:
        """Take an event."""
        kind = next((one for one in (*_KINDS, *_ERRORS) if isinstance(event.get(one), dict)), "")
        body = mapping(event.get(kind))
        index, where = body.get("contentBlockIndex"), place / kind
        if kind == "contentBlockStart":
            self._start(mapping(mapping(body.get("start")).get("toolUse")), index, where / "start")
        elif kind == "contentBlockDelta":
            self._grow(mapping(body.get("delta")), index, where / "delta")
        elif kind == "contentBlockStop":
            if isinstance(index, int) and index in self._at:
                self._at[index].ended = True
        elif kind == "messageStop":
            self.ended, self._stop = True, text_or_none(body.get("stopReason"))
        elif kind in _ERRORS:
            self.failed = True

    def _start(self, call: dict[str, JSON], index: JSON, place: Place) -> None:
        block = Gathered(place, text_or_none(call.get("toolUseId")), text_or_none(call.get("name")), whole=call)
        if isinstance(index, int):
            if index in self._at and call:
                self.collision(place, block)
            self._at[index] = block
        elif call:
            self.indexless(place, block)
        self._blocks.append(block)

    def _grow(self, delta: dict[str, JSON], index: JSON, place: Place) -> None:
        block = self._at.get(index) if isinstance(index, int) else (self._blocks[-1] if self._blocks else None)
        if block is None:
            block = Gathered(place)
            self._blocks.append(block)
            if isinstance(index, int):
                self._at[index] = block
        block.add(mapping(delta.get("toolUse")).get("input") if "toolUse" in delta else delta.get("text"))

    def response(self) -> tuple[JSON, dict[tuple[Key, ...], Place]]:
        """The response. What an interrupted stream had not finished is cut off, as the reason it ended for says then."""
        cut = not self.ended and bool(self._blocks) and not self._blocks[-1].ended
        content = [_written(block) for block in self._blocks]
        places: dict[tuple[Key, ...], Place] = {("output", "message", "content", at): block.place for at, block in enumerate(self._blocks)}
        message = {"role": "assistant", "content": content}
        return {"output": {"message": message}, "stopReason": "max_tokens" if cut else self._stop or "end_turn"}, places


def _written(block: Gathered) -> JSON:
    if not isinstance(block.whole, dict):
        return {"text": block.text}
    if not block.pieces:
        return {"toolUse": {"input": {}, **block.whole}}
    import orjson

    try:
        return {"toolUse": {**block.whole, "input": orjson.loads(block.text)}}
    except orjson.JSONDecodeError:
        return {"toolUse": {**block.whole, "input": block.text}}


make = Reply


recognise, fits, session, read = _stream.functions(__name__, is_telling, "events of a Converse stream")
is_response = _stream.is_response
