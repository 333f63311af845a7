"""The command line: parse the options, call the engine, choose the exit code. No logic lives here.

A command parses its options and answers with the work to be done, a function that returns an exit code; the work is then run
outside the parser, so that only this package decides what an exception, a closed pipe or an interruption means.

Exit codes: 0 nothing to complain of, 1 findings, 2 the audit is incomplete, 101 a fault of toolaudit itself, 130 interrupted. A reader
that closes the pipe (`… | head -1`) ends the output, not the verdict: the code is what it would have been.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import NoReturn, TypeAlias

Work: TypeAlias = Callable[[], int]

INCOMPLETE, FAULT, INTERRUPTED = 2, 101, 130


def main() -> NoReturn:
    """Run the command that the arguments name, and exit with its code."""
    # neither what is imported nor what is decoded has cycles to speak of: looking for them costs a tenth of a run
    gc.set_threshold(100_000, 50, 100)
    code = run(sys.argv[1:])
    gc.freeze()  # nor need the interpreter look for any while it shuts down, when everything goes at once
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run one command; nothing but its exit code comes out of here."""
    try:
        return _code(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - a fault of ours must not look like findings
        from toolaudit.cli._faults import fault

        return fault(error, arguments)


def _code(arguments: list[str]) -> int:
    from toolaudit.cli._faults import explain, hush
    from toolaudit.errors import ToolauditError

    try:
        code = _work(arguments)()
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        hush()
        return 0
    except ToolauditError as error:
        return explain(error)
    return code


def _work(arguments: list[str]) -> Work:
    """What to do. Plain command lines are read here, for the parser takes longer to load than a small file to audit."""
    if arguments in (["--version"], ["-V"]):
        return _version
    from toolaudit.cli import _plain

    plain = _plain.read(arguments)
    if plain is not None:
        from toolaudit.cli._audit import audit

        return lambda: audit(plain)
    from toolaudit.cli._app import parse

    return parse(arguments)


def _version() -> int:
    from toolaudit._version import __version__

    sys.stdout.write(f"toolaudit {__version__}\n")
    return 0
