"""What goes wrong, as a line on the error stream and an exit code."""

from __future__ import annotations

import os
import sys

from toolaudit.cli import FAULT, INCOMPLETE
from toolaudit.errors import ToolauditError
from toolaudit.text import clip, inert, is_command


def say(text: str) -> None:
    """One line on the error stream; nothing in it acts on a terminal or a runner, and a stream that is gone is no reason to fail."""
    if sys.stderr is None:
        return
    text = inert(text)
    text = f". {text}" if is_command(text) else text
    encoding = sys.stderr.encoding or "ascii"
    try:
        sys.stderr.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass


def explain(error: ToolauditError) -> int:
    """Say what the user can mend, and how."""
    say(f"error: {error}")
    if error.hint:
        say(f"hint: {error.hint}")
    return INCOMPLETE


def fault(error: Exception, arguments: list[str]) -> int:
    """Own up to a fault of toolaudit: one line, the traceback only for those who ask for it with -vv."""
    where = f" ({_origin(error)})" if error.__traceback__ else ""
    text = clip(str(error), 200)
    say(f"internal error: {type(error).__name__}{f': {text}' if text else ''}{where}")
    if _debugging(arguments):
        import traceback

        for line in "".join(traceback.format_exception(error)).splitlines():
            say(line)
    else:
        say("hint: this is a fault of toolaudit, not of the transcript: report it with what the same command says with -vv")
    return FAULT


def hush() -> None:
    """Nobody takes the output any more: let nothing, not even the interpreter's last flush, complain of it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _origin(error: Exception) -> str:
    """File and line of the innermost code of ours."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "toolaudit" in frame.filename]
    frame = (ours or frames)[-1]
    return f"{os.path.basename(frame.filename)}:{frame.lineno}"  # noqa: PTH119 - no pathlib for one name


def _debugging(arguments: list[str]) -> bool:
    """Whether -vv was asked for; read from the raw arguments, for it may be the parser that failed."""
    short = sum(word.count("v") for word in arguments if word.startswith("-") and not word.startswith("--") and word.strip("-qv") == "")
    return short + arguments.count("--verbose") >= 2
