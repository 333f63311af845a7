"""The lines of places: worked out for findings only, from the text of the document they stand in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import msgspec
from msgspec import Struct, field

from toolaudit.model import Key
from toolaudit.sources.scan import STRING, past_blank, past_value

Pointer: TypeAlias = tuple[Key, ...]
Span: TypeAlias = tuple[int, int]

_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


class _Node(Struct):
    """A place that is asked for, or that leads to one."""

    pointers: list[Pointer] = field(default_factory=list)
    down: dict[Key, _Node] = field(default_factory=dict)


class Pieces(Struct):
    """A document of which only some elements of one list are at hand."""

    list: Pointer
    """The list."""
    elements: dict[int, tuple[bytes, int]]
    """Elements by their indexes: the text of each, and its offset in the document."""
    line: Callable[[int], int]
    """The 1-based line of an offset in the document; it is asked in the order of offsets."""
    rest: bytes = b""
    """The document without the elements of the list."""
    gap: tuple[int, int] = (0, 0)
    """Where they are left out of the rest, and how many bytes shorter it is."""


Document: TypeAlias = bytes | Pieces


def lines_of(document: Document, pointers: Iterable[Pointer]) -> dict[Pointer, int]:
    """The 1-based line on which each value begins; of a pointer that leads nowhere, the line of the last value on its way.

    Each container on the way is split into its values once, without building them. Of members with one name the last counts.
    """
    if isinstance(document, bytes):
        return _lines(document, sorted(_found(document, pointers), key=_by_offset))
    return {pointer: document.line(offset) for offset, pointer in sorted(_found_in_pieces(document, pointers), key=_by_offset)}


def _by_offset(found: tuple[int, Pointer]) -> int:
    return found[0]


def _found(document: bytes, pointers: Iterable[Pointer]) -> Iterator[tuple[int, Pointer]]:
    """Where the value of each pointer begins."""
    root = _Node()
    for pointer in pointers:
        node = root
        for key in pointer:
            node = node.down.setdefault(key, _Node())
        node.pointers.append(pointer)
    return _offsets(document, root)


def _found_in_pieces(document: Pieces, pointers: Iterable[Pointer]) -> Iterator[tuple[int, Pointer]]:
    """The same in a document of which there are pieces."""
    depth = len(document.list)
    rest: list[Pointer] = []
    within: dict[int, list[Pointer]] = {}
    for pointer in pointers:
        key = pointer[depth] if len(pointer) > depth and pointer[:depth] == document.list else None
        (within.setdefault(key, []) if isinstance(key, int) and key in document.elements else rest).append(pointer)
    for index, ones in within.items():
        data, start = document.elements[index]
        for offset, pointer in _found(data, (pointer[depth + 1 :] for pointer in ones)):
            yield start + offset, (*document.list, index, *pointer)
    gap, missing = document.gap
    for offset, pointer in _found(document.rest, rest):
        yield offset + missing * (offset > gap), pointer


def _lines(document: bytes, offsets: list[tuple[int, Pointer]]) -> dict[Pointer, int]:
    lines: dict[Pointer, int] = {}
    line, counted = 1, 0
    for offset, pointer in offsets:
        line += document.count(b"\n", counted, offset)
        counted = offset
        lines[pointer] = line
    return lines


def _offsets(document: bytes, root: _Node) -> Iterator[tuple[int, Pointer]]:
    """Where each value begins. By an explicit stack: pointers may be longer than Python recurses."""
    start = past_blank(document, 0)
    stack = [(root, (start if start < len(document) else 0, len(document)))]
    while stack:
        node, (start, end) = stack.pop()
        for pointer in node.pointers:
            yield start, pointer
        spans = _spans(document, start, end, node.down) if node.down and start < end else {}
        stack.extend((below, spans.get(key, (start, start))) for key, below in node.down.items())


def _spans(document: bytes, start: int, end: int, keys: Iterable[Key]) -> dict[Key, Span]:
    """Where the values of `keys` stand in the container that stands from `start` to `end`."""
    opening = document[start : start + 1]
    names = {key for key in keys if isinstance(key, str if opening == b"{" else int)}
    if not names or opening not in (b"{", b"["):
        return {}
    try:
        text = memoryview(document)[start:end]
        found = _members(document, start, text) if opening == b"{" else _elements(document, start, text, names)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        found = None
    return {key: span for key, span in _scanned(document, start) if key in names} if found is None else found


def _elements(document: bytes, start: int, text: memoryview, names: set[Key]) -> dict[Key, Span]:
    """The elements of a list: between two of them stand a comma and blank space."""
    spans: dict[Key, Span] = {}
    last = max(key for key in names if isinstance(key, int))
    at = start + 1
    for index, raw in enumerate(_LIST.decode(text)):
        if index > last:
            break
        begin = past_blank(document, at)
        at = begin + memoryview(raw).nbytes
        if index in names:
            spans[index] = (begin, at)
        at = past_blank(document, at) + 1
    return spans


def _members(document: bytes, start: int, text: memoryview) -> dict[Key, Span] | None:
    """The members of an object; None when a name stands there twice, for then the decoder tells of one only."""
    spans: dict[Key, Span] = {}
    at = start + 1
    for name, raw in _OBJECT.decode(text).items():
        string = STRING.match(document, past_blank(document, at))
        if string is None or _name(string[0]) != name:
            return None
        begin = _past_colon(document, string.end())
        if not document.startswith(raw, begin):
            return None
        spans[name] = (begin, begin + memoryview(raw).nbytes)
        at = past_blank(document, spans[name][1]) + 1
    closed = document[at - 1 : at] == b"}" or not spans
    return spans if closed else None


def _scanned(document: bytes, start: int) -> Iterator[tuple[Key, Span]]:
    """Every value of the container at `start` with its key, read leniently, as far as it goes."""
    is_object = document[start : start + 1] == b"{"
    at, index = past_blank(document, start + 1), 0
    while at < len(document) and document[at : at + 1] not in (b"}", b"]"):
        key: Key = index
        if is_object:
            string = STRING.match(document, at)
            if string is None:
                return
            key, at = _name(string[0]), _past_colon(document, string.end())
        end = past_value(document, at)
        yield key, (at, end if end >= 0 else len(document))
        if end < 0:
            return
        at, index = past_blank(document, end), index + 1
        if document[at : at + 1] == b",":
            at = past_blank(document, at + 1)
        else:
            return


def _past_colon(document: bytes, at: int) -> int:
    at = past_blank(document, at)
    return past_blank(document, at + 1) if document[at : at + 1] == b":" else at


def _name(text: bytes) -> str:
    """The name that a JSON string spells."""
    if b"\\" not in text:
        return text[1:-1].decode("utf-8", "replace")
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        return text[1:-1].decode("utf-8", "replace")
