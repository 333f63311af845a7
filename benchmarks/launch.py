"""Runs one command and prints what it took, as JSON; started afresh for each command.

A process that forks lends its child its own memory peak, which the child keeps when it becomes another program. So the commands are
started from here, where little is loaded, and not from the benchmarks. It is read by `clock`: see `clock.run`.
"""

import json
import os
import pty
import re
import sys
import time

_ANON = re.compile(rb"RssAnon:\s+(\d+) kB")


def launch(command: list[str], stdout: str, terminal: bool, sample: float) -> dict[str, float]:
    """Run `command`; its output goes to the file `stdout`, or to a terminal of its own. Its memory is looked at every `sample` seconds."""
    master = -1
    began = time.perf_counter()
    if terminal:
        process, master = pty.fork()
    else:
        process = os.fork()
    if process == 0:
        _become(command, None if terminal else stdout)
    if terminal:
        _drain(master)
    taken = _wait(process, sample)
    return {**taken, "wall": time.perf_counter() - began}


def _become(command: list[str], stdout: str | None) -> None:
    try:
        if stdout is not None:
            os.dup2(os.open(stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        os._exit(127)


def _drain(master: int) -> None:
    """Read what the terminal is sent until it is closed."""
    try:
        while os.read(master, 1 << 16):
            pass
    except OSError:  # so Linux says that the other end is closed
        pass


def _wait(process: int, sample: float) -> dict[str, float]:
    anonymous = done = 0
    while not done:
        if sample:
            anonymous = max(anonymous, _anonymous(process))
            time.sleep(sample)
        done, status, usage = os.wait4(process, os.WNOHANG if sample else 0)
    return {
        "code": os.waitstatus_to_exitcode(status),
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak": usage.ru_maxrss * 1024,
        "anonymous": anonymous,
    }


def _anonymous(process: int) -> int:
    """Bytes of memory that belong to the process alone and to no file."""
    try:
        with open(f"/proc/{process}/status", "rb") as status:  # noqa: PTH123 - what is loaded here is memory that every child is said to have
            found = _ANON.search(status.read())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


if __name__ == "__main__":
    print(json.dumps(launch(**json.loads(sys.argv[1]))))
