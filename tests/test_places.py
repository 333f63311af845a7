from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolaudit.places import lines_of

Path_ = tuple[str | int, ...]

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4), max_leaves=25
)


def written(value: Any, ascii_only: bool = True) -> tuple[str, dict[Path_, int]]:
    """`value` as `json.dumps(value, indent=1)` writes it, and the line of every place in it, taken while writing."""
    out: list[str] = []
    lines: dict[Path_, int] = {}

    def write(item: Any, path: Path_, depth: int) -> None:
        lines[path] = "".join(out).count("\n") + 1
        if not isinstance(item, (list, dict)) or not item:
            out.append(json.dumps(item, ensure_ascii=ascii_only))
            return
        members: list[tuple[str | int, Any]] = list(enumerate(item)) if isinstance(item, list) else list(item.items())
        out.append("[" if isinstance(item, list) else "{")
        for position, (key, inner) in enumerate(members):
            out.append(("," if position else "") + "\n" + " " * (depth + 1))
            if isinstance(item, dict):
                out.append(json.dumps(key, ensure_ascii=ascii_only) + ": ")
            write(inner, (*path, key), depth + 1)
        out.append("\n" + " " * depth + ("]" if isinstance(item, list) else "}"))

    write(value, (), 0)
    return "".join(out), lines


@settings(max_examples=200, deadline=None)
@given(values, st.booleans())
def test_agrees_with_the_writer(value: Any, ascii_only: bool) -> None:
    text, lines = written(value, ascii_only)
    assert text == json.dumps(value, indent=1, ensure_ascii=ascii_only)
    assert lines_of(text.encode("utf-8", "surrogatepass"), lines) == lines


def test_root_begins_behind_blank_lines() -> None:
    assert lines_of(b'\n \r\n {"a":\n 1}', [(), ("a",)]) == {(): 3, ("a",): 4}


def test_value_on_another_line_than_its_key() -> None:
    assert lines_of(b'{\n"a"\n:\n[1,\n2]}', [("a",), ("a", 0), ("a", 1)]) == {("a",): 4, ("a", 0): 4, ("a", 1): 5}


@pytest.mark.parametrize("poison", ["", '"\\ud800"', "NaN", "1e999", "-Infinity"])
def test_of_equal_names_the_last_counts(poison: str) -> None:
    extra = f'"p": {poison},' if poison else ""
    text = f'{{{extra}"a":\n[1],\n"b": 5,\n"a":\n[1], "c":\n 3}}'.encode()
    assert lines_of(text, [("a",), ("a", 0), ("b",), ("c",)]) == {("a",): 5, ("a", 0): 5, ("b",): 3, ("c",): 6}


def test_escaped_names() -> None:
    text = b'{"x": 1,\n"\\u0061": 2,\n"q\\"": {\n"\\n": 4}}'
    assert lines_of(text, [("a",), ('q"', "\n")]) == {("a",): 2, ('q"', "\n"): 4}


@pytest.mark.parametrize("number", ["NaN", "7"])
def test_what_cannot_be_followed_has_the_line_of_its_parent(number: str) -> None:
    text = f'\n{{"n": {number},\n"a": [\n1,\n{{}}]}}'.encode()
    asked: list[Path_] = [("x",), (0,), ("a", 9), ("a", "0"), ("a", -1), ("a", 0, "b", 3), ("a", 1, "k")]
    assert sorted(lines_of(text, asked).items(), key=str) == sorted(zip(asked, [2, 2, 3, 3, 3, 4, 5], strict=True), key=str)


def test_nothing_asked() -> None:
    assert lines_of(b"{}", []) == {}


@pytest.mark.parametrize(
    "text", [b"", b" \n", b"{", b'{"a', b'{"a"', b'{"a":', b'{"a":\n1', b"[1,\n2", b'["\xff",\n1]', b"\xef\xbb\xbf{}", b"}{"]
)
def test_broken_documents_do_not_raise(text: bytes) -> None:
    asked: list[Path_] = [(), ("a",), (0,), (1,), ("a", "b")]
    assert set(lines_of(text, asked)) == set(asked)


def test_broken_document_is_followed_as_far_as_it_goes() -> None:
    assert lines_of(b'{"a": [\n1,\n{"b":\n"never ends', [("a", 1, "b")]) == {("a", 1, "b"): 4}


def test_nesting_and_pointers_without_bound() -> None:
    deep = b"[\n" * 100_000 + b"]" * 100_000
    far: Path_ = (0,) * 1_100
    assert lines_of(deep[:2_400] + deep[-1_200:], [(0,) * 900, far]) == {(0,) * 900: 901, far: 1101}
    assert lines_of(deep, [(0, 0)]) == {(0, 0): 3}
    assert lines_of(b"[]", [(0,) * 100_000]) == {(0,) * 100_000: 1}


@settings(max_examples=300, deadline=None)
@given(
    st.binary(max_size=60) | st.text(st.sampled_from('{}[]":,\\ \n1aué'), max_size=40).map(str.encode),
    st.lists(st.lists(st.integers(-1, 3) | st.sampled_from(["", "a", "1"]), max_size=4).map(tuple), max_size=5),
)
def test_never_raises(text: bytes, asked: list[Path_]) -> None:
    lines = lines_of(text, asked)
    assert set(lines) == set(asked)
    assert all(1 <= line <= text.count(b"\n") + 1 for line in lines.values())


@pytest.mark.parametrize("lenient", [False, True])
def test_is_quick(lenient: bool) -> None:
    prose = {"type": "text", "text": "word " * 150}
    messages = [{"role": "user", "content": [prose, {"id": f"t{i}", "input": {"i": i}}]} for i in range(4_000 if lenient else 20_000)]
    value: dict[str, Any] = {"n": float("nan"), "messages": messages} if lenient else {"messages": messages}
    text = json.dumps(value, indent=2).encode()
    asked: list[Path_] = [("messages", i, "content", 1, "id") for i in range(0, len(messages), 60)]
    start = time.process_time()
    lines = lines_of(text, asked)
    assert time.process_time() - start < 2
    where = text.splitlines()
    assert all(f'"id": "t{pointer[1]}"'.encode() in where[line - 1] for pointer, line in lines.items())
