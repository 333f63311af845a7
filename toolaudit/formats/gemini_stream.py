"""Chunks of Gemini `streamGenerateContent`: one a line, in a list, or as a stored event stream.

Each chunk is a response of its own shape, with the parts that are new. A call comes whole in one of them; on Vertex its arguments may come
in parts that say `willContinue`, of which the first has the name. The last chunk has the reason why the model stopped.
"""

from __future__ import annotations

from typing import Final

from toolaudit.formats import _stream
from toolaudit.formats._json import has, mapping, sequence, text_or_none
from toolaudit.formats._stream import Stream
from toolaudit.model import JSON, Key, Place

NAME: Final = "gemini-stream"
TITLE: Final = "Google Gemini generateContent chunks"
TARGET: Final = "gemini"
OF: Final = "gemini"


def is_event(value: dict[str, JSON]) -> bool:
    """Whether a value is a chunk: a response with an id, or with usage alone."""
    candidates = value.get("candidates")
    if not isinstance(candidates, list):
        return has(value, "usageMetadata") and not has(value, "contents", "role", "type", "serverContent")
    return all(isinstance(one, dict) for one in candidates)


def is_telling(value: dict[str, JSON]) -> bool:
    """Whether a chunk proves that it is no whole response: nothing says yet why the model stopped."""
    candidates = sequence(value.get("candidates"))
    return (
        bool(candidates) and has(value, "responseId") and not any(has(mapping(one), "finishReason", "finish_reason") for one in candidates)
    )


def key(event: dict[str, JSON]) -> str | None:
    """The id of the response, where it has one."""
    return text_or_none(event.get("responseId"))


def begins(event: dict[str, JSON], ended: bool) -> bool:
    """A chunk with content behind the end belongs to another response."""
    return ended and any(mapping(mapping(one).get("content")).get("parts") for one in sequence(event.get("candidates")))


class Reply(Stream):
    """A response being put together."""

    def __init__(self) -> None:
        super().__init__()
        self._top: dict[str, JSON] = {}
        self._parts: dict[int, list[tuple[dict[str, JSON], Place]]] = {}
        self._finish: dict[int, JSON] = {}
        self._open: dict[int, bool] = {}
        """Candidates with a call of which more is to come."""

    def event(self, event: dict[str, JSON], place: Place) -> None:
        """Take a chunk."""
        self._top.update({name: event[name] for name in ("responseId", "modelVersion") if name in event})
        for at, value in enumerate(sequence(event.get("candidates"))):
            candidate = mapping(value)
            given = candidate.get("index")
            index = given if isinstance(given, int) else 0
            where = place.down("candidates", at, "content", "parts")
            for number, part in enumerate(sequence(mapping(candidate.get("content")).get("parts"))):
                self._part(index, mapping(part), where / number)
            reason = candidate.get("finishReason") or candidate.get("finish_reason")
            self._finish[index] = reason or self._finish.get(index)
        self.ended = bool(self._finish) and all(self._finish.values())

    def _part(self, index: int, part: dict[str, JSON], place: Place) -> None:
        parts = self._parts.setdefault(index, [])
        call = mapping(part.get("functionCall"))
        if self._open.get(index) and "functionCall" in part and not call.get("name"):
            self._open[index] = call.get("willContinue") is True
            return  # more of the arguments of the call before it
        if "functionCall" in part:
            self._open[index] = call.get("willContinue") is True
            part = {**part, "functionCall": {name: value for name, value in call.items() if name != "willContinue"}}
        parts.append((part, place))

    def response(self) -> tuple[JSON, dict[tuple[Key, ...], Place]]:
        """The response."""
        places: dict[tuple[Key, ...], Place] = {}
        candidates = []
        for at, index in enumerate(sorted(self._finish)):
            parts = self._parts.get(index, [])
            places.update({("candidates", at, "content", "parts", number): place for number, (_, place) in enumerate(parts)})
            content = {"role": "model", "parts": [part for part, _ in parts]}
            candidates.append({"index": index, "content": content, "finishReason": self._finish[index]})
        return {**self._top, "candidates": candidates}, places


make = Reply


recognise, fits, session, read = _stream.functions(__name__, is_telling, "chunks of a Gemini response")
is_response = _stream.is_response
