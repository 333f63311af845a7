"""Measures toolaudit, prints each figure with its budget, and exits 1 when a budget does not hold.

`python -m benchmarks.run` makes everything in full size. CPU is user and system time of whole processes, their start included; what is
compared runs in turn, the figures are medians, and only ratios are meant to travel. See `benchmarks/README.md`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks import peers
from benchmarks.clock import Failed
from benchmarks.corpus import Corpora
from benchmarks.environment import Environment
from benchmarks.rows import ROWS, Bench, Figure, Row

PEERS = "peers"
"""The name that stands for them in `--only`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the rows that were asked for, then the peers: 1 when a budget does not hold or a row cannot be measured."""
    options = _options(arguments)
    with _folder(options.keep) as folder:
        environment = Environment(folder / "peers", wanted=not options.no_peers)
        bench = Bench(Corpora(folder, options.scale), options.rounds, environment)
        if options.scale != 1:
            print(f"at a scale of {options.scale:g}: the budgets are meant for inputs of full size")
        broken = [row.name for row in ROWS if _is_chosen(row, options.only) and not _holds(row, bench)]
        if not options.no_peers and (not options.only or PEERS in options.only):
            for line in peers.compare(bench):
                print(line, flush=True)
    print(f"these DO NOT HOLD: {', '.join(dict.fromkeys(broken))}" if broken else "every budget that was measured holds")
    return 1 if broken else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, metavar="SHARE", help="the share of the full sizes; 0.01 makes 10 MB of 1 GB")
    parser.add_argument("--only", default="", metavar="NAME,...", help=f"what to measure: {', '.join(row.name for row in ROWS)}, {PEERS}")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="runs of each command (short ones run five times as often)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the inputs, and the peers, here for the next run")
    parser.add_argument("--no-peers", action="store_true", help="measure toolaudit alone, and install nothing")
    options = parser.parse_args(arguments)
    options.only = [name for name in options.only.split(",") if name]
    if unknown := set(options.only) - {PEERS, *(row.name for row in ROWS)}:
        parser.error(f"no row is called {', '.join(sorted(unknown))}")
    if options.scale <= 0 or options.rounds < 1:
        parser.error("--scale and --rounds are positive numbers")
    return options


@contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    """The folder for the inputs: the one that is to be kept, or one that is removed at the end."""
    if kept is None:
        with tempfile.TemporaryDirectory(prefix="toolaudit-benchmarks-") as made:
            yield Path(made)
    else:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept.resolve()


def _is_chosen(row: Row, only: Collection[str]) -> bool:
    return not only or row.name in only


def _holds(row: Row, bench: Bench) -> bool:
    """Print the figures of a row. False when one is over its budget, or cannot be had."""
    holds = True
    try:
        for figure in row.figures(bench):
            print(_shown(figure), flush=True)
            holds &= figure.holds
    except Failed as failed:
        print(f"{row.name:21} not measured: {failed}   DOES NOT HOLD", flush=True)
        return False
    return holds


def _shown(figure: Figure) -> str:
    verdict = ""
    if figure.budget is not None:
        verdict = f"   at most {figure.budget.most:g}, aim {figure.budget.aim:g}: {'holds' if figure.holds else 'DOES NOT HOLD'}"
    return f"{figure.row:21} {figure.value:7.2f} {figure.unit}{verdict}   [{figure.of}: {figure.parts}]"


if __name__ == "__main__":
    sys.exit(main())
