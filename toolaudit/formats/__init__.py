"""Formats: one file each, found by its name. A format recognises a value by evidence, reads it, and can write it where that is possible.

Recognition is never a guess: a format answers with what it saw and how much that proves, and the strongest answer wins. Two
that are equally strong are a tie, which is said; there is no default.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Protocol

from msgspec import Struct

from toolaudit import folders
from toolaudit.errors import UsageError
from toolaudit.model import JSON, Place, Trajectory

DECISIVE, STRONG, MEDIUM, WEAK, BARE = 100, 80, 60, 30, 10
"""Strengths: a value that names itself; tool traffic of one kind; a telling field; a hint; plain messages that any format holds."""


class Evidence(Struct, frozen=True):
    """Why a value is held to be of a format: `strength` from 0 to 100, and the reason in a few words."""

    strength: int
    reason: str


class Message(Struct, frozen=True):
    """One message of a log that stores a message a record, and the conversation it belongs to (None: the file is one)."""

    value: JSON
    place: Place
    key: str | None = None


class CannotExpress(Exception):
    """A trajectory holds something that a format has no place for; the text says what."""


class Format(Protocol):
    """What a file of this folder holds."""

    NAME: str
    TITLE: str
    TARGET: str
    """The target whose law holds unless another is named."""

    def recognise(self, value: JSON) -> Evidence | None:
        """Evidence that `value` (a body, a list, a response, a batch line) is of this format."""

    def recognise_message(self, value: JSON) -> Evidence | None:
        """Evidence that `value` is one message (or item) of this format."""

    def read(self, value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
        """The trajectories in `value`, which stands at `place`, with the response it got. Never raises on content."""

    def read_messages(self, messages: list[Message]) -> Trajectory:
        """The trajectory of messages that were stored one a record."""

    def write(self, trajectory: Trajectory) -> JSON:
        """The trajectory as a request body. Raises CannotExpress."""

    def raw_messages(self, value: JSON, place: Place) -> Iterable[tuple[JSON, Place]]:
        """Every message of a value that `read` takes, as stored, with its place."""


# A format leaves out what it has no use for, and then has the functions of `_without`: one whose records are no messages by themselves
# needs neither `recognise_message` nor `read_messages`, one that its program alone writes no `write`, and one whose values have no shape
# that is published no `raw_messages`. It may also define `ADDRESS`, a pattern of the addresses of its API, with `fits(value) -> bool`,
# whether a body may be a request where only the address can tell; and `is_response(value) -> bool`, where its responses do not say so by
# keys that others have too.


class Session(Protocol):
    """A session log being read: one source, of which the lines come in turn.

    A format that has such logs defines `session(value) -> Session | None`, which answers for a line that names itself as one of them;
    the line is then taken like all others. A log that may hold conversations of other formats has an attribute `format`, its own name.
    """

    def take(self, value: JSON, place: Place) -> Iterable[Trajectory] | None:
        """Take a line: the trajectories that it completes; None when it is no line of this log. Never raises on content."""

    def end(self) -> Iterable[Trajectory]:
        """The trajectories that only the end of the log completes."""

    def messages(self, trajectory: Trajectory) -> Iterable[tuple[JSON, Place]]:
        """Every message of a trajectory, as stored, with its place; asked for before the next line is taken."""


class _without:  # noqa: N801 - stands for a module
    """What a format has that leaves a function out."""

    @staticmethod
    def recognise_message(value: JSON) -> Evidence | None:
        """None: no record is a message by itself."""
        del value
        return None

    @staticmethod
    def read_messages(messages: list[Message]) -> Trajectory:
        """Never asked for: no record is recognised as a message."""
        raise NotImplementedError

    @staticmethod
    def write(trajectory: Trajectory) -> JSON:
        """Raises CannotExpress."""
        del trajectory
        raise CannotExpress("what only its own programs write")

    @staticmethod
    def raw_messages(value: JSON, place: Place) -> Iterable[tuple[JSON, Place]]:
        """None: there is no published shape."""
        del value, place
        return ()


@functools.cache
def names() -> tuple[str, ...]:
    """The names of all formats."""
    return tuple(folders.names(__path__[0]))


@functools.cache
def format(name: str) -> Format:
    """The format called `name`. Raises UsageError, with the names there are, for one that no file has."""
    if name not in names():
        raise UsageError(f"no format is called `{name}`", f"choose one of {', '.join(names())}")
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    for left_out in ("recognise_message", "read_messages", "write", "raw_messages"):
        if not hasattr(module, left_out):
            setattr(module, left_out, getattr(_without, left_out))
    found: Format = module
    return found


def formats() -> Iterator[Format]:
    """All formats, in order of their names."""
    return (format(name) for name in names())


_EVENTS = "-stream"
"""How the names of the formats of streams end."""
_OF_EVENTS = frozenset(
    {"type", "object", "choices", "candidates", "done", "usageMetadata", "messageStart", "contentBlockStart", "contentBlockDelta"}
    | {"contentBlockStop", "messageStop", "metadata", "message", "payload", "data", "event", "body", "msg", "frame", "raw", "rpc", "json"}
    | {"request", "response"}
)
"""Keys of events, and of the frames that recorders put them into: without one, no format of a stream needs to be asked, nor loaded."""


def likely(value: JSON) -> Iterator[Format]:
    """The formats that a value may be of, in order of their names; those of streams only where it looks like an event, or several."""
    first = value[0] if isinstance(value, list) and value else value
    events = isinstance(first, dict) and not _OF_EVENTS.isdisjoint(first)
    return (format(name) for name in names() if events or not name.endswith(_EVENTS))


def session(value: JSON, only: Format | None = None) -> Session | None:
    """The session log, of any format or of the `only` one, that a value says it is a line of."""
    if isinstance(value, dict):
        for one in (only,) if only is not None else likely(value):
            begin = getattr(one, "session", None)
            if begin is not None and (begun := begin(value)) is not None:
                found: Session = begun
                return found
    return None
