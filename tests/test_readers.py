"""What holds of every reader: no piece of a sample passes for something else, and nothing makes it fail."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolaudit import formats
from toolaudit.engine import Audit, Options
from toolaudit.formats import MEDIUM
from toolaudit.formats._look import Found, look
from toolaudit.model import JSON, Place

ROOT = Path(__file__).resolve().parents[1]
TWINS = {
    frozenset({"openai-responses", "openai-chat"}),  # an item that is a message may be one of either
    frozenset({"claude-stream-json", "anthropic-messages"}),  # a record whose message is whole, before it says what it is
}
"""Formats of which a piece of one may be a whole of the other."""


def samples() -> list[Path]:
    """The clean samples that are plain JSON."""
    return sorted(path.relative_to(ROOT) for path in (ROOT / "samples/clean").rglob("*.json*") if path.suffix in (".json", ".jsonl"))


def values(path: Path) -> Iterator[JSON]:
    text = (ROOT / path).read_text("utf-8")
    for part in text.splitlines() if path.suffix == ".jsonl" else [text]:
        yield json.loads(part)


def closed(text: str) -> Iterator[str]:
    """Every beginning of a JSON text that can be made whole by closing what is open."""
    stack: list[str] = []
    quoted = escaped = False
    for at, character in enumerate(text):
        if quoted:
            quoted = escaped or character != '"'
            escaped = not escaped and character == "\\"
        elif character == '"':
            quoted = True
        elif character in "{[":
            stack.append("}" if character == "{" else "]")
        elif character in "}]":
            stack.pop()
        if not quoted:
            yield text[: at + 1].rstrip(", :") + "".join(reversed(stack))


@pytest.mark.parametrize("path", samples(), ids=str)
def test_no_beginning_of_a_sample_passes_for_another_format(path: Path) -> None:
    own = path.parent.name
    for value in values(path):
        for beginning in closed(json.dumps(value)):
            try:
                piece = json.loads(beginning)
            except json.JSONDecodeError:
                continue  # it ends in a key
            for found in look(piece, Place(0)):
                if isinstance(found, Found):
                    name = found.format.NAME
                    of_stream = getattr(formats.format(own), "OF", None) == name  # a chunk may be a response that came whole
                    assert name == own or found.evidence.strength <= MEDIUM or {name, own} in TWINS or of_stream, beginning
                    list(found.read())


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 1 << 70),
    st.floats(allow_nan=False),
    st.text(max_size=4),
    st.sampled_from(["", "null", "user", "assistant", "tool_use", "function_call", "error", "{}", '{"a":', "\x1b[2J", "\ud800"]),
    st.lists(st.none() | st.text(max_size=2) | st.just({}), max_size=2),
    st.dictionaries(
        st.sampled_from(["type", "role", "content", "id", "name", "parts", "text", ""]), st.none() | st.text(max_size=3), max_size=3
    ),
)


def nodes(value: JSON, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    for key, child in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from nodes(child, (*path, key))


def put(value: JSON, path: tuple[str | int, ...], junk: JSON) -> JSON:
    if not path:
        return junk
    changed = copy.deepcopy(value)
    parent = changed
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = junk
    return changed


@pytest.mark.parametrize("form", formats.names())
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_nothing_makes_a_reader_fail(form: str, data: st.DataObject) -> None:
    own = [value for path in samples() if path.parent.name == form for value in values(path)]
    value = data.draw(st.sampled_from(own))
    for _ in range(data.draw(st.integers(1, 3))):
        value = put(value, data.draw(st.sampled_from(list(nodes(value)))), data.draw(JUNK))
    for options in (Options(), Options(input_format=form, sent=True, deep=True)):
        Audit(options).value(value)
