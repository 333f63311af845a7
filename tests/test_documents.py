"""A large document is told of as if it had been read as a whole, and takes no memory that grows with it."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest
from cli_helper import environment
from conversations import FORMATS
from test_excerpts import CASES, KEYS, _broken, healthy, long_one

from toolaudit import documents
from toolaudit.engine import Audit, Options
from toolaudit.reading import Reading
from toolaudit.sources.pieces import Elements, Held, Lines, Stored, Unfit


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every document is a large one, of many windows."""
    monkeypatch.setattr("toolaudit.sources.files._SMALL", -1)
    monkeypatch.setattr("toolaudit.reading.LARGE", 1)
    monkeypatch.setattr("toolaudit.sources.records.LARGE", 1)
    monkeypatch.setattr("toolaudit.sources.pieces.WINDOW", 700)


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each document, whether it was taken piece by piece."""
    found: list[bool] = []

    def watched(reading: Reading, text: Any, taken: Any = documents.taken) -> Any:
        group = taken(reading, text)
        found.append(group is not None)
        return group

    monkeypatch.setattr("toolaudit.documents.taken", watched)
    return found


def told(path: Path, *, quick: bool, options: Options | None = None) -> Any:
    audit = Audit(options or Options(scenes=True))
    audit.__dict__["quick"] = quick
    audit.paths([str(path)])
    return msgspec.to_builtins(audit.report)


def same(path: Path, data: bytes) -> Any:
    """The report on a document, which must be the same to the last word as that on the whole of it."""
    path.write_bytes(data)
    short = told(path, quick=True)
    assert short == told(path, quick=False)
    return short


STYLES: dict[str, Callable[[Any], bytes]] = {
    "compact": orjson.dumps,
    "spaced": lambda value: json.dumps(value).encode(),
    "indented": lambda value: b"\n \n" + json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n\n",
    "tabs": lambda value: json.dumps(value, indent="\t").replace("\n", "\r\n").encode(),
    "flat": lambda value: json.dumps(value, indent=0).encode(),
    "marked": lambda value: b"\xef\xbb\xbf" + orjson.dumps(value),
}
each_style = pytest.mark.parametrize("style", STYLES)
each_form = pytest.mark.parametrize("form", FORMATS)


def wrapped(form: str, messages: list[Any], rng: random.Random) -> Any:
    """A document with one conversation, in one of the shapes that there are."""
    key, tools = KEYS[form], [{"type": "function", "name": "f", "function": {"name": "f"}}]
    body = {"model": "x", key: messages}
    return rng.choice(
        [
            body,
            messages,
            {key: messages, "model": "x", "temperature": 0.5},
            {"meta": {"a": [1, {"b": "é"}]}, "request": body, "n": 1},
            {"a": {"b": {"request": body}}},
            {key: messages, "tools": tools if rng.random() < 0.2 else None},
        ]
    )


@each_style
@pytest.mark.parametrize("seed", range(12))
@each_form
def test_one_conversation(form: str, seed: int, style: str, tmp_path: Path) -> None:
    rng = random.Random(f"{form}{seed}{style}")
    same(tmp_path / "x.json", STYLES[style](wrapped(form, long_one(form, seed), rng)))


def anything(rng: random.Random) -> Any:
    """An element of a list: a conversation in order or not, bare or in a body, or something else."""
    form = rng.choice(FORMATS)
    key = KEYS[form]
    kind = rng.random()
    if kind < 0.5:
        messages = healthy(rng.choice((1, 2, 9)), form, f"p{rng.randrange(30)}_")
        return wrapped(form, messages, rng)
    if kind < 0.75:
        messages = healthy(rng.choice((0, 3)), form, f"q{rng.randrange(30)}_") + list(rng.choice(_broken(key)))
        return wrapped(form, messages, rng)
    if kind < 0.8:
        return wrapped(form, long_one(form, rng.randrange(60)), rng)
    if kind < 0.97:
        case = rng.choice(CASES)
        return case["transcript"] if isinstance(case["transcript"], dict | list) else {}
    return rng.choice([{}, [], 1, None, "text", {"error": {"message": "no"}}, {"contents": [{"parts": []}]}, {"messages": "é"}])


@each_style
@pytest.mark.parametrize("seed", range(40))
def test_a_list_of_conversations(seed: int, style: str, tmp_path: Path) -> None:
    rng = random.Random(f"{seed}{style}")
    same(tmp_path / "x.json", STYLES[style]([anything(rng) for _ in range(rng.choice((2, 12, 30)))]))


@each_style
@each_form
def test_it_is_taken_piece_by_piece(form: str, style: str, tmp_path: Path, pieces: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the tests above would show nothing."""
    monkeypatch.setattr("toolaudit.sources.records.Record.load", lambda self: pytest.fail("it is read as a whole"))
    key, path = KEYS[form], tmp_path / "x.json"
    messages = healthy(200, form, "a")
    del messages[402]
    tools = None if form != "openai-chat" else [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
    small = healthy(2, form, "b")
    for document in (
        {"model": "x", key: messages},
        {key: messages, "tools": tools, "model": "x"},
        messages,
        {"id": "r", "request": {key: messages}},
        [{"model": "x", key: small}, {key: messages}, {key: small[:2]}, small, messages, {"a": 1}],
    ):
        path.write_bytes(STYLES[style](document))
        report = told(path, quick=True)
        assert {entry["rule"] for entry in report["findings"]} & {"missing-result", "orphan-result", "open-call"}
    assert pieces == [True] * 5


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[: len(data) * 2 // 3],
    "without its end": lambda data: data[:-1],
    "something behind": lambda data: data + b" ]",
    "two documents": lambda data: data + b"\n" + data,
    "no UTF-8 in what is looked at": lambda data: data.replace(b"some wind", b"some \xff wind", 1),
    "no UTF-8 in what is not": lambda data: data.replace(b'"role"', b'"\xff":0,"role"', 1),
    "no UTF-8 in a value that is not": lambda data: data.replace(b'"role"', b'"note":"\xe2\x82","role"', 1),
    "a lone surrogate": lambda data: data.replace(b"some wind", b"\\ud83d wind", 1),
    "a lone surrogate beside": lambda data: data.replace(b'"role"', b'"note":"\\ud83d","role"', 1),
    "NaN": lambda data: data.replace(b'"role"', b'"score":NaN,"role"', 1),
    "a huge number": lambda data: data.replace(b'"role"', b'"score":1e999,"n":123456789012345678901234567890,"role"', 2),
    "a name twice": lambda data: data.replace(b'"role":"user"', b'"role":"assistant","role":"user"'),
    "a name twice, escaped": lambda data: data.replace(b'"role":"user"', b'"role":"user","r\\u006fle":"system"', 1),
    "a trailing comma": lambda data: data[:-1] + b"," + data[-1:],
    "a byte order mark in it": lambda data: data.replace(b"some wind", b"\xef\xbb\xbf", 1),
    "NUL": lambda data: data.replace(b"some wind", b"\0", 1),
    "a bad escape": lambda data: data.replace(b"some wind", b"\\x", 1),
    "a message of another kind": lambda data: data.replace(b'{"role":"user"', b'5,{"role":"user"', 1),
    "nested deeply": lambda data: data.replace(b'"role"', b'"deep":' + b"[" * 3000 + b"]" * 3000 + b',"role"', 1),
    "the messages twice": lambda data: data.replace(b"]}", b'],"messages":[]}') if data[:1] == b"{" else data,
    "the messages twice, escaped": lambda data: data.replace(b"]}", b'],"m\\u0065ssages":[{"role":"user"}]}'),
    "an answer behind": lambda data: data[:-1] + b',"response":{"choices":[{"message":{"role":"assistant","content":"a"}}]}}',
    "the word for what was left out": lambda data: data[:-1] + b',"messages":[' + documents._MARK + b"]}",
}


@pytest.mark.parametrize("fault", BROKEN)
@pytest.mark.parametrize("kind", ["body", "messages", "list", "faulty list"])
def test_what_is_broken_is_told_of_like_the_whole(kind: str, fault: str, tmp_path: Path) -> None:
    messages = healthy(110, "openai-chat", "a")
    bodies = [{"model": "x", "messages": healthy(3, "openai-chat", f"b{number}")} for number in range(9)]
    if kind == "faulty list":
        del bodies[4]["messages"][2]  # type: ignore[attr-defined]
    whole = {"body": {"messages": messages}, "messages": messages}.get(kind, bodies)
    same(tmp_path / "x.json", BROKEN[fault](orjson.dumps(whole)))


CALLS = [{"id": "call_wanted99", "type": "function", "function": {"name": "read", "arguments": "{}"}}]
ASKED = [{"role": "user", "content": "go"}, {"role": "assistant", "content": None, "tool_calls": CALLS}]
ANSWER = {"role": "tool", "tool_call_id": "call_wanted99", "content": "it is done"}


@pytest.mark.parametrize("long", [False, True])
def test_an_orphan_is_told_where_its_call_stands(long: bool, tmp_path: Path, pieces: list[bool]) -> None:
    other = healthy(1, "openai-chat", "z")
    whole = [*(healthy(120, "openai-chat", "a") if long else ()), *ASKED, ANSWER]
    whole += [{"role": "user", "content": "more"}, *([ASKED[1], ASKED[0]] if long else ())]  # one in doubt as well
    document = [{"messages": whole}, {"messages": other}, {"messages": [*other[:1], ANSWER, *other[1:]]}]
    report = same(tmp_path / "x.json", orjson.dumps(document))
    assert any("stands in another trajectory" in entry["message"] and "/0/messages/" in entry["message"] for entry in report["findings"])
    assert pieces == [True]


@pytest.mark.parametrize(
    "odd",
    [
        {"role": "user", "messages": ASKED, "content": "x"},
        {"role": "user", "content": "alone"},
        {"session_id": "s", "message": {"role": "user", "content": "alone"}},
        {"type": "function_call", "call_id": "call_wanted99", "name": "f", "arguments": "{}"},
    ],
)
def test_a_list_that_may_be_one_of_messages_is_read_as_a_whole(odd: Any, tmp_path: Path, pieces: list[bool]) -> None:
    bodies: list[Any] = [{"messages": [*ASKED, ANSWER]}, {"messages": ASKED}]
    same(tmp_path / "x.json", orjson.dumps([*bodies, odd]))
    assert pieces == [False]


def test_a_document_too_long_is_said_to_be(tmp_path: Path) -> None:
    body = {"messages": healthy(30, "openai-chat", "a")}
    lines, line = json.dumps(body, indent=1).encode(), orjson.dumps(body)
    for name, data in (("a.json", lines), ("b.json", line)):
        path = tmp_path / name
        path.write_bytes(data)
        packed = tmp_path / f"{name}.gz"
        packed.write_bytes(gzip.compress(data))
        for one in (path, packed):
            report = told(one, quick=True, options=Options(max_record=3000))
            assert report["inputs"][0]["status"] == "failed"
            assert "is longer than 3,000 bytes" in report["findings"][0]["message"]
            assert told(one, quick=True, options=Options(max_record=len(data)))["inputs"][0]["status"] == "read"


def test_a_file_that_is_cut_short_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read again as what it is now."""
    path = tmp_path / "x.json"
    data = orjson.dumps([{"messages": healthy(3, "openai-chat", f"b{number}")} for number in range(9)], option=orjson.OPT_INDENT_2)
    path.write_bytes(data)

    def cutting(reading: Reading, text: Any, taken: Any = documents.taken) -> Any:
        os.truncate(path, len(data) // 2)
        return taken(reading, text)

    monkeypatch.setattr("toolaudit.documents.taken", cutting)
    report = told(path, quick=True)
    assert [entry["rule"] for entry in report["findings"]] == ["unreadable-record"]
    assert "ends" in report["findings"][0]["message"]


def test_a_file_that_changes_while_it_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was told stands, and that the rest is not told is said."""
    path = tmp_path / "x.json"
    document = [{"messages": healthy(1, "openai-chat", "a")}, {"messages": ASKED}, {"messages": ASKED}]
    path.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2))

    def judging(self: Audit, stored: Any, outcome: Any, judge: Any = Audit.judge) -> None:
        judge(self, stored, outcome)
        os.truncate(path, 100)

    monkeypatch.setattr(Audit, "judge", judging)
    report = told(path, quick=True)
    assert sorted(entry["rule"] for entry in report["findings"]) == ["open-call", "unreadable-record"]
    assert report["inputs"][0]["status"] != "read"
    assert report["summary"]["trajectories"] == 2


