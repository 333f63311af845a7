"""Plain command lines (`check PATH… [-f NAME] [--jobs N] [--exit-zero] [--no-progress]`), read without loading the parser.

Whatever is not plain is left to the parser (`_app`); the tests hold the two to the same answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolaudit.cli._given import Given

_NUMBERS = frozenset(map(str, range(1, 129)))
"""Of processes; what is written in any other way is for the parser to read, or to refuse."""
FLAGS = {"--exit-zero": "exit_zero", "--no-progress": "no_progress"}


def read(arguments: list[str]) -> Given | None:
    """The options of a plain command line; None for any other."""
    if not arguments or arguments[0] != "check":
        return None
    paths: list[str] = []
    found: dict[str, object] = {}
    words = iter(arguments[1:])
    for word in words:
        if not word.startswith("-") or word == "-":
            paths.append(word)
        elif word in FLAGS:
            found[FLAGS[word]] = True
        elif word in ("-f", "--output-format") and (name := next(words, "-"))[:1] not in ("", "-"):
            found["output_format"] = name
        elif word == "--jobs" and (number := next(words, "")) in _NUMBERS:
            found["jobs"] = int(number)
        else:
            return None
    return _given(paths, found) if paths else None


def _given(paths: list[str], found: dict[str, object]) -> Given:
    from toolaudit.cli._given import Given

    return Given(paths=paths, **found)  # type: ignore[arg-type]
