"""The environment of the peers: a virtual environment of its own, so that nothing of theirs comes into that of the product."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from pathlib import Path

from benchmarks.clock import Failed

REQUIREMENTS = Path(__file__).with_name("peers.txt")


class Environment:
    """A virtual environment in `folder`, made when something of it is first asked for; never, unless `wanted`."""

    def __init__(self, folder: Path, *, wanted: bool = True) -> None:
        self.folder = folder
        self._wanted = wanted

    def python(self, name: str) -> str:
        """The Python that has the distribution `name`. Raises Failed when it is not to be had."""
        if not self._wanted:
            raise Failed(f"`{name}` is not installed, and --no-peers rules out to install it")
        if (reason := self._installed.get(name, "it is not listed in peers.txt")) is not None:
            raise Failed(f"`{name}` could not be installed: {reason}")
        return str(self._bin / "python")

    def script(self, name: str, command: str) -> str:
        """A command that the distribution `name` brings. Raises Failed likewise."""
        return str(Path(self.python(name)).with_name(command))

    def installed(self, name: str) -> str:
        """The distribution `name` with its version."""
        return requirements()[name].replace("==", " ")

    @property
    def _bin(self) -> Path:
        return self.folder / "bin"

    @functools.cached_property
    def _installed(self) -> dict[str, str | None]:
        """Why each distribution of the list could not be installed; None for those that were."""
        if not (self._bin / "python").exists():
            subprocess.run([sys.executable, "-m", "venv", str(self.folder)], check=True, capture_output=True)
        return {name: self._install(requirement) for name, requirement in requirements().items()}

    def _install(self, requirement: str) -> str | None:
        command = [
            str(self._bin / "python"),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--retries",
            "1",
            requirement,
        ]
        try:
            done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            return "the registry does not answer"
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        return None if done.returncode == 0 else (errors or ["pip failed"])[-1].removeprefix("ERROR: ")


def requirements() -> dict[str, str]:
    """The requirements of the list by the names of their distributions."""
    lines = (line.partition("#")[0].strip() for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines())
    return {re.split(r"[=<>~! ]", line, maxsplit=1)[0]: line for line in lines if line}
