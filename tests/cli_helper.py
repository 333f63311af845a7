"""Runs the command line in a process of its own, with an environment that holds nothing of this machine's settings."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

SCRIPT = Path(sys.executable).with_name("toolaudit")
TIMEOUT = 60


class Ran(NamedTuple):
    """What came of a command."""

    code: int
    out: str
    err: str


def environment(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """A bare environment, with `env` on top."""
    return {"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": "/nonexistent", **(env or {})}


def run(*args: str | Path, stdin: bytes = b"", env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Ran:
    """`toolaudit` with `args`."""
    return execute([str(SCRIPT), *map(str, args)], stdin=stdin, env=env, cwd=cwd)


def python(code: str, *args: str | Path, stdin: bytes = b"") -> Ran:
    """Python code that may call `main()` with `args` for its arguments."""
    start = f"import sys; sys.argv[0] = 'toolaudit'\nfrom toolaudit.cli import main\n{code}"
    return execute([sys.executable, "-c", start, *map(str, args)], stdin=stdin)


def shell(command: str, *args: str | Path, env: Mapping[str, str] | None = None) -> Ran:
    """A line of shell in which `toolaudit` is the program and `$1`, `$2`, … are `args`."""
    start = f'toolaudit() {{ "{SCRIPT}" "$@"; }}\n{command}'
    return execute(["bash", "-c", start, "bash", *map(str, args)], env=env)


def execute(command: list[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Ran:
    """A command, with its exit code and both its streams."""
    done = subprocess.run(command, input=stdin, env=environment(env), cwd=cwd, capture_output=True, timeout=TIMEOUT, check=False)
    return Ran(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def on_terminal(*args: str | Path, env: Mapping[str, str] | None = None) -> str:
    """What `toolaudit` writes when both its streams are a terminal."""
    master, slave = pty.openpty()
    command = [str(SCRIPT), *map(str, args)]
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment({"TERM": "xterm", **(env or {})})):
        os.close(slave)
        chunks = []
        while select.select([master], [], [], TIMEOUT)[0] and (chunk := _read(master)):
            chunks.append(chunk)
    os.close(master)
    return b"".join(chunks).decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # how Linux says that the other end is closed
        return b""
