"""Events of the OpenAI Responses stream: one a line, in a list, or as a stored event stream.

What the last event says of the response goes before what an item said when it was done, and that before what its pieces add up to. Events
are numbered; a stream that was resumed repeats numbers, and what was seen is passed over.
"""

from __future__ import annotations

from typing import Final

from toolaudit.formats import _stream
from toolaudit.formats._json import kind_of, mapping, sequence, text_or_none
from toolaudit.formats._stream import Gathered, Stream
from toolaudit.model import JSON, Key, Place

NAME: Final = "openai-responses-stream"
TITLE: Final = "OpenAI Responses stream events"
TARGET: Final = "openai-responses"
OF: Final = "openai-responses"

_ENDS: Final = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
_ARGUMENTS: Final = {
    "response.function_call_arguments": "arguments",
    "response.mcp_call_arguments": "arguments",
    "response.custom_tool_call_input": "input",
}


def is_event(value: dict[str, JSON]) -> bool:
    """Whether a value is an event. Those of Realtime have the same names, but are not numbered."""
    kind = kind_of(value)
    if kind is None or "event_id" in value:
        return False
    if kind == "error":
        return "sequence_number" in value
    found = ("sequence_number", "response", "item", "item_id", "output_index")
    return kind.startswith("response.") and not value.keys().isdisjoint(found)


def key(event: dict[str, JSON]) -> str | None:
    """None: most events do not name their response."""
    del event
    return None


def begins(event: dict[str, JSON], ended: bool) -> bool:
    """A response is created; or what stands behind the end of one is not an event of it."""
    return ended or kind_of(event) == "response.created"


class Reply(Stream):
    """A response being put together."""

    def __init__(self) -> None:
        super().__init__()
        self._response: dict[str, JSON] = {}
        self._final: list[JSON] | None = None
        self._items: dict[int, Gathered] = {}
        """By the index in the output."""
        self._highest = -1

    def event(self, event: dict[str, JSON], place: Place) -> None:
        """Take an event, unless it is told again."""
        number, kind = event.get("sequence_number"), kind_of(event) or ""
        if isinstance(number, int):
            if number <= self._highest:
                return
            self._highest = number
        if isinstance(event.get("response"), dict):
            self._response = event["response"]
        if kind in _ENDS:
            self.ended = True
            self._final = sequence(self._response.get("output")) or None
        elif kind == "error":
            self.failed = True
        elif kind in ("response.output_item.added", "response.output_item.done"):
            self._item(mapping(event.get("item")), event.get("output_index"), place / "item", done=kind.endswith("done"))
        else:
            name, _, what = kind.rpartition(".")
            item = self._items.get(event["output_index"]) if isinstance(event.get("output_index"), int) else None
            if item is not None and name in _ARGUMENTS and what == "delta":
                item.add(event.get("delta"))

    def _item(self, item: dict[str, JSON], index: JSON, place: Place, *, done: bool) -> None:
        at = index if isinstance(index, int) else len(self._items)
        known = self._items.get(at)
        own = text_or_none(item.get("id"))
        if known is not None and known.id is not None and own is not None and own != known.id and not done:
            gathered = Gathered(place, text_or_none(item.get("call_id")), text_or_none(item.get("name")))
            self.collision(place, gathered)
            at, known = max(self._items) + 1, None
        gathered = known or Gathered(place, own)
        gathered.whole, gathered.ended = item, gathered.ended or done
        self._items[at] = gathered

    def response(self) -> tuple[JSON, dict[tuple[Key, ...], Place]]:
        """The response."""
        gathered = [self._items[at] for at in sorted(self._items)]
        places: dict[tuple[Key, ...], Place] = {("output", at): one.place for at, one in enumerate(gathered)}
        output = self._final if self._final is not None else [_written(one) for one in gathered]
        return {**self._response, "object": "response", "output": output}, places


def _written(gathered: Gathered) -> JSON:
    """An item; one that is not done has what its pieces add up to."""
    item = mapping(gathered.whole)
    if gathered.ended or not gathered.pieces:
        return item
    key = "input" if kind_of(item) == "custom_tool_call" else "arguments"
    return {**item, key: gathered.text, "status": "incomplete"}


make = Reply


recognise, fits, session, read = _stream.functions(__name__, is_event, "events of a Responses stream")
is_response = _stream.is_response
