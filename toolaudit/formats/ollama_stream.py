"""Chunks of Ollama's `/api/chat`, one a line: each has the piece that is new, and whole calls; the last one says `done`."""

from __future__ import annotations

from typing import Final

from toolaudit.formats import _stream
from toolaudit.formats._json import flag_of, mapping, sequence, text_or_none
from toolaudit.formats._stream import Gathered, Stream
from toolaudit.model import JSON, Key, Place

NAME: Final = "ollama-stream"
TITLE: Final = "Ollama chat chunks"
TARGET: Final = "ollama"
OF: Final = "ollama"


def is_event(value: dict[str, JSON]) -> bool:
    """Whether a value is a chunk, in a stream that is known: the last one is like a response that came whole."""
    return flag_of(value.get("done")) is not None and isinstance(value.get("message"), dict) and isinstance(value.get("model"), str)


def is_telling(value: dict[str, JSON]) -> bool:
    """Whether a chunk proves what it is one of."""
    return value.get("done") is False and is_event(value)


def key(event: dict[str, JSON]) -> str | None:
    """None: chunks do not name their response."""
    del event
    return None


def begins(event: dict[str, JSON], ended: bool) -> bool:
    """Behind the last chunk, another response begins."""
    del event
    return ended


class Reply(Stream):
    """A response being put together."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, JSON] = {}
        self._content = Gathered(Place(0))
        self._calls: list[tuple[JSON, Place]] = []

    def event(self, event: dict[str, JSON], place: Place) -> None:
        """Take a chunk."""
        message = mapping(event.get("message"))
        self._content.add(message.get("content"))
        for index, call in enumerate(sequence(message.get("tool_calls"))):
            self._calls.append((call, place.down("message", "tool_calls", index)))
        self._last, self.ended = event, event.get("done") is True

    def response(self) -> tuple[JSON, dict[tuple[Key, ...], Place]]:
        """The response."""
        message: dict[str, JSON] = {"role": "assistant", "content": self._content.text}
        if self._calls:
            message["tool_calls"] = [call for call, _ in self._calls]
        places: dict[tuple[Key, ...], Place] = {("message", "tool_calls", at): place for at, (_, place) in enumerate(self._calls)}
        reason = text_or_none(self._last.get("done_reason"))
        return {"model": self._last.get("model"), "message": message, "done": True, "done_reason": reason}, places


make = Reply


recognise, fits, session, read = _stream.functions(__name__, is_telling, "chunks of an Ollama response")
is_response = _stream.is_response
