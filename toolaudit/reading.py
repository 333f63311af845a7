"""From the records of one source to trajectories: finds the transcripts of each record, joins messages that were stored one a record,
and keeps account of what was not understood.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from msgspec import Struct

from toolaudit import formats
from toolaudit.errors import UsageError
from toolaudit.formats import BARE, Format, Message
from toolaudit.formats._look import Found, Loose, Other, Search, Seen, Tie, is_response
from toolaudit.model import JSON, Key, Place, Trajectory, Unknown
from toolaudit.regex import regex
from toolaudit.report import Input
from toolaudit.sources.records import NotJSON, NotText, Record, Unreadable, decode, reread, salvage, unreadable

HELD = 64
"""Responses stored a record each are held back until this many, in case messages beside them show that they are one conversation."""


class Stored(Struct):
    """A trajectory, with what is needed to say where its parts stand."""

    trajectory: Trajectory
    messages: Callable[[], Iterable[tuple[JSON, Place]]]
    """The messages as stored, each with its place."""
    document: bytes = b""
    """The bytes that pointers lead into, when lines have to be counted in them; empty when the record's number is the line."""
    first_line: int = 1
    """The line on which the document begins."""


class Healthy(Struct, gc=False):
    """A record of which it was proved, without building anything, that it holds nothing to report."""

    format: str
    turns: int
    calls: list[str]
    """The ids of its calls; each has its one result."""
    number: int = 0


Prove = Callable[[bytes], Healthy | None]


