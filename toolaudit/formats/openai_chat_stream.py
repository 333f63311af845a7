"""Chunks of OpenAI Chat Completions and compatible servers: one a line, in a list, or as a stored event stream.

Fragments of a call are joined by the index they come under; its id and its name come once, with the first. Servers that leave the index
out, or give all calls the same one, are understood, and said to do so: clients that follow the rules lose calls there.
"""

from __future__ import annotations

from typing import Final

from toolaudit.formats import _stream
from toolaudit.formats._json import key_of, mapping, sequence, text_or_none
from toolaudit.formats._stream import Gathered, Stream
from toolaudit.model import JSON, Key, Place

NAME: Final = "openai-chat-stream"
TITLE: Final = "OpenAI Chat Completions chunks"
TARGET: Final = "openai-chat"
OF: Final = "openai-chat"


def is_event(value: dict[str, JSON]) -> bool:
    """Whether a value is a chunk. One without choices has the usage, or what a filter says of the prompt."""
    choices = value.get("choices")
    if value.get("object") == "chat.completion.chunk":
        return True
    return isinstance(choices, list) and bool(choices) and all(isinstance(mapping(one).get("delta"), dict) for one in choices)


def key(event: dict[str, JSON]) -> str | None:
    """The id of the completion, where it has one."""
    return text_or_none(event.get("id")) or None


def begins(event: dict[str, JSON], ended: bool) -> bool:
    """A chunk that speaks on behind the end belongs to another completion."""
    return ended and any(mapping(mapping(one).get("delta")) for one in sequence(event.get("choices")))


class _Choice:
    """One of the alternatives of a completion."""

    def __init__(self) -> None:
        self.content: Gathered | None = None
        self.reasoning = False
        self.calls: list[Gathered] = []
        self.at: dict[int, Gathered] = {}
        """The latest call of each index."""
        self.finish: str | None = None


class Completion(Stream):
    """A completion being put together."""

    def __init__(self) -> None:
        super().__init__()
        self._choices: dict[int, _Choice] = {}
        self._id: JSON = None
        self._model: JSON = None

    def event(self, event: dict[str, JSON], place: Place) -> None:
        """Take a chunk."""
        self._id, self._model = self._id or event.get("id"), self._model or event.get("model")
        for at, value in enumerate(sequence(event.get("choices"))):
            given = mapping(value).get("index")
            choice = self._choices.setdefault(given if isinstance(given, int) else 0, _Choice())
            where = place.down("choices", at, "delta")
            delta = mapping(mapping(value).get("delta"))
            if isinstance(delta.get("content"), str):
                choice.content = choice.content or Gathered(where)
                choice.content.add(delta["content"])
            choice.reasoning = choice.reasoning or bool(delta.get("reasoning_content") or delta.get("reasoning"))
            for index, fragment in enumerate(sequence(delta.get("tool_calls"))):
                self._fragment(choice, mapping(fragment), where.down("tool_calls", index))
            if isinstance(delta.get("function_call"), dict):
                self._fragment(choice, {"index": 0, "function": delta["function_call"], "legacy": True}, where / "function_call")
            choice.finish = text_or_none(mapping(value).get("finish_reason")) or choice.finish
        last = event.get("choices") == [] and isinstance(event.get("usage"), dict)  # what it cost is told at the end
        self.ended = bool(self._choices) and (last or self.ended or all(choice.finish for choice in self._choices.values()))

    def _fragment(self, choice: _Choice, value: dict[str, JSON], place: Place) -> None:
        """Add a fragment to the call it belongs to: by its index, else by its id, else to the last one."""
        index, own, function = value.get("index"), key_of(value.get("id")), mapping(value.get("function"))
        call = choice.at.get(index) if isinstance(index, int) else next((one for one in choice.calls if own and one.id == own), None)
        if call is None and not isinstance(index, int) and own is None and choice.calls:
            call = choice.calls[-1]
        if call is None or (own is not None and call.id is not None and own != call.id):
            new = Gathered(place, own, text_or_none(function.get("name")))
            if call is not None:
                self.collision(place, new)
            elif not isinstance(index, int):
                self.indexless(place, new)
            choice.calls.append(new)
            call = new
            if isinstance(index, int):
                choice.at[index] = new
            call.whole = "legacy" if value.get("legacy") else None
        call.id, call.name = call.id or own, call.name or text_or_none(function.get("name")) or None
        call.add(function.get("arguments"))

    def response(self) -> tuple[JSON, dict[tuple[Key, ...], Place]]:
        """The completion."""
        places: dict[tuple[Key, ...], Place] = {}
        choices = []
        for at, (index, choice) in enumerate(sorted(self._choices.items())):
            message: dict[str, JSON] = {"role": "assistant", "content": choice.content.text if choice.content else None}
            if choice.reasoning:
                message["reasoning_content"] = "…"
            base = ("choices", at, "message")
            if choice.content is not None:
                places[(*base, "content")] = choice.content.place
            calls = [call for call in choice.calls if call.whole is None]
            for number, call in enumerate(calls):
                places[(*base, "tool_calls", number)] = call.place
            if calls:
                message["tool_calls"] = [_written(call) for call in calls]
            for call in choice.calls:
                if call.whole is not None:
                    places[(*base, "function_call")] = call.place
                    message["function_call"] = {"name": call.name, "arguments": call.text}
            choices.append({"index": index, "message": message, "finish_reason": choice.finish})
        return {"object": "chat.completion", "id": self._id, "model": self._model, "choices": choices}, places


def _written(call: Gathered) -> JSON:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}}


make = Completion


recognise, fits, session, read = _stream.functions(__name__, is_event, "chunks of a completion")
is_response = _stream.is_response
