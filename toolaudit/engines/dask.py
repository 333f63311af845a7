"""Workers of Dask: a cluster of this machine, or one that is running elsewhere."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import re
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future
from importlib import import_module, metadata
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from toolaudit._version import __version__
from toolaudit.engines import Crew, WorkerDied
from toolaudit.engines.processes import no_interrupt
from toolaudit.errors import InputError, UsageError

P = ParamSpec("P")
R = TypeVar("R")

PATIENCE = 10
"""Seconds that a scheduler may take to answer."""
RECOUNT = 5.0
"""Seconds after which the workers are counted anew: a cluster may grow and shrink."""
DISTRIBUTION = "toolaudit-cli"

_ADDRESS = re.compile(r"(?:(?:tcp|tls|ws|wss)://)?[^\s/@:]+:\d{1,5}|(?:tcp|tls)://\[[0-9a-fA-F:]+\]:\d{1,5}")


@contextlib.contextmanager
def start(jobs: int, address: str | None) -> Iterator[Crew]:
    """A cluster of `jobs` processes that listens on the loopback alone; or the one whose scheduler is at `address`, as large as it is."""
    if address is not None and not _ADDRESS.fullmatch(address):
        raise UsageError(f"`{address}` is no address of a Dask scheduler", "write dask=tcp://HOST:PORT")
    dask, distributed = _library("dask"), _library("distributed")
    with _quiet(), contextlib.ExitStack() as stack:
        if address is None:
            stack.enter_context(dask.config.set(_SETTINGS))
            client = _local(distributed, jobs, stack)
        else:
            client = _distant(distributed, address, stack)
        crew = Cluster(client)
        try:
            yield crew
        except BaseException:
            crew.shutdown(cancel_futures=True)
            raise
        crew.shutdown()


class Cluster(Crew):
    """Dask's own executor, whose futures tell the death of a worker from an exception."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.executor = client.get_executor(pure=False)  # else a unit that is tried again is taken for the one that failed
        self.count = 0
        self.counted = float("-inf")

    def submit(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        future: Future[R] = Future()
        theirs: Future[R] = self.executor.submit(function, *args, **kwargs)

        def settle(theirs: Future[R]) -> None:
            if not future.set_running_or_notify_cancel():
                return
            if theirs.cancelled():
                future.set_exception(BrokenExecutor("the cluster let go of it"))
            elif (error := theirs.exception()) is not None:
                future.set_exception(_death(error) or error)
            else:
                future.set_result(theirs.result())

        theirs.add_done_callback(settle)
        future.add_done_callback(lambda future: theirs.cancel() if future.cancelled() else None)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self.executor.shutdown(wait=wait and not cancel_futures)

    def workers(self) -> int:
        if time.monotonic() - self.counted > RECOUNT:
            self.count, self.counted = len(self.client.nthreads()), time.monotonic()
        return self.count

    def cause(self) -> str:
        return "the cluster let go of it"


def _death(error: BaseException) -> WorkerDied | None:
    if type(error).__name__ != "KilledWorker":
        return None
    times = getattr(error, "allowed_failures", 0) + 1
    return WorkerDied("its worker died" if times == 1 else f"{times} workers died of it, one after another")


# --------------------------------------------------------------------------------------------------------------- connections

_SETTINGS = {
    "distributed.scheduler.allowed-failures": 0,  # who is to be tried again is decided by `run`
    "distributed.comm.timeouts.connect": "5s",  # as long is looked for a worker that died with results
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.dashboard.enabled": False,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # results are small and fetched at once: nothing that came from a transcript is written to a disk
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.nanny.pre-spawn-environ": {
        "MALLOC_TRIM_THRESHOLD_": 1 << 30,  # see `processes`
        "MALLOC_MMAP_THRESHOLD_": 1 << 30,
        "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical",
    },
}


def _local(distributed: Any, jobs: int, stack: contextlib.ExitStack) -> Any:
    _library("cryptography")
    # all that is started here, and what that starts later, never gets Ctrl-C: this process decides
    with no_interrupt():
        cluster = distributed.LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            security=True,  # else everybody on this machine could have the workers run what they like
            silence_logs=logging.CRITICAL,
        )
        stack.callback(cluster.close, timeout=PATIENCE)
        stack.push(functools.partial(_killed, cluster))
        return stack.enter_context(distributed.Client(cluster, timeout=PATIENCE, set_as_default=False))


def _killed(cluster: Any, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
    """End the workers of a local cluster at once where the context fails; to close it would wait for what they are doing.

    Where it does not fail they are closed, once all of them run: one that is just starting in place of another that died would print
    a traceback.
    """
    if kind is None and _all_run(cluster):
        return
    for nanny in cluster.workers.values():
        nanny.auto_restart = False
        with contextlib.suppress(ProcessLookupError, TypeError):  # it is gone, or was not there yet
            os.kill(nanny.pid, signal.SIGKILL)


def _all_run(cluster: Any) -> bool:
    """Wait until all workers of a local cluster run; False where that takes too long."""
    latest = time.monotonic() + PATIENCE
    while not all(map(_runs, cluster.workers.values())):
        if time.monotonic() > latest:
            return False
        time.sleep(0.02)
    return True


def _runs(nanny: Any) -> bool:
    process = nanny.process
    return process is not None and process.status.name == "running" and bool(process.is_alive())


def _distant(distributed: Any, address: str, stack: contextlib.ExitStack) -> Any:
    try:
        client = stack.enter_context(_bounded(lambda: distributed.Client(address, timeout=PATIENCE, set_as_default=False)))
    except (OSError, TimeoutError) as error:
        hint = "start one with `dask scheduler`, and workers with `dask worker`"
        raise InputError(f"no Dask scheduler answers at {address}", hint) from error
    _agree(client, address)
    return client


def _bounded(connect: Callable[[], R]) -> R:
    """What `connect` gives. Dask's own limit of time does not hold for something that accepts connections and says nothing."""
    made: Future[R] = Future()

    def attempt() -> None:
        try:
            made.set_result(connect())
        except BaseException as error:  # noqa: BLE001 - raised again by who waits
            made.set_exception(error)

    threading.Thread(target=attempt, daemon=True).start()
    return made.result(2 * PATIENCE)


def _agree(client: Any, address: str) -> None:
    """Raise InputError where the scheduler or a worker has another version of this program, or none.

    The scheduler reads units, too; and from another version the same input would get another report.
    """
    try:
        found = {client.run_on_scheduler(metadata.version, DISTRIBUTION), *client.run(metadata.version, DISTRIBUTION).values()}
    except metadata.PackageNotFoundError:
        found = {"none"}
    if other := sorted(found - {__version__}):
        raise InputError(
            f"the cluster at {address} has another version of toolaudit ({', '.join(other)}) than this machine ({__version__})",
            f"install {DISTRIBUTION} {__version__} where its scheduler and its workers run",
        )


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise InputError("the engine `dask` needs Dask, which is not installed", "pip install 'toolaudit-cli[dask]'") from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Dask tells its log of every worker that comes and goes; what matters of it is raised."""
    logger = logging.getLogger("distributed")
    before = [(handler, handler.level) for handler in logger.handlers]
    for handler, _ in before:
        handler.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="distributed")
            yield
    finally:
        for handler, level in before:
            handler.setLevel(level)
