"""Measures `toolaudit check` against the bare loop that decodes every line, in turn within one run, and prints ratios.

`python -m benchmarks.run --scale 100` makes 100 MB of each kind of input. CPU is user and system time of the whole process, its start
included; the figures are medians, and only the ratios are meant to travel.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.corpus import KINDS

FLOOR = "import orjson, sys\nfor line in open(sys.argv[1], 'rb', buffering=1 << 20): orjson.loads(line)"
BUDGETS = {"conversations": 2.0}
"""The ratio that must not be exceeded, for the kinds that have one."""


def cpu(command: list[str]) -> float:
    """User and system seconds of one run of a command; its output is thrown away. Raises RuntimeError when it could not run."""
    process = os.fork()
    if process == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.execv(command[0], command)
    _, status, usage = os.wait4(process, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise RuntimeError(f"{' '.join(command)} did not run")
    return usage.ru_utime + usage.ru_stime


def measure(path: Path, rounds: int) -> tuple[float, float, float]:
    """Median seconds of the check and of the floor, and the median of their ratios, over interleaved rounds."""
    check = [str(Path(sys.executable).with_name("toolaudit")), "check", "-f", "json", str(path)]
    floor = [sys.executable, "-c", FLOOR, str(path)]
    pairs = [(cpu(check), cpu(floor)) for _ in range(rounds)]
    own, bare = zip(*pairs, strict=True)
    return statistics.median(own), statistics.median(bare), statistics.median(a / b for a, b in pairs)


def main() -> int:
    """Make the inputs, measure, and say which budgets hold: 1 when one does not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=100, metavar="MB", help="size of each input in megabytes")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    broken = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind, make in KINDS.items():
            path = Path(folder) / f"{kind}.jsonl"
            with path.open("wb") as file:
                file.writelines(make(options.scale, 1))
            own, bare, ratio = measure(path, options.rounds)
            budget = BUDGETS.get(kind)
            verdict = "" if budget is None else f"   at most {budget} x: {'holds' if ratio <= budget else 'DOES NOT HOLD'}"
            broken += budget is not None and ratio > budget
            print(f"{kind:14} {options.scale:g} MB   check {own:.2f} s   floor {bare:.2f} s   {ratio:.2f} x{verdict}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
