"""The report as one JSON object, `report-v1`: findings first, each written as it is found, then the inputs and the numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TextIO

import msgspec

from toolaudit._version import __version__
from toolaudit.outputs import Style
from toolaudit.outputs._terminal import WORDS
from toolaudit.regex import regex
from toolaudit.report import Entry, Input, Summary, TargetVerdict
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


def finding(entry: Entry) -> dict[str, Any]:
    """A finding in the shape and order of the schema: without drawing and manual, which are for people."""
    return {
        "rule": entry.rule,
        "category": entry.category,
        "severity": WORDS[entry.severity],
        "confidence": entry.confidence,
        "side": entry.side,
        "message": clip(entry.message, LONGEST),
        "help": clip(entry.help, LONGEST),
        "path": entry.path,
        "record": entry.record,
        "line": entry.line,
        "pointer": entry.pointer,
        "inner": entry.inner,
        "trajectory": identifier(entry.trajectory),
        "turn": entry.turn,
        "call_id": identifier(entry.call_id),
        "tool": identifier(entry.tool),
        "target": entry.target,
        "verdicts": {name: _verdict(given) for name, given in entry.verdicts.items()},
        "cause": entry.cause,
        "root": entry.root,
        "repeats": entry.repeats,
        "related": entry.related,
        "fingerprint": entry.fingerprint,
    }


def _verdict(given: TargetVerdict) -> TargetVerdict:
    """The verdict, with the id in its error cut where that is endless."""
    error = given.provider_error
    return given if error is None or len(error) <= LONGEST else TargetVerdict(given.verdict, clip(error, LONGEST))


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
