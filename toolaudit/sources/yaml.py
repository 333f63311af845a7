"""YAML, in which recorders of HTTP traffic write their cassettes: it becomes JSON text of which every value stands on its own line.

Places and lines of what is found then hold for the YAML as well. Only plain data is made of it, whatever its tags say.
"""

from __future__ import annotations

import binascii
from typing import Any, Final

import orjson
import yaml

from toolaudit.regex import regex
from toolaudit.sources.records import NotJSON

LARGEST: Final = 1 << 25
"""A text of more bytes is not read: its tree takes some thirty times as much memory."""
_DEPTH = 200
_GROWTH = 8
"""Aliases may let the text grow so many times."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLAIN = frozenset({"tag:yaml.org,2002:null", "tag:yaml.org,2002:bool", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"})
_BLANK = regex(rb"[ \t\r\n]+")


def as_json(data: bytes) -> bytes:
    """The JSON text of a YAML document, or of a list of several. Raises NotJSON for what is neither, is too large, or has no end."""
    if len(data) > LARGEST:
        raise NotJSON(f"it is YAML of more than {LARGEST >> 20} MB")
    loader = _LOADER(data)
    try:
        nodes = []
        while loader.check_node():
            nodes.append(loader.get_node())
        return _Writer(loader, (len(data) + 1024) * _GROWTH).all(nodes)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise NotJSON(f"it is not YAML either: {error.problem or 'it cannot be read'}", _offset(data, mark)) from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise NotJSON("it is not YAML either") from None
    finally:
        loader.dispose()


def _offset(data: bytes, mark: Any) -> int:
    """Where a mark stands, in bytes; near enough where its line is not ASCII."""
    if mark is None:
        return 0
    at = 0
    for _ in range(mark.line):
        at = data.find(b"\n", at) + 1
    return int(min(at + mark.column, len(data)))


class _Writer:
    """JSON text in the making, as long as it may be."""

    def __init__(self, loader: Any, most: int) -> None:
        self._loader = loader
        self._left = most
        self._out: list[bytes] = []
        self._line = 0
        self._above: set[int] = set()

    def all(self, nodes: list[Any]) -> bytes:
        if len(nodes) == 1:
            self._node(nodes[0])
        else:
            self._many(nodes)
        return b"".join(self._out)

    def _put(self, text: bytes) -> None:
        self._left -= len(text)
        if self._left < 0:
            raise NotJSON("its aliases unfold to far more than it holds")
        self._out.append(text)

    def _down_to(self, node: Any) -> None:
        """Go on to the line on which a node begins; what an alias names may stand above."""
        if (missing := node.start_mark.line - self._line) > 0:
            self._line += missing
            self._out.append(b"\n" * missing)

    def _node(self, node: Any) -> None:
        self._down_to(node)
        if isinstance(node, yaml.ScalarNode):
            self._put(self._scalar(node))
            return
        if id(node) in self._above or len(self._above) >= _DEPTH:
            raise NotJSON("it is nested too deeply")
        self._above.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            self._many(node.value)
        else:
            self._put(b"{")
            for index, (key, value) in enumerate(node.value):
                self._put(b"," if index else b"")
                self._down_to(key)
                name = key.value if isinstance(key, yaml.ScalarNode) else "?"
                self._put(_text(name) + b":")
                self._node(value)
            self._put(b"}")
        self._above.discard(id(node))

    def _many(self, nodes: list[Any]) -> None:
        self._put(b"[")
        for index, one in enumerate(nodes):
            self._put(b"," if index else b"")
            self._node(one)
        self._put(b"]")

    def _scalar(self, node: Any) -> bytes:
        if node.tag in _PLAIN:
            try:
                return orjson.dumps(self._loader.construct_object(node))
            except (ValueError, TypeError, yaml.YAMLError):
                pass  # a number that is none
        if node.tag == "tag:yaml.org,2002:binary":
            return _text(_unfolded("".join(node.value.split())))
        return _text(node.value)


def _unfolded(base64: str) -> str:
    """The text that binary data is; data that is none stays in base64."""
    try:
        return binascii.a2b_base64(base64, strict_mode=True).decode()
    except (binascii.Error, ValueError):
        return base64


def _text(value: str) -> bytes:
    return orjson.dumps(value.encode("utf-8", "replace").decode("utf-8"))