def test_a_disk_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError(5, "Input/output error")

    path = tmp_path / "x.json"
    path.write_bytes(orjson.dumps([{"messages": ASKED}], option=orjson.OPT_INDENT_2))
    for name in ("fill", "read", "whole"):
        monkeypatch.setattr(Stored, name, fails)
    [entry] = told(path, quick=True)["findings"]
    assert entry["rule"] == "unreadable-record"
    assert "input/output error" in entry["message"]


def test_elements_are_cut_where_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stands in them that looks like a border."""
    decode = msgspec.json.Decoder(list[msgspec.Raw]).decode
    rng = random.Random(1)
    given_up = 0
    for _ in range(300):
        monkeypatch.setattr("toolaudit.sources.pieces.WINDOW", rng.choice((8, 50, 300)))
        leaf = [{"role": "a"}, [{"a": 1}], {"a": [{}, {}]}, '},{"a":', {"type": "x", "c": [{"type": "y"}]}, 5, [], "x" * 200]
        values = [rng.choice(leaf) for _ in range(rng.randrange(40))]
        data = json.dumps(values, indent=rng.choice((None, 0, 2)), separators=rng.choice(((",", ":"), (" , ", ": ")))).encode()
        behind = rng.choice((b"", b"  \n", b', "tools": [{"a": [1]}, {"a": [2]}]}'))
        elements = Elements(Held(data + behind), 1, decode)
        try:
            found = [orjson.loads(bytes(raw)) for _, _, raws in elements for raw in raws]
        except Unfit:
            given_up += 1  # it may, but must not be wrong
            continue
        assert found == values
        assert elements.end == len(data) - 1
    assert given_up < 30


def test_lines_are_counted_in_any_order() -> None:
    data = b"".join(b"x" * (number % 7) + b"\n" for number in range(500))
    lines = Lines(Held(data))
    for offset in (0, 5, 700, 3, 1400, len(data), 10):
        assert lines.at(offset) == data.count(b"\n", 0, offset) + 1


PEAK = """
import threading, time
from toolaudit.engine import Audit, Options
def anonymous():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon")) << 10
peak, done = 0, False
def watch():
    global peak
    while not done:
        peak = max(peak, anonymous())
        time.sleep(0.002)
