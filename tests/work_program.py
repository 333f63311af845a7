"""`toolaudit` with small units of work, and with workers that die: python work_program.py SPAN HOW ARGUMENTS...

HOW is `well`; `outside`: one of the workers is killed once the first result is there; `once` or `always`: a worker kills itself when it
comes to a source whose path has `killer` in it; `interrupt`: Ctrl-C once the third result is there.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from toolaudit import engines, work
from toolaudit.cli import main


def workers() -> list[int]:
    """The processes that this one, or one of its children, has started and that can do work."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    return sorted(pid for pid, parent in parents.items() if parent == os.getpid() and b"resource_tracker" not in _command(pid))


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def kill() -> None:
    os.kill(workers()[-1], signal.SIGKILL)


def killing(how: str, mark: Path) -> Any:
    """Work that kills its worker."""
    original = work.work

    def fatal(options: Any, unit: Any) -> Any:
        if any("killer" in item.path for item in unit.items) and (how == "always" or not mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return original(options, unit)

    fatal.__module__, fatal.__qualname__ = "toolaudit.work", "work"
    return fatal


def watched(how: str) -> Any:
    """Entering of results that does something in between."""
    original, count = work._Entering._enter, 0

    def entered(self: Any, unit: Any, result: Any) -> None:
        nonlocal count
        original(self, unit, result)
        count += 1
        if how == "outside" and count == 1:
            kill()
        if how == "interrupt" and count == 3:
            os.kill(os.getpid(), signal.SIGINT)

    return entered


def run(span: str, how: str, arguments: list[str]) -> None:
    engines.GLANCE = 0.2
    work.SPAN, work.BATCH, work.MOST = int(span), int(span), 8
    with tempfile.TemporaryDirectory() as folder:
        if how in ("once", "always"):
            work.work = killing(how, Path(folder) / "mark")  # type: ignore[assignment]
        else:
            work._Entering._enter = watched(how)  # type: ignore[method-assign]
        sys.argv = ["toolaudit", *arguments]
        main()


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], sys.argv[3:])
