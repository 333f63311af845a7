"""From the records of one source to trajectories: finds the transcripts of each record, joins messages that were stored one a record,
and keeps account of what was not understood.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from toolaudit import formats
from toolaudit.errors import UsageError
from toolaudit.formats import BARE, Format, Message, Session
from toolaudit.formats._look import Found, Loose, Other, Search, Seen, Tie
from toolaudit.model import JSON, Key, Place, Trajectory, Unknown
from toolaudit.regex import regex
from toolaudit.report import Input
from toolaudit.sources.pieces import Held
from toolaudit.sources.records import LARGE, Again, NotJSON, NotText, Record, Unreadable, decode, failed, reread, salvage, unreadable

if TYPE_CHECKING:
    from typing import TypeAlias

    from toolaudit.express import Walk
    from toolaudit.places import Document
    from toolaudit.sessions import Proved, Request, Sessions
    from toolaudit.snapshots import Kept, Snapshots
    from toolaudit.threads import Thread, Threads

    Item: TypeAlias = Record | Unreadable | NotText

HELD = 64
"""Responses stored a record each are held back until this many, in case messages beside them show that they are one conversation."""


class Stored(Struct):
    """A trajectory, with what is needed to say where its parts stand."""

    trajectory: Trajectory
    messages: Callable[[], Iterable[tuple[JSON, Place]]]
    """The messages as stored, each with its place."""
    document: Document = b""
    """What pointers lead into, when lines have to be counted in it; empty when the record's number is the line."""
    first_line: int = 1
    """The line on which the document begins."""
    request: Request | None = None
    """What links it to others, where it is a request."""


class Healthy(Struct, gc=False):
    """A conversation, or what an excerpt leaves of it, that was proved, without building anything, to hold nothing to report."""

    format: str
    turns: int
    calls: Sequence[str]
    """The ids of its calls; each has its one result."""
    number: int = 0
    lines: Sequence[int] | None = None
    """The lines of the calls, where they stand on several."""
    trajectories: int = 1
    """0 where the conversation was counted before."""


class Group(Struct, gc=False):
    """What one record holds, or what the end of the source completes."""

    items: Iterable[Stored | Healthy]
    kept: Kept | None = None
    """What is remembered of the record, for others that repeat it."""
    former: Kept | None = None
    """The record that this one repeats."""


class Spool:
    """Records of a stream that cannot be read twice, in a file without a name: none but this process can read it."""

    def __init__(self) -> None:
        from tempfile import SpooledTemporaryFile

        self._file = SpooledTemporaryFile(max_size=1 << 22)  # noqa: SIM115 (it lives as long as the source is read)
        self._end = 0

    def keep(self, data: bytes) -> int:
        """Where the data stands from now on."""
        start = self._end
        self._file.seek(start)
        self._file.write(data)
        self._end += len(data)
        return start

    def again(self, offset: int, length: int) -> bytes:
        """Bytes that were kept."""
        self._file.seek(offset)
        return self._file.read(length)

    def close(self) -> None:
        """Let go of all of it."""
        self._file.close()


