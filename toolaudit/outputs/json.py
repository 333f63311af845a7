"""The report as one JSON object, `report-v1`: findings first, each written as it is found, then the inputs and the numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TextIO

import msgspec
from msgspec import Struct

from toolaudit._version import __version__
from toolaudit.outputs import Style
from toolaudit.outputs._terminal import WORDS
from toolaudit.regex import regex
from toolaudit.report import Entry, InferredCause, Input, RelatedPlace, Summary, TargetVerdict
from toolaudit.text import LONGEST, clip, identifier

SCHEMA = "toolaudit/report-v1"
HEADER = {"schema": SCHEMA, "tool": {"name": "toolaudit", "version": __version__}}

_INPUT = ("path", "format", "target", "trajectories", "calls", "results", "status", "reason")
_encode = msgspec.json.Encoder().encode
_BEYOND = regex("[^ -~]")
_LONE = regex("[\ud800-\udfff]")
_RUNNER = regex(r"#(?=#vso\[|#\[)", re.IGNORECASE)


class Report:
    """One object, a finding or input per line inside its lists."""

    human = False

    def __init__(self, stream: TextIO, style: Style) -> None:
        self._write = stream.write
        self._ascii = style.ascii
        self._inputs: list[str] = []
        self._lead = "\n"

    def start(self) -> None:
        head = encoded(HEADER, ascii_only=self._ascii)
        self._write(f'{head[:-1]},\n"findings":[')

    def finding(self, entry: Entry) -> None:
        self._write(self._lead + encoded(finding(entry), ascii_only=self._ascii))
        self._lead = ",\n"

    def input(self, given: Input) -> None:
        """Kept until the findings are through: a record each, and no more than there are files."""
        self._inputs.append(encoded(input_(given), ascii_only=self._ascii))

    def finish(self, summary: Summary, incomplete: Sequence[str] = ()) -> None:
        inputs = ",\n".join(self._inputs)
        numbers, reasons = encoded(summary, ascii_only=self._ascii), encoded(list(incomplete), ascii_only=self._ascii)
        self._write(f'\n],\n"inputs":[\n{inputs}\n],\n"summary":{numbers},\n"incomplete":{reasons}}}\n')


class Finding(Struct, gc=False):
    """A finding as the schema has it: without drawing and manual, which are for people."""

    rule: str
    category: str
    severity: str
    confidence: str
    side: str | None
    message: str
    help: str
    path: str
    record: int | None
    line: int | None
    pointer: str
    inner: str | None
    trajectory: str | None
    turn: int | None
    call_id: str | None
    tool: str | None
    target: str
    verdicts: dict[str, TargetVerdict]
    cause: InferredCause | None
    root: str | None
    repeats: int
    related: tuple[RelatedPlace, ...]
    fingerprint: str


def finding(entry: Entry, shape: type[Finding] = Finding) -> Finding:
    """A finding in the shape of the schema."""
    return shape(  # by position: with names it takes twice as long
        entry.rule,
        entry.category,
        WORDS[entry.severity],
        entry.confidence,
        entry.side,
        clip(entry.message, LONGEST),
        clip(entry.help, LONGEST),
        entry.path,
        entry.record,
        entry.line,
        entry.pointer,
        entry.inner,
        identifier(entry.trajectory),
        entry.turn,
        identifier(entry.call_id),
        identifier(entry.tool),
        entry.target,
        _verdicts(entry.verdicts),
        entry.cause,
        entry.root,
        entry.repeats,
        entry.related,
        entry.fingerprint,
    )


def _verdicts(given: dict[str, TargetVerdict]) -> dict[str, TargetVerdict]:
    """The verdicts, with the ids in their errors cut where these are endless."""
    if all(one.provider_error is None or len(one.provider_error) <= LONGEST for one in given.values()):
        return given
    return {name: TargetVerdict(one.verdict, one.provider_error and clip(one.provider_error, LONGEST)) for name, one in given.items()}


def input_(given: Input) -> dict[str, Any]:
    """An input in the shape and order of the schema."""
    return {name: getattr(given, name) for name in _INPUT}


def encoded(value: Any, *, ascii_only: bool = False) -> str:
    """`value` as JSON on one line that is harmless even when printed: whatever acts on a terminal or a runner is escaped.

    A lone surrogate has no JSON that every parser takes; it is replaced by its code in angle brackets.
    """
    try:
        text = _encode(value).decode()
    except UnicodeEncodeError:
        text = _encode(_whole(msgspec.to_builtins(value))).decode()
    if not text.isascii() or "\x7f" in text:  # JSON itself escapes the controls below space
        text = _BEYOND.sub(lambda found: _harmless(found[0], ascii_only), text)
    return _RUNNER.sub(r"\\u0023", text) if "#" in text else text


def _harmless(char: str, ascii_only: bool) -> str:
    """`char` itself where it is a letter or sign that may be written, else its escape."""
    if char.isprintable() and not ascii_only:
        return char
    units = char.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE.sub(lambda lone: f"<U+{ord(lone[0]):04X}>", value)
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return [_whole(item) for item in value] if isinstance(value, list) else value
