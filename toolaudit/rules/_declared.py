"""Declared tools, and what their schemas say of a value."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import orjson

from toolaudit.model import JSON, Call, Key, Ledger, Tool
from toolaudit.rules import Context
from toolaudit.rules._simple import Test, simple
from toolaudit.text import listed, one_of_types, plural, quote, word_for

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError, Validator

_NAMED = frozenset({"tool_use", "function", "custom", "function_call", "custom_tool_call", "function_call (legacy)"})
"""Kinds of calls that OpenAI and Anthropic make to tools a request declares by name."""


def tools_of(ledger: Ledger, context: Context) -> dict[str, Tool]:
    """The tools that calls may name, by name: those given, else those declared; empty when nothing is known of them."""
    given = context.tools if context.tools is not None else ledger.trajectory.tools or ()
    return {tool.name: tool for tool in given}


def is_named(call: Call) -> bool:
    """A call of a declared tool, not one of a provider, a toolset or a fixed kind."""
    if call.executor == "server" or call.group is not None or call.expects == "none" or call.name is None or call.name == call.kind:
        return False
    return call.kind in _NAMED or not call.kind.endswith(("_call", "_request", "_tool_use"))


# ------------------------------------------------------------------------------------------------------------------- schemas


class Schema:
    """A declared schema, ready to be held against values; `unusable` says why when it cannot be."""

    def __init__(self, declared: JSON) -> None:
        self.declared = declared
        self.unusable = ""
        self._checker: _Checker | None = None
        self._circular = False
        self._near: dict[str, str | None] = {}
        if not declared or declared is True:
            return  # it asks for nothing
        if not isinstance(declared, dict):
            self.unusable = f"it is {word_for(declared)}"
            return
        compiled = _compiled(declared)
        if isinstance(compiled, str):
            self.unusable = compiled
        else:
            self._checker, refers = compiled
            self._circular = refers and _Paths(declared).circular()

    def faults(self, value: JSON) -> list[str]:
        """What the schema does not allow in `value`, each as a phrase; nothing when it cannot be used."""
        if self._checker is None or not self._ends(value):
            return []
        try:
            if self._checker.is_valid(value):
                return []  # asked first, since that is answered sooner than which errors there are
            errors = list(itertools.islice(self._checker.iter_errors(value), _MOST_ERRORS))
        except (ValueError, TypeError, OverflowError, RecursionError):  # the validator's limits: depth, half a surrogate pair, huge numbers
            return []
        return list(dict.fromkeys(phrase for error in errors if (phrase := _phrase(error, self))))

    def test(self) -> Callable[[JSON], bool]:
        """What says whether the schema allows a value, for sure; one that asks for nothing allows anything."""
        checker = self._checker
        if checker is None:
            return lambda _: True
        if not self._circular:
            return checker.is_valid  # it is asked of every call of gigabytes of logs
        return lambda value: self._ends(value) and checker.is_valid(value)

    def _ends(self, value: JSON) -> bool:
        """A schema that leads back to itself twice for each level of a deep value is not followed."""
        return not self._circular or _Ways(self.declared).of(value) <= _MOST_WAYS

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """Every property that is declared anywhere in it: the only names in arguments that are not content."""
        return frozenset(_properties(self.declared))

    def near(self, key: str) -> str | None:
        """The declared property that looks most like `key`, as long as not too many were looked for."""
        if key not in self._near and len(self._near) < _MOST_HINTS and len(key) <= _LONGEST_NAME:
            self._near[key] = nearest(key, self._some_names)
        return self._near.get(key)

    @functools.cached_property
    def _some_names(self) -> list[str]:
        return sorted(name for name in self.names if len(name) <= _LONGEST_NAME)[:_MOST_NAMES]


_MOST_ERRORS = 100
_MOST_WAYS = 20_000
_MOST_HINTS = 64
_MOST_NAMES = 256
_LONGEST_NAME = 64


def is_valid(schema: JSON) -> Callable[[JSON], bool]:
    """A test of arguments against `schema`. Raises ValueError for one that cannot be used."""
    usable = Schema(schema)
    if usable.unusable:
        raise ValueError(usable.unusable)
    return usable.test()


def _properties(schema: JSON) -> Iterator[str]:
    for node in _nodes(schema):
        if isinstance(declared := node.get("properties"), dict):
            yield from declared
        if isinstance(wanted := node.get("required"), list):
            yield from (name for name in wanted if isinstance(name, str))


def _nodes(value: JSON) -> Iterator[dict[str, JSON]]:
    """Every object in `value`, itself included; a loop, so that no depth is too deep."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


