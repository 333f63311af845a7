"""Large documents: proved and judged piece by piece, and told of as if they had been read as a whole.

A document that is one conversation is walked window by window, and of its messages only those of the excerpt are built. In a list of
conversations each element stands for itself: those that are proved are counted, the others are judged one by one. Nothing is told
before all of a document has been looked at: where anything is not as expected, it is read as a whole, as if nothing had happened.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from toolaudit.excerpts import MOST, chosen, cut, doubtful, mark
from toolaudit.express import (
    Element,
    Message,
    NotProved,
    Walk,
    are_items,
    bodies,
    conversation,
    finish,
    is_plain_in_list,
    prove,
    prove_body,
)
from toolaudit.formats._json import Excerpt
from toolaudit.formats._look import DEPTH, Found, Loose, Other, Seen
from toolaudit.identifiers import recurring
from toolaudit.model import JSON, Place
from toolaudit.places import Pieces, Pointer
from toolaudit.reading import Group, Healthy, Reading, Stored
from toolaudit.regex import regex
from toolaudit.sources.pieces import WINDOW, Elements, Lines, Text, Unfit
from toolaudit.sources.records import NotJSON, Unreadable, decode, failed
from toolaudit.sources.scan import past_blank, past_value

MOST_AROUND = 1 << 22
"""What stands before the messages of a conversation, or behind them, may be so many bytes."""

V = TypeVar("V")

_typed = msgspec.json.Decoder(list[Message]).decode
_raws = msgspec.json.Decoder(list[Raw]).decode


def taken(reading: Reading, text: Text) -> Group | None:
    """What is to be judged of a large document; None when it has to be read as a whole."""
    try:
        head = text.read(0, WINDOW)
        if not _KEY.search(head):
            head = text.read(0, MOST_AROUND)
        start = past_blank(head, 0)
        opening = head[start : start + 1]
        if opening == b"{":
            return _of_body(reading, text, head)
        if opening != b"[":
            return None
        if _is_message(head, start + 1):
            return _of_messages(reading, text, start + 1)
        return _Listed(reading, text, start + 1).group()
    except (Unfit, NotProved, NotJSON, OSError):
        return None


class _Told(Struct):
    """What a value may say of itself."""

    role: Any = None
    type: Any = None


_told = msgspec.json.Decoder(_Told).decode


def _is_message(head: bytes, at: int) -> bool:
    """Whether the element that begins a list is a message or an item."""
    at = past_blank(head, at)
    end = past_value(head, at)
    try:
        told = _told(head[at:end]) if end > 0 else _Told()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return told.role is not None or told.type is not None


_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_HUGE = regex(rb"[:\[,\s](?:-[0-9]{19}|[0-9]{20})")


def _value(data: bytes) -> JSON:
    """The value of a part of a document. Raises NotJSON, and Unfit where it depends on the rest of the document how it is decoded."""
    if b"0" * 19 in data.translate(_DIGITS) and _HUGE.search(data):  # the first is far quicker
        raise Unfit  # such a number is exact only in a document that the usual decoder refuses
    return decode(data)


# --------------------------------------------------------------------------------------------------------- one conversation

_MARK = b'{"role":"\\u0000 left out"}'
_LEFT_OUT = _typed(b"[" + _MARK + b"]")
_KEY = regex(rb'"(?:messages|input)"[ \t\r\n]*:[ \t\r\n]*\[')
_TRIES = 16
"""So many lists may stand before that of the messages, or between it and the tools behind it."""


def _messages(data: memoryview) -> list[Message]:
    messages = _typed(data)
    str(data, "utf-8")  # the decoder does not look at what it need not build
    return messages


def _of_body(reading: Reading, text: Text, head: bytes) -> Group | None:
    """A document that is one conversation in a body, perhaps in wrappers."""
    for key in islice(_KEY.finditer(head), _TRIES):
        before = head[: key.end()]
        found = _begun(before)
        if found is None:
            continue
        tools = found[0] or _tools_behind(before, text)
        one = _Conversation(text, len(before), items=found[1])
        one.walk(tools)
        if text.size - one.end > MOST_AROUND:
            continue  # it is some other list that is long
        behind = text.read(one.end, text.size - one.end)
        if (declared := _around(before, behind)[0]) != tools:
            one.walk(declared)
        return one.group(reading, before, behind)
    return None


def _of_messages(reading: Reading, text: Text, start: int) -> Group | None:
    """A document that is a list of messages."""
    one = _Conversation(text, start)
    one.walk(b"")
    _only_blank(text, one.end + 1)
    return one.group(reading)


def _only_blank(text: Text, offset: int) -> None:
    """Raise Unfit where something else follows."""
    if text.size - offset > MOST_AROUND or text.read(offset, MOST_AROUND).strip():
        raise Unfit


def _around(before: bytes, behind: bytes) -> tuple[bytes, bool]:
    """The declared tools of a conversation, and whether it is one of items, by what stands before and behind its messages.

    Raises NotProved where these are not the messages of the one ordinary conversation in the document.
    """
    if _MARK in before or _MARK in behind:
        raise NotProved
    tools, messages, items = conversation(before + _MARK + behind)
    if messages != _LEFT_OUT:
        raise NotProved
    return tools, items


def _begun(before: bytes) -> tuple[bytes, bool] | None:
    """The same by what stands before the messages alone; None where they are not the messages."""
    for depth in range(1, DEPTH + 2):
        with suppress(NotProved):
            return _around(before, b"]" + b"}" * depth)
    return None


def _tools_behind(before: bytes, text: Text) -> bytes:
    """Tools that seem to be declared behind the messages: to be compared with what stands there when the end of those is known."""
    tail = text.read(max(len(before), text.size - WINDOW), WINDOW)
    at = tail.rfind(b'"tools"')
    for _ in range(_TRIES):
        at = tail.rfind(b"]", 0, max(at, 0))
        if at < 0:
            break
        with suppress(NotProved):
            return _around(before, tail[at:])[0]
    return b""


class _Windows(Generic[V]):
    """The elements of a list in a document, gone through once, and read again where they are needed."""

    def __init__(self, text: Text, start: int) -> None:
        self.text = text
        self.start = start
        self.end = start
        self.count = 0
        self.firsts = array("Q")  # indexes of the first elements of all windows
        self.offsets = array("Q")  # where these begin, and where an element behind the last would begin
        self._number = -1  # of the window that was read last
        self._pieces: list[tuple[bytes, int]] = []

    def through(self, decode: Callable[[memoryview], list[V]]) -> Iterator[tuple[int, memoryview, list[V]]]:
        """Go through all elements, window by window. Raises Unfit."""
        elements = Elements(self.text, self.start, decode)
        self.count = 0
        del self.firsts[:], self.offsets[:]
        for offset, data, values in elements:
            self.firsts.append(self.count)
            self.offsets.append(offset)
            yield offset, data, values
            self.count += len(values)
        self.end = elements.end
        self.offsets.append(self.end + 1)

    def read(self, indexes: list[int]) -> Iterator[tuple[int, tuple[bytes, int]]]:
        """Elements, each with its index, its text and its offset. Raises Unfit where the text has become another."""
        for index in indexes:
            number = bisect_right(self.firsts, index) - 1
            if number != self._number:
                self._pieces = self._split(*self.offsets[number : number + 2])
                self._number = number
            yield index, self._pieces[index - self.firsts[number]]

    def _split(self, start: int, stop: int) -> list[tuple[bytes, int]]:
        """The elements of a window."""
        data = self.text.read(start, stop - start - 1)
        if self.text.is_changed():
            raise Unfit
        return [(piece, start + at - 1) for at, piece in _split(b"[" + data + b"]")]


class _Conversation(_Windows[Message]):
    """The messages of a document that begin at `start`; `items` of Responses or not, or None for a bare list, which may be either."""

    def __init__(self, text: Text, start: int, items: bool | None = None) -> None:
        super().__init__(text, start)
        self.is_bare = items is None
        self.items = items
        self.walked = Walk()

    def walk(self, tools: bytes) -> None:
        """Walk through all messages. Raises NotProved where that leads to nothing."""
        walk: Walk | None = None
        for _, _, messages in self.through(_messages):
            if walk is None:
                self.items = are_items(messages) if self.is_bare else self.items
                walk = self.walked = Walk(tools, items=self.items)
            if self.is_bare and not all(is_plain_in_list(message, items=bool(self.items)) for message in messages):
                raise NotProved
            for message in messages:
                walk.feed(message)
            if walk.everything:
                raise NotProved

    def group(self, reading: Reading, before: bytes = b"", behind: bytes = b"") -> Group | None:
        """What is to be judged; None where that is the whole."""
        walk = self.walked
        if not walk.index or not finish(walk):
            return None
        stored = self._excerpt(reading, before, behind) if walk.doubts else []
        if stored is None:
            return None
        reading.understood += 1
        reading.trajectories += 1
        return Group([*stored, Healthy(walk.form or "", walk.turns, walk.called)])

    def _excerpt(self, reading: Reading, before: bytes, behind: bytes) -> list[Stored] | None:
        walk, inside = self.walked, list(doubtful(self.walked))
        if len(inside) > MOST * walk.index:
            return None
        elements = dict(self.read(inside))
        indexes = chosen(walk, (_value(elements[index][0]) for index in inside))
        elements.update(self.read([index for index in indexes if index not in elements]))
        if not indexes:
            return None
        messages: JSON = Excerpt([_value(elements[index][0]) for index in indexes], indexes)
        value, pointer = (messages, ()) if self.is_bare else _put(_value(before + _MARK + behind), messages)
        document = Pieces(pointer, elements, Lines(self.text).at, before + behind, (len(before), self.end - self.start))
        return _judged(reading, reading.search.look(value, Place(0)), document, walk, indexes)


def _put(value: JSON, messages: JSON) -> tuple[JSON, Pointer]:
    """The document that `value` is when messages were left out of it, with messages in their place, and the pointer to these."""
    holders: list[tuple[JSON, Pointer]] = [(value, ())]
    for holder, pointer in holders:
        for key, child in holder.items():
            if isinstance(child, dict):
                holders.append((child, (*pointer, key)))
            elif key in ("messages", "input") and child == [{"role": "\0 left out"}]:
                holder[key] = messages
                return value, (*pointer, key)
    raise Unfit


def _split(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The elements of a list, each with its offset."""
    at = 1
    for raw in _raws(data):
        at, piece = past_blank(data, at), bytes(raw)
        yield at, piece
        at = past_blank(data, at + len(piece)) + 1


