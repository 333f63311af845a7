"""Declared tools, and what their schemas say of a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

import orjson

from toolaudit.model import JSON, Call, Key, Ledger, Tool
from toolaudit.rules import Context
from toolaudit.rules._arguments import word_for
from toolaudit.text import listed, quote

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


def faults(schema: JSON, value: JSON) -> list[str]:
    """What `schema` does not allow in `value`, each as a phrase; nothing for a schema that cannot be used."""
    if not isinstance(schema, dict) or not schema:
        return []
    try:
        checker = _checker(orjson.dumps(schema, option=orjson.OPT_SORT_KEYS))
        errors = list(checker.iter_errors(value)) if checker is not None else []
    except (
        ValueError,
        TypeError,
        OverflowError,
        RecursionError,
    ):  # the limits of the validator: depth, half a surrogate pair, huge numbers
        return []
    return list(dict.fromkeys(phrase for error in errors if (phrase := _phrase(error))))


def is_valid(schema: JSON) -> Callable[[JSON], bool]:
    """A test of arguments against `schema`; one that cannot be used is fulfilled by anything."""
    checker = _checker(orjson.dumps(schema, option=orjson.OPT_SORT_KEYS)) if schema else None
    return _anything if checker is None else checker.is_valid


def _anything(_: JSON) -> bool:
    return True


@lru_cache(maxsize=256)
def _checker(schema: bytes) -> Validator | None:
    """The schema, compiled; None for one that is no usable schema. Nothing outside of it is ever fetched."""
    from jsonschema_rs import ReferencingError, ValidationError, validator_for

    try:
        return validator_for(orjson.loads(schema), validate_formats=False, retriever=_no_network)
    except (ValidationError, ReferencingError, ValueError, RecursionError):
        return None


def _no_network(uri: str) -> JSON:
    raise LookupError(uri)


def _phrase(error: ValidationError) -> str:
    """What an error says, without the value that is wrong; empty for what is none (a limit of the validator, `nullable`)."""
    from jsonschema_rs import ValidationErrorKind as Kind

    field = _name(error.instance_path)
    match error.kind:
        case Kind.Required(property=key):
            return f"{quote(str(key))} is missing" + (f" in {field}" if error.instance_path else "")
        case Kind.AdditionalProperties(unexpected=keys) | Kind.UnevaluatedProperties(unexpected=keys):
            return f"{listed([quote(str(key)) for key in keys])} {'is' if len(keys) == 1 else 'are'} not in the schema"
        case Kind.Type(types=types):
            return f"{field} is {word_for(error.instance)} where {_one_of([_TYPES.get(word, word) for word in types])} belongs"
        case Kind.Enum(options=options):
            return f"{field} is none of {listed([quote(str(option), 24) for option in options])}"
        case Kind.BacktrackLimitExceeded() | Kind.RegexEngineFailure() | Kind.Referencing():
            return ""
        case _:
            return f"{field} does not fit `{error.schema_path[-1]}`" if error.schema_path else f"{field} does not fit"


_TYPES = {
    "string": "a string",
    "array": "a list",
    "object": "an object",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "a boolean",
}


def _one_of(words: list[str]) -> str:
    return " or ".join(words)


def _name(path: list[Key]) -> str:
    """The field a path leads to: `to`, `items[2].name`."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).removeprefix(".")
    return quote(text) if text else "the whole"


def some(phrases: list[str]) -> str:
    """The first few phrases; the rest is counted."""
    shown, more = phrases[:3], len(phrases) - 3
    return "; ".join(shown) + (f"; {more} more" if more > 0 else "")


def nearest(name: str, names: Iterator[str] | list[str]) -> str | None:
    """The declared name that looks most like `name`."""
    import difflib

    return next(iter(difflib.get_close_matches(name, list(names), 1, 0.75)), None)
