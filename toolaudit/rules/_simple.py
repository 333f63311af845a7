"""Schemas that ask for little are checked here: loading the validator takes as long as auditing a small file from start to end.

This only ever proves that a value is allowed. A schema with any other keyword, and a value that is not plainly right, is left to the
validator; a test holds the two against each other.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, TypeAlias

from toolaudit.model import JSON

Test: TypeAlias = Callable[[JSON], bool]

_KEYWORDS: dict[str, tuple[type, ...]] = {
    "$schema": (str,),
    "title": (str,),
    "description": (str,),
    "default": (object,),
    "type": (str, list),
    "enum": (list,),
    "properties": (dict,),
    "required": (list,),
    "additionalProperties": (bool,),
    "items": (dict,),
    "minimum": (int, float),
    "maximum": (int, float),
    "minLength": (int,),
    "maxLength": (int,),
    "minItems": (int,),
    "maxItems": (int,),
}
_DIALECTS = ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema")
_TYPES: dict[JSON, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}
_DEEPEST = 16
_LARGEST = 1 << 53
"""Up to here any decoder's numbers are the same."""


class _NotSimple(Exception):
    """The schema holds something that is left to the validator."""


def simple(schema: dict[str, JSON]) -> Test | None:
    """A test that answers True for values that the schema allows, though not for all of them; None where the schema is not simple.

    A schema that is simple is valid itself.
    """
    try:
        return _test(schema, 0)
    except _NotSimple:
        return None


def _test(schema: JSON, depth: int) -> Test:
    if not isinstance(schema, dict) or depth > _DEEPEST or any(not isinstance(of, _KEYWORDS.get(word, ())) for word, of in schema.items()):
        raise _NotSimple
    if "$schema" in schema and (depth or schema["$schema"] not in _DIALECTS):
        raise _NotSimple
    types, words = _types(schema), schema.get("enum")
    properties: dict[str, Test] = {name: _test(inner, depth + 1) for name, inner in schema.get("properties", {}).items()}
    required, closed = _required(schema), schema.get("additionalProperties") is False
    items = _test(schema["items"], depth + 1) if "items" in schema else None
    least, greatest = _bound(schema, "minimum", -_LARGEST, -inf), _bound(schema, "maximum", -_LARGEST, inf)
    shortest, longest = _bound(schema, "minLength", 0, 0), _bound(schema, "maxLength", 0, inf)
    fewest, most = _bound(schema, "minItems", 0, 0), _bound(schema, "maxItems", 0, inf)

    def allows(value: Any) -> bool:
        kind = type(value)
        if (types and kind not in types) or (words is not None and (kind is not str or value not in words)):
            return False
        if kind is dict:
            return required <= value.keys() and all(
                properties[name](inner) if name in properties else not closed for name, inner in value.items()
            )
        if kind is list:
            return fewest <= len(value) <= most and (items is None or all(map(items, value)))
        if kind is str:
            return shortest <= len(value) <= longest
        return kind not in (int, float) or (-inf < value < inf and least <= value <= greatest)

    return allows


def _types(schema: dict[str, Any]) -> frozenset[type]:
    """The types that are allowed; empty for all of them."""
    said = schema.get("type", [])
    words = [said] if isinstance(said, str) else said
    if ("type" in schema and not words) or not all(isinstance(word, str) and word in _TYPES for word in words) or _repeats(words):
        raise _NotSimple
    return frozenset(kind for word in words for kind in _TYPES[word])


def _bound(schema: dict[str, Any], word: str, smallest: int, otherwise: float) -> float:
    """The limit that `word` sets, which must not be under `smallest`; `otherwise` where it sets none."""
    found: float = schema.get(word, smallest)
    if type(found) is bool or not smallest <= found <= _LARGEST:  # nor is NaN between the two
        raise _NotSimple
    return found if word in schema else otherwise


def _required(schema: dict[str, Any]) -> frozenset[str]:
    names = schema.get("required", [])
    if not all(isinstance(name, str) for name in names) or _repeats(names):
        raise _NotSimple
    return frozenset(names)


def _repeats(words: list[str]) -> bool:
    return len(set(words)) < len(words)
