"""Large documents, read a piece at a time: the elements of a list are decoded in windows, and no more than a window is held.

A file is read into a buffer, not mapped. That costs no more, its memory does not grow with the file, and a file that is cut short
meanwhile is merely short, where a mapped one would end the process by a signal.
"""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

import msgspec

from toolaudit.regex import regex
from toolaudit.sources.scan import past_blank, past_value

WINDOW = 1 << 18
"""So many bytes of a list are decoded at a time, or twice as many again and again where an element is longer."""

V = TypeVar("V")


class Unfit(Exception):
    """A text cannot be taken piece by piece: it is broken, or not of the expected kind, or changed meanwhile."""


class Text(Protocol):
    """The text of a document, of `size` bytes."""

    size: int

    def fill(self, offset: int, buffer: memoryview) -> int:
        """Fill the buffer with what stands from `offset` on; how many bytes that are, fewer than it has room for at the end only."""

    def read(self, offset: int, length: int) -> bytes:
        """So many bytes from an offset on."""

    def whole(self) -> bytes:
        """All of it."""

    def is_changed(self) -> bool:
        """Whether it may have become another one since it was first seen."""


class Stored:
    """The text of a plain file from `start` on. Its methods raise OSError where it cannot be read."""

    def __init__(self, file: io.FileIO, start: int) -> None:
        self._file = file
        self._start = start
        self._seen = self._status()
        self.size = self._seen[0] - start

    def fill(self, offset: int, buffer: memoryview) -> int:
        self._file.seek(self._start + offset)
        filled = 0
        while filled < len(buffer) and (count := self._file.readinto(buffer[filled:])):
            filled += count
        return filled

    def read(self, offset: int, length: int) -> bytes:
        self._file.seek(self._start + offset)
        data = self._file.read(length)
        while len(data) < length and (more := self._file.read(length - len(data))):
            data += more
        return data

    def whole(self) -> bytes:
        self._file.seek(self._start)
        return self._file.read()

    def is_changed(self) -> bool:
        return self._status() != self._seen

    def _status(self) -> tuple[int, int]:
        status = os.fstat(self._file.fileno())
        return status.st_size, status.st_mtime_ns


class Held:
    """A text that is in memory as it is."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = len(data)

    def fill(self, offset: int, buffer: memoryview) -> int:
        piece = memoryview(self._data)[offset : offset + len(buffer)]
        buffer[: len(piece)] = piece
        return len(piece)

    def read(self, offset: int, length: int) -> bytes:
        return self._data[offset : offset + length]

    def whole(self) -> bytes:
        return self._data

    def is_changed(self) -> bool:
        return False


class Lines:
    """The lines of a text, counted in one pass for offsets that are asked for in order."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self._offset, self._line = 0, 1

    def at(self, offset: int) -> int:
        """The 1-based line of an offset."""
        if offset < self._offset:
            self._offset, self._line = 0, 1
        buffer = bytearray(min(WINDOW, offset - self._offset))
        while self._offset < offset:
            count = self._text.fill(self._offset, memoryview(buffer)[: offset - self._offset])
            if not count:
                break
            if (first := buffer.find(b"\n", 0, count)) >= 0:  # to find that there is none is far quicker than to count
                self._line += buffer.count(b"\n", first, count)
            self._offset += count
        return self._line


# ------------------------------------------------------------------------------------------------------------------ elements

_TRIES = 8
_LEARNT = 24
_START = regex(rb'\[?[ \t\r\n]*\{[ \t\r\n]*("(?:[^"\\]|\\.){0,40}"[ \t\r\n]*:[ \t\r\n]*)("[^"\\]{0,30}")?')
"""How an element begins: its first key, and a short string if that is what stands there."""
_TRAILING = regex(r"trailing characters \(byte (\d+)\)")
_COMMA, _CLOSE = ord(","), ord("]")


