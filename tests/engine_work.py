"""What the tests of the engines let workers do, and a program that does it: a process of its own, in which no thread runs yet.

python engine_work.py ENGINE WHAT FOLDER writes what came of it as JSON to standard output.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import logging
import multiprocessing
import os
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any

from toolaudit import engines
from toolaudit.engines import Lost, engine, run
from toolaudit.errors import InputError

CULPRIT = 5
UNITS = range(20)
FORKED = False
"""A worker that is forked finds what the program has set; one that is spawned begins anew."""


def square(number: int) -> int:
    return number * number


def note(number: int, folder: str) -> None:
    """Leave a mark of this attempt, and of the process that makes it."""
    with (Path(folder) / f"{number}.tries").open("a") as file:
        file.write(f"{os.getpid()}\n")


def tries(folder: str | Path) -> dict[int, int]:
    return {int(file.stem): len(file.read_text().splitlines()) for file in Path(folder).glob("*.tries")}


def once(number: int, *, folder: str) -> int:
    note(number, folder)
    if number == CULPRIT and tries(folder)[number] == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def always(number: int, *, folder: str) -> int:
    note(number, folder)
    if number == CULPRIT:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def exits(number: int, *, folder: str) -> int:
    if number == CULPRIT:
        os._exit(7)
    return number


def halfway(number: int, *, folder: str) -> int:
    """Die while a result is being written: the reader has its length, and waits for the rest."""
    note(number, folder)
    if number == CULPRIT and tries(folder)[number] == 1:
        [results] = [one for one in gc.get_objects() if isinstance(one, SimpleQueue)]
        with results._wlock:
            os.write(results._writer.fileno(), struct.pack("!i", 1 << 20) + b"half")
            os.kill(os.getpid(), signal.SIGKILL)
    return number


def wrong(number: int, *, folder: str) -> int:
    if number == CULPRIT:
        raise ZeroDivisionError("of our own")
    return number


def slow(number: int, *, folder: str) -> int:
    note(number, folder)
    time.sleep(60)
    return number


def brisk(number: int, *, folder: str) -> int:
    note(number, folder)
    time.sleep(0.05)
    return number


def settings(number: int, *, folder: str) -> list[Any]:
    return [FORKED, gc.get_threshold(), signal.getsignal(signal.SIGINT) is signal.SIG_IGN]


def plain(item: Any) -> Any:
    return {"lost": item.unit, "reason": item.reason} if isinstance(item, Lost) else item


def killing(results: Iterator[Any], folder: str) -> Iterator[Any]:
    """The results, while one of the workers is killed from outside after the first of them."""
    for index, item in enumerate(results):
        yield item
        if index == 0:
            written = [file.read_text().split() for file in Path(folder).glob("*.tries")]
            pids = {int(words[-1]) for words in written if words} - {os.getpid()}  # a file may stand there before its first word does
            os.kill(max(pids), signal.SIGKILL)


def distant(version: str) -> None:
    """Use a cluster that is running, on which this program has that version."""
    import distributed

    from toolaudit.engines import dask

    logging.disable()  # what the scheduler has to say, which lives elsewhere as a rule
    if version == "absent":
        dask.DISTRIBUTION = "no-such-distribution"
    else:
        dask.__version__ = version  # type: ignore[attr-defined]
    options = {"processes": False, "protocol": "tcp", "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, silence_logs=50, **options) as cluster:
        name = f"dask={cluster.scheduler_address}"
        try:
            with engine(name, 1) as crew:
                assert crew.workers() == 2
            print(json.dumps(list(run(functools.partial(engine, name, 1), square, UNITS))))
        except InputError as error:
            print(str(error).replace(cluster.scheduler_address, "ADDRESS"))


def main(name: str, what: str, folder: str) -> None:
    global FORKED  # noqa: PLW0603
    FORKED = True
    engines.GLANCE = 0.2
    start = functools.partial(engine, name, 2)
    if what == "distant":
        distant(folder)
        return
    if what == "threaded":
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        what = "settings"
    function: Callable[[int], Any] = functools.partial(globals()["brisk" if what in ("killed", "early") else what], folder=folder)
    results: Any = run(start, function, UNITS)
    if what == "early":
        with contextlib.closing(results):
            print(next(results))
        print(len(multiprocessing.active_children()))
        return
    try:
        print(json.dumps([plain(item) for item in (killing(results, folder) if what == "killed" else results)]))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    except ZeroDivisionError as error:
        print(error)


if __name__ == "__main__":
    main(*sys.argv[1:])
