"""The benchmarks run, and their inputs are what they say; what they measure is no matter for a test."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import orjson
import pytest
from conversations import audited

from benchmarks import clock, run
from benchmarks.clock import Command, Failed, Turns
from benchmarks.conversations import Shape
from benchmarks.corpus import COUNTED, FOLDERS, STREAMS, Corpora, conversations, small, snapshots
from benchmarks.environment import Environment, requirements
from benchmarks.peers import PEERS, Peer, compare
from benchmarks.rows import ROWS, Bench, Budget, Figure, size
from toolaudit.engine import Audit, Options
from toolaudit.report import Report

COMPRESSED = ("gzip", "zstd")
FIGURE = re.compile(r"(?P<row>\S+) +(?P<value>\d+\.\d\d) (?P<unit>x|MB|of its size) ")


def made(folder: Path, kind: str, amount: float) -> bytes:
    """The bytes of an input; of a folder, those of its files with their names."""
    path = Corpora(folder).path(kind, amount)
    if path.is_file():
        return path.read_bytes()
    return b"".join(str(one.relative_to(path)).encode() + one.read_bytes() for one in sorted(path.rglob("*.json")))


def report_on(path: Path) -> Report:
    audit = Audit(Options())
    audit.paths([str(path)])
    return audit.report


@pytest.mark.parametrize("kind", [*STREAMS, *FOLDERS])
def test_an_input_is_always_the_same(kind: str, tmp_path: Path) -> None:
    amount = 5 if kind in COUNTED else 0.1
    assert made(tmp_path / "a", kind, amount) == made(tmp_path / "b", kind, amount) != b""


@pytest.mark.parametrize("kind", [*STREAMS, *FOLDERS])
def test_an_input_is_read_as_a_whole_and_only_its_faults_are_found(kind: str, tmp_path: Path) -> None:
    path = Corpora(tmp_path).path(kind, 40 if kind in COUNTED else 0.5)
    report = report_on(path)
    assert {given.status for given in report.inputs} == {"read"}
    assert {entry.rule for entry in report.findings} <= {"missing-result", "open-call"}  # the end may stand between a call and its result
    if kind in COUNTED:
        assert report.summary.trajectories == (1 if "page" in kind else 40)
    if "broken" in kind:
        assert report.summary.missing == report.summary.trajectories
    assert report.summary.missing <= report.summary.calls / 20 or "broken" in kind


def test_one_conversation_in_a_hundred_lacks_a_result() -> None:
    lines = list(small(500, Shape(exchanges=(1, 2), said=(10, 20), results=(10, 20))))
    assert 1 <= sum(bool(audited(orjson.loads(line)).findings) for line in lines) <= 15


def test_conversations_hold_20_to_60_messages_in_three_formats() -> None:
    bodies = [orjson.loads(line) for line in conversations(2)]
    assert all(15 <= len(body.get("messages", body.get("input"))) <= 95 for body in bodies)
    assert len(Counter(key for body in bodies for key in ("input", "messages") if key in body)) == 2


def test_unchecked_conversations_are_the_same_but_for_what_their_tools_ask() -> None:
    for checked, unchecked in zip(conversations(0.5), conversations(0.5, checked=False), strict=True):
        one, other = orjson.loads(checked), orjson.loads(unchecked)
        assert one.pop("tools") != other.pop("tools") and one == other
        assert abs(len(checked) - len(unchecked)) < 0.02 * len(checked)


def test_a_snapshot_repeats_the_history() -> None:
    histories: dict[bytes, list[object]] = {}
    grown = 0
    for line in snapshots(1):
        body = orjson.loads(line)
        history = body.get("messages", body.get("input"))
        key = orjson.dumps(history[0])
        grown += key in histories
        assert history[: len(histories.get(key, []))] == histories.get(key, [])
        histories[key] = history
    assert grown > 10


def test_an_input_is_made_once_and_never_half(tmp_path: Path) -> None:
    corpora = Corpora(tmp_path)
    path = corpora.path("messages", 0.01)
    before = path.stat().st_mtime_ns
    assert corpora.path("messages", 0.01) == path and path.stat().st_mtime_ns == before
    assert [one.name for one in path.parent.iterdir()] == [path.name]


# ----------------------------------------------------------------------------------------------------------------- the clock


def test_a_run_is_measured() -> None:
    usage = clock.run(Command(words=(sys.executable, "-c", "x = bytearray(50_000_000)\nfor _ in range(10**6): pass"), sampled=True))
    assert usage.code == 0 and 0 < usage.cpu < 10 and usage.wall > 0
    assert 50e6 < usage.anonymous <= usage.peak + 5e6 < 200e6


def test_memory_of_the_benchmarks_is_not_counted() -> None:
    held = bytearray(b"x" * 200_000_000)
    assert clock.run(Command(words=(sys.executable, "-c", "pass"))).peak < len(held) / 4


def test_a_terminal_is_one() -> None:
    clock.run(Command(words=(sys.executable, "-c", "import sys; sys.exit(not sys.stdout.isatty())"), terminal=True))
    with pytest.raises(Failed):
        clock.run(Command(words=(sys.executable, "-c", "import sys; sys.exit(not sys.stdout.isatty())")))


def test_a_command_that_fails_says_why() -> None:
    with pytest.raises(Failed, match="ended with 1: no such day"):
        clock.run(Command(words=(sys.executable, "-c", "import sys; sys.exit('no such day')")))
    with pytest.raises(Failed, match="ended with 127"):
        clock.run(Command(words=("/no/such/program",)))


def test_commands_are_run_in_turn(tmp_path: Path) -> None:
    log = tmp_path / "log"
    note = [Command(words=(sys.executable, "-c", f"open({str(log)!r}, 'a').write({word!r})")) for word in "ab"]
    turns = Turns.of(note, 2)
    assert log.read_text() == "abab" and len(turns.usages) == 2 and turns.ratio("wall") > 0


# ----------------------------------------------------------------------------------------------------------------- the table


@pytest.mark.parametrize("half", [0, 1])
def test_every_row_works(half: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [row.name for row in ROWS if row.name not in COMPRESSED][half::2]
    run.main(["--scale", "0.0005", "--rounds", "1", "--no-peers", "--keep", str(tmp_path), "--only", ",".join(names)])
    said = capsys.readouterr().out
    assert {match["row"] for match in FIGURE.finditer(said)} == set(names), said
    assert said.count("at most") >= len(names) and "not measured" not in said


@pytest.mark.parametrize("name", COMPRESSED)
def test_a_row_that_cannot_be_measured_says_so(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run.main(["--scale", "0.0005", "--rounds", "1", "--no-peers", "--only", name])
    said = capsys.readouterr().out
    assert FIGURE.search(said) or (code == 1 and f"{name} " in said and "not measured: `" in said and "DOES NOT HOLD" in said)


def test_a_budget_holds_or_does_not() -> None:
    figure = Figure(row="a", of="b", value=1.5, unit="x", parts="", budget=Budget(1.5, 1.0))
    assert figure.holds and "at most 1.5, aim 1: holds" in run._shown(figure)
    over = Figure(row="a", of="b", value=1.51, unit="x", parts="", budget=Budget(1.5, 1.0))
    assert not over.holds and "DOES NOT HOLD" in run._shown(over)


def test_a_row_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        run.main(["--only", "convresations"])
    assert "no row is called convresations" in capsys.readouterr().err


def test_sizes_are_said_for_people(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"x" * 12_345)
    assert (size(tmp_path / "one"), size(tmp_path)) == ("12.3 kB", "1 files")


def test_a_peer_is_held_against_the_check_and_one_that_fails_is_said_so(tmp_path: Path) -> None:
    bench = Bench(Corpora(tmp_path), 1, Environment(tmp_path / "peers", wanted=False))
    counts = "import os, sys; print(len(os.listdir(sys.argv[1])), 'files\\x1b')"
    peers = [
        Peer(name="counter", limits="counts", words=lambda _, folder: (sys.executable, "-c", counts, str(folder)), megabytes=0.2),
        Peer(name="broken", limits="fails", words=lambda *_: (sys.executable, "-c", "import nowhere"), megabytes=0.2),
        Peer(name="absent", limits="is none", words=lambda environment, _: (environment.python("turnsafe"),), megabytes=0.2),
    ]
    _, counter, broken, absent = compare(bench, peers)
    files = len(list(bench.corpora.path("lists", 0.2).iterdir()))
    assert re.search(
        rf'counter: \d+\.\d\d x the check, .*; it says "{files} files\?", the check "{files} files, \d broken" \[counts\]', counter
    )
    assert "broken: no figure: `" in broken and "No module named 'nowhere'" in broken
    assert "absent: no figure: `turnsafe` is not installed, and --no-peers rules out" in absent


def test_every_peer_is_listed() -> None:
    assert {peer.name for peer in PEERS} <= set(requirements())
