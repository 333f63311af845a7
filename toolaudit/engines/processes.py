"""Worker processes on this machine."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_all_start_methods, get_context, parent_process
from multiprocessing.connection import wait
from typing import Any

from toolaudit.engines import Crew
from toolaudit.errors import UsageError


@contextlib.contextmanager
def start(jobs: int, address: str | None) -> Iterator[Crew]:
    """`jobs` processes of this machine. They end with the context, at once when it fails, and with this process, however that ends."""
    if address is not None:
        raise UsageError("worker processes have no address", "write --engine processes")
    workers = Workers(jobs)
    try:
        workers.launch()
        yield workers
    except BaseException:
        workers.kill()
        raise
    finally:
        workers.shutdown(cancel_futures=True)


class Workers(Crew, ProcessPoolExecutor):
    """A pool of processes that can be killed, and can tell what one of them died of."""

    def __init__(self, jobs: int) -> None:
        super().__init__(jobs, mp_context=get_context(_method()), initializer=_begin)
        self._jobs = jobs
        self._known = self._processes  # the pool forgets them when it is shut down, which is when their ends are known
        self._results: Any = self._result_queue
        self._killed: set[int | None] = set()

    def launch(self) -> None:
        """Start them now, so that no thread of what follows is there to be forked. Until a worker ignores Ctrl-C it must not get one."""
        with no_interrupt():
            self.submit(int)

    def workers(self) -> int:
        return self._jobs

    def stuck(self) -> bool:
        # a worker that dies while it writes a long result leaves the pool waiting for the rest of it
        return any(process.exitcode is not None for process in self._known.values())

    def kill(self) -> None:
        """End all workers at once; `shutdown` then returns soon."""
        processes = list(self._known.values())
        ended = wait([process.sentinel for process in processes], 0)
        for process in processes:
            if process.sentinel not in ended:
                self._killed.add(process.pid)
                process.kill()
        # the end of half a result, for which the pool may be waiting, comes only when nobody can write it any more
        self._results._writer.close()

    def cause(self) -> str:
        codes = [process.exitcode for process in self._known.values() if process.pid not in self._killed]
        # the pool terminates the other workers when it finds one dead
        own = [code for code in codes if code and code != -signal.SIGTERM] or [code for code in codes if code is not None]
        return f"its worker {_end(own[0])}" if own else "its worker died"


def _end(code: int) -> str:
    if code >= 0:
        return f"ended with exit status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"was killed by {name}" + (", as happens when memory runs out" if name == "SIGKILL" else "")


@contextlib.contextmanager
def no_interrupt() -> Iterator[None]:
    """Ctrl-C waits meanwhile, and processes that are started never get it; where a system cannot do that, nothing is changed."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _method() -> str:
    """How to start processes. A fork is ten times faster, but takes over locks that other threads hold, and never lets go of them."""
    forks = "fork" in get_all_start_methods() and sys.platform != "darwin"  # whose system libraries do not bear it
    return "fork" if forks and _alone() else "spawn"


def _alone() -> bool:
    """Whether one thread runs in this process: where the system tells, also counting those of libraries, of which Python knows nothing."""
    for _ in range(20):  # a thread that was joined may still be there for a moment
        try:
            count = len(os.listdir("/proc/self/task"))  # noqa: PTH208
        except OSError:
            count = threading.active_count()
        if count == 1 or threading.active_count() > 1:
            break
        time.sleep(0.005)
    return count == 1


# ------------------------------------------------------------------------------------------------------------- in the worker


def _begin() -> None:
    """What a worker does first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    threading.Thread(target=_follow, daemon=True).start()
    gc.set_threshold(100_000, 50, 100)
    _keep_memory()


def _follow() -> None:
    """End with the parent, even one that was killed. Work that is under way would be for nobody."""
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


def _keep_memory() -> None:
    """Let glibc keep freed memory instead of giving it back and asking anew for each long record, which costs a third of the time."""
    import ctypes

    trim_threshold, mmap_threshold = -1, -3
    with contextlib.suppress(OSError, AttributeError, TypeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(mmap_threshold, 1 << 30)
        libc.mallopt(trim_threshold, 1 << 30)
