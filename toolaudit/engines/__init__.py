"""Engines: what runs units of work beside one another. One file each, found by its name: `dask` is `dask.py`, with an address after `=`.

Every engine gives an `Executor`, and keeps one law besides: a future whose worker died raises `BrokenExecutor`. `run` is what a caller
needs: results in order, memory that does not grow with the number of units, and no result lost to the death of another unit's worker.
"""

from __future__ import annotations

import os
import pkgutil
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import BrokenExecutor, Executor, Future, wait
from contextlib import AbstractContextManager, ExitStack
from importlib import import_module
from types import TracebackType
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from toolaudit.errors import UsageError

U = TypeVar("U")
R = TypeVar("R")

DEPTH = 4
"""Units in flight for each worker: enough that none waits, too few to fill the memory."""
TRIES = 2
"""So many workers may die of a unit before it is given up."""
GLANCE = 5.0
"""Seconds after which an engine that may hang is asked whether it does."""


class Engine(Protocol):
    """What a file of this folder holds."""

    def start(self, jobs: int, address: str | None) -> AbstractContextManager[Crew]:
        """Workers, as many as `jobs`, or those at `address`; all are gone, or let go, when the context ends, at once when it fails.

        Raises UsageError for an address it cannot use, InputError where its library is missing or nobody answers at the address.
        """


class Crew(Executor):
    """What an engine gives: an executor that knows a little more about its workers."""

    def workers(self) -> int:
        """How many there are now."""
        raise NotImplementedError

    def stuck(self) -> bool:
        """Whether one died in such a way that its future will wait for ever."""
        return False

    def cause(self) -> str:
        """Once it is shut down: what a worker died of, in a sentence."""
        raise NotImplementedError


class WorkerDied(BrokenExecutor):
    """A worker died of a unit, and the executor goes on with others; the text says of what, in a sentence."""


class Lost(Struct, Generic[U], frozen=True):
    """A unit that has no result, because its workers died; `reason` says of what, in a sentence."""

    unit: U
    reason: str


def names() -> list[str]:
    """The names of all engines."""
    return sorted(info.name for info in pkgutil.iter_modules(__path__) if not info.name.startswith("_"))


def engine(name: str, jobs: int) -> AbstractContextManager[Crew]:
    """The engine called `name` with `jobs` workers: `processes`, `dask`, or `dask=tcp://host:port` for a cluster that is running.

    Raises UsageError for a name or an address that makes no sense, and, when it is started at the latest, InputError where a library
    is missing or nobody answers at the address.
    """
    kind, _, address = name.partition("=")
    if kind not in names():
        raise UsageError(f"no engine is called `{kind}`", f"choose one of {', '.join(names())}, or dask=tcp://HOST:PORT")
    if jobs < 1:
        raise UsageError(f"{jobs} workers do no work", "ask for one at least")
    if "=" in name and not address:
        raise UsageError(f"`{name}` names no address", "write dask=tcp://HOST:PORT")
    chosen: Engine = import_module(f"{__name__}.{kind}")
    return chosen.start(jobs, address or None)


def run(
    start: Callable[[], AbstractContextManager[Executor]],
    function: Callable[[U], R],
    units: Iterable[U],
    window: int | None = None,
) -> Generator[R | Lost[U], None, None]:
    """`function` of each unit, in the order of the units, on the executor that `start` gives.

    At most `window` units are in flight, by default four for each worker. When a worker dies, what is in flight without a result
    is tried again alone, in a fresh executor where the old one is broken; a unit of which two workers died is given as `Lost`. What
    `function` raises is raised as it is. Close the iterator when you stop early (`contextlib.closing`): that, like any exception,
    ends all workers at once.
    """
    left = iter(units)
    flight: deque[tuple[U, Future[R] | None]] = deque()
    """Units in order, with what is to come of them; None for one that is to be tried alone."""
    with _Pool(start) as pool:
        while True:
            while not pool.broken and len(flight) < (window or DEPTH * pool.workers()):
                for unit in left:
                    flight.append((unit, pool.submit(function, unit)))
                    break
                else:
                    break
            if not flight:
                return
            unit, future = flight.popleft()
            if future is None:
                yield _alone(pool, function, unit)
                continue
            try:
                result: R | Lost[U] = pool.result(future)
            except BrokenExecutor:
                flight = deque((one, None if other is None or pool.lost(other) else other) for one, other in flight)
                # whose worker it was is certain only when no other unit is under suspicion
                result = _alone(pool, function, unit, deaths=int(all(other is not None for _, other in flight)))
            yield result


def _alone(pool: _Pool, function: Callable[[U], R], unit: U, deaths: int = 0) -> R | Lost[U]:
    """The result of a unit that is alone in flight, so that a death is its own; so many of its workers are known to have died."""
    error = BrokenExecutor()
    while deaths < TRIES:
        pool.mend(error)
        try:
            return pool.result(pool.submit(function, unit))
        except BrokenExecutor as died:
            deaths, error = deaths + 1, died
    return Lost(unit, pool.mend(error))


class _Pool:
    """The executor that is used, and the next one where it is broken."""

    def __init__(self, start: Callable[[], AbstractContextManager[Executor]]) -> None:
        self.start = start
        self.broken = False
        self.context = ExitStack()
        self.executor: Executor | None = None

    def __enter__(self) -> _Pool:
        self._executor()  # now, for processes fork only while nothing else has started a thread
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.context.__exit__(kind, error, trace)

    def workers(self) -> int:
        executor = self._executor()
        return max(1, executor.workers()) if isinstance(executor, Crew) else os.cpu_count() or 1

    def submit(self, function: Callable[[U], R], unit: U) -> Future[R] | None:
        """None where the executor turns out to be broken."""
        try:
            return self._executor().submit(function, unit)
        except BrokenExecutor:
            self.broken = True
            return None

    def result(self, future: Future[R] | None) -> R:
        """What a future holds. Raises BrokenExecutor where its worker died, and what the function raised."""
        if future is None or not self._done(future):
            raise BrokenExecutor("its worker died")
        try:
            return future.result()
        except BrokenExecutor as error:
            self.broken = self.broken or not isinstance(error, WorkerDied)
            raise

    def lost(self, future: Future[R]) -> bool:
        """Wait for a future, and say whether its worker died."""
        return not self._done(future) or isinstance(future.exception(), BrokenExecutor)

    def mend(self, error: BrokenExecutor) -> str:
        """Give up an executor that is broken; what a worker died of, in a sentence, where `error` came of it."""
        if not self.broken:
            return str(error)
        executor, self.executor, self.broken = self.executor, None, False
        self.context.__exit__(type(error), error, None)
        return executor.cause() if isinstance(executor, Crew) else "its worker died"

    def _done(self, future: Future[R]) -> bool:
        """Wait for a future; False where it waits for ever."""
        while not self.broken and not wait([future], GLANCE).done:
            self.broken = isinstance(self.executor, Crew) and self.executor.stuck() and not future.done()
        return future.done()

    def _executor(self) -> Executor:
        if self.executor is None:
            self.executor = self.context.enter_context(self.start())
        return self.executor