def _judged(reading: Reading, found: list[Seen], document: Pieces, walk: Walk, indexes: list[int]) -> list[Stored] | None:
    """The trajectory of an excerpt, when it is the one that was expected."""
    if len(found) != 1 or not isinstance(found[0], Found):
        return None
    with reading.unchanged():
        stored = list(reading.whole(found[0], None, document))
    return stored if mark([one.trajectory for one in stored], walk, indexes) else None


# -------------------------------------------------------------------------------------------------------------------- a list


def _bodies(data: memoryview) -> list[Element | None]:
    """The elements of a list, each None where one is not an ordinary body."""
    try:
        found: list[Element | None] = [*bodies(data)]
    except msgspec.ValidationError:
        found = [None] * len(_raws(data))
    str(data, "utf-8")  # the decoder does not look at what it need not build
    return found


class _Listed(_Windows["Element | None"]):
    """A list of conversations, or of whatever holds some, but not of messages: so each element is read as if it were alone."""

    def __init__(self, reading: Reading, text: Text, start: int) -> None:
        super().__init__(text, start)
        self.reading = reading
        self.lines = Lines(text)
        self.proved: list[Healthy | None] = []
        self.judged: set[int] = set()
        """Indexes of elements that hold something which is not proved."""
        self.found = self.others = 0
        self.elsewhere: str | None = None
        self.orphans: set[str] = set()
        """What results refer to whose calls are not in their own conversations: where such a call stands may have to be told."""

    def group(self) -> Group:
        """What is to be judged. Raises Unfit where the elements belong together, or are not valid."""
        for _, data, elements in self.through(_bodies):
            walks = [prove_body(body) if body is not None else None for body in elements]
            if all(walk is not None and not walk.doubts for walk in walks):
                pieces = [b""] * len(walks)
            else:
                pieces = [piece for _, piece in _split(b"[" + bytes(data) + b"]")]
            for index, (walk, piece) in enumerate(zip(walks, pieces, strict=True), self.count):
                self._take(index, walk or prove(piece, element=True), piece)
        _only_blank(self.text, self.end + 1)
        self.reading.understood += self.others < self.found
        self.reading.elsewhere = self.reading.elsewhere or self.elsewhere
        return Group(self._items())

    def _take(self, index: int, walk: Walk | None, data: bytes) -> None:
        if walk is None or walk.doubts:
            self._look(index, data)
            self.proved.append(None)
        else:
            self.found += 1
            self.proved.append(Healthy(walk.form or "", walk.turns, walk.called))

    def _look(self, index: int, data: bytes) -> None:
        """See what an element holds that is not proved."""
        value = _value(data)
        if any(form.recognise_message(value) is not None for form in self.reading.search.asked(value)):
            raise Unfit
        found = self._seen(index, value)
        if any(isinstance(one, Loose) for one in found):
            raise Unfit
        others = [one.what for one in found if isinstance(one, Other) and not one.refusal]
        self.found += len(found)
        self.others += len(others)
        self.elsewhere = self.elsewhere or (others[0] if others else None)
        if found:
            self.judged.add(index)
        for trajectory in (trajectory for one in found if isinstance(one, Found) for trajectory in one.read()):
            calls = {call.id for turn in trajectory.turns for call in turn.calls}
            refs = {result.ref for turn in trajectory.turns for result in turn.results}
            self.orphans.update(ref for ref in refs - calls if ref is not None and not recurring(ref))

    def _seen(self, index: int, value: JSON) -> list[Seen]:
        return list(self.reading.search.down(value, Place(0) / index, None, DEPTH - 1))

    def _items(self) -> Iterator[Stored | Healthy]:
        for index, healthy in enumerate(self.proved):
            if healthy is not None and not self._is_wanted(healthy.calls):
                self.reading.trajectories += 1
                yield healthy
            elif healthy is not None or index in self.judged:
                try:
                    [(_, (data, offset))] = self.read([index])
                except (Unfit, OSError) as error:
                    told = Unreadable(0, "reading stopped here: it was changed meanwhile", b"")
                    self.reading.understood = 0
                    self.reading.unreadable_record(failed(0, error) if isinstance(error, OSError) else told)
                    return
                yield from self._of_element(index, data, offset)

    def _is_wanted(self, calls: Iterable[str]) -> bool:
        return bool(self.orphans) and not self.orphans.isdisjoint(calls)

    def _of_element(self, index: int, data: bytes, offset: int) -> Iterable[Stored | Healthy]:
        document = Pieces((), {index: (data, offset)}, self.lines.at)
        walk = prove(data, element=True)
        if walk is not None and walk.doubts and not self._is_wanted(walk.called):
            value, indexes = _cut(_value(data), walk)
            stored = _judged(self.reading, self._seen(index, value), document, walk, indexes) if indexes else None
            if stored is not None:
                self.reading.trajectories += 1
                return [*stored, Healthy(walk.form or "", walk.turns, walk.called)]
        return (stored for one in self._seen(index, _value(data)) for stored in self.reading.whole(one, None, document))


def _cut(value: JSON, walk: Walk) -> tuple[JSON, list[int]]:
    """An element with its conversation cut down to what is to be judged, and the indexes of what is left: none when it cannot be."""
    if not isinstance(value, list):
        return cut(value, walk)
    indexes = chosen(walk, (value[index] for index in doubtful(walk)))
    return Excerpt([value[index] for index in indexes], indexes), indexes