def _compiled(schema: dict[str, JSON]) -> tuple[_Checker, bool] | str:
    """The schema, compiled, and whether it may refer to something; a phrase that says why when it cannot be used."""
    try:
        text = orjson.dumps(schema, option=orjson.OPT_SORT_KEYS)
        checker = _checker(text)
        return checker if isinstance(checker, str) else (checker, b'"$ref"' in text)
    except (TypeError, ValueError, RecursionError) as error:
        return _TOO_DEEP if "ecursion" in str(error) else "it holds a number or a text that is out of range"


_TOO_DEEP = "it is nested too deeply"


class _Simple:
    """The checker of a simple schema: the validator, which is quicker once it is loaded, is left alone as long as there is little to do."""

    left: ClassVar[int] = 1000
    """How many values are still checked without it, whatever their schemas."""

    def __init__(self, schema: JSON, allows: Test) -> None:
        self._schema = schema
        self._allows = allows

    @functools.cached_property
    def _validator(self) -> Validator:
        return _validator(self._schema)

    def is_valid(self, value: JSON) -> bool:
        if _Simple.left > 0 and self._is_plain(value):
            return True
        return self._validator.is_valid(value)

    def iter_errors(self, value: JSON) -> Iterator[ValidationError]:
        return iter(()) if self._is_plain(value) else self._validator.iter_errors(value)

    def _is_plain(self, value: JSON) -> bool:
        if _Simple.left <= 0:
            return False
        _Simple.left -= 1
        return self._allows(value)


_Checker: TypeAlias = "_Simple | Validator"


@functools.lru_cache(maxsize=256)
def _checker(schema: bytes) -> _Checker | str:
    """The schema, compiled, or why that cannot be done."""
    value = orjson.loads(schema)
    if (allows := simple(value)) is not None:
        return _Simple(value, allows)
    from jsonschema_rs import ValidationError, ValidationErrorKind

    try:
        return "its references lead to too many places" if _is_too_large(value) else _validator(value)
    except ValidationError as error:
        if isinstance(error.kind, ValidationErrorKind.Referencing):
            return "it refers to something that is not in it"
        where = ".".join(map(str, error.instance_path))
        return f"{quote(where)} in it is not as JSON Schema has it" if where else "it is no JSON Schema"
    except (ValueError, RecursionError):
        return "it is no JSON Schema that can be read"


def _validator(schema: JSON) -> Validator:
    """Nothing outside of the schema is ever fetched."""
    from jsonschema_rs import validator_for

    return validator_for(schema, validate_formats=False, retriever=_no_network)


def _no_network(uri: str) -> JSON:
    raise LookupError(uri)


_MOST_REFERENCES = 10_000
_MOST_INNER = 32


def _is_too_large(schema: JSON) -> bool:
    """Following its references, each from each place that is led to, never ends in reasonable time: two in each step are enough for that.

    References by the name of an inner resource are not followed here; a schema that has many of those counts as too large as well.
    """
    if not any("$ref" in node or "$dynamicRef" in node for node in _nodes(schema)):
        return False
    if _inner(schema) > _MOST_INNER:
        return True
    try:
        return _Paths(schema).led_to(schema) > _MOST_REFERENCES
    except RecursionError:  # a chain of many hundreds
        return True


def _inner(schema: JSON) -> int:
    """How many references are no mere pointers into the document."""
    refs = (node.get(key) for node in _nodes(schema) for key in ("$ref", "$dynamicRef", "$recursiveRef"))
    return sum(isinstance(ref, str) and ref != "#" and not ref.startswith("#/") for ref in refs)


class _Paths:
    """How many places the references of a schema lead to, counted once for each way that leads there."""

    def __init__(self, schema: JSON) -> None:
        self.schema = schema
        self.known: dict[str, int] = {}
        self.under_way: set[str] = set()
        self.circles = False

    def circular(self) -> bool:
        """Some reference leads back to where it stands."""
        try:
            self.led_to(self.schema)
        except RecursionError:
            return True
        return self.circles

    def led_to(self, part: JSON) -> int:
        """The places that references in `part` lead to, and those that lead on from there, up to just over the limit."""
        total = 0
        for node in _nodes(part):
            if isinstance(ref := node.get("$ref"), str):
                total += 1 + self._behind(ref)
                if total > _MOST_REFERENCES:
                    break
        return total

    def _behind(self, ref: str) -> int:
        if ref in self.under_way:  # a circle is gone round once
            self.circles = True
            return 0
        if ref not in self.known:
            self.under_way.add(ref)
            self.known[ref] = self.led_to(_at(self.schema, ref))
            self.under_way.remove(ref)
        return self.known[ref]


_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")
_OF_CHILDREN = (
    *("additionalProperties", "unevaluatedProperties", "patternProperties"),
    *("items", "additionalItems", "prefixItems", "contains", "unevaluatedItems"),
)


