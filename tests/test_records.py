from __future__ import annotations

import gzip
import io
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolaudit.sources.records import NotJSON, NotText, Record, Unreadable, decode, records, reread, salvage, unreadable

ROOT = Path(__file__).resolve().parents[1]
Item = Record | Unreadable | NotText


class Pipe(io.RawIOBase):
    """A stream that cannot be read twice and gives a few bytes at a time."""

    def __init__(self, data: bytes, step: int = 7) -> None:
        self.rest, self.step = data, step

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece, self.rest = self.rest[: min(self.step, len(buffer))], self.rest[min(self.step, len(buffer)) :]
        buffer[: len(piece)] = piece
        return len(piece)


class Failing(Pipe):
    def readinto(self, buffer: Any) -> int:
        if not self.rest:
            raise OSError(5, "Input/output error")
        return super().readinto(buffer)


def read(data: bytes, name: str = "x", **options: Any) -> list[Item]:
    """The items of `data`, which must be the same whatever kind of stream they come from."""
    items = taken(records(io.BytesIO(data), name, **options))
    assert items == taken(records(io.BufferedReader(Pipe(data, max(7, len(data) // 500))), name, **options))
    return items


def taken(found: Iterable[Item]) -> list[Item]:
    """The items, without the means to read them again, of which it is seen that they work."""
    items = list(found)
    for item in items:
        if isinstance(item, Record):
            assert item.again is None or item.again(item.offset, len(item.data)) == item.data
            item.offset, item.again = 0, None
    return items


def settled(data: bytes, name: str = "x", **options: Any) -> list[Any]:
    """As a caller has it: (number, value) of records, and what is unreadable."""
    out: list[Any] = []
    items = read(data, name, **options)
    for index, item in enumerate(items):
        if not isinstance(item, Record):
            out.append(item)
            continue
        try:
            out.append((item.number, decode(item.data)))
        except NotJSON as error:
            again = reread(item, error, name) if item.number == 0 else [unreadable(item, error, index == len(items) - 1)]
            out.extend((more.number, decode(more.data)) if isinstance(more, Record) and _good(more.data) else more for more in again)
    return out


def _good(data: bytes) -> bool:
    try:
        decode(data)
    except NotJSON:
        return False
    return True


def bad(items: list[Any]) -> list[Unreadable]:
    return [item for item in items if isinstance(item, Unreadable)]


# ---------------------------------------------------------------------------------------------------- lines, documents, values


def test_one_line_is_a_document() -> None:
    for data in (b'{"a":1}', b'{"a":1}\n', b'{"a":1}\r\n', b'{"a":1}\n\n \n'):
        assert read(data) == [Record(0, b'{"a":1}')]
        assert read(data, "x.jsonl") == [Record(0, b'{"a":1}')]


def test_json_lines() -> None:
    data = b'{"a":1}\n\n[2]\r\n   \n{"c":3}'
    assert read(data) == [Record(1, b'{"a":1}'), Record(3, b"[2]"), Record(5, b'{"c":3}')]


def test_blank_lines_before_the_first_are_counted() -> None:
    assert read(b'\n\r\n{"a":1}\n{"b":2}\n') == [Record(3, b'{"a":1}'), Record(4, b'{"b":2}')]
    assert settled(b'\n\n{"a" 1}')[0].position == (3, 6)
    assert settled(b'\n\n{"a":1}') == [(0, {"a": 1})]
    assert settled(b'\n\n{\n"a" 1}')[0].position == (4, 5)


def test_document_over_lines() -> None:
    value = {"messages": [{"role": "user", "content": "a\nb"}, [], {}, [[1]]]}
    for indent in (0, 1, 4):
        data = json.dumps(value, indent=indent).encode()
        assert read(data) == [Record(0, data)]
        assert settled(data.replace(b"\n", b"\r\n"), "x.jsonl") == [(0, value)]


def test_document_whose_lines_are_json_as_often_as_not() -> None:
    data = b'{"k":\n' + b",".join(b'"%d":\n{}\n' % i for i in range(60)) + b"}"
    data = data.replace(b'{"k":\n"0":\n', b'{"k":\n')
    assert settled(data) == [(0, json.loads(data))]


def test_first_line_torn() -> None:
    items = settled(b'{"a": "x\n{"b":2}\n{"c":3}\n')
    assert [item.number for item in bad(items)] == [1]
    assert not bad(items)[0].torn
    assert items[1:] == [(2, {"b": 2}), (3, {"c": 3})]
    assert settled(b'{"a": \n{"b":2}')[1:] == [(2, {"b": 2})]


def test_name_decides_when_content_does_not() -> None:
    data = b'{"a": \n{"b" 2}\n{"c":3}\n[4 5]\n{"d"'
    assert [getattr(item, "number", None) or item[0] for item in settled(data, "x.jsonl")] == [1, 2, 3, 4, 5]
    assert settled(data, "x.jsonl")[-1].torn
    [item] = settled(data, "x.json")
    assert (item.number, item.position) == (0, (2, 6))


@pytest.mark.parametrize("name", ["x.jsonl", "x.NDJSON", "x.jsonl.gz", "a.b/x.ndjson"])
def test_names_of_json_lines(name: str) -> None:
    assert len(settled(b'{"a": \n{"b" 2}\n{"c":3}\n[4 5]', name)) == 4


def test_bad_line_among_good_ones() -> None:
    items = settled(b'{"a":1}\n{"b" 2}\n{"c":3}\n')
    [item] = bad(items)
    assert item == Unreadable(2, "a colon is missing", b'{"b" 2}', False, (2, 6))
    assert (items[0], items[2]) == ((1, {"a": 1}), (3, {"c": 3}))


def test_torn_last_line() -> None:
    [item] = bad(settled(b'{"a":1}\n{"b":2}\n{"c": "\xc3'))
    assert (item.number, item.torn, item.data) == (3, True, b'{"c": "\xc3')
    [item] = bad(settled(b'{"a":1}\n{"b":2'))
    assert (item.number, item.torn, item.reason) == (2, True, "it ends in the middle of a value")


def test_truncated_document() -> None:
    whole = json.dumps({"a": [True, False, None, -1.5e-3, {'é\\"': "\x01 \ud83d\ude00 \ud800"}]}, indent=1).encode()
    for end in range(1, len(whole)):
        [item] = settled(whole[:end])
        assert (item.number, item.torn) == (0, True), whole[:end]
    for broken in (b'{\n"a": [1,\n2}', b'{\n"a": 1\n}}', b"[\n1,]", b'{\n"a": "\t"}'):
        [item] = settled(broken)
        assert (item.number, item.torn) == (0, False)


def test_position_counts_characters() -> None:
    [item] = settled('{\n "é": "ü" 1}'.encode())
    assert item.position == (2, 11)


def test_values_one_after_another() -> None:
    values: list[Any] = [{"a": "}\n{"}, [1, {"b": []}], {"c": '"'}]
    data = b"\n".join(json.dumps(value, indent=2).encode() for value in values)
    for name in ("x.json", "x.jsonl"):
        items = settled(data, name)
        assert [value for _, value in items] == values
        assert [number for number, _ in items] == [1, 4, 10]
    assert settled(b'{"a":1} {"b":2}[3]') == [(1, {"a": 1}), (1, {"b": 2}), (1, [3])]
    assert settled(b'{"a":1}\n{\n"b":\n2\n}\n') == [(1, {"a": 1}), (2, {"b": 2})]
    assert settled(b'{"a":1}{\n"b":\n2\n}\n') == [(1, {"a": 1}), (1, {"b": 2})]


def test_last_of_the_values_torn() -> None:
    items = settled(b'{\n"a": 1\n}\n{\n"b": {\n')
    assert items[0] == (1, {"a": 1})
    assert isinstance(items[1], Record) or items[1].torn
    long = b'{\n"a": "' + b"x" * 70_000 + b'"\n}\n{\n"b" 2}'
    assert [getattr(item, "number", None) or item[0] for item in settled(long)] == [1, 4]


def test_position_in_a_value_among_others() -> None:
    assert unreadable(Record(4, b'{\n"b" 2}'), NotJSON("x", 6), last=True).position == (5, 5)


# ------------------------------------------------------------------------------------------------------------ what is no record


@pytest.mark.parametrize("data", [b"", b"\n", b" \r\n\t\n", b"\xef\xbb\xbf", b"\xff\xfe", b" " * 200_000])
def test_empty(data: bytes) -> None:
    assert read(data) == [NotText("it is empty")]


@pytest.mark.parametrize("data", [b"hello", b"# Title\n\ntext\n", b"a: 1\nb: 2\n", b"}\n{", b"<html>", b"NULL\n[1]\nx", b"\xe9"])
def test_not_json(data: bytes) -> None:
    assert read(data) == [NotText("it is not JSON")]


@pytest.mark.parametrize("data", [b'"text"', b"12\n", b"null", b"true", b"NaN"])
def test_scalar(data: bytes) -> None:
    assert read(data) == [NotText("it is JSON, but neither an object nor a list")]


def test_banner_above_json_lines() -> None:
    items = settled(b'starting\n{"a":1}\n{"b":2}\n')
    assert [item.number for item in bad(items)] == [1]
    assert items[1:] == [(2, {"a": 1}), (3, {"b": 2})]
    assert read(b'one\ntwo\n{"a":1}\n') == [NotText("it is not JSON")]
    assert len(settled(b'one\ntwo\n{"a":1}\n', "x.jsonl")) == 3


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (gzip.compress(b"{}", mtime=0), "gzip"),
        (b"PK\x03\x04rest", "zip"),
        (b"SQLite format 3\0...", "SQLite"),
        (b"%PDF-1.7\n", "PDF"),
        (b"\x89PNG\r\n\x1a\n", "PNG"),
        (b"\xff\xd8\xff\xe0", "JPEG"),
        (b"PAR1....", "Parquet"),
        (b"x" * 257 + b"ustar\0", "tar"),
        (b"\x28\xb5\x2f\xfd", "Zstandard"),
        (b"a\0b\0\0c", "binary"),
        (b"\0" * 5000, "binary"),
        (b"{\0\0\0\0\0\0\0\0\0", "binary"),
    ],
)
def test_binary(data: bytes, what: str) -> None:
    [item] = read(data)
    assert isinstance(item, NotText)
    assert what in item.reason


@pytest.mark.parametrize("first", [b'{"a":"\0"}', b"\0" * 300, b"\0\1\2"])
@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_zeros_in_the_first_line_do_not_hide_the_others(first: bytes, name: str) -> None:
    items = settled(first + b'\n{"a":1}\noops\n{"b":2}\n', name)
    assert [item for item in items if isinstance(item, tuple)] == [(2, {"a": 1}), (4, {"b": 2})]
    assert [item.number for item in bad(items)] == [1, 3]


def test_lines_before_a_run_of_zeros_are_read() -> None:
    """A file system that lost power leaves zeros where the last lines were."""
    items = settled(b'{"a":1}\n{"b":2}\n' + b"\0" * 300)
    assert items[:2] == [(1, {"a": 1}), (2, {"b": 2})]
    assert len(bad(items)) == 1


# ------------------------------------------------------------------------------------------------------------------- encodings


def test_byte_order_mark_and_carriage_returns() -> None:
    assert read(b'\xef\xbb\xbf{"a":1}\r\n{"b":2}\r\n') == [Record(1, b'{"a":1}'), Record(2, b'{"b":2}')]
    assert read(b"\xef\xbb\xbf[\r\n1]") == [Record(0, b"[\r\n1]")]
    assert settled(b'{"a":1}\n\xef\xbb\xbf{"b":2}\n{"c":3}') == [(1, {"a": 1}), (2, {"b": 2}), (3, {"c": 3})]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_wide_encodings(encoding: str, mark: str) -> None:
    lines = '{"a":"é€😀"}\r\n\r\n[2]\r\n'
    assert settled((mark + lines).encode(encoding)) == [(1, {"a": "é€😀"}), (3, [2])]
    document = json.dumps({"a": [1, "é"]}, indent=1, ensure_ascii=False)
    assert read((mark + document).encode(encoding)) == [Record(0, document.encode())]
    if mark:
        assert read((mark + "hello").encode(encoding)) == [NotText("it is not JSON")]


def test_what_is_broken_in_utf_16_stays_so() -> None:
    items = settled('\ufeff{"a":"\ud800"}\n[1]\n[2]\n'.encode("utf-16-le", "surrogatepass") + b"x")
    assert [item.number for item in bad(items)] == [1, 4]
    assert items[1:3] == [(2, [1]), (3, [2])]
    assert settled("\ufeff[1]\n".encode("utf-32-le") + b"\xff\xff\xff\xff\n\0\0\0[\0\0\0]\0\0\0")[0] == (1, [1])


def test_bytes_that_are_not_utf_8() -> None:
    [item] = bad(settled(b'{"a":1}\n{"b":"\xff"}\n{"c":3}\n'))
    assert (item.number, item.reason, item.position, item.torn) == (2, "it holds bytes that are not UTF-8", (2, 7), False)


# ------------------------------------------------------------------------------------------------------------------------ size


def test_line_that_is_too_long_is_passed_over() -> None:
    data = b'{"a":1}\n{"b":"' + b"x" * 100 + b'"}\n{"c":3}\n'
    items = read(data, max_record=20)
    assert [item.number for item in items if not isinstance(item, NotText)] == [1, 2, 3]
    assert isinstance(items[1], Unreadable)
    assert items[1].reason == "the line is longer than 20 bytes"
    assert items[1].data.startswith(b'{"b":"xx')
    for end in (b"", b"\n", b"\r\n"):
        assert read(b'{"aa":1}\n{"bb":2}' + end, max_record=8) == [Record(1, b'{"aa":1}'), Record(2, b'{"bb":2}')]
    for big in (b'{"a":"' + b"x" * 300_000 + b'"}', b"[" * 200_000):
        items = read(big + b"\n[1]\n[2]", max_record=1000)
        assert [type(item) for item in items] == [Unreadable, Record, Record]
        assert [type(item) for item in read(big, max_record=1000)] == [Unreadable]


def test_disk_that_fails() -> None:
    for data, number in ((b"", 0), (b'{"a":1}\n' * 20_000, 20_001), (b"{\n" * 40_000, 0)):
        items = list(records(io.BufferedReader(Failing(data, 5000)), "x"))
        last = items[-1]
        assert isinstance(last, Unreadable)
        assert (last.number, last.reason, last.torn) == (number, "reading stopped here: input/output error", True)


def _load(items: list[Item]) -> None:
    for item in items:
        if isinstance(item, Record):
            item.load()


def test_plain_file_is_read_like_a_pipe(tmp_path: Path) -> None:
    wide = "[" + "1," * 50_000
    long = "[" + '{"a":1},' * 30_000 + "2]"
    cases = [long, long + "\n", long + "\n \n" * 3, long + "\n[1]", "\n" + long, "\ufeff" + long, wide, f"{long}\n{wide}\n[1]", long + long]
    cases += [json.dumps(json.loads(long), indent=1), "\ufeff\n" + json.dumps(json.loads(long), indent=1), "[1]\n" * 70_000]
    for text in cases:
        path = tmp_path / "x"
        path.write_bytes(text.encode())
        with path.open("rb", buffering=1 << 20) as stream:
            items = list(records(stream, "x"))
            _load(items)
        piped = list(records(io.BufferedReader(Pipe(text.encode(), 100_000)), "x"))
        assert [(item.number, item.data.strip()) for item in items] == [(item.number, item.data.strip()) for item in piped]  # type: ignore[union-attr]


def test_string_of_50_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'{"a":"' + b"\\n" * (25 << 20) + b'"}\n')
    with path.open("rb", buffering=1 << 20) as stream:
        [item] = records(stream, "x.json")
        _load([item])
    assert isinstance(item, Record)
    assert len(decode(item.data)["a"]) == 25 << 20


FLAT = """
import resource, sys
from toolaudit.sources.records import records
def peak(name):
    with open(name, "rb", buffering=1 << 20) as stream:
        count = sum(1 for _ in records(stream, name))
    return count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(*peak(sys.argv[1]), *peak(sys.argv[2]))
"""


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    line = b'{"role":"user","content":"' + b"x" * 2000 + b'"}\n'
    for name, count in (("small.jsonl", 1000), ("large.jsonl", 30_000)):
        (tmp_path / name).write_bytes(line * count)
    done = subprocess.run(
        [sys.executable, "-c", FLAT, "small.jsonl", "large.jsonl"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    few, small, many, large = map(int, done.stdout.split())
    assert (few, many) == (1000, 30_000)
    assert large - small < 2_000  # kB


# ---------------------------------------------------------------------------------------------------------------------- decode


def test_what_python_writes_is_taken() -> None:
    value = decode(b'{"n": NaN, "i": [Infinity, -Infinity, 1e999], "s": "\\ud800", "big": 123456789012345678901234567890}')
    assert math.isnan(value["n"])
    assert value["i"] == [math.inf, -math.inf, math.inf]
    assert (value["s"], value["big"]) == ("\ud800", 123456789012345678901234567890)
    assert decode(b"[NaN, " + b"1" * 5000 + b"]")[1] == math.inf
    assert decode(b'\xef\xbb\xbf{"a": 1, "a": 2}') == {"a": 2}


@pytest.mark.parametrize("data", [b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000, b"[" * 100_000])
def test_nesting_of_100_000_levels(data: bytes) -> None:
    with pytest.raises(NotJSON, match="it is nested too deeply"):
        decode(data)
    [item] = settled(data)
    assert (item.number, item.reason) == (0, "it is nested too deeply")
    assert [item[0] for item in settled(data + b"\n[1]\n[2]") if not isinstance(item, Unreadable)] == [2, 3]


@pytest.mark.parametrize(
    ("data", "reason", "offset"),
    [
        (b"", "it ends in the middle of a value", 0),
        (b'{"a": }', "a value is missing", 6),
        (b"{a: 1}", "a key in double quotes is missing", 1),
        (b'{"a" 1}', "a colon is missing", 5),
        (b"[1 2]", "a comma is missing", 3),
        (b"{} x", "something follows the value", 3),
        (b'["\\x"]', "a backslash in a string escapes nothing", 2),
        (b'["\\u12"]', "`\\u` is not followed by four hexadecimal digits", 4),
        (b'["\n"]', "a control character stands in a string", 2),
        (b'["\xc3\xa9", \xff]', "it holds bytes that are not UTF-8", 7),
        ('["é" 1]'.encode(), "a comma is missing", 6),
    ],
)
def test_reasons(data: bytes, reason: str, offset: int) -> None:
    with pytest.raises(NotJSON) as caught:
        decode(data)
    assert caught.value.reason == str(caught.value) == reason
    assert abs(caught.value.offset - offset) <= 1  # Python's versions differ by one for escapes


# --------------------------------------------------------------------------------------------------------------------- salvage


def test_salvage() -> None:
    keys = ("id", "tool_use_id", "tool_call_id", "call_id", "callID", "toolCallId", "toolUseId")
    text = ", ".join(f'"{key}" : "{key}-1"' for key in keys)
    assert salvage(f"{{{text}, broken".encode()) == {f"{key}-1" for key in keys}
    assert salvage(b'"id": "a\\u00e9\\"b", "id":"\xc3\xa9", "id": "", "id": 7, "name": "x", "id": "cut') == {'aé"b', "é"}
    assert salvage(b'"id":"' + b"x" * 200 + b'" "id":"' + b"y" * 201 + b'"') == {"x" * 200}
    assert len(salvage(b"".join(b'"id":"%d",' % i for i in range(5000)))) == 1000
    assert salvage(b'"id":"\\ud800","id":"\\x","id":"\xff","id":"\n"') == {"\ud800"}


# ------------------------------------------------------------------------------------------------------------------ whatever comes

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(), max_size=8)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4), max_leaves=10
)
containers = st.lists(values, max_size=4) | st.dictionaries(st.text(max_size=4), values, max_size=4)


def dumped(value: Any, indent: int | None = None) -> bytes:
    return json.dumps(value, indent=indent).encode()


@settings(max_examples=80, deadline=None)
@given(st.lists(containers, min_size=2, max_size=8), st.sampled_from([b"\n", b"\r\n", b"\n\n", b" \n"]), st.booleans())
def test_json_lines_give_back_what_was_written(given_values: list[Any], end: bytes, ended: bool) -> None:
    data = end.join(map(dumped, given_values)) + (end if ended else b"")
    assert [value for _, value in settled(data)] == [decode(dumped(value)) for value in given_values]


@settings(max_examples=80, deadline=None)
@given(st.lists(containers, min_size=1, max_size=5), st.integers(0, 2), st.sampled_from(["x", "x.jsonl"]))
def test_documents_give_back_what_was_written(given_values: list[Any], indent: int, name: str) -> None:
    expected = [decode(dumped(value)) for value in given_values]
    assert [value for _, value in settled(dumped(given_values, indent), name)] == [expected]
    expected = [value for value in expected if value]  # an empty one is a line of JSON Lines
    stream = b"\n".join(dumped(value, indent) for value in expected)
    assert not expected or [value for _, value in settled(stream, name)] == expected


BYTES = st.binary(max_size=80) | st.lists(st.sampled_from(list(b'{}[]":,\\ \r\n\t1aeN\xff\xc3\xa9\0\xef')), max_size=60).map(bytes)


@settings(max_examples=400, deadline=None)
@given(BYTES, st.sampled_from(["x", "x.jsonl"]), st.sampled_from([1, 5, 1 << 30]))
def test_no_bytes_raise(data: bytes, name: str, most: int) -> None:
    items = settled(data, name, max_record=most)
    assert items
    assert len(items) == 1 or not any(isinstance(item, NotText) for item in items)
    salvage(data)


@settings(max_examples=300, deadline=None)
@given(BYTES)
def test_decode_raises_not_json_only_and_takes_what_orjson_takes(data: bytes) -> None:
    try:
        expected = orjson.loads(data)
    except ValueError:
        try:
            decode(data)
        except NotJSON as error:
            assert 0 <= error.offset <= len(data)
    else:
        assert decode(data) == expected
