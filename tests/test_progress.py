"""The line that shows how far a long audit is: only on a terminal, only when it takes long, and gone without a trace."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import pytest
from rich.cells import cell_len

from tests.cli_helper import environment
from toolaudit import engine
from toolaudit.cli import _progress
from toolaudit.cli._progress import Progress, size_of
from toolaudit.engine import Audit, Options

ERASE = "\r\x1b[2K"
BAD = (
    '{"messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": null, "tool_calls": '
    '[{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}, {"role": "user", "content": "on"}]}\n'
)


# ------------------------------------------------------------------------------------------------------------------- the line


class Clock:
    """A clock that is set by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(_progress.time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setenv("COLUMNS", "80")
    return Clock(monkeypatch)


Terminal = Callable[..., IO[str]]


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """Makes streams to write to, of any encoding; they are closed in the end."""
    with ExitStack() as stack:
        yield lambda encoding="utf-8": stack.enter_context(tempfile.TemporaryFile("w+", encoding=encoding))


def written(stream: IO[str]) -> str:
    return os.pread(stream.fileno(), 1 << 20, 0).decode(stream.encoding)  # type: ignore[attr-defined]


def test_what_is_soon_over_shows_nothing(clock: Clock, terminal: Terminal) -> None:
    stream = terminal()
    with Progress(stream, 1000) as progress:
        for _ in range(4):
            clock.now += 0.1
            progress.advance(10, 1, "a.json")
    assert written(stream) == ""


def test_a_known_total_is_a_bar(clock: Clock, terminal: Terminal) -> None:
    stream = terminal()
    with Progress(stream, 4_000_000) as progress:
        clock.now += 1
        progress.advance(1_000_000, 1, "runs/a.json")
        assert written(stream) == f"{ERASE}━━━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌  25% of 4.0 MB, 1 file, 1.0 MB/s  runs/a.json"
        progress.advance(1_000_000, 1, "runs/b.json")  # too soon after the last
        assert written(stream).count(ERASE) == 1
        clock.now += 1
        progress.advance(9_000_000, 1_000, "runs/c.json")  # a total may have been too low
        assert "100% of 4.0 MB, 1,002 files, 5.5 MB/s  runs/c.json" in written(stream)
    assert written(stream).endswith(f"runs/c.json{ERASE}")


def test_an_unknown_total_is_counts_and_rate(clock: Clock, terminal: Terminal) -> None:
    stream = terminal("ascii")
    with Progress(stream) as progress:
        clock.now += 2
        progress.piece(900, "a.jsonl")
        clock.now += 2
        progress.piece(123_000, "a.jsonl")
    assert (
        written(stream) == f"{ERASE}checked 900 bytes, 1 file, 450 bytes/s  a.jsonl{ERASE}checked 124 kB, 1 file, 31.0 kB/s  a.jsonl{ERASE}"
    )


@pytest.mark.parametrize("columns", [1, 10, 24, 60, 80, 200])
@pytest.mark.parametrize("path", ["x" * 500, "界" * 300, "\x1b]52;c;eA==\x07\x1b[2J\nevil\r", "a\u202eb\u0301" * 50])
def test_the_line_is_harmless_and_fits(clock: Clock, terminal: Terminal, monkeypatch: pytest.MonkeyPatch, columns: int, path: str) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for encoding in ("utf-8", "ascii"):
        stream = terminal(encoding)
        with Progress(stream, 10) as progress:
            clock.now += 1
            progress.advance(5, 1, path)
            line = written(stream).removeprefix(ERASE)
        assert cell_len(line) < max(columns, 2)
        assert not any(char in line for char in "\x1b\x07\r\n\u202e")


def test_a_terminal_that_is_gone_is_no_fault(clock: Clock) -> None:
    master, slave = pty.openpty()
    os.close(master)
    with open(slave, "w", encoding="utf-8") as stream, Progress(stream) as progress:  # noqa: PTH123
        clock.now += 1
        progress.advance(5, 1, "a")


def test_who_asks_to_terminate_afterwards_is_heard_as_before(clock: Clock, terminal: Terminal) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Progress(terminal()) as progress:
        clock.now += 1
        progress.advance(5, 1, "a")
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


def test_the_size_of_files_is_known_and_that_of_folders_is_not(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    file = str(tmp_path / "a")
    assert size_of([file, file]) == 10
    for other in (str(tmp_path), "-", str(tmp_path / "*"), "\0"):
        assert size_of([file, other]) is None


def test_an_audit_tells_of_each_source_when_it_is_done(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(BAD * 3)
    (tmp_path / "c.txt").write_text("no transcript")
    told: list[tuple[int, str]] = []
    Audit(Options(), lambda size, path: told.append((size, path))).paths([str(tmp_path)])
    assert told == [(3 * len(BAD), f"{tmp_path}/a.jsonl"), (3 * len(BAD), f"{tmp_path}/b.jsonl"), (13, f"{tmp_path}/c.txt")]


@pytest.mark.parametrize("line", [BAD, '{"role": "user", "content": "on"}\n'], ids=["requests", "a message a line"])
def test_an_audit_tells_how_far_it_is_in_a_long_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.setattr(engine, "STEP", 1000)
    path = tmp_path / "a.jsonl"
    path.write_text(line * 200)
    told: list[int] = []
    Audit(Options(), lambda size, _: told.append(size)).paths([str(path)])
    assert sum(told) == path.stat().st_size
    assert max(told) < 1000 + 2 * len(line)


# ------------------------------------------------------------------------------------------------------------- the command line


class Run(NamedTuple):
    """A command whose error stream is a terminal, and whose standard input is held open."""

    process: subprocess.Popen[bytes]
    screen: int

    def seen(self, text: str = "", seconds: float = 30) -> str:
        """What the terminal shows up to `text`, or to its end."""
        found, end = b"", time.monotonic() + seconds
        while not (text and text.encode() in found) and select.select([self.screen], [], [], max(0, end - time.monotonic()))[0]:
            try:
                chunk = os.read(self.screen, 65536)
            except OSError:  # how Linux says that the other end is closed
                break
            if not chunk:
                break
            found += chunk
        return found.decode()


@contextmanager
def running(*args: str | Path, env: dict[str, str] | None = None) -> Iterator[Run]:
    """`toolaudit` with `args`, that shows its progress at once."""
    start = "import sys\nfrom toolaudit.cli import _progress, main\n_progress.QUIET = _progress.PAUSE = 0\nmain()"
    screen, slave = pty.openpty()
    command = [sys.executable, "-c", start, *map(str, args)]
    pipe, surroundings = subprocess.PIPE, environment({"TERM": "xterm", "COLUMNS": "80", **(env or {})})
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=slave, env=surroundings) as process:
        os.close(slave)
        try:
            yield Run(process, screen)
        finally:
            process.kill()
            os.close(screen)


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    file = tmp_path / "bad.jsonl"
    file.write_text(BAD)
    return file


def test_it_is_shown_on_the_error_stream_and_wiped_away(bad: Path) -> None:
    with running("check", "-f", "concise", bad, "-") as run:
        assert "bad.jsonl" in run.seen("bad.jsonl")
        out, _ = run.process.communicate(BAD.encode())
        assert run.seen().endswith(ERASE)
    assert run.process.returncode == 1
    assert out.decode().splitlines()[-1].startswith("checked 2 files")
    assert "\x1b" not in out.decode()


def test_a_hostile_name_does_not_act_on_the_terminal() -> None:
    with running("check", "-", "--stdin-filename", "\x1b]0;evil\x07\x1b[2J") as run:
        run.process.communicate(BAD.encode())
        seen = run.seen()
    assert "␛]0;evil␇␛[2J" in seen
    assert "\x1b" not in seen.replace(ERASE, "")


@pytest.mark.parametrize("quiet", [["-q"], ["--no-progress"], "dumb"])
def test_it_can_be_done_without(bad: Path, quiet: list[str] | str) -> None:
    env = {"TERM": "dumb"} if quiet == "dumb" else {}
    with running("check", bad, *([] if quiet == "dumb" else quiet), env=env) as run:
        run.process.communicate()
        assert run.seen() == ""
    assert run.process.returncode == 1


def test_an_interruption_wipes_it_away_and_prints_what_was_done(bad: Path) -> None:
    with running("check", "-f", "concise", bad, "-") as run:
        run.seen("bad.jsonl")
        run.process.send_signal(signal.SIGINT)
        out, _ = run.process.communicate(timeout=30)
        seen = run.seen()
    assert run.process.returncode == 130
    assert b"missing-result" in out
    assert seen.replace("\r\n", "\n") == f"{ERASE}interrupted: the report holds what was found so far\n"


def test_a_request_to_terminate_wipes_it_away_and_is_followed(bad: Path) -> None:
    with running("check", bad, "-") as run:
        run.seen("bad.jsonl")
        run.process.send_signal(signal.SIGTERM)
        out, _ = run.process.communicate(timeout=30)
        seen = run.seen()
    assert run.process.returncode == -signal.SIGTERM
    assert (out, seen) == (b"", ERASE)
