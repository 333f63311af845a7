"""Events of the Cohere v2 chat stream: one a line, in a list, or as a stored event stream.

A call starts, grows and ends under its index; its plan comes as pieces before it.
"""

from __future__ import annotations

from typing import Final

from toolaudit.formats import _stream
from toolaudit.formats._json import kind_of, mapping, text_or_none
from toolaudit.formats._stream import Gathered, Stream
from toolaudit.model import JSON, Key, Place

NAME: Final = "cohere-stream"
TITLE: Final = "Cohere v2 chat stream events"
TARGET: Final = "cohere"
OF: Final = "cohere"

_KINDS: Final = frozenset(
    {
        "message-start", "message-end", "content-start", "content-delta", "content-end", "tool-plan-delta", "tool-call-start",
        "tool-call-delta", "tool-call-end", "citation-start", "citation-end", "debug",
    }
)  # fmt: skip
_TELLING: Final = frozenset({"message-start", "tool-call-start", "tool-call-delta", "tool-plan-delta", "content-delta"})


def is_event(value: dict[str, JSON]) -> bool:
    """Whether a value is an event, in a stream that is known."""
    return kind_of(value) in _KINDS and "role" not in value


def is_telling(value: dict[str, JSON]) -> bool:
    """Whether an event proves what it is one of."""
    return kind_of(value) in _TELLING and isinstance(mapping(value.get("delta")).get("message"), dict)


def key(event: dict[str, JSON]) -> str | None:
    """None: events do not name their stream."""
    del event
    return None


def begins(event: dict[str, JSON], ended: bool) -> bool:
    """A message begins; or what stands behind the end of one is not an event of it."""
    return ended or kind_of(event) == "message-start"


class Reply(Stream):
    """A message being put together."""

    def __init__(self) -> None:
        super().__init__()
        self._id: JSON = None
        self._finish: str | None = None
        self._plan = Gathered(Place(0))
        self._content = Gathered(Place(0))
        self._calls: list[Gathered] = []
        self._at: dict[int, Gathered] = {}
        """The latest call of each index."""

    def event(self, event: dict[str, JSON], place: Place) -> None:
        """Take an event."""
        kind, index = kind_of(event), event.get("index")
        delta = mapping(event.get("delta"))
        message, where = mapping(delta.get("message")), place.down("delta", "message")
        call = mapping(message.get("tool_calls"))
        function = mapping(call.get("function"))
        if kind == "message-start":
            self._id = event.get("id")
        elif kind == "tool-plan-delta":
            self._plan.add(message.get("tool_plan"))
        elif kind == "content-delta":
            self._content.add(mapping(message.get("content")).get("text"))
        elif kind == "tool-call-start":
            self._start(Gathered(where / "tool_calls", text_or_none(call.get("id")), text_or_none(function.get("name"))), index)
            self._calls[-1].add(function.get("arguments"))
        elif kind == "tool-call-delta" and self._calls:
            (self._at.get(index, self._calls[-1]) if isinstance(index, int) else self._calls[-1]).add(function.get("arguments"))
        elif kind == "message-end":
            self.ended = True
            self._finish = text_or_none(delta.get("finish_reason"))

    def _start(self, call: Gathered, index: JSON) -> None:
        if isinstance(index, int):
            if index in self._at:
                self.collision(call.place, call)
            self._at[index] = call
        else:
            self.indexless(call.place, call)
        self._calls.append(call)

    def response(self) -> tuple[JSON, dict[tuple[Key, ...], Place]]:
        """The response."""
        message: dict[str, JSON] = {"role": "assistant"}
        if self._plan.pieces:
            message["tool_plan"] = self._plan.text
        if self._content.pieces:
            message["content"] = [{"type": "text", "text": self._content.text}]
        if self._calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}} for call in self._calls
            ]
        places: dict[tuple[Key, ...], Place] = {("message", "tool_calls", at): call.place for at, call in enumerate(self._calls)}
        return {"id": self._id, "finish_reason": self._finish or "MAX_TOKENS", "message": message}, places


make = Reply


recognise, fits, session, read = _stream.functions(__name__, is_telling, "events of a Cohere stream")
is_response = _stream.is_response
