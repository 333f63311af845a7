"""Logs that store a message a record: the messages of each conversation are proved as they come, and where they stand is kept, not
what they say. A conversation in doubt is read again when all of the log is known.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

from toolaudit.express import LONG, Message, Never, Walk, begins, said_by
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

    __slots__ = ("asleep", "head", "identified", "key", "lengths", "numbers", "offsets", "presumed", "walk", "whole")

    def __init__(self, key: str | None) -> None:
        self.key = key
        self.walk: Walk | Head | None = None
        self.asleep: Asleep | None = None
        self.offsets, self.lengths, self.numbers = array("Q"), array("Q"), array("Q")
        """Where the record of each message stands, in bytes, and on which line."""
        self.identified = False
        """A message bears an id of its own."""
        self.whole = False
        """It has to be judged as a whole, the long way."""
        self.head = 0
        """In a range of a file: so many messages stand before the walk, and may go on with what stands in the range before."""
        self.presumed = False
        """The walk takes it for granted that the user has spoken before."""

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
        if isinstance(walk, Walk) and not (walk.open or walk.doubts or walk.previous == "reasoning"):
            self.walk, self.asleep = None, Asleep.of(walk)

    def end(self) -> Walk | None:
        """The walk, when something of the conversation is proved; None when all of it has to be judged. It is given away."""
        self.wake()
        walk, self.walk = self.walk, None
        return walk if isinstance(walk, Walk) and walk.end(log=True) and not (walk.doubts and len(self) < LONG) else None


class Head:
    """What stands where a walk will be, in a range of a file: it waits for a message with which an exchange begins."""

    __slots__ = ("everything", "items", "previous", "thread")

    def __init__(self, thread: Thread) -> None:
        self.thread = thread
        self.items = None
        self.everything = False
        self.previous = ""

    def feed(self, line: _Line) -> None:
        """Take the next message."""
        items = line.type is not None
        known = bool(self.previous) or not items or line.role == "user"
        if known and (begins(line, self.previous, items=items) or (line.role == "system" and not items)):
            self._begin(line)
            return
        self.previous = said_by(line)
        self.thread.head += 1

    def _begin(self, line: _Line) -> None:
        walk = Walk(items=None)
        walk.wary = True
        walk.spoken = self.thread.presumed = line.role == "assistant"
        self.thread.walk = walk
        _settle(self.thread, walk, line)
        walk.feed(line)


class Asleep(Struct, frozen=True, gc=False):
    """A walk of which nothing is open, in little space."""

    form: str | None
    items: bool | None
    index: int
    ids: str
    previous: str
    spoken: bool
    plain: bool
    wary: bool
    repeats: bool
    unsure: bool
    told: int
    changed: dict[tuple[str, bytes], int] | None
    identified: dict[str, int] | None
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
            walk.wary,
            walk.repeats,
            walk.unsure,
            walk.told,
            walk.changed or None,
            walk.identified or None,
            walk.begun,
            array("I", (walk.seen[key] for key in walk.called)),
        )

    def wake(self) -> Walk:
        """The walk again."""
        walk = Walk(items=self.items)
        walk.form, walk.index, walk.previous, walk.spoken = self.form, self.index, self.previous, self.spoken
        walk.plain, walk.told, walk.changed, walk.identified = self.plain, self.told, self.changed or {}, self.identified or {}
        walk.wary, walk.repeats, walk.unsure = self.wary, self.repeats, self.unsure
        walk.called = self.ids.split()
        walk.seen = dict(zip(walk.called, self.at, strict=True))
        walk.begun, walk.since, walk.settled = self.begun, self.begun[-1] if self.begun else 0, len(walk.called)
        return walk


class Threads:
    """The conversations of one log, by the name they bear."""

    def __init__(self, *, later: bool = False) -> None:
        self.later = later
        """They stand in a range of a file that is not its first."""
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

    def join(self, later: Thread, again: Callable[[int, int], bytes]) -> None:
        """Take what a range of the file holds of a conversation, behind what is known of it; `again` reads bytes of the file."""
        if later.key not in self.known and not later.head and not later.presumed:
            self.known[later.key] = later  # it begins here
            later.sleep()
            return
        thread = self._thread(later.key)
        later.wake()
        if later.whole:
            thread.doubt()
        elif isinstance(thread.walk, Walk):
            _meet(thread, thread.walk, later, again)
        thread.offsets.extend(later.offsets)
        thread.lengths.extend(later.lengths)
        thread.numbers.extend(later.numbers)
        thread.identified |= later.identified

    def _thread(self, key: str | None) -> Thread:
        thread = self.known.get(key)
        if thread is None:
            thread = self.known[key] = Thread(key)
            thread.walk = Head(thread) if self.later else Walk(items=None)
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


def _meet(thread: Thread, walk: Walk, later: Thread, again: Callable[[int, int], bytes]) -> None:
    """Go on with a walk through what a range holds: its head is read again, and all of it where its own walk cannot be joined."""
    _reread(thread, walk, later, range(later.head), again)
    if isinstance(later.walk, Walk) and not thread.whole:
        spoken = walk.spoken or bool(walk.items) or not later.presumed
        if not (spoken and walk.append(later.walk)):
            _reread(thread, walk, later, range(later.head, len(later)), again)


def _reread(thread: Thread, walk: Walk, later: Thread, indexes: range, again: Callable[[int, int], bytes]) -> None:
    for index in indexes:
        try:
            line = _decode(again(later.offsets[index], later.lengths[index]))
        except msgspec.MsgspecError:  # the file is not any more what it was
            thread.doubt()
            return
        _settle(thread, walk, line)
        walk.feed(line)
        if walk.everything:
            thread.doubt()
            return


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


def _settle(thread: Thread, walk: Walk | Head, line: _Line) -> None:
    """What the first messages decide: whether messages are stored, or items of Responses."""
    if isinstance(walk, Head):
        return
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
