"""Logs that store a message a record: the messages of each conversation are proved as they come, and where they stand is kept, not
what they say. A conversation in doubt is read again when all of the log is known.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

from toolaudit.express import LONG, Message, Never, Walk
from toolaudit.sources.records import Record

T = TypeVar("T")

AWAKE = 512
"""So many conversations that are interleaved are held ready to go on; the others are folded up."""


class _Line(Message):
    """A message with the names that logs give to the conversation it belongs to, in order of their weight."""

    session_id: str | int | None = None
    sessionId: str | int | None = None  # noqa: N815
    conversation_id: str | int | None = None
    conversationId: str | int | None = None  # noqa: N815
    thread_id: str | int | None = None
    threadId: str | int | None = None  # noqa: N815
    trace_id: str | int | None = None
    traceId: str | int | None = None  # noqa: N815
    messages: Never = None
    input: Never = None
    choices: Never = None
    object: Never = None
    data: Never = None
    jsonrpc: Never = None
    contents: Never = None
    candidates: Never = None
    conversations: Never = None
    toolConfig: Never = None  # noqa: N815
    message: Never = None
    steps: Never = None
    event: Never = None
    item: Never = None
    messageStart: Never = None  # noqa: N815
    messageStop: Never = None  # noqa: N815
    contentBlockStart: Never = None  # noqa: N815
    contentBlockDelta: Never = None  # noqa: N815
    contentBlockStop: Never = None  # noqa: N815
    parentUuid: Literal["\0"] = "\0"  # noqa: N815 (even null says what it is)


_decode = msgspec.json.Decoder(_Line).decode
_ITEMS = frozenset({"function_call", "function_call_output", "reasoning", "message"})


class Thread:
    """One conversation of a log."""

    __slots__ = ("asleep", "identified", "key", "lengths", "numbers", "offsets", "walk", "whole")

    def __init__(self, key: str | None) -> None:
        self.key = key
        self.walk: Walk | None = None
        self.asleep: Asleep | None = None
        self.offsets, self.lengths, self.numbers = array("Q"), array("Q"), array("Q")
        """Where the record of each message stands, in bytes, and on which line."""
        self.identified = False
        """A message bears an id of its own."""
        self.whole = False
        """It has to be judged as a whole, the long way."""

    def __len__(self) -> int:
        return len(self.numbers)

    def place(self, number: int, offset: int, length: int) -> None:
        """Note where the next message stands."""
        self.offsets.append(offset)
        self.lengths.append(length)
        self.numbers.append(number)

    def feed(self, line: _Line) -> None:
        """Go on with the proof."""
        walk = self.walk
        assert walk is not None
        if walk.items is None or line.type is not None or (line.id is not None and not self.identified):
            _settle(self, walk, line)
        walk.feed(line)
        if walk.everything:
            self.doubt()

    def doubt(self) -> None:
        """Prove no more of it."""
        self.whole, self.walk, self.asleep = True, None, None

    def wake(self) -> None:
        """Unfold the walk."""
        if self.asleep is not None:
            self.walk, self.asleep = self.asleep.wake(), None

    def sleep(self) -> None:
        """Fold the walk up, if nothing is open."""
        walk = self.walk
        if walk is not None and not (walk.open or walk.doubts or walk.previous == "reasoning"):
            self.walk, self.asleep = None, Asleep.of(walk)

    def end(self) -> Walk | None:
        """The walk, when something of the conversation is proved; None when all of it has to be judged. It is given away."""
        self.wake()
        walk, self.walk = self.walk, None
        return walk if walk is not None and walk.end(log=True) and not (walk.doubts and len(self) < LONG) else None


class Asleep(Struct, frozen=True, gc=False):
    """A walk of which nothing is open, in little space."""

    form: str | None
    items: bool | None
    index: int
    ids: str
    previous: str
    spoken: bool
    plain: bool
    told: int
    changed: dict[tuple[str, bytes], int] | None
    identified: frozenset[str] | None
    begun: array[int]
    at: array[int]
    """Where the exchange of each call begins."""

    @classmethod
    def of(cls, walk: Walk) -> Asleep:
        """Fold a walk up. Ids that are proved have no blank space in them."""
        return cls(
            walk.form,
            walk.items,
            walk.index,
            " ".join(walk.called),
            walk.previous,
            walk.spoken,
            walk.plain,
            walk.told,
            walk.changed or None,
            frozenset(walk.identified) or None,
            walk.begun,
            array("I", (walk.seen[key] for key in walk.called)),
        )

    def wake(self) -> Walk:
        """The walk again."""
        walk = Walk(items=self.items)
        walk.form, walk.index, walk.previous, walk.spoken = self.form, self.index, self.previous, self.spoken
        walk.plain, walk.told, walk.changed, walk.identified = self.plain, self.told, self.changed or {}, set(self.identified or ())
        walk.called = self.ids.split()
        walk.seen = dict(zip(walk.called, self.at, strict=True))
        walk.begun, walk.since, walk.settled = self.begun, self.begun[-1] if self.begun else 0, len(walk.called)
        return walk


class Threads:
    """The conversations of one log, by the name they bear."""

    def __init__(self) -> None:
        self.known: dict[str | None, Thread] = {}
        self._awake: list[Thread] = []
        self._most = 2 * AWAKE

    def __bool__(self) -> bool:
        return bool(self.known)

    def __iter__(self) -> Iterator[Thread]:
        """In order of their first messages."""
        return iter(sorted(self.known.values(), key=lambda thread: thread.numbers[0]))

    def take(self, record: Record, placed: Callable[[Record], int]) -> bool:
        """Take a record that is certainly one message of a log; False for anything else. `placed` says where to read it again."""
        return self.run(record, iter(()), placed)[0] == 1

    def run(self, item: T | None, items: Iterator[T], placed: Callable[[Record], int]) -> tuple[int, T | None]:
        """Take records, `item` first, as long as each is certainly one message of a log: how many, and what came then."""
        count, again = 0, None
        while isinstance(item, Record) and item.number:
            line = _message(item.data)
            if line is None:
                break
            key = line.session_id or _session(line)
            thread = self.known.get(key)  # type: ignore[arg-type]  # a number is none of its keys
            if thread is None or thread.asleep is not None:
                thread = self._thread(str(key) if key is not None else None)
            # To ask where each record stands costs as much as to keep it; where one can be read again by its offset, so can the next.
            offset = item.offset if again is not None and again is item.again else placed(item)
            again = item.again
            thread.place(item.number, offset, len(item.data))
            if thread.walk is not None:
                thread.feed(line)
            count += 1
            item = next(items, None)
        return count, item

    def odd(self, key: str | None, number: int, offset: int, length: int) -> None:
        """Note a message that only the long way understands: its conversation is judged as a whole."""
        thread = self._thread(key)
        thread.doubt()
        if not thread.numbers or thread.numbers[-1] != number:
            thread.place(number, offset, length)

    def _thread(self, key: str | None) -> Thread:
        thread = self.known.get(key)
        if thread is None:
            thread = self.known[key] = Thread(key)
            thread.walk = Walk(items=None)
        elif thread.asleep is None:
            return thread
        thread.wake()
        if len(self._awake) >= self._most:
            self._calm()
        self._awake.append(thread)
        return thread

    def _calm(self) -> None:
        """Fold up the conversations that were heard of longest ago. Those that cannot be are not asked again for a while."""
        self._awake.sort(key=lambda thread: thread.numbers[-1])
        for thread in self._awake[:-AWAKE]:
            thread.sleep()
        self._awake = [thread for thread in self._awake if thread.walk is not None]
        self._most = len(self._awake) + AWAKE + len(self._awake) // 2


def _message(data: bytes) -> _Line | None:
    """The record, if it certainly is one message of a log."""
    try:
        line = _decode(data)
        if not data.isascii():
            data.decode()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    kind = line.type
    if kind is None:
        return None if line.role is None or line.usage is not None else line
    return line if kind in _ITEMS and line.stop_reason is None and line.usage is None and _is_item(line, kind) else None


def _settle(thread: Thread, walk: Walk, line: _Line) -> None:
    """What the first messages decide: whether messages are stored, or items of Responses."""
    if walk.items is None and walk.form is not None:
        walk.items = False
    if line.type is not None:
        walk.everything |= walk.items is False or (thread.identified and not walk.items)  # messages of two kinds
        if walk.items is None:
            walk.items, walk.previous = True, "user" if walk.index else ""
    thread.identified |= line.id is not None


def _is_item(line: _Line, kind: str) -> bool:
    return (line.role is not None) if kind == "message" else (line.role is None and (line.id or line.call_id) is not None)


def _session(line: _Line) -> str | None:
    for found in (
        line.session_id,
        line.sessionId,
        line.conversation_id,
        line.conversationId,
        line.thread_id,
        line.threadId,
        line.trace_id,
        line.traceId,
    ):
        if found is not None and found != "":
            return str(found)
    return None
