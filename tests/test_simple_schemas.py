"""Schemas that are checked without the validator: what is allowed there is allowed by the validator, and the schema is one it takes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema_rs import validator_for

from toolaudit.rules._declared import Schema, _Simple
from toolaudit.rules._simple import simple

JSON = Any
TYPES = ["string", "integer", "number", "boolean", "object", "array", "null", "integers"]
NAMES = st.sampled_from(["a", "b", "c"])
TEXTS = NAMES | st.sampled_from(["", "ab", "\U0001f600", "e\u0301"])
NUMBERS = st.integers(-2, 2) | st.sampled_from([0.0, 1.0, 1.5, 1e300, 2**53, 2**53 + 1, 2**64, -(2**64)])
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8)


def _schemas(inner: st.SearchStrategy[JSON]) -> st.SearchStrategy[JSON]:
    types = st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": types,
            "enum": st.lists(SCALARS, max_size=3),
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "required": st.lists(NAMES, max_size=2),
            "additionalProperties": st.booleans() | inner,
            "items": inner,
            "description": st.just("x") | st.none(),
            "minimum": st.integers(-1, 1) | st.sampled_from([0.5, 1.0, 2**53, True, 1e300]),
            "maximum": st.integers(-1, 1) | st.sampled_from([0.5, 1.0, 2**53 - 1]),
            "minLength": st.integers(-1, 2) | st.just(1.0),
            "maxLength": st.integers(-1, 2),
            "minItems": st.integers(0, 2),
            "maxItems": st.integers(0, 2) | st.just(True),
            "multipleOf": st.just(1),
            "$schema": st.sampled_from(["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"]),
        },
    )


SCHEMAS = st.recursive(st.just({}) | st.just({"type": "string"}), _schemas, max_leaves=6)


@given(schema=SCHEMAS, values=st.lists(VALUES, min_size=1, max_size=6))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_plainly_allowed_is_allowed(schema: dict[str, JSON], values: list[JSON]) -> None:
    allows = simple(schema)
    if allows is not None:
        validator = validator_for(schema, validate_formats=False)  # a simple schema is valid
        for value in values:
            assert not allows(value) or validator.is_valid(value)


CITY = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "where"},
        "days": {"type": ["integer", "null"], "default": 1},
        "unit": {"enum": ["C", "F"]},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        "size": {"type": "integer", "minimum": 0, "maximum": 9},
        "note": {"type": "string", "minLength": 1},
    },
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "allowed"),
    [
        ({"city": "Oslo"}, True),
        ({"city": "Oslo", "days": None, "unit": "C", "tags": ["a", "b"]}, True),
        ({"city": "Oslo", "size": 9, "note": "x"}, True),
        ({"city": "Oslo", "size": 10}, False),
        ({"city": "Oslo", "size": -1}, False),
        ({"city": "Oslo", "note": ""}, False),
        ({"city": "Oslo", "tags": ["a", "b", "c", "d"]}, False),
        ({"days": 2}, False),
        ({"city": "Oslo", "days": True}, False),
        ({"city": "Oslo", "days": 2.5}, False),
        ({"city": "Oslo", "unit": "K"}, False),
        ({"city": "Oslo", "tags": ["a", 1]}, False),
        ({"city": "Oslo", "more": 1}, False),
        ([], False),
    ],
)
def test_an_ordinary_schema_is_simple(value: JSON, allowed: bool) -> None:
    allows = simple(CITY)
    assert allows is not None
    assert allows(value) is allowed
    assert Schema(CITY).test()(value) is allowed
    assert bool(Schema(CITY).faults(value)) is not allowed


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strings"},
        {"type": []},
        {"type": ["string", "string"]},
        {"type": 7},
        {"required": ["a", "a"]},
        {"required": [1]},
        {"properties": {"a": True}},
        {"properties": {"a": {"$schema": "http://json-schema.org/draft-07/schema#"}}},
        {"$schema": "http://json-schema.org/draft-03/schema#"},
        {"additionalProperties": {}},
        {"items": [{}]},
        {"description": 1},
        {"multipleOf": 1},
        {"minimum": True},
        {"maximum": float("nan")},
        {"maximum": 1e300},
        {"minLength": -1},
        {"maxItems": 1.0},
        {"$ref": "#"},
    ],
)
def test_anything_else_is_left_to_the_validator(schema: dict[str, JSON]) -> None:
    assert simple(schema) is None


def test_what_is_not_plain_is_left_to_the_validator() -> None:
    schema = Schema({"type": "integer"})
    assert schema.test()(1.0)
    assert schema.faults(1.5)
    assert simple({"type": "number"})(float("nan")) is False  # type: ignore[misc]


def test_many_values_are_checked_by_the_validator_to_the_same_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Simple, "left", 64)
    schema = Schema({"type": "object", "title": "many", "properties": {"n": {"type": "integer"}}})
    for number in range(64):
        assert schema.test()({"n": number})
        assert not schema.test()({"n": f"{number}"})
