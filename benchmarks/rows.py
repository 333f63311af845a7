"""The table of what is measured, and the budgets: a row is one line of `ROWS`."""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from benchmarks import floors
from benchmarks.clock import Command, Failed, Turns, run
from benchmarks.corpus import Corpora, gzipped
from benchmarks.environment import Environment

if TYPE_CHECKING:
    from toolaudit.report import Entry

TOOLAUDIT = str(Path(sys.executable).with_name("toolaudit"))
FOUND = (0, 1)
"""The exit codes of a check that was complete."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that a figure may be, and what it is to become."""

    most: float
    aim: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured number: `value` in `unit`, and what it was worked out from."""

    row: str
    of: str
    """What was measured, and over how much."""
    value: float
    unit: str
    parts: str
    budget: Budget | None = None

    @property
    def holds(self) -> bool:
        return self.budget is None or self.value <= self.budget.most


@dataclass(frozen=True, slots=True)
class Bench:
    """What the rows measure with."""

    corpora: Corpora
    rounds: int
    environment: Environment
    verified: set[Path] = field(default_factory=set)

    def check(self, path: Path, *options: str, report: str = os.devnull, sampled: bool = False) -> Command:
        """`toolaudit check` of a path, with one process and the default rules."""
        jobs = () if "--jobs" in options else ("--jobs", "1")
        words = (TOOLAUDIT, "check", str(path), "-f", "json", *jobs, *options)
        return Command(words=words, codes=FOUND, stdout=report, sampled=sampled)

    def python(self, code: str, *arguments: Path) -> Command:
        """A program for the Python that runs the benchmarks, or for one that has `zstandard` where the program needs it."""
        lacks = "zstandard" in code and importlib.util.find_spec("zstandard") is None
        python = self.environment.python("zstandard") if lacks else sys.executable
        return Command(words=(python, "-c", code, *map(str, arguments)))

    def report(self, path: Path) -> dict[str, Any]:
        """The report of a check."""
        with tempfile.NamedTemporaryFile() as file:
            run(self.check(path, report=file.name))
            found: dict[str, Any] = orjson.loads(file.read())
        return found

    def verify(self, path: Path) -> None:
        """Raise Failed unless the check reads all of an input: a floor may only be compared with what does the whole work."""
        if path in self.verified:
            return
        found = self.report(path)
        unread = sum(one["status"] != "read" for one in found["inputs"])
        if unread or not found["summary"]["calls"]:
            raise Failed(f"{path.name} is not read as a whole: {unread} files in part or not at all, {found['summary']['calls']} calls")
        self.verified.add(path)


class Row(Protocol):
    """What is measured under one name."""

    @property
    def name(self) -> str: ...

    def figures(self, bench: Bench) -> Iterator[Figure]:
        """The figures, each as it is known. Raises Failed when something that is measured does not work."""


# ------------------------------------------------------------------------------------------------------------------- ratios


@dataclass(frozen=True, slots=True)
class Trial:
    """An input, and the two commands to be run over it in turn: the one that is judged comes first."""

    path: Path
    own: Command
    other: Command


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """What one command takes against another: the median of the ratios of the rounds."""

    name: str
    of: str
    trial: Callable[[Bench], Trial]
    budget: Budget
    per: str = "cpu"
    names: tuple[str, str] = ("check", "floor")
    often: int = 1
    """Runs a round: short commands are run more often. A single round is a trial, of one run each."""
    memory: Budget | None = None
    """Budget of the anonymous memory of the first command, in sizes of the input."""

    def figures(self, bench: Bench) -> Iterator[Figure]:
        trial = self.trial(bench)
        bench.verify(trial.path)
        turns = Turns.of([trial.own, trial.other], bench.rounds * self.often if bench.rounds > 1 else 1)
        of = f"{self.of} ({size(trial.path)})"
        yield Figure(row=self.name, of=of, value=turns.ratio(self.per), unit="x", parts=self._parts(turns), budget=self.budget)
        if self.memory is not None:
            most = turns.median(0, "anonymous")
            share, parts = most / trial.path.stat().st_size, f"{most / 1e6:.0f} MB anonymous at the most"
            yield Figure(row=self.name, of=of, value=share, unit="of its size", parts=parts, budget=self.memory)

    def _parts(self, turns: Turns) -> str:
        own, other = (turns.median(number, self.per) for number in (0, 1))
        taken = f"{self.names[0]} {seconds(own)}, {self.names[1]} {seconds(other)} {self.per}"
        return f"{taken}; of the medians {own / max(other, 1e-9):.2f} x"


def against(kind: str, amount: float, floor: str, *, sampled: bool = False) -> Callable[[Bench], Trial]:
    """The check of an input against a floor."""

    def trial(bench: Bench) -> Trial:
        path = bench.corpora.path(kind, amount)
        return Trial(path, bench.check(path, sampled=sampled), bench.python(floor, path))

    return trial


def gzip_against_floor(bench: Bench) -> Trial:
    """The check of a gzip file against the standard library's decompressor."""
    path = bench.corpora.packed("conversations", 200, ".gz", gzipped)
    return Trial(path, bench.check(path), bench.python(floors.GZIP, path))


