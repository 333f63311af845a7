from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cli_helper import execute
from engine_work import CULPRIT, UNITS, square, tries

from toolaudit import __version__
from toolaudit.engines import engine, names, run
from toolaudit.errors import InputError, UsageError

WORK = Path(__file__).with_name("engine_work.py")
ALL = list(UNITS)
OTHERS = [number for number in UNITS if number != CULPRIT]

posix = pytest.mark.skipif(os.name != "posix", reason="signals and /proc")


def worked(name: str, what: str, folder: Path | str) -> Any:
    """What a program of its own got from the engine; it must not have said anything besides."""
    ran = execute(
        [sys.executable, str(WORK), name, what, str(folder)], env={"TMPDIR": str(Path(folder).parent)} if isinstance(folder, Path) else None
    )
    assert ran.err == ""
    assert ran.code == 0
    return json.loads(ran.out) if ran.out.startswith("[") else ran.out


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    (tmp_path / "marks").mkdir()
    return tmp_path / "marks"


@contextlib.contextmanager
def threads() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


# ----------------------------------------------------------------------------------------------------------------------- names


def test_engines_are_found_by_name() -> None:
    assert names() == ["dask", "processes"]


@pytest.mark.parametrize(
    "name", ["ray", "", "_private", "dask=", "dask=x", "dask=http://a:1", "processes=tcp://127.0.0.1:1", "dask=tcp://u@h:1"]
)
def test_names_and_addresses_that_make_no_sense(name: str) -> None:
    with pytest.raises(UsageError) as caught, engine(name, 2):
        pass
    assert caught.value.hint


def test_no_worker_is_no_engine() -> None:
    with pytest.raises(UsageError):
        engine("processes", 0)


@pytest.mark.parametrize("library", ["dask", "distributed", "cryptography"])
def test_library_that_is_missing_is_named_with_its_extra(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for needed in ("dask", "distributed"):
        pytest.importorskip(needed)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InputError) as caught, engine("dask", 1):
        pass
    assert "not installed" in str(caught.value)
    assert caught.value.hint == "pip install 'toolaudit-cli[dask]'"


# ------------------------------------------------------------------------------------------------------------------------- run


def test_results_come_in_order_and_no_more_than_the_window_is_in_flight() -> None:
    asked: list[int] = []
    units = (asked.append(number) or number for number in range(1000))
    for index, result in enumerate(run(threads, square, units, window=6)):
        assert result == index * index
        assert len(asked) - index <= 6


def test_no_units_give_no_results() -> None:
    assert list(run(threads, square, [])) == []


def test_units_may_be_equal_and_results_may_be_false() -> None:
    assert list(run(threads, bool, [0, 0, 1])) == [False, False, True]


# ------------------------------------------------------------------------------------------------------------------- processes


@posix
def test_worker_that_dies_once_costs_nothing(marks: Path) -> None:
    assert worked("processes", "once", marks) == ALL
    assert tries(marks)[CULPRIT] in (2, 3)
    assert max(tries(marks).values()) <= 3


@posix
def test_unit_that_kills_its_workers_is_lost_and_named(marks: Path) -> None:
    found = worked("processes", "always", marks)
    assert found[CULPRIT] == {"lost": CULPRIT, "reason": "its worker was killed by SIGKILL, as happens when memory runs out"}
    assert [item for item in found if item in OTHERS] == OTHERS
    assert sum(count > 1 for count in tries(marks).values()) <= 8, "only what was in flight is tried again"


@posix
def test_exit_status_of_a_worker_is_told(marks: Path) -> None:
    assert worked("processes", "exits", marks)[CULPRIT] == {"lost": CULPRIT, "reason": "its worker ended with exit status 7"}


@posix
def test_worker_that_dies_with_half_a_result_written_holds_nothing_up(marks: Path) -> None:
    assert worked("processes", "halfway", marks) == ALL


@posix
def test_worker_that_is_killed_from_outside_costs_nothing(marks: Path) -> None:
    assert worked("processes", "killed", marks) == ALL


