"""Whether one raw message has the shape that is published for its format (`schemas/formats/`), and where it has not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

import orjson
from msgspec import Struct

from toolaudit import schemas
from toolaudit.model import JSON, Key
from toolaudit.text import one_of_types, quote, word_for

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError, Validator


class Fault(Struct, frozen=True):
    """One thing about a message that its published shape does not allow."""

    path: tuple[Key, ...]
    """Keys from the message to the field; for a field that is missing, to the object that lacks it."""
    message: str
    """What stands there and what is allowed: lower case, no full stop, no content of the transcript but a short key or enum value."""


def faults(format: str, message: JSON) -> Iterator[Fault]:  # noqa: A002 (the word of the house)
    """What the published shape of `format` does not allow in `message`, in order of place; nothing for a format without one."""
    checker = _checker(format)
    if checker is None:
        return
    try:
        errors = sorted(checker.errors(message), key=_order)
    except ValueError:  # the validator's own limit
        yield Fault((), "the message is nested too deeply to be checked")
        return
    seen = set()
    for error in errors:
        fault = Fault(tuple(error.instance_path), checker.sentence(error, message))
        mark = (fault.path, _subject(error))
        if mark not in seen:  # two branches may ask the same of one field
            seen.add(mark)
            yield fault


@cache
def _checker(format: str) -> _Checker | None:  # noqa: A002
    name = f"formats/{format}"
    return _Checker(schemas.schema(name)) if name in schemas.names() else None


class _Checker:
    """The schema of a format, compiled; and as a document, whose titles and descriptions say what belongs in a place."""

    def __init__(self, text: bytes) -> None:
        from jsonschema_rs import Draft202012Validator

        self.document: JSON = orjson.loads(text)
        self.validator: Validator = Draft202012Validator(self.document)

    def errors(self, message: JSON) -> list[ValidationError]:
        """All errors of `message`; a character that is half a surrogate pair is replaced first, as the validator takes none."""
        try:
            return list(self.validator.iter_errors(message))
        except UnicodeEncodeError:
            text = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
            return list(self.validator.iter_errors(orjson.loads(text)))

    def sentence(self, error: ValidationError, message: JSON) -> str:
        """What `error` says, to a person."""
        from jsonschema_rs import ValidationErrorKind as Kind

        field, value, node = _name(error.instance_path), _at(message, error.instance_path), self._node(error)
        match error.kind:
            case Kind.Required(property=key):
                return f"{quote(str(key))} is missing" + (f" in {field}" if error.instance_path else "")
            case Kind.Enum(options=options):
                return f"{field} is {_shown(value)}; allowed are {', '.join(_words(options))}"
            case Kind.Type():
                return f"{field} is {word_for(value)}; {_belongs(node)} belongs there"
            case Kind.Not():
                return f"{field} is {_shown(value)}; {node.get('description', 'that has no place there')}"
            case _:
                return f"{field} is not what belongs there"

    def _node(self, error: ValidationError) -> dict[str, JSON]:
        """The part of the schema that holds the keyword that failed; empty where the path to it does not lead there."""
        node = self.document
        for key in error.schema_path[:-1]:
            node = self._target(node) if key == "$ref" else _at(node, [key])
        if node is self.document:
            return {"type": "object"}  # its title is that of the whole schema
        return node if isinstance(node, dict) else {}

    def _target(self, node: JSON) -> JSON:
        """What the reference of `node` leads to: some versions of the validator give the path as written, others as resolved."""
        return _at(self.document, str(_at(node, ["$ref"])).removeprefix("#/").split("/"))


def _at(value: JSON, path: Iterable[Key]) -> JSON:
    """The value that `path` leads to; None where it leads nowhere."""
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _name(path: list[Key]) -> str:
    """The field a path leads to, by its last name: `role`, `content[2]`."""
    numbers = ""
    for key in reversed(path):
        if isinstance(key, str):
            return quote(key + numbers)
        numbers = f"[{key}]{numbers}"
    return "the message"


def _shown(value: JSON) -> str:
    return quote(value, 24) if isinstance(value, str) else word_for(value)


def _words(options: JSON) -> list[str]:
    """The values of an enum; null goes without saying."""
    return [str(option) for option in options if option is not None]


def _belongs(node: dict[str, JSON]) -> str:
    """What the schema wants in a place: its title there, else its types."""
    if "title" in node:
        return str(node["title"])
    types = node.get("type", [])
    return one_of_types([types] if isinstance(types, str) else types) or "something else"


def _subject(error: ValidationError) -> str:
    """What an error is about beside its place: the keyword, and for a missing field its name."""
    return f"{error.schema_path[-1]} {getattr(error.kind, 'property', '')}"


def _order(error: ValidationError) -> list[tuple[bool, Key]]:
    return [(isinstance(key, str), key) for key in error.instance_path]