def zstd_against_floor(bench: Bench) -> Trial:
    """The check of a Zstandard file against the stream reader of `zstandard`."""

    def pack(plain: Path, packed: Path) -> None:
        run(bench.python(floors.PACK_ZSTD, plain, packed))

    path = bench.corpora.packed("conversations", 200, ".zst", pack)
    return Trial(path, bench.check(path), bench.python(floors.ZSTD, path))


def two_processes(bench: Bench) -> Trial:
    """Two processes against one, which is worth nothing on one processor."""
    if (os.cpu_count() or 1) < 2:
        raise Failed("it needs two processors")
    path = bench.corpora.path("conversations", 1000)
    return Trial(path, bench.check(path, "--jobs", "2"), bench.check(path, "--jobs", "1"))


def arguments_checked(bench: Bench) -> Trial:
    """Conversations with declared tools against the same with tools that take anything: only so the schemas alone make the difference.

    To switch the rule off instead would not do: whether a rule is chosen need not change what the proof of health looks at.
    """
    path = bench.corpora.path("conversations", 200)
    return Trial(path, bench.check(path), bench.check(bench.corpora.path("unchecked", 200)))


def start(kind: str, output: str, *, terminal: bool = False) -> Callable[[Bench], Trial]:
    """The check of one file of 2 kB against a Python that does nothing."""

    def trial(bench: Bench) -> Trial:
        path = bench.corpora.path(kind, 1)
        words = (TOOLAUDIT, "check", str(path), *(() if terminal else ("-f", output)))
        return Trial(path, Command(words=words, codes=FOUND, terminal=terminal), bench.python(floors.START))

    return trial


# ------------------------------------------------------------------------------------------------------------------- memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """The resident memory of the largest process of a check, in MB, for a small and a large input."""

    name: str
    of: str
    kind: str
    budget: Budget
    sizes: tuple[float, ...] = (50, 1000)

    def figures(self, bench: Bench) -> Iterator[Figure]:
        for amount in self.sizes:
            path = bench.corpora.path(self.kind, amount)
            bench.verify(path)
            turns = Turns.of([bench.check(path)], max(1, bench.rounds // 2))
            peak, parts = turns.median(0, "peak") / 1e6, "resident at the most"
            yield Figure(row=self.name, of=f"{self.of} ({size(path)})", value=peak, unit="MB", parts=parts, budget=self.budget)


# ------------------------------------------------------------------------------------------------------------------ findings


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """What it takes to write a finding, against a formatted line that is written to the same file."""

    name: str
    of: str
    budget: Budget
    outputs: tuple[str, ...] = ("concise", "jsonl")
    count: int = 10_000

    def figures(self, bench: Bench) -> Iterator[Figure]:
        from toolaudit.engine import Audit, Options

        path = bench.corpora.path("broken", self.count)
        audit = Audit(Options())
        audit.paths([str(path)])
        found = audit.report.findings
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "report"
            writers = {"a plain line": _plain, **{name: _writer(name) for name in self.outputs}}
            taken = [{name: _timed(write, found, target) for name, write in writers.items()} for _ in range(max(5, bench.rounds))]
        plain = median(one["a plain line"] for one in taken) / len(found)
        for name in self.outputs:
            own = median(one[name] for one in taken) / len(found)
            ratio = median(one[name] / one["a plain line"] for one in taken)
            parts = f"{micro(own)} a finding, {micro(plain)} a plain line; of the medians {own / plain:.2f} x"
            yield Figure(row=self.name, of=f"{len(found):,} written as {name}", value=ratio, unit="x", parts=parts, budget=self.budget)
        yield self._whole(bench, path, len(found), plain)

    def _whole(self, bench: Bench, path: Path, count: int, plain: float) -> Figure:
        """The program as a whole: the same conversations with the findings and without. There is no budget for it."""
        healthy = bench.corpora.path("healthy", self.count)
        turns = Turns.of([bench.check(path, "-f", "jsonl"), bench.check(healthy, "-f", "jsonl")], bench.rounds)
        more = (turns.median(0, "cpu") - turns.median(1, "cpu")) / count
        parts = f"{micro(more)} a finding: {turns.median(0, 'cpu'):.2f} s with them, {turns.median(1, 'cpu'):.2f} s without"
        return Figure(row=self.name, of="the whole program, judging included", value=more / plain, unit="x", parts=parts)


def _timed(write: Callable[[list[Entry], Path], None], found: list[Entry], target: Path) -> float:
    began = time.process_time()
    write(found, target)
    return time.process_time() - began


def _plain(found: list[Entry], target: Path) -> None:
    with target.open("w", encoding="utf-8", newline="\n") as stream:
        for entry in found:
            stream.write(f"{entry.path}:{entry.line}: {entry.rule}: {entry.message}\n")


def _writer(name: str) -> Callable[[list[Entry], Path], None]:
    from toolaudit.outputs import Style, output

    kind = output(name)

    def write(found: list[Entry], target: Path) -> None:
        with target.open("w", encoding="utf-8", newline="\n") as stream:
            made = kind(stream, Style())
            for entry in found:
                made.finding(entry)

    return write


# -------------------------------------------------------------------------------------------------------------------- words


def size(path: Path) -> str:
    """How large an input is; how many files there are in a folder."""
    if path.is_dir():
        return f"{sum(len(names) for _, _, names in os.walk(path)):,} files"
    length = path.stat().st_size
    return next(f"{length / unit:.3g} {name}" for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "bytes")) if length >= unit)