class Elements(Generic[V]):
    """The elements of the list whose first one begins at `start`, decoded by `decode`, which takes a list of some of them, and raises
    what msgspec raises, or UnicodeDecodeError. What of UTF-8 it does not check is not checked.

    They are cut before an element that looks like the last in the window. It need not be: that what comes before a comma and `]` is a
    list is proof enough, for then nothing else is open there. Iteration gives for each window where its first element begins, the
    text of all of them, which holds until the next window, and the values. Afterwards `end` is the
    offset of the `]` of the list. Raises Unfit for what is no such list, and OSError.
    """

    def __init__(self, text: Text, start: int, decode: Callable[[memoryview], list[V]]) -> None:
        self.text = text
        self.start = start
        self.end = -1
        self._decode = decode
        self._signs: list[tuple[bytes, int]] = []

    def __iter__(self) -> Iterator[tuple[int, memoryview, list[V]]]:
        offset, room, buffer = self.start, WINDOW, bytearray()
        while self.end < 0:
            if len(buffer) <= room:
                buffer = bytearray(b"[") + bytes(room)
            filled = self.text.fill(offset, memoryview(buffer)[1:])
            if filled == room and offset + filled < self.text.size:
                found = self._some(buffer, offset)
            else:
                found = self._rest(memoryview(buffer)[: filled + 1], offset)
            if found is None:
                room *= 2
                continue
            past, values = found
            del found
            yield offset, memoryview(buffer)[1 : past - 1], values
            del values
            offset += past - 1

    def _some(self, buffer: bytearray, offset: int) -> tuple[int, list[V]] | None:
        """The values up to some comma in a buffer, and where what follows begins there; None where more is needed to find one."""
        self._signs = self._signs or _signs(buffer)
        tried = False
        for comma in _commas(buffer, self._signs):
            tried = True
            buffer[comma] = _CLOSE
            try:
                return comma + 1, self._decoded(memoryview(buffer)[: comma + 1])
            except msgspec.DecodeError as error:
                if (end := _closed(buffer, error)) is not None:
                    return self._ended(memoryview(buffer)[:end], offset)
            finally:
                buffer[comma] = _COMMA
        if tried and len(buffer) > 4 * WINDOW:
            raise Unfit
        return None

    def _rest(self, buffer: memoryview, offset: int) -> tuple[int, list[V]]:
        """The same where the text ends: the list does as well."""
        if offset + len(buffer) - 1 < self.text.size:
            raise Unfit  # it was cut short
        try:
            values = self._decoded(buffer)
        except msgspec.DecodeError as error:
            if (end := _closed(buffer, error)) is None:
                raise Unfit from None
            return self._ended(buffer[:end], offset)
        past = _stripped(buffer, len(buffer))
        self.end = offset + past - 2
        return past, values

    def _ended(self, buffer: memoryview, offset: int) -> tuple[int, list[V]]:
        """The values of a buffer that ends with the list."""
        try:
            values = self._decoded(buffer)
        except msgspec.DecodeError:
            raise Unfit from None
        self.end = offset + len(buffer) - 2
        return len(buffer), values

    def _decoded(self, buffer: memoryview) -> list[V]:
        try:
            values = self._decode(buffer)
        except (msgspec.ValidationError, UnicodeDecodeError, RecursionError):
            raise Unfit from None
        return values


def _closed(buffer: bytearray | memoryview, error: msgspec.DecodeError) -> int | None:
    """The length of the list that a buffer begins with, when it goes on behind that."""
    found = _TRAILING.search(str(error))
    end = _stripped(buffer, int(found[1]) - 1) if found is not None else 0
    return end if end > 1 and buffer[end - 1] == _CLOSE else None


def _stripped(buffer: bytearray | memoryview, end: int) -> int:
    """Where the blank space before `end` begins."""
    while end and buffer[end - 1] in b" \t\r\n":
        end -= 1
    return end


def _signs(buffer: bytearray) -> list[tuple[bytes, int]]:
    """What stands between the first elements of a list, from the end of one to the first key of the next, and where its comma is.

    Where the same stands between other values as well, the value of that key is taken in, if it is one of a few.
    """
    short: Counter[tuple[bytes, int]] = Counter()
    long: dict[tuple[bytes, int], Counter[tuple[bytes, int]]] = {}
    at = past_blank(buffer, 1)
    for _ in range(_LEARNT):
        end = past_value(buffer, at)
        comma = past_blank(buffer, end)
        if end < 0 or buffer[comma : comma + 1] != b",":
            break
        at = past_blank(buffer, comma + 1)
        start = _START.match(buffer, at)
        if start is not None and buffer[end - 1] in b"}]":
            sign = bytes(buffer[end - 1 : start.end(1)]), comma - end + 1
            short[sign] += 1
            long.setdefault(sign, Counter())[bytes(buffer[end - 1 : start.end()]), comma - end + 1] += 1
    signs = []
    for sign, count in short.items():
        few = [one for one, often in long[sign].items() if often > 1]
        signs += [sign] if not few or buffer.count(sign[0], 0, at + len(sign[0])) == count else few
    return signs


def _commas(buffer: bytearray, signs: list[tuple[bytes, int]]) -> Iterator[int]:
    """Where there is one of the signs in a buffer, the last first."""
    stop = len(buffer)
    for _ in range(_TRIES):
        at, comma = max(((buffer.rfind(sign, 1, stop), comma) for sign, comma in signs), default=(-1, 0))
        if at < 0:
            return
        yield at + comma
        stop = at + 1
