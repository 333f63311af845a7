"""Reports: one file per output, found by its name. An output is told what happens and writes it to the stream it was given."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, TextIO

from msgspec import Struct

from toolaudit import folders
from toolaudit.errors import UsageError
from toolaudit.report import Entry, Input, Summary


class Style(Struct, frozen=True):
    """How a human output may draw: decided by the command line, once."""

    color: bool = False
    ascii: bool = False
    width: int = 80
    quiet: int = 0
    verbose: int = 0


class Output(Protocol):
    """A report being written. The events come in this order: `start`, any number of `finding` and `input`, `finish`."""

    human: bool
    """Whether people read it: decides about drawings and the closing line."""

    def __init__(self, stream: TextIO, style: Style) -> None: ...
    def start(self) -> None: ...
    def finding(self, entry: Entry) -> None: ...
    def input(self, given: Input) -> None: ...
    def finish(self, summary: Summary, incomplete: Sequence[str] = ()) -> None:
        """`incomplete` is why the audit could not be completed, a sentence each; people are told so on the error stream."""


ALIASES = {"json-v1": "json"}
"""Names that pin a version of a shape, and the output that writes it."""


def names() -> list[str]:
    """The names of all outputs, with their aliases."""
    return sorted([*folders.names(__path__[0]), *ALIASES])


def output(name: str) -> type[Output]:
    """The output called `name`; `json` stands for the newest version of its shape.

    Raises UsageError for a name that no file has.
    """
    if name not in names():
        raise UsageError(f"no output is called `{name}`", f"choose one of {', '.join(names())}")
    module = ALIASES.get(name, name).replace("-", "_")
    found: type[Output] = import_module(f"{__name__}.{module}").Report
    return found