class _Ways:
    """In how many ways a validator comes by the parts of a value, at most: each pair of a part and a schema is counted once."""

    def __init__(self, schema: JSON) -> None:
        self.schema = schema
        self.known: dict[tuple[int, int], int] = {}

    def of(self, value: JSON) -> int:
        """The number for a whole value; just over the limit for a value that is too deep to say."""
        try:
            return self._of(self.schema, value)
        except RecursionError:
            return _MOST_WAYS + 1

    def _of(self, schema: JSON, value: JSON) -> int:
        if not isinstance(schema, dict):
            return 0
        key = (id(schema), id(value))
        if key not in self.known:
            self.known[key] = 0
            self.known[key] = 1 + min(_MOST_WAYS, sum(self._of(*step) for step in self._steps(schema, value)))
        return self.known[key]

    def _steps(self, schema: dict[str, JSON], value: JSON) -> Iterator[tuple[JSON, JSON]]:
        if isinstance(ref := schema.get("$ref"), str):
            yield _at(self.schema, ref), value
        for word in _IN_PLACE:
            yield from ((one, value) for one in _schemas(schema.get(word)))
        children = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
        if not children:
            return
        if isinstance(properties := schema.get("properties"), dict) and isinstance(value, dict):
            yield from ((properties[key], child) for key, child in value.items() if key in properties)
        for word in _OF_CHILDREN:
            yield from ((one, child) for one in _schemas(schema.get(word)) for child in children)


def _schemas(found: JSON) -> list[JSON]:
    """What stands under a word, as schemas: it may be one, a list of some, or some by name."""
    if isinstance(found, dict):
        return [found, *(one for one in found.values() if isinstance(one, dict))]
    return found if isinstance(found, list) else []


def _at(schema: JSON, ref: str) -> JSON:
    """What a pointer into the document points at; None for what is not there."""
    from urllib.parse import unquote

    found = schema
    for key in unquote(ref).removeprefix("#").split("/")[1:]:
        plain = key.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and plain.isdecimal() and len(plain) < 9 and int(plain) < len(found):
            found = found[int(plain)]
        elif isinstance(found, dict):
            found = found.get(plain)
        else:
            return None
    return found


# ------------------------------------------------------------------------------------------------------------------- phrases


def _phrase(error: ValidationError, schema: Schema) -> str:
    """What an error says, without the value that is wrong; empty for what is none (a limit of the validator, `nullable`)."""
    from jsonschema_rs import ValidationErrorKind as Kind

    field = _name(error.instance_path, schema.names)
    match error.kind:
        case Kind.Required(property=key):
            return f"{quote(str(key))} is missing" + (f" in {field}" if error.instance_path else "")
        case Kind.AdditionalProperties(unexpected=keys) | Kind.UnevaluatedProperties(unexpected=keys):
            return _unexpected([str(key) for key in keys], error.instance, schema) + (f" in {field}" if error.instance_path else "")
        case Kind.Type(types=types):
            return f"{field} is {word_for(error.instance)} where {one_of_types(types)} belongs"
        case Kind.Enum(options=options):
            return f"{field} is none of {listed([quote(str(option), 24) for option in options])}"
        case Kind.BacktrackLimitExceeded() | Kind.RegexEngineFailure() | Kind.Referencing():
            return ""
        case _:
            return f"{field} does not fit `{error.schema_path[-1]}`" if error.schema_path else f"{field} does not fit"


def _unexpected(keys: list[str], value: JSON, schema: Schema) -> str:
    """Fields that the model made up are not named: they are content. A declared one that looks like one of them is."""
    found = f"{'a field' if len(keys) == 1 else plural(len(keys), 'field')} that the schema does not have"
    near = next((one for key in keys[:8] if (one := schema.near(key)) is not None and one not in value), None)
    return f"{found} (did the model mean {quote(near)}?)" if near else found


def _name(path: list[Key], names: frozenset[str]) -> str:
    """The field a path leads to: `to`, `items[2].name`; for keys that no schema declares, which are content, stands `…`."""
    steps = (f"[{key}]" if isinstance(key, int) else f".{key}" if key in names else ".…" for key in path)
    text = "".join(steps).removeprefix(".")
    return quote(text) if text else "the whole"


def some(phrases: list[str]) -> str:
    """The first few phrases; the rest is counted."""
    shown, more = phrases[:3], len(phrases) - 3
    return "; ".join(shown) + (f"; {more} more" if more > 0 else "")


def nearest(name: str, names: Iterator[str] | list[str]) -> str | None:
    """The declared name that looks most like `name`."""
    import difflib

    return next(iter(difflib.get_close_matches(name, list(names), 1, 0.75)), None)
