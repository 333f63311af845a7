"""The bytes of a source become records: JSON Lines, one document, or values written one after another.

What is decided here is decided by a look at the beginning, for a full look would cost as much as reading: records come out as
bytes, and the caller decodes them. The protocol of a caller:

    for item in records(stream, name):
        if isinstance(item, Record):
            item.load()  # unless its `text` is to be read piece by piece; it raises OSError, of which `failed` makes a record
            try:
                value = decode(item.data)
            except NotJSON as error:
                # a whole document may turn out to be something else: `reread` says what
                items = reread(item, error, name) if item.number == 0 else [unreadable(item, error, last)]
"""

from __future__ import annotations

import codecs
import io
import json
import os.path
import re
import sys
from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import chain
from typing import BinaryIO, NoReturn, TypeAlias, TypeGuard

import msgspec
import orjson
from msgspec import Struct

from toolaudit.model import JSON
from toolaudit.regex import regex
from toolaudit.sources.pieces import Stored, Text
from toolaudit.sources.scan import STRING, past_blank, past_value

LARGE = 1 << 18
"""A whole document of so many bytes is not read before it is known how it is to be read."""
_HEAD = 1 << 16
_STEP = 1 << 20
_CUT = 1 << 26
"""A cut document of more bytes is not searched for values that are whole."""
_SAMPLE = 50
_BELOW = 20
"""So many of the first lines are looked at for JSON Lines below something else."""


class Record(Struct, gc=False):
    """One JSON value of a source, not decoded yet."""

    number: int
    """1-based line on which it begins; 0 for a whole document."""
    data: bytes
    """The JSON text as UTF-8, without byte order mark or line end. A whole document keeps the blank space around it: its lines are
    the lines of the source."""
    offset: int = 0
    """Of a line: where it begins in the stream."""
    again: Again | None = None
    """Of a line in a stream that can be read twice: reads it, or another one, once more, after the last has been taken."""
    text: Text | None = None
    """Of a large whole document in a plain file: its text, of which `data` holds nothing until `load` is called."""

    def load(self) -> None:
        """Read all of a large document. Raises OSError."""
        if self.text is not None:
            self.data, self.text = self.text.whole(), None


Again: TypeAlias = Callable[[int, int], bytes]
"""The bytes at an offset, of a length."""


class Unreadable(Struct, gc=False):
    """A record that is not JSON."""

    number: int
    reason: str
    data: bytes
    """What stands there; of a line that is too long, its head."""
    torn: bool = False
    """It ends too early, and the source with it: a line that was being written, a document that was cut."""
    position: tuple[int, int] | None = None
    """Line and column of the source, both 1-based, where it goes wrong."""


class NotText(Struct):
    """The whole source holds no record, and why: it is binary, empty, or not JSON at all."""

    reason: str


class Partial(io.RawIOBase):
    """A raw stream that comes to its end, rather than raise, where it cannot be read further: what came before it is not lost."""

    failure: str | None = None
    """Why it came to its end too early: the rest of a sentence."""
    torn: bool = True
    """The data itself ends there, as against a limit that was reached."""
    most: int = sys.maxsize
    """When all the rest is asked for, little more than so many bytes are given."""

    def readable(self) -> bool:
        return True