@posix
def test_exception_of_the_function_is_raised_as_it_is(marks: Path) -> None:
    assert worked("processes", "wrong", marks) == "of our own\n"


@posix
def test_iterator_that_is_closed_leaves_no_worker(marks: Path) -> None:
    assert worked("processes", "early", marks) == "0\n0\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="where forks are safe")
def test_workers_are_forked_where_no_thread_runs(marks: Path) -> None:
    assert worked("processes", "settings", marks)[0] == [True, [100_000, 50, 100], True]
    assert worked("processes", "threaded", marks)[0] == [False, [100_000, 50, 100], True]


# ------------------------------------------------------------------------------------------------------------------ interrupted


def processes(group: int) -> set[int]:
    """The processes of a group that still run."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, its = entry.read_text().rpartition(")")[2].split()[:3]
            if int(its) == group and state != "Z":
                found.add(int(entry.parent.name))
    return found


def until(condition: Any, seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return bool(met)


@contextlib.contextmanager
def at_work(name: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A program whose two workers are in the middle of something that takes a minute."""
    command = [sys.executable, str(WORK), name, "slow", str(folder)]
    env = {**os.environ, "TMPDIR": str(folder.parent)}
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True, start_new_session=True, env=env) as program:
        try:
            assert until(lambda: len(tries(folder)) >= 2)
            yield program
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc what runs")
@pytest.mark.parametrize("name", ["processes", "dask"])
def test_interrupt_ends_everything_at_once(name: str, marks: Path) -> None:
    pytest.importorskip("distributed" if name == "dask" else "concurrent.futures")
    with at_work(name, marks) as program:
        began = time.monotonic()
        os.killpg(program.pid, signal.SIGINT)  # as a terminal does: the workers get it too
        out, err = program.communicate(timeout=20)
        assert (out, err) == ("interrupted\n", "")
        assert time.monotonic() - began < 8
        assert until(lambda: not processes(program.pid), 2)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc what runs")
@pytest.mark.parametrize("name", ["processes", "dask"])
def test_workers_end_with_a_parent_that_is_killed(name: str, marks: Path) -> None:
    pytest.importorskip("distributed" if name == "dask" else "concurrent.futures")
    with at_work(name, marks) as program:
        assert len(processes(program.pid)) >= 3
        program.kill()
        assert until(lambda: not processes(program.pid))


# ------------------------------------------------------------------------------------------------------------------------ dask


def test_dask_worker_that_is_killed_midway_costs_nothing(marks: Path) -> None:
    pytest.importorskip("distributed")
    assert worked("dask", "killed", marks) == ALL


def test_unit_that_kills_its_dask_workers_is_lost(marks: Path) -> None:
    pytest.importorskip("distributed")
    found = worked("dask", "always", marks)
    assert found[CULPRIT] == {"lost": CULPRIT, "reason": "its worker died"}
    assert [item for item in found if item in OTHERS] == OTHERS


def test_cluster_that_is_running_is_used_as_large_as_it_is() -> None:
    pytest.importorskip("distributed")
    assert worked("dask", "distant", __version__) == [number * number for number in UNITS]


def test_workers_of_another_version_are_not_used() -> None:
    pytest.importorskip("distributed")
    expected = f"the cluster at ADDRESS has another version of toolaudit ({__version__}) than this machine (0.0.0)\n"
    assert worked("dask", "distant", "0.0.0") == expected


def test_workers_that_have_no_toolaudit_are_not_used() -> None:
    pytest.importorskip("distributed")
    expected = f"the cluster at ADDRESS has another version of toolaudit (none) than this machine ({__version__})\n"
    assert worked("dask", "distant", "absent") == expected


@pytest.mark.parametrize("answers", [True, False], ids=["mute", "gone"])
def test_scheduler_that_does_not_answer(answers: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("toolaudit.engines.dask.PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        if not answers:
            server.close()
        with pytest.raises(InputError) as caught, engine(f"dask=tcp://127.0.0.1:{port}", 2):
            pass
    assert str(caught.value) == f"no Dask scheduler answers at tcp://127.0.0.1:{port}"