class Reading:
    """One source being read. `read` yields what is to be judged; afterwards `given` says what became of the source.

    `quick` allows the short way: what can be proved to be in order is not judged.
    """

    def __init__(self, given: Input, *, only: Format | None = None, at: tuple[str, ...] = (), quick: bool = False) -> None:
        self.given = given
        self._only = only
        self.at = at
        self.quick = quick
        self.records = self.understood = self.trajectories = 0
        self.held: list[tuple[Found, Record | None]] = []
        self.bad: list[Unknown] = []
        self.salvaged: set[str] = set()
        self.streams = 0
        """Responses that were stored as they came, event by event: they are not read."""
        self.elsewhere: str | None = None
        self.values: dict[str | None, list[Loose]] = {}
        """Messages of values that were never bytes."""
        self.session: Session | None = None
        """The log of one program, once a line has named itself as one of it."""
        self._again: Again = lambda _, __: b""
        self._spool: Spool | None = None
        self._in_excerpt = self._in_doubt = False

    @functools.cached_property
    def search(self) -> Search:
        """Made when the first record has to be looked into."""
        return Search(self._only)

    @functools.cached_property
    def snapshots(self) -> Snapshots:
        """The latest records, for those that repeat them."""
        from toolaudit.snapshots import Snapshots

        return Snapshots()

    @functools.cached_property
    def sessions(self) -> Sessions:
        """The latest requests, for those that go on from them."""
        from toolaudit.sessions import Sessions

        return Sessions()

    @functools.cached_property
    def threads(self) -> Threads:
        """The conversations that are stored a message a record."""
        from toolaudit.threads import Threads

        return Threads()

    def reads(self, again: Again) -> None:
        """Read records once more by `again`, where others have read them first."""
        self._again = again

    def hold(self, placed: Iterable[tuple[int, int, int]]) -> None:
        """Hold back responses that others have met, one for each number, offset and length of a record."""
        for record, count in Counter(placed).items():
            number, offset, length = record
            again = Record(number, self._again(offset, length), offset, self._again)
            found = [one for one in self._looked(decode(again.data), number) if isinstance(one, Found) and _is_answer(one)]
            self.held += [(one, again) for one in found[:count]]

    def close(self) -> None:
        """Let go of what was kept to be read again."""
        if self._spool is not None:
            self._spool.close()

    @property
    def unreadable(self) -> bool:
        """Some record of the source could not be read."""
        return any(unknown.of == "record" for unknown in self.bad)

    def read(self, items: Iterable[Record | Unreadable | NotText]) -> Iterator[Group]:
        """What the records hold, then what only the end of the source completes."""
        yield from self.part(items)
        if self.given.status == "read":
            yield from self.end()

    def part(self, items: Iterable[Record | Unreadable | NotText], *, last: bool = True) -> Iterator[Group]:
        """What the records of a source hold, or of a part of it; `last`: nothing follows."""
        waiting: Callable[[bool], Iterator[Group]] | None = None  # a broken record: how to tell depends on whether it is the last
        logged = False
        rest = iter(items)
        for item in rest:
            if waiting is not None:
                yield from waiting(False)
                waiting = None
            if logged:
                following = self._run(item, rest)
                if following is None:
                    return
                item = following  # noqa: PLW2901 (the first that is no message)
            if not isinstance(item, Record):
                if isinstance(item, NotText):
                    self.given.status, self.given.reason = "skipped", item.reason
                    return
                self.records += 1
                self.unreadable_record(item)
                continue
            self.records += 1
            if self.session is not None:
                walk, kept, former = None, None, None
            elif self.quick and item.number:
                walk, kept, former = self.snapshots.prove(item.data, item.number)
                if walk is not None:
                    self.understood += 1
                    new = kept is not None and former is not None and kept.goes_on
                    yield Group(self._proved(walk, item, former if new else None), kept, former)
                    continue
                if not logged and (logged := self._logged(item)):
                    continue
            else:
                walk, kept, former = None, None, None
                try:
                    group = self._document(item)
                except OSError as error:
                    self.unreadable_record(failed(0, error))
                    continue
                if group is not None:
                    yield group
                    continue
            try:
                value = decode(item.data)
            except NotJSON as error:
                waiting = functools.partial(self._not_json, item, error)
                continue
            taken = self._taken(value, item)
            yield Group(self._seen(value, item), kept, former) if taken is None else Group(taken)
        if waiting is not None:
            yield from waiting(last)

    def value(self, value: JSON) -> Iterator[Group]:
        """The trajectories of a value that is decoded already."""
        self.records += 1
        yield Group(self._seen(value, None))
        yield from self.end()

    def _taken(self, value: JSON, record: Record) -> list[Stored] | None:
        """The trajectories that a line of a session log completes; None for what is no such line."""
        session = self.session or (None if self.at else formats.session(value, self._only))
        if session is None or (found := session.take(value, Place(record.number))) is None:
            return None
        self.session = session
        self.given.format = self.given.format or getattr(session, "format", None)
        self.understood += 1
        return [self._of_session(session, trajectory, None if record.number else record) for trajectory in found]

    def _of_session(self, session: Session, trajectory: Trajectory, document: Record | None = None) -> Stored:
        return self._stored(trajectory, lambda: session.messages(trajectory), document)

    def _run(self, item: Item, rest: Iterator[Item]) -> Item | None:
        """Take records as messages of a log, as long as they certainly are; what came then."""
        count, following = self.threads.run(item, rest, self._placed)
        self.records += count
        self.understood += count
        return following

    def _logged(self, record: Record) -> bool:
        """Take a record as a message of a log, if it certainly is one."""
        if not self.threads.take(record, self._placed):
            return False
        self.understood += 1
        return True

    def _placed(self, record: Record) -> int:
        """Where the record can be read again: in its source, or in a file of our own that vanishes with the process."""
        if record.again is not None:
            self._again = record.again
            return record.offset
        if self._spool is None:
            self._spool = Spool()
            self._again = self._spool.again
        return self._spool.keep(record.data)

    def _document(self, record: Record) -> Group | None:
        """What can be told of a document, or of a record on the long way, before it is decoded as a whole."""
        if not self.quick:
            record.load()
            return None
        text = record.text or (Held(record.data) if len(record.data) >= LARGE else None)
        if text is not None:
            from toolaudit.documents import taken

            group = taken(self, text)
            if group is None:
                record.load()
            return group
        from toolaudit.express import prove

        walk = prove(record.data)
        if walk is None:
            return None
        self.understood += 1
        return Group(self._proved(walk, record))

    def _proved(self, walk: Walk, record: Record, former: Kept | None = None) -> Iterator[Stored | Healthy]:
        """What is in order, and an excerpt of the conversation where something is in doubt; all of it where that is no use.

        Of a record that goes on from a `former` one, what is new, all of which is in order.
        """
        if former is not None:
            self.trajectories += 1
            yield Healthy(walk.form or "", walk.index - former.turns, walk.called[former.calls :], record.number, trajectories=0)
            return
        if walk.doubts:
            stored = self._excerpt(walk, record)
            if stored is None:
                self.understood -= 1
                self._in_doubt = True
                yield from self._seen(decode(record.data), record)
                self._in_doubt = False
                return
            yield from stored
        self.trajectories += 1
        yield Healthy(walk.form or "", walk.turns, walk.called, record.number)

    def _excerpt(self, walk: Walk, record: Record) -> list[Stored] | None:
        """Trajectories of the messages in doubt and of those near them; None where they are nearly all, or cannot be told apart."""
        from toolaudit.excerpts import cut, mark

        value, indexes = cut(decode(record.data), walk)
        if not indexes:
            return None
        with self.unchanged():
            found = list(self._seen(value, record))
        if not mark([one.trajectory for one in found], walk, indexes) or self._may_be_torn(found[0].trajectory, record):
            return None
        return found

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Look at an excerpt; what is in it is accounted for where the whole is."""
        before = self.understood, self.trajectories, self.elsewhere, self.given.format
        bad, held = len(self.bad), len(self.held)
        self._in_excerpt = True
        yield
        self._in_excerpt = False
        self.understood, self.trajectories, self.elsewhere, self.given.format = before
        del self.bad[bad:], self.held[held:]

    def _may_be_torn(self, excerpt: Trajectory, record: Record) -> bool:
        """A line right before holds what may be the other half of a pair: that takes all of both to tell."""
        if excerpt.kind != "request" or not (record.number and "snapshots" in self.__dict__):
            return False
        from toolaudit.sessions import torn

        halves = [key.encode("utf-8", "surrogatepass") for key in torn(excerpt.turns)]
        before = [kept.data for kept in self.snapshots.kept if kept.number < record.number]
        return any(data.count(half) > record.data.count(half) for half in halves for data in before)

    def _follow(self, trajectory: Trajectory, record: Record | None) -> Request | None:
        """Link a request to the one before it in its conversation."""
        if record is None or not record.number:
            return self.sessions.follow(trajectory) if trajectory.sent else None  # a list of samples is no session
        number = record.number
        return self.sessions.follow(trajectory, number, len(record.data), self._proved_before(number), firm=not self._in_doubt)

    def _proved_before(self, number: int) -> Iterator[Proved]:
        """The lines right before that held nothing to report, the latest first."""
        from toolaudit.sessions import Proved

        known = {request.key[0] for request in self.sessions.latest}
        for kept in reversed(self.snapshots.kept if "snapshots" in self.__dict__ else ()):
            if kept.number < number and kept.number not in known:
                yield Proved(kept.number, kept.data, functools.partial(self._request, kept.data, kept.number))

    def _request(self, data: bytes, number: int) -> Trajectory | None:
        """The request that a line holds, without any account of it."""
        found = (one for one in self._looked(decode(data), number) if isinstance(one, Found) and not one.is_response)
        return next((trajectory for one in found for trajectory in one.read()), None)

    def _not_json(self, record: Record, error: NotJSON, last: bool) -> Iterator[Group]:
        if record.number:
            self.unreadable_record(unreadable(record, error, last))
            return
        self.records -= 1
        yield from self.part(reread(record, error, self.given.path))

    def unreadable_record(self, record: Unreadable) -> None:
        """Keep account of a record that cannot be read."""
        words = f"{record.reason} (it ends too early)" if record.torn and "ends" not in record.reason else record.reason
        self.bad.append(Unknown(place=Place(record.number), what=words, of="record"))
        self.salvaged |= salvage(record.data)

    def _seen(self, value: JSON, record: Record | None) -> Iterator[Stored]:
        number = record.number if record else 0
        found = self._looked(value, number)
        others = [one for one in found if isinstance(one, Other) and not one.refusal]
        self.understood += len(others) < len(found)
        self.elsewhere = self.elsewhere or (others[0].what if others else None)
        loose = [one for one in found if isinstance(one, Loose)]
        if len(loose) > 1 and (nameless := [one for one in loose if one.message.key is None]):
            yield from self._conversation(nameless)  # a list of wrapped messages is a conversation of its own
            loose = [one for one in loose if one.message.key is not None]
        for one in loose:
            if record is not None and record.number:
                self.threads.odd(one.message.key, number, self._placed(record), len(record.data))
            else:
                self.values.setdefault(one.message.key, []).append(one)
        for other in found:
            if isinstance(other, Found) and number and self._may_be_loose(other):
                self.held.append((other, record))
            elif not isinstance(other, Loose):
                yield from self.whole(other, record)

    def _looked(self, value: JSON, number: int) -> list[Seen]:
        return [one for root, place in self._roots(number, value) for one in self.search.look(root, place)]

    def _roots(self, number: int, value: JSON) -> Iterable[tuple[JSON, Place]]:
        if not self.at:
            return [(value, Place(number))]
        return [found for pointer in self.at if (found := follow(value, Place(number), pointer)) is not None]

    def _may_be_loose(self, one: Found) -> bool:
        return _is_answer(one) and (bool(self.values) or self.has_threads or len(self.held) < HELD)

    def whole(self, one: Seen, record: Record | None, document: Document = b"") -> Iterator[Stored]:
        """The trajectories of what was recognised in a record, or in a `document` that is not read as a whole."""
        if isinstance(one, Tie):
            self._tie(one.place, one.names)
        if not isinstance(one, Found):
            return
        self.streams += one.stream
        if one.also and self.given.format is None:
            self.given.format = " or ".join((*one.also, one.format.NAME))
        for trajectory in one.read():
            yield self._stored(trajectory, lambda: one.format.raw_messages(one.value, one.place), record, document)

    def _stored(
        self,
        trajectory: Trajectory,
        messages: Callable[[], Iterable[tuple[JSON, Place]]],
        record: Record | None,
        document: Document = b"",
    ) -> Stored:
        self.trajectories += 1
        request = self._follow(trajectory, record) if trajectory.kind == "request" and not self._in_excerpt else None
        if document:
            return Stored(trajectory, messages, document, request=request)
        if record is None or (record.number and b"\n" not in record.data):
            return Stored(trajectory, messages, request=request)
        return Stored(trajectory, messages, record.data, max(record.number, 1), request)

    def _tie(self, place: Place, names: Iterable[str]) -> None:
        listed = " and ".join(f"`{name}`" for name in names)
        self.bad.append(Unknown(place=place, what=f"tool traffic that fits {listed} equally well", of="tie"))

    # ----------------------------------------------------------------------------------------------------------- the end

    def end(self) -> Iterator[Group]:
        """What only the end of the source completes, and the account of what was not understood."""
        if (session := self.session) is not None:
            for trajectory in session.end():
                yield Group([self._of_session(session, trajectory)])
        threads = list(self.threads) if self.has_threads else []
        if threads:
            yield from self._of_threads(threads)
        if self.values:
            self._join_held(next(iter(self.values.values())))
        for one, record in self.held:
            yield Group(self.whole(one, record))
        for gathered in self.values.values():
            yield Group(self._conversation(gathered))
        if self.bad:
            yield Group([Stored(Trajectory(place=Place(0), format="", unknown=self.bad), list)])
        self._account()

    def _of_threads(self, threads: list[Thread]) -> Iterator[Group]:
        """The conversations of a log; responses beside them belong to the first."""
        if self.held:
            threads[0].doubt()
        for thread in threads:
            walk = thread.end()
            if walk is not None and not walk.doubts:
                self.trajectories += 1
                yield Group([_healthy(walk, thread)])
            elif walk is None or (stored := self._excerpt_of_thread(thread, walk)) is None:
                gathered = yield from self._gathered(thread)
                if thread is threads[0]:
                    self._join_held(gathered)
                if gathered:
                    yield Group(self._conversation(gathered))
            else:
                self.trajectories += 1
                yield Group([*stored, _healthy(walk, thread)])

    def _gathered(self, thread: Thread) -> Generator[Group, None, list[Loose]]:
        """All messages of a thread, read again. What turns out to be no message of a log is judged by itself."""
        gathered: list[Loose] = []
        for index in range(len(thread)):
            number, data = thread.numbers[index], self._again(thread.offsets[index], thread.lengths[index])
            value = decode(data)
            found = [one for one in self._looked(value, number) if isinstance(one, Loose) and one.message.key == thread.key]
            if found:
                gathered += found
            else:
                self.understood -= 1
                yield Group(self._seen(value, Record(number, data)))
        return gathered

    def _excerpt_of_thread(self, thread: Thread, walk: Walk) -> list[Stored] | None:
        """The same as `_excerpt`, for a conversation of a log."""
        from toolaudit.excerpts import chosen, doubtful, mark

        def message(index: int) -> JSON:
            return decode(self._again(thread.offsets[index], thread.lengths[index]))

        indexes = chosen(walk, map(message, doubtful(walk)))
        found = [one for index in indexes for one in self._looked(message(index), thread.numbers[index])]
        gathered = [one for one in found if isinstance(one, Loose)]
        if not indexes or len(gathered) != len(indexes):
            return None
        with self.unchanged():
            stored = list(self._conversation(gathered))
        return stored if mark([one.trajectory for one in stored], walk, indexes) else None

    def _join_held(self, gathered: list[Loose]) -> None:
        """Responses beside loose messages are messages of the same log."""
        for one, _ in self.held:
            message = one.value if "role" in one.value else _message_of(one.value)
            if message is not None:
                gathered.append(Loose(message=Message(message, one.place), evidence={one.format.NAME: one.evidence.strength}))
        self.held = []
        gathered.sort(key=lambda loose: loose.message.place.record)

    @property
    def has_threads(self) -> bool:
        """Some of the source is stored a message a record."""
        return "threads" in self.__dict__ and bool(self.threads)

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
            nothing = "no transcript, only what a provider refused" if self.session is None else "a session in which nothing was said"
            given.status, given.reason = "skipped", f"it holds {nothing}"
        elif not self.understood:
            given.status = "failed" if bad else "skipped"
            given.reason = "nothing in it could be read as JSON" if bad and not other else "no transcript is recognised in it"
            if self.elsewhere:
                given.reason = f"it holds {self.elsewhere}, which is not read yet"
        elif not self.trajectories and any(unknown.of == "tie" for unknown in self.bad):
            given.status, given.reason = "failed", "two formats fit it equally well: name one with --input-format"
        elif bad or other or self.streams:
            parts = [f"{bad} of {self.records} records cannot be read"] if bad else []
            parts += (
                [f"{self.streams} of its responses {'is a stream' if self.streams == 1 else 'are streams'}, not read yet"]
                if self.streams
                else []
            )
            parts += [f"{other} of {self.records} records hold no transcript"] if other else []
            given.status, given.reason = "partly-read", " and ".join(parts)


def _healthy(walk: Walk, thread: Thread) -> Healthy:
    """What is proved of a conversation in a log."""
    lines = [thread.numbers[walk.seen[key]] for key in walk.called]
    return Healthy(walk.form or "", walk.turns, walk.called, thread.numbers[0], lines)


def _is_answer(one: Found) -> bool:
    """A response by itself, without the request that it answers."""
    return one.is_response and one.answer is None


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