class Reading:
    """One source being read. `read` yields what is to be judged; afterwards `given` says what became of the source."""

    def __init__(self, given: Input, *, only: Format | None = None, at: tuple[str, ...] = (), prove: Prove | None = None) -> None:
        self.given = given
        self._only = only
        self.at = at
        self.prove = prove
        self.records = self.understood = self.trajectories = 0
        self.loose: dict[str | None, list[Loose]] = {}
        self.held: list[tuple[Found, Record | None]] = []
        self.bad: list[Unknown] = []
        self.salvaged: set[str] = set()
        self.elsewhere: str | None = None

    @functools.cached_property
    def search(self) -> Search:
        """Made when the first record has to be looked into."""
        return Search(self._only)

    @property
    def unreadable(self) -> bool:
        """Some record of the source could not be read."""
        return any(unknown.of == "record" for unknown in self.bad)

    def read(self, items: Iterable[Record | Unreadable | NotText]) -> Iterator[Stored | Healthy]:
        """The trajectories of the records, then those that only the end of the source completes."""
        for item, last in _marking_last(items):
            if isinstance(item, NotText):
                self.given.status, self.given.reason = "skipped", item.reason
                return
            yield from self._item(item, last)
        yield from self.end()

    def value(self, value: JSON) -> Iterator[Stored | Healthy]:
        """The trajectories of a value that is decoded already."""
        self.records += 1
        yield from self._seen(value, None)
        yield from self.end()

    def _item(self, item: Record | Unreadable, last: bool) -> Iterator[Stored | Healthy]:
        self.records += 1
        if isinstance(item, Unreadable):
            self._unreadable(item)
            return
        if self.prove is not None and (healthy := self.prove(item.data)) is not None:
            self.understood += 1
            self.trajectories += 1
            healthy.number = item.number
            yield healthy
            return
        try:
            value = decode(item.data)
        except NotJSON as error:
            yield from self._not_json(item, error, last)
            return
        yield from self._seen(value, item)

    def _not_json(self, record: Record, error: NotJSON, last: bool) -> Iterator[Stored | Healthy]:
        if record.number:
            self._unreadable(unreadable(record, error, last))
            return
        self.records -= 1
        for item, is_last in _marking_last(reread(record, error, self.given.path)):
            yield from self._item(item, is_last)

    def _unreadable(self, record: Unreadable) -> None:
        words = f"{record.reason} (it ends too early)" if record.torn and "ends" not in record.reason else record.reason
        self.bad.append(Unknown(place=Place(record.number), what=words, of="record"))
        self.salvaged |= salvage(record.data)

    def _seen(self, value: JSON, record: Record | None) -> Iterator[Stored]:
        number = record.number if record else 0
        found = [one for root, place in self._roots(number, value) for one in self.search.look(root, place)]
        others = [one for one in found if isinstance(one, Other) and not one.refusal]
        self.understood += len(others) < len(found)
        self.elsewhere = self.elsewhere or (others[0].what if others else None)
        several = sum(isinstance(one, Loose) for one in found) > 1  # a list of wrapped messages is a conversation of its own
        for one in found:
            if isinstance(one, Loose):
                key = f"\0{number}" if several and one.message.key is None else one.message.key
                self.loose.setdefault(key, []).append(one)
            elif isinstance(one, Found) and number and self._may_be_loose(one):
                self.held.append((one, record))
            else:
                yield from self._whole(one, record)

    def _roots(self, number: int, value: JSON) -> Iterable[tuple[JSON, Place]]:
        if not self.at:
            return [(value, Place(number))]
        return [found for pointer in self.at if (found := follow(value, Place(number), pointer)) is not None]

    def _may_be_loose(self, one: Found) -> bool:
        return is_response(one.value) and one.answer is None and (bool(self.loose) or len(self.held) < HELD)

    def _whole(self, one: Seen, record: Record | None) -> Iterator[Stored]:
        if isinstance(one, Tie):
            self._tie(one.place, one.names)
        if not isinstance(one, Found):
            return
        if one.also and self.given.format is None:
            self.given.format = " or ".join((*one.also, one.format.NAME))
        for trajectory in one.read():
            yield self._stored(trajectory, lambda: one.format.raw_messages(one.value, one.place), record)

    def _stored(self, trajectory: Trajectory, messages: Callable[[], Iterable[tuple[JSON, Place]]], record: Record | None) -> Stored:
        self.trajectories += 1
        if record is None or (record.number and b"\n" not in record.data):
            return Stored(trajectory, messages)
        return Stored(trajectory, messages, record.data, max(record.number, 1))

    def _tie(self, place: Place, names: Iterable[str]) -> None:
        listed = " and ".join(f"`{name}`" for name in names)
        self.bad.append(Unknown(place=place, what=f"tool traffic that fits {listed} equally well", of="tie"))

    # ----------------------------------------------------------------------------------------------------------- the end

    def end(self) -> Iterator[Stored]:
        """What only the end of the source completes, and the account of what was not understood."""
        if self.loose:
            self._join_held()
        for one, record in self.held:
            yield from self._whole(one, record)
        for gathered in self.loose.values():
            yield from self._conversation(gathered)
        if self.bad:
            yield Stored(Trajectory(place=Place(0), format="", unknown=self.bad), list)
        self._account()

    def _join_held(self) -> None:
        """Responses beside loose messages are messages of the same log."""
        key = next(iter(self.loose))
        for one, _ in self.held:
            message = one.value if "role" in one.value else _message_of(one.value)
            if message is not None:
                self.loose[key].append(Loose(message=Message(message, one.place), evidence={one.format.NAME: one.evidence.strength}))
        self.held = []
        for gathered in self.loose.values():
            gathered.sort(key=lambda loose: loose.message.place.record)

    def _conversation(self, gathered: list[Loose]) -> Iterator[Stored]:
        """Messages that were stored one a record, by the format that fits all of them best."""
        names = set.intersection(*(set(loose.evidence) for loose in gathered))
        strength = {name: max(loose.evidence[name] for loose in gathered) for name in names}
        best = max(strength.values(), default=0)
        leaders = sorted(name for name in names if strength[name] == best)
        if not leaders or (len(leaders) > 1 and best > BARE):
            self._tie(gathered[0].message.place, leaders or sorted({name for loose in gathered for name in loose.evidence}))
            return
        trajectory = formats.format(leaders[-1]).read_messages([loose.message for loose in gathered])
        trajectory.id = trajectory.id or gathered[0].message.key
        yield self._stored(trajectory, lambda: [(loose.message.value, loose.message.place) for loose in gathered], None)

    def _account(self) -> None:
        given, bad = self.given, sum(unknown.of == "record" for unknown in self.bad)
        other = self.records - self.understood - bad
        if self.understood and not self.trajectories and not any(unknown.of == "tie" for unknown in self.bad):
            given.status, given.reason = "skipped", "it holds no transcript, only what a provider refused"
        elif not self.understood:
            given.status = "failed" if bad else "skipped"
            given.reason = "nothing in it could be read as JSON" if bad and not other else "no transcript is recognised in it"
            if self.elsewhere:
                given.reason = f"it holds {self.elsewhere}, which is not read yet"
        elif not self.trajectories and any(unknown.of == "tie" for unknown in self.bad):
            given.status, given.reason = "failed", "two formats fit it equally well: name one with --input-format"
        elif bad or other:
            parts = [f"{bad} of {self.records} records cannot be read"] if bad else []
            parts += [f"{other} of {self.records} records hold no transcript"] if other else []
            given.status, given.reason = "partly-read", " and ".join(parts)


Item = TypeVar("Item")


def _marking_last(items: Iterable[Item]) -> Iterator[tuple[Item, bool]]:
    """Each item, with whether it is the last."""
    waiting: Item | None = None
    for item in items:
        if waiting is not None:
            yield waiting, False
        waiting = item
    if waiting is not None:
        yield waiting, True


def _message_of(response: JSON) -> JSON:
    choices = response.get("choices") if isinstance(response, dict) else None
    return choices[0].get("message") if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None


_INDEX = regex("0|[1-9][0-9]{0,17}")


def follow(value: JSON, place: Place, pointer: str) -> tuple[JSON, Place] | None:
    """The value a JSON pointer leads to; None where it leads nowhere. Raises UsageError for text that is no pointer."""
    if pointer and not pointer.startswith("/"):
        raise UsageError(f"`{pointer}` is no JSON pointer", "a pointer begins with a slash: --at /data/messages")
    for word in pointer.split("/")[1:]:
        key: Key = word.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list):
            if not _INDEX.fullmatch(word):
                return None
            key = int(word)
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
        place = place / key
    return value, place
