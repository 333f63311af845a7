"""A file that is read in ranges gives the report that it gives as a whole, wherever it is cut."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest
import simulator
from conversations import FORMATS
from test_excerpts import CASES, KEYS, _broken, growing, healthy, long_one

from toolaudit import ranges
from toolaudit.engine import Audit, Options
from toolaudit.express import Walk
from toolaudit.ranges import Joining
from toolaudit.report import Report
from toolaudit.work import Crew

SHARED = Path(__file__).parents[2] / "shared" / "corpus"


COUNT: list[int] = []
"""One for each unit of work that was done."""


def here(_: Any, function: Callable[[Any], Any], units: Iterable[Any], window: int | None = None) -> Iterator[Any]:
    """An engine whose workers share nothing with the program but what is sent."""
    for unit in units:
        COUNT.append(1)
        yield pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(function))(pickle.loads(pickle.dumps(unit)))))


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Report]:
    monkeypatch.setattr("toolaudit.engines.run", here)

    def audited(path: Path, span: int, options: Options | None = None) -> Report:
        monkeypatch.setattr("toolaudit.work.SPAN", span)
        audit = Audit(options or Options())
        audit.paths([str(path)], crew=Crew(2))
        return audit.report

    return audited


def whole(path: Path, options: Options | None = None) -> Report:
    audit = Audit(options or Options())
    audit.paths([str(path)])
    return audit.report


def same(cut: Callable[..., Report], path: Path, spans: Iterable[int], options: Options | None = None, *, parts: int = 2) -> Report:
    """The report on a file, which is the same in ranges of any of these sizes; they are at least so many."""
    expected = whole(path, options)
    for span in spans:
        COUNT.clear()
        assert msgspec.json.encode(cut(path, span, options)) == msgspec.json.encode(expected), f"ranges of {span} bytes"
        assert len(COUNT) >= parts or 3 * span > path.stat().st_size
    return expected


def spans_of(size: int, rng: random.Random) -> list[int]:
    return [max(1, size // rng.randint(2, 40)) for _ in range(3)]


def logged(threads: list[list[Any]], rng: random.Random) -> list[bytes]:
    lines = []
    while any(threads):
        number = rng.choice([number for number, thread in enumerate(threads) if thread])
        for _ in range(rng.choice((1, 1, 3, 30))):
            if threads[number]:
                message = threads[number].pop(0)
                lines.append(orjson.dumps({**message, "session_id": f"s{number}"} if isinstance(message, dict) else message))
    return lines


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("form", FORMATS)
def test_conversations_that_cross_ranges_are_one(form: str, seed: int, tmp_path: Path, cut: Callable[..., Report]) -> None:
    rng = random.Random(f"{form}{seed}")
    cases = _broken(KEYS[form])
    threads = [long_one(form, seed) if rng.random() < 0.5 else healthy(3, form, "a") + rng.choice(cases) for _ in range(3)]
    threads += [healthy(4, form, "h"), list(rng.choice(cases))]
    lines = logged(threads, rng)
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\n\n" * rng.randint(0, 1) + b"\n".join(lines) + b"\n\n \n" * rng.randint(0, 1))
    same(cut, path, spans_of(path.stat().st_size, rng))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("form", FORMATS)
def test_one_conversation_may_fill_all_ranges(form: str, seed: int, tmp_path: Path, cut: Callable[..., Report]) -> None:
    rng = random.Random(f"{form}{seed}")
    lines = list(map(orjson.dumps, long_one(form, seed)))
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\n".join(lines))
    same(cut, path, spans_of(path.stat().st_size, rng))


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_proved_in_ranges_is_joined_not_read_again(
    form: str, tmp_path: Path, cut: Callable[..., Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the tests above would show nothing."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, healthy(300, form, "a"))))
    joined: list[bool] = []
    read: list[int] = []
    append, again = Walk.append, Joining._again

    def appended(self: Walk, later: Walk) -> bool:
        joined.append(append(self, later))
        return joined[-1]

    def reread(self: Joining, offset: int, length: int) -> bytes:
        read.append(offset)
        return again(self, offset, length)

    monkeypatch.setattr(Walk, "append", appended)
    monkeypatch.setattr(Joining, "_again", reread)
    report = cut(path, path.stat().st_size // 12)
    assert report.summary.paired == 300
    assert joined == [True] * len(joined)
    assert len(joined) >= 10
    assert len(read) <= 4 * len(joined)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("form", FORMATS)
def test_requests_that_grow_over_a_boundary_are_told_once(form: str, seed: int, tmp_path: Path, cut: Callable[..., Report]) -> None:
    rng = random.Random(f"{form}{seed}")
    one, other = growing(long_one(form, seed)[-60:], KEYS[form]), growing(healthy(12, form, "o"), KEYS[form])
    lines = one[:-12] + [line for both in zip(one[-12:], other, strict=False) for line in both]
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    same(cut, path, spans_of(path.stat().st_size, rng))


@pytest.mark.parametrize("seed", range(24))
def test_records_of_all_kinds(seed: int, tmp_path: Path, cut: Callable[..., Report]) -> None:
    rng = random.Random(seed)
    values: list[bytes] = []
    for case in rng.choices(CASES, k=30):
        value = case["transcript"]
        values += map(orjson.dumps, value if case.get("lines") and rng.random() < 0.5 else [value])
    call = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    response = {"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]}
    if seed % 3 == 0:
        values += [orjson.dumps(response)] * rng.choice((1, 70))
    if seed % 4 == 0:
        values += [b"", b" ", b'{"messages": [', b"[1, 2", b'{"x": "\xff"}', b"{}", b'{"event": "x"}'] * 2
    rng.shuffle(values)
    path = tmp_path / "x.jsonl"
    path.write_bytes(orjson.dumps({"model": "x", "messages": healthy(2, "openai-chat", "f")}) + b"\n{}\n" + b"\n".join(values) + b"\n")
    same(
        cut,
        path,
        spans_of(path.stat().st_size, rng),
        rng.choice((None, None, Options(target="strict"), Options(scenes=True, content=True))),
    )


@pytest.mark.parametrize("count", [3, 70, 200])
def test_responses_alone(count: int, tmp_path: Path, cut: Callable[..., Report]) -> None:
    path = tmp_path / "x.jsonl"
    calls = [
        {"id": f"call_{n}", "type": "function", "function": {"name": "read", "arguments": "{" if n % 9 == 1 else "{}"}}
        for n in range(count)
    ]
    lines = [
        {"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]}
        for call in calls
    ]
    path.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    report = same(cut, path, [1, 100, path.stat().st_size // 3])
    assert report.summary.calls == count


def test_orphans_find_their_calls_beyond_a_boundary(tmp_path: Path, cut: Callable[..., Report], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolaudit.engine.REMEMBERED", 8)
    rows = []
    for number in range(40):
        messages = healthy(2, "openai-chat", f"n{number}")
        rows.append({"model": "x", "messages": messages})
        if number % 3 == 0:
            rows.append({"model": "x", "messages": [{"role": "user", "content": "go"}, {**messages[2], "content": "late"}]})
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    report = same(cut, path, [500, 1500, 4000])
    assert any("stands in another trajectory" in entry.message for entry in report.findings)


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"[]", b"{}\n", b'{"a": 1}\n{"b": 2', b"\xff\xfe{\0", b"a\nb\nc\n", b"\xef\xbb\xbf{}\n{}\n{}\n", b"{}\n" * 50]
)
def test_odd_files(data: bytes, tmp_path: Path, cut: Callable[..., Report]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    same(cut, path, [1, 3], parts=0)


def test_line_that_is_too_long(tmp_path: Path, cut: Callable[..., Report]) -> None:
    path = tmp_path / "x.jsonl"
    line = orjson.dumps({"model": "x", "messages": healthy(2, "openai-chat", "f")})
    path.write_bytes(line + b"\n" + line + b"\n" + b'{"x": "' + b"y" * 9000 + b'"}\n' + line + b"\n" + line)
    same(cut, path, [100, 700, 3000], Options(max_record=5000))


@pytest.mark.skipif(not SHARED.is_dir(), reason="the corpus is not there")
def test_real_logs(cut: Callable[..., Report]) -> None:
    rng = random.Random(1)
    paths = sorted(path for path in SHARED.rglob("*.jsonl") if 5000 < path.stat().st_size < 400_000)
    assert paths
    for path in rng.sample(paths, min(60, len(paths))):
        same(cut, path, spans_of(path.stat().st_size, rng)[:2])


def test_file_that_vanishes_midway_is_said(tmp_path: Path, cut: Callable[..., Report], monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\n".join(orjson.dumps({"model": "x", "messages": healthy(2, "openai-chat", f"n{number}")}) for number in range(20)))
    part_of = ranges.part_of

    def vanishing(audit: Audit, source: Any, span: ranges.Range) -> ranges.Part:
        if span.start > span.first:
            path.unlink(missing_ok=True)
        return part_of(audit, source, span)

    monkeypatch.setattr(ranges, "part_of", vanishing)
    report = cut(path, path.stat().st_size // 3)
    assert [given.status for given in report.inputs] == ["failed"]
    assert "were not checked: there is no such file or folder" in report.incomplete[0]
    assert report.summary.trajectories > 0


@pytest.mark.parametrize("store", ["exchanges", "bodies"])
@pytest.mark.parametrize("form", simulator.FORMS)
def test_requests_are_linked_across_ranges(form: str, store: str, tmp_path: Path, cut: Callable[..., Report]) -> None:
    """What goes on from request to request is told once, with how many carry it, wherever the file is cut."""
    doors: list[dict[str, Any]] = [{"kept": simulator.results_again}, {"kept": simulator.other_ids}, {"kept": simulator.one_failed}]
    doors += [{"sent": simulator.trimmed(policy)} for policy in ("head", "summary", "evicted", "cleared")]
    found: set[tuple[str, bool]] = set()
    for seed in range(6):
        rng = random.Random(f"{form}{store}{seed}")
        loops = [loop for door in rng.sample(doors, 3) for loop in simulator.sessions(form, f"{seed}", widths=(2, 3), **door)]
        exchanges = simulator.interleaved([loop.exchanges for loop in loops], rng)
        lines = exchanges if store == "exchanges" else [one["request"]["body"] for one in exchanges]
        path = tmp_path / "x.jsonl"
        path.write_bytes(b"\n".join(map(orjson.dumps, lines)))
        for options in (None, Options(sent=True), Options(target="strict")):
            report = same(cut, path, spans_of(path.stat().st_size, rng), options)
            found |= {(entry.rule, entry.repeats > 1) for entry in report.findings}
    assert {"trimmed-pair", "missing-result"} <= {rule for rule, _ in found}
    assert any(again for _, again in found)