def seconds(value: float) -> str:
    """A time as people read it."""
    return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.0f} ms"


def micro(value: float) -> str:
    """A short time."""
    return f"{value * 1e6:.2f} µs"


# -------------------------------------------------------------------------------------------------------------------- table

FLAT = Budget(100, 60)
SHARE = Budget(0.25, 0.06)

ROWS: tuple[Row, ...] = (
    Ratio(
        name="conversations",
        of="one conversation a line, three formats",
        trial=against("conversations", 1000, floors.LINES),
        budget=Budget(1.5, 1.15),
    ),
    Ratio(
        name="messages",
        of="one message a line",
        trial=against("messages", 1000, floors.LINES),
        budget=Budget(1.8, 1.1),
    ),
    Ratio(
        name="blocks",
        of="one content block a line",
        trial=against("blocks", 1000, floors.LINES),
        budget=Budget(1.8, 1.1),
    ),
    Ratio(
        name="snapshots",
        of="requests that repeat the history, one a line",
        trial=against("snapshots", 500, floors.LINES),
        budget=Budget(0.5, 0.25),
    ),
    *(
        Ratio(
            name=name,
            of=f"one document: {of}",
            trial=against(kind, amount, floors.DOCUMENT, sampled=True),
            budget=Budget(1.0, 0.4),
            memory=SHARE,
        )
        for kind, of in (("conversation", "a conversation"), ("list", "a list of conversations"))
        for name, amount in ((f"document-{kind}", 100), (f"large-{kind}", 1000))
    ),
    Ratio(
        name="files",
        of="small files in folders",
        trial=against("files", 20_000, floors.FILES),
        budget=Budget(1.6, 1.3),
    ),
    Peak(name="memory-conversations", of="one conversation a line", kind="conversations", budget=FLAT),
    Peak(name="memory-messages", of="one message a line", kind="messages", budget=FLAT),
    Ratio(
        name="jobs",
        of="one conversation a line, two processes against one",
        trial=two_processes,
        budget=Budget(0.62, 0.55),
        per="wall",
        names=("--jobs 2", "--jobs 1"),
    ),
    Ratio(
        name="gzip",
        of="one conversation a line, gzip",
        trial=gzip_against_floor,
        budget=Budget(1.0, 0.65),
        names=("check", "gzip and floor"),
    ),
    Ratio(
        name="zstd",
        of="one conversation a line, Zstandard",
        trial=zstd_against_floor,
        budget=Budget(1.5, 1.2),
        names=("check", "zstandard and floor"),
    ),
    *(
        Ratio(
            name=f"start-{output}",
            of=f"one file with {what}, {output}{' on a terminal' if terminal else ''}",
            trial=start(kind, output, terminal=terminal),
            budget=budget,
            per="wall",
            names=("check", "python -c pass"),
            often=5,
        )
        for output, terminal, budget in (("concise", False, Budget(7, 5.8)), ("json", False, Budget(7, 5.8)), ("full", True, Budget(10, 8)))
        for kind, what in (("page", "nothing to report"), ("broken-page", "a finding"))
    ),
    Writing(name="findings", of="findings", budget=Budget(20, 8)),
    Ratio(
        name="tools",
        of="declared tools, arguments checked against tools that take anything",
        trial=arguments_checked,
        budget=Budget(1.15, 1.05),
        names=("checked", "unchecked"),
    ),
)