thread = threading.Thread(target=watch)
audit = Audit(Options())
audit.paths([sys.argv[1]])
before, done = anonymous(), False
thread.start()
audit = Audit(Options())
audit.paths([sys.argv[2]])
done = True
thread.join()
print(peak - before, len(audit.report.findings))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="it asks Linux for the memory of a process")
@pytest.mark.parametrize("kind", ["conversation", "list"])
def test_memory_does_not_grow_with_a_document(kind: str, tmp_path: Path) -> None:
    result = "".join(random.Random(1).choices("abcdefgh \u00e9", k=4000))
    exchanges = ([*_renamed(ASKED, number), {**ANSWER, "tool_call_id": f"call_{number}_x", "content": result}] for number in range(7000))
    exchanges = (one[:2] if number == 3500 else one for number, one in enumerate(exchanges))
    path, small = tmp_path / "large.json", tmp_path / "small.json"
    bodies = ({"messages": one} for one in exchanges) if kind == "list" else exchanges
    pieces = [orjson.dumps(body) if kind == "list" else orjson.dumps(body)[1:-1] for body in bodies]
    for one, count in ((path, 7000), (small, 3501)):
        inner = b",\n".join(pieces[-count:] if one is small else pieces)
        one.write_bytes(b"[" + inner + b"]" if kind == "list" else b'{"messages":[' + inner + b"]}")
    ran = subprocess.run([sys.executable, "-c", "import sys\n" + PEAK, small, path], env=environment(), capture_output=True, check=True)
    peak, findings = map(int, ran.stdout.split())
    assert findings == 1
    assert path.stat().st_size > 28 << 20
    assert peak < 0.2 * path.stat().st_size


def _renamed(messages: list[Any], number: int) -> list[Any]:
    return orjson.loads(orjson.dumps(messages).replace(b"call_wanted99", f"call_{number}_x".encode()))  # type: ignore[no-any-return]
