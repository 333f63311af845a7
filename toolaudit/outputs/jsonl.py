"""The records of `report-v1`, one JSON object per line, each written when it is known: header, findings, inputs, summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from msgspec.structs import asdict

from toolaudit.outputs import Style
from toolaudit.outputs.json import HEADER, Finding, encoded, finding, input_
from toolaudit.report import Entry, Input, Summary


class _Finding(Finding, gc=False, tag_field="type", tag="finding"):
    """A finding that says so, as every record does."""


class Report:
    """Records that say in `type` what they are."""

    human = False

    def __init__(self, stream: TextIO, style: Style) -> None:
        self._write = stream.write
        self._ascii = style.ascii

    def start(self) -> None:
        self._record("header", HEADER)

    def finding(self, entry: Entry) -> None:
        self._write(encoded(finding(entry, _Finding), ascii_only=self._ascii) + "\n")

    def input(self, given: Input) -> None:
        self._record("input", input_(given))

    def finish(self, summary: Summary, incomplete: Sequence[str] = ()) -> None:
        self._record("summary", {**asdict(summary), "incomplete": list(incomplete)})

    def _record(self, kind: str, shape: object) -> None:
        self._write(f'{{"type":"{kind}",{encoded(shape, ascii_only=self._ascii)[1:]}\n')