class NotJSON(ValueError):
    """Bytes that are not JSON, at `offset`; `early` when they simply end before the value does."""

    def __init__(self, reason: str, offset: int = 0, *, early: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset
        self.early = early


# -------------------------------------------------------------------------------------------------------------------- decode


def _integer(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:  # more digits than Python converts
        return float(digits)


_LENIENT = json.JSONDecoder(parse_int=_integer)

_WORDS = {
    "Expecting value": "a value is missing",
    "Expecting property name": "a key in double quotes is missing",
    "Unterminated string": "a string does not end",
    "Invalid control character": "a control character stands in a string",
    "Invalid \\uXXXX escape": "`\\u` is not followed by four hexadecimal digits",
    "Invalid \\escape": "a backslash in a string escapes nothing",
    "Expecting ',' delimiter": "a comma is missing",
    "Expecting ':' delimiter": "a colon is missing",
    "Illegal trailing comma": "a comma has nothing behind it",
    "Extra data": "something follows the value",
}

_BEGUN = regex(r"(?:t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|N(?:a)?|-?I[nfity]*|-|\.|[eE][+-]?|\\?u?[0-9a-fA-F]{0,4})\s*")
"""What can be left of a value that was cut, from the place on where the decoder gave up."""


def decode(data: bytes) -> JSON:
    """The value of JSON text; raises `NotJSON`, and nothing else, on content.

    What Python's own writer lets through is taken: NaN, infinities (also `1e999`), lone surrogate escapes, integers of any size (one
    of more than 4,300 digits becomes a float). Nesting is bounded by the decoders (about a thousand levels), and by them only: what
    walks a value must not recurse for ever.
    """
    try:
        return orjson.loads(data)
    except ValueError:
        return _lenient(data)


def _lenient(data: bytes) -> JSON:
    mark = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    try:
        text = data[mark:].decode()
        return _LENIENT.decode(text)
    except UnicodeDecodeError as error:
        early = error.reason == "unexpected end of data"
        raise NotJSON("it holds bytes that are not UTF-8", error.start + mark, early=early) from None
    except json.JSONDecodeError as error:
        _refuse(error, mark)
    except RecursionError:
        raise NotJSON("it is nested too deeply") from None


def _refuse(error: json.JSONDecodeError, mark: int) -> NoReturn:
    offset = len(error.doc[: error.pos].encode()) + mark
    if not error.msg.startswith("Extra data") and _is_cut(error):
        raise NotJSON("it ends in the middle of a value", offset, early=True) from None
    words = next((words for head, words in _WORDS.items() if error.msg.startswith(head)), "it cannot be read as JSON")
    raise NotJSON(words, offset) from None


def _is_cut(error: json.JSONDecodeError) -> bool:
    return error.msg.startswith("Unterminated string") or _BEGUN.fullmatch(error.doc, error.pos) is not None


def unreadable(record: Record, error: NotJSON, last: bool) -> Unreadable:
    """What becomes of a record that `decode` refused; `last` when no other record follows it in its source."""
    data, offset = record.data, error.offset
    start = data.rfind(b"\n", 0, offset) + 1
    line = max(record.number, 1) + data.count(b"\n", 0, start)
    column = len(data[start:offset].decode("utf-8", "replace")) + 1
    return Unreadable(record.number, error.reason, data, error.early and (last or record.number == 0), (line, column))


# ------------------------------------------------------------------------------------------------------------------- records


def records(stream: BinaryIO, name: str, *, max_record: int = 1 << 30) -> Iterator[Record | Unreadable | NotText]:
    """What `stream` holds, in order; `NotText` comes alone. Give it a stream with a buffer of 1 MB.

    JSON Lines are streamed, whole documents are read whole, and so is what is not UTF-8. `name` counts where the content leaves open
    what it is: `.jsonl` and `.ndjson` are lines. A line longer than `max_record` is passed over, as `Unreadable`. Neither
    content nor a failing disk raises.
    """
    by_name, raw = _is_lines(name), getattr(stream, "raw", None)
    try:
        items = _records(stream, by_name, max_record)
        yield from _told(items, raw, by_name, max_record) if isinstance(raw, Partial) else items
    except (OSError, EOFError) as error:
        yield failed(0, error)


def reread(record: Record, error: NotJSON, name: str) -> Iterator[Record | Unreadable]:
    """What a whole document that `decode` refused with `error` holds: several values, JSON Lines with bad ones among them, or nothing."""
    return _otherwise(record.data, _is_lines(name), 1 << 30) or iter((unreadable(record, error, last=True),))


def _records(stream: BinaryIO, by_name: bool, limit: int) -> Iterator[Record | Unreadable | NotText]:
    start = stream.tell() if stream.seekable() else 0
    head = _read(stream, _HEAD)
    encoding, mark = _encoding(head)
    if encoding != "utf-8":
        text = _transcoded(head[mark:] + stream.read(), encoding)
        return _judged(_Lines(io.BytesIO(text), b"", 0, limit), text[:_HEAD], by_name)
    return _judged(_Lines(stream, head[mark:], start + mark, limit), head[mark:], by_name)


def _told(
    items: Iterator[Record | Unreadable | NotText], raw: Partial, by_name: bool, limit: int
) -> Iterator[Record | Unreadable | NotText]:
    """`items` and, where `raw` broke off, why: in place of the record that was cut, or behind the last."""
    last: Record | Unreadable | NotText | None = None
    for item in items:
        if last is not None:
            yield last
        last = item
    if raw.failure is None or last is None:
        yield from () if last is None else (last,)
        return
    reason = f"reading stopped here: {raw.failure}"
    if isinstance(last, NotText):
        yield NotText(f"nothing in it can be read: {raw.failure}") if last.reason == "it is empty" else last
    elif isinstance(last, Unreadable) or _complete(last.data):
        yield last
        yield Unreadable(last.number and last.number + 1, reason, b"", raw.torn)
    elif not last.number and len(last.data) <= _CUT and (others := _otherwise(last.data, by_name, limit)) is not None:
        yield from _told(others, raw, by_name, limit)
    else:
        yield Unreadable(last.number, reason, last.data[:_CUT], raw.torn)


def _judged(lines: _Lines, head: bytes, by_name: bool) -> Iterator[Record | Unreadable | NotText]:
    if what := _magic(head):
        return iter((NotText(f"it is {what}"),))
    if len(head) < min(_HEAD - 4, lines.limit) and _is_one_line(head):
        return iter((Record(0, head.rstrip(b"\r\n")),))
    if b"\0" not in head and lines.only():
        return iter((lines.document(),))
    shown = lines.look(2)
    if not shown:
        return iter((NotText("it is empty"),))
    first = shown[0]
    if b"\0" in head and not _complete(first):
        below = any(map(_is_object, lines.look(_BELOW, within=_HEAD)[1:]))
        return _json_lines(lines) if below else iter((NotText("it is binary, not text"),))
    if not first.lstrip().startswith((b"{", b"[")):
        return _prose(lines, by_name)
    if len(shown) == 1 and not lines.is_cut(first):
        return iter((Record(0, b"\n" * lines.before + first.rstrip(b"\r\n")),))
    if lines.is_cut(first) or (_complete(first) and _complete(shown[1])):
        return _json_lines(lines)
    return _ambiguous(lines, by_name)


def _is_one_line(text: bytes) -> bool:
    """One line that begins like JSON, and nothing else: so most small files are."""
    return text[:1] in _OPENING and b"\n" not in text.rstrip(b"\r\n") and b"\0" not in text


def _ambiguous(lines: _Lines, by_name: bool) -> Iterator[Record | Unreadable]:
    """A document over several lines, as a rule. Not when more than half of its lines are JSON: two such never touch in a document."""
    sample = lines.look(_SAMPLE)
    good = sum(map(_complete, sample))
    if 2 * good > len(sample):
        return _json_lines(lines)
    document = lines.document()
    if isinstance(document, Record) and (by_name or 2 * good == len(sample) or _complete(sample[0]) or _SEAM.search(b"".join(sample))):
        document.load()
        other = _otherwise(document.data, by_name, lines.limit) if not _complete(document.data) else None
        return other or iter((document,))
    return iter((document,))


def _prose(lines: _Lines, by_name: bool) -> Iterator[Record | Unreadable | NotText]:
    """What does not begin like JSON: JSON Lines below a banner, if anything."""
    sample = lines.look(_BELOW)
    if _CASSETTE.search(b"".join(sample)):
        return iter((_cassette(lines.document()),))
    if _EVENTS.match(b"".join(sample)):
        return _events(lines)
    good = sum(map(_complete, sample))
    if good and (by_name or 2 * good >= len(sample)):
        return _json_lines(lines)
    scalar = len(sample) == 1 and len(sample[0]) < _STEP and _is_json(sample[0])
    return iter((NotText("it is JSON, but neither an object nor a list" if scalar else "it is not JSON"),))


_CASSETTE = regex(rb"^(?:interactions|http_interactions|recorded_with|messages|contents):", re.MULTILINE)
"""A key of YAML that may hold what was sent to a provider."""


_EVENTS = regex(rb"(?:(?:event|id|retry)?:[^\n]*\n\s*)*data:")
"""The beginning of a stored event stream: comments and other fields, then data."""
_DONE = b"[DONE]"


def _events(lines: _Lines) -> Iterator[Record | Unreadable]:
    """The data of an event stream, one event a line."""
    for record in _json_lines(lines):
        if isinstance(record, Unreadable):
            yield record
        elif record.data.startswith(b"data:") and (data := record.data[5:].strip()) and data != _DONE:
            yield Record(record.number, data)


def _cassette(document: Record | Unreadable) -> Record | Unreadable:
    """A document of YAML as one of JSON; the library for it is loaded when one is met."""
    if isinstance(document, Unreadable):
        return document
    from toolaudit.sources.yaml import as_json

    document.load()
    try:
        return Record(0, as_json(document.data))
    except NotJSON as error:
        return unreadable(document, error, last=True)


def _otherwise(data: bytes, by_name: bool, limit: int) -> Iterator[Record | Unreadable] | None:
    """What `data` is when it is not one document; None when it is nothing else either."""
    lines = _Lines(io.BytesIO(data), b"", 0, limit)
    sample = lines.look(_SAMPLE)
    good = sum(map(_complete, sample))
    like_lines = good > 0 and (by_name or 2 * good >= len(sample) or _complete(sample[0]))
    values = _values(data)
    broken = [index for index, value in enumerate(values) if not _complete(value.data)]
    if len(values) > 1 and (not broken or (broken == [len(values) - 1] and not like_lines)):
        return iter(values)
    return _json_lines(lines) if like_lines or (by_name and len(sample) > 1) else None


class Between:
    """The JSON Lines of a file that begin from `start` on, where a line does, and before `end`; their numbers go on from `before`."""

    def __init__(self, stream: BinaryIO, start: int, end: int, max_record: int = 1 << 30, before: int = 0) -> None:
        self.stream = stream
        self.start = start
        self.end = end
        self.limit = max_record
        self.before = before
        self.count = 0
        """How many lines there are, blank ones included; once all are taken."""

    def __iter__(self) -> Iterator[Record | Unreadable]:
        self.stream.seek(self.start)
        lines = _Lines(self.stream, b"", self.start, self.limit)
        lines.before = self.before
        self.count = (yield from _json_lines(lines, self.end)) - self.before


def divisible(stream: BinaryIO, longest: int) -> tuple[int, int] | None:
    """Where the first of the JSON Lines of a plain file begins, and how many blank ones stand before it.

    None when it holds something else, or when the first two of them do not show it, or are longer than `longest` bytes.
    """
    if not (_is_plain(stream) or isinstance(stream, io.BytesIO)):
        return None
    head = _read(stream, _HEAD)
    encoding, mark = _encoding(head)
    if encoding != "utf-8" or b"\0" in head or _magic(head[mark:]):
        return None
    lines = _Lines(stream, head[mark:], mark, longest)
    shown = lines.look(2)
    if len(shown) < 2 or not all(line.endswith(b"\n") or line is shown[1] for line in shown) or not all(map(_complete, shown)):
        return None
    return lines.start + lines.blank, lines.before


def _json_lines(lines: _Lines, end: int = sys.maxsize) -> Generator[Record | Unreadable, None, int]:
    """The records of lines that begin before an offset; how many lines there were."""
    number, limit = lines.before, lines.limit
    again = lines.again if isinstance(lines.stream, io.BytesIO) or _is_plain(lines.stream) else None
    try:
        for data in lines:
            offset = lines.offset
            if offset >= end:
                return number
            number += 1
            if len(data) > limit:
                yield Unreadable(number, f"the line is longer than {limit:,} bytes", data[:_HEAD])
            elif data and not data.isspace():
                yield Record(number, data, offset, again)
    except (OSError, EOFError) as error:
        yield failed(number + 1, error)
    return number


def failed(number: int, error: OSError | EOFError) -> Unreadable:
    """The record at which a source could not be read further."""
    words = error.strerror.lower() if isinstance(error, OSError) and error.strerror else "its data ends or breaks off"
    return Unreadable(number, f"reading stopped here: {words}", b"", torn=True)


class _Lines:
    """The lines of a stream, of which the first may be looked at before they are taken. Blank ones before the first are only counted."""

    def __init__(self, stream: BinaryIO, head: bytes, start: int, limit: int) -> None:
        self.stream = stream
        self.start = start  # where the text begins in the stream
        self.limit = limit
        self.offset = start  # of the line that was taken last
        self.before = 0
        self.blank = 0  # bytes of the blank lines before the first
        self._more = partial(stream.readline, limit + 2)  # room for the line end
        self._head = head
        self._held = io.BytesIO(head).readlines()
        self._whole_held = False

    def __iter__(self) -> Iterator[bytes]:
        """The lines, without their ends; of one that is longer than the limit, only so much that this can be seen. `offset` is where the
        latest begins."""
        self._mend()
        at = self.start + self.blank
        for line in self._held:
            self.offset = at
            yield line.rstrip(b"\r\n")
            at += len(line) + self._skip(line)
        yield from self._following(at)

    def _following(self, at: int) -> Iterator[bytes]:
        """The lines that stand in the stream, of which the first begins at an offset. They are cut out of blocks: most of them are copied
        once, where to read lines copies each twice, and to strip them a third time."""
        read = getattr(self.stream, "read1", self.stream.read)
        block, start = b"", 0
        while True:
            end = block.find(b"\n", start)
            if end >= 0:
                line, count, start = block[start:end], end + 1 - start, end + 1
            else:
                pieces, count = [block[start:]], len(block) - start
                while end < 0 and (block := read(_STEP)):
                    end = block.find(b"\n")
                    start = end + 1 if end >= 0 else len(block)
                    if count <= self.limit:  # no more is kept of a line that is too long
                        pieces.append(block[: end if end >= 0 else start])
                    count += start
                if not block:
                    start = 0
                if not count:
                    return
                line = b"".join(pieces)
            self.offset = at
            at += count
            yield line.rstrip(b"\r") if line.endswith(b"\r") else line

    def is_cut(self, line: bytes) -> bool:
        """Whether the line is longer than the limit and its end has not been read."""
        return len(line) > self.limit and not line.endswith(b"\n")

    def _skip(self, line: bytes) -> int:
        """Read on to the end of a line that was cut; how many bytes that were."""
        count = 0
        while self.is_cut(line) or count:
            line = self.stream.readline(_STEP)
            count += len(line)
            if not line or line.endswith(b"\n"):
                break
        return count

    def again(self, offset: int, length: int) -> bytes:
        """Bytes of a stream that has been read to its end, and can be read twice."""
        self.stream.seek(offset)
        return self.stream.read(length)

    def look(self, most: int, within: int = sys.maxsize) -> list[bytes]:
        """The first lines that are not blank, at most `most`, and two or more only while they begin `within` so many bytes; they stay to
        be taken."""
        self._mend()
        found: list[bytes] = []
        for line in chain(self._drawn(), iter(self._pull, b"")):
            found += [] if line.isspace() else [line]
            if len(found) >= min(most, 2) and (len(found) == most or sum(map(len, found)) >= within):
                break
        return found

    def only(self) -> bool:
        """Whether a long first line is all there is, in a file that can be read twice: then it need not be cut out of its buffer."""
        if len(self._head) < _HEAD - 4 or len(self._held) != 1 or not _is_plain(self.stream) or self._head.isspace():
            return False
        if not self._head.lstrip().startswith((b"{", b"[")):
            return False
        raw = self.stream.raw
        if not isinstance(raw, io.FileIO):
            return False
        here, ahead = self.stream.tell(), raw.tell()
        raw.seek(here)  # past the buffer, which only costs here
        only = _ends_with_line(raw, self.limit - len(self._head))
        raw.seek(ahead)
        return only

    def document(self) -> Record | Unreadable:
        """All of the text, from its beginning. A plain file is read again, in one piece, which is far faster, or later if it is large."""
        if isinstance(self.stream, io.BufferedReader) and isinstance(self.stream.raw, io.FileIO) and self.stream.seekable():
            text = Stored(self.stream.raw, self.start)
            if text.size >= LARGE:
                return Record(0, b"", text=text) if text.size <= self.limit else self._too_long(text.read(0, _HEAD))
            data = text.whole()
        else:
            held = b"".join((b"\n" * self.before, *self._held))
            data = held + self._rest(max(0, self.limit - len(held)) + 1)
        return Record(0, data) if len(data) <= self.limit else self._too_long(data)

    def _rest(self, most: int) -> bytes:
        """What follows, but not much more than so many bytes."""
        raw = getattr(self.stream, "raw", None)
        if not isinstance(raw, Partial):
            return self.stream.read(most)
        raw.most = most  # it has limits of its own for all that is left
        return self.stream.read()

    def _too_long(self, data: bytes) -> Unreadable:
        return Unreadable(0, f"the document is longer than {self.limit:,} bytes", data[:_HEAD])

    def _mend(self) -> None:
        """Complete the last line of the head."""
        if not self._whole_held and self._held and not self._held[-1].endswith(b"\n"):
            self._held[-1] += self.stream.readline(max(0, self.limit + 2 - len(self._held[-1])))
        self._whole_held = True

    def _drawn(self) -> Iterator[bytes]:
        blank = next((index for index, line in enumerate(self._held) if not line.isspace()), len(self._held))
        self.before += blank
        self.blank += sum(map(len, self._held[:blank]))
        del self._held[:blank]
        return iter(tuple(self._held))

    def _pull(self) -> bytes:
        if self._held and self.is_cut(self._held[-1]):
            return b""
        line = self._more()
        while not self._held and line.isspace():
            self.before += 1
            self.blank += len(line)
            line = self._more()
        if line:
            self._held.append(line)
        return line


class Twice(io.RawIOBase):
    """A raw stream that is no file of this machine, but can be read twice like one."""


def _is_plain(stream: BinaryIO) -> TypeGuard[io.BufferedReader]:
    return isinstance(stream, io.BufferedReader) and isinstance(stream.raw, (io.FileIO, Twice)) and stream.seekable()


def _ends_with_line(stream: io.FileIO, most: int) -> bool:
    """Whether all that follows is the end of one line of at most `most` bytes."""
    ended, buffer = False, bytearray(_STEP >> 2)
    while count := stream.readinto(buffer):
        end = -1 if ended else buffer.find(b"\n", 0, count)
        if ended or end >= 0:
            if not (buffer[end + 1 : count] or b" ").isspace():
                return False
            ended = True
        elif (most := most - count) < 0:
            return False
    return True


# ----------------------------------------------------------------------------------------------------------- what bytes look like

_MAGIC = (
    (b"\x1f\x8b", "a gzip file"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "a zip archive"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ\0", "an xz file"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"\x04\x22\x4d\x18", "an LZ4 file"),
    (b"PAR1", "a Parquet table"),
    (b"ARROW1", "an Arrow table"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90\0", "a program"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x89HDF", "an HDF5 file"),
    (b"OggS", "an Ogg file"),
    (b"ID3", "an MP3 file"),
)

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_NULS = (
    (regex(rb"[{\[\s]\0\0\0[^\0]\0\0\0"), "utf-32-le"),
    (regex(rb"\0\0\0[{\[\s]\0\0\0[^\0]"), "utf-32-be"),
    (regex(rb"[{\[\s]\0[^\0]\0"), "utf-16-le"),
    (regex(rb"\0[{\[\s]\0[^\0]"), "utf-16-be"),
)

_OPENING = (b"{", b"[")
_SEAM = regex(rb"[}\]]\s*[{\[]")
_LINES = regex(r"\.(?:jsonl|ndjson|jsonlines|ldjson)(?:\.|$)", re.IGNORECASE)


def _is_lines(name: str) -> bool:
    name = name.rpartition("!")[2]  # of a member of an archive, its own
    return _LINES.search(os.path.basename(name)) is not None  # noqa: PTH119 - without pathlib, which takes long to load


def _read(stream: BinaryIO, size: int) -> bytes:
    """`size` bytes, or fewer at the end only: what is decided from them must not depend on how a pipe is filled."""
    head = stream.read(size)
    while len(head) < size and (more := stream.read(size - len(head))):
        head += more
    return head


def _encoding(head: bytes) -> tuple[str, int]:
    """The encoding of a text that begins with `head`, and the length of its byte order mark."""
    if head[:1] in _OPENING and b"\0" not in head[:8]:
        return "utf-8", 0  # most files, without looking for anything else
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding, len(mark)
    return next((encoding for pattern, encoding in _NULS if pattern.match(head)), "utf-8"), 0


def _transcoded(data: bytes, encoding: str) -> bytes:
    """`data` as UTF-8. What is broken in it stays broken, so that only its own record is refused."""
    rest = len(data) % (4 if "32" in encoding else 2)
    whole = data[: len(data) - rest]
    try:
        text = whole.decode(encoding, "surrogatepass")
    except UnicodeDecodeError:
        text = whole.decode(encoding, "replace")
    return text.encode("utf-8", "surrogatepass") + b"\xff" * bool(rest)


def _magic(head: bytes) -> str | None:
    if head[257:262] == b"ustar":
        return "a tar archive"
    if head[:1] in _OPENING:
        return None
    return next((what for magic, what in _MAGIC if head.startswith(magic)), None)


_RAW = msgspec.json.Decoder(msgspec.Raw)


def _complete(text: bytes) -> bool:
    """Whether `text` is an object or a list on its own. The two ends are looked at first: in a document over several lines most fail."""
    inner = text.strip()
    if not inner.startswith((b"{", b"[")) or not inner.endswith((b"}", b"]")):
        return False
    try:
        _RAW.decode(inner)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _is_json(inner)
    return True


def _is_object(line: bytes) -> bool:
    return line.lstrip().startswith(b"{") and _complete(line)


def _is_json(text: bytes) -> bool:
    try:
        decode(text)
    except NotJSON:
        return False
    return True


def _values(data: bytes) -> list[Record]:
    """The objects and lists that stand in `data` one after another, the last perhaps cut; none when anything else stands between."""
    values: list[Record] = []
    at, number, counted = past_blank(data, 0), 1, 0
    while at < len(data):
        if data[at : at + 1] not in (b"{", b"["):
            return []
        end = past_value(data, at)
        number += data.count(b"\n", counted, at)
        values.append(Record(number, data[at:end] if end >= 0 else data[at:].rstrip()))
        counted = at
        at = past_blank(data, end) if end >= 0 else len(data)
    return values


# ------------------------------------------------------------------------------------------------------------------- salvage

_IDS = regex(
    rb'"(?:id|tool_use_id|tool_call_id|call_id|callID|toolCallId|toolUseId)"\s*+:\s*+(' + STRING.pattern + rb")",
    STRING.flags,
)


def salvage(data: bytes) -> frozenset[str]:
    """Ids that can still be read out of broken text, at most 1,000, of at most 200 characters each: what they pair with is uncertain."""
    found: set[str] = set()
    for match in _IDS.finditer(data):
        value = _string(match[1])
        if 0 < len(value) <= 200:
            found.add(value)
        if len(found) == 1000:
            break
    return frozenset(found)


def _string(text: bytes) -> str:
    """The string that a JSON string stands for; empty when it is none, or far too long to be an id."""
    try:
        return str(json.loads(text)) if len(text) <= 2500 else ""
    except ValueError:
        return ""
