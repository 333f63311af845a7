"""Runs commands in turn and says what each took: seconds of processor and of clock, and peaks of memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

LAUNCHER = Path(__file__).with_name("launch.py")
SAMPLE = 0.005
"""Seconds between two looks at the memory of a process."""


class Failed(Exception):
    """A command did not do what it is measured for; the text says why, in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A program with its arguments, the exit codes that mean that it did its work, and how it is run."""

    words: Sequence[str]
    codes: Sequence[int] = (0,)
    stdout: str = os.devnull
    terminal: bool = False
    """Run it on a terminal of its own."""
    sampled: bool = False
    """Look at its anonymous memory while it runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one run took: seconds and bytes. `cpu` is user and system time of the process, its start included, and of its children."""

    code: int
    wall: float
    cpu: float
    peak: int
    """The largest resident memory of a single process."""
    anonymous: int
    """The largest memory seen that is no part of a file; 0 when it was not looked at."""


def run(command: Command) -> Usage:
    """Run a command once. Raises Failed when it ends with another code than its own."""
    asked = {
        "command": list(command.words),
        "stdout": command.stdout,
        "terminal": command.terminal,
        "sample": SAMPLE if command.sampled else 0,
    }
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(LAUNCHER), json.dumps(asked)],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=_environment(),
    )
    if done.returncode:
        raise Failed(f"the launcher failed: {_last(done.stderr)}")
    usage = Usage(**json.loads(done.stdout))
    if usage.code not in command.codes:
        said = _last(done.stderr)
        raise Failed(f"`{Path(command.words[0]).name}` ended with {usage.code}{f': {said}' if said else ''}")
    return usage


def _environment() -> dict[str, str]:
    """The environment without what would change a measurement."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("TOOLAUDIT_", "PYTHON", "COV_"))}
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS"):
        kept.pop(name, None)
    return {**kept, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}


def _last(said: bytes) -> str:
    """The first line that names an error, else the last, cut to a line's length."""
    lines = [line for line in said.decode(errors="replace").splitlines() if line.strip()]
    line = next((line for line in lines if line.startswith("error:")), lines[-1] if lines else "")
    return "".join(char if char.isprintable() else "?" for char in line)[:160]


@dataclass(slots=True)
class Turns:
    """The usages of some commands that were run in turn, a list a command, so that what disturbs the machine disturbs all alike."""

    usages: list[list[Usage]] = field(default_factory=list)

    @classmethod
    def of(cls, commands: Sequence[Command], rounds: int) -> Turns:
        """Run `commands` one after another, `rounds` times. Raises Failed at the first that fails."""
        taken = [[run(command) for command in commands] for _ in range(rounds)]
        return cls([list(each) for each in zip(*taken, strict=True)])

    def median(self, number: int, what: str) -> float:
        """The median of one figure (`cpu`, `wall`, `peak`, `anonymous`) of command `number`."""
        return median(self._taken(number, what))

    def ratio(self, what: str) -> float:
        """The median of the ratios of the first command to the second in each round: it holds where the machine's speed drifts."""
        pairs = zip(self._taken(0, what), self._taken(1, what), strict=True)
        return median(own / max(other, 1e-9) for own, other in pairs)

    def _taken(self, number: int, what: str) -> list[float]:
        return [float(getattr(usage, what)) for usage in self.usages[number]]
