"""Logs as lines: audited in process, cut short, and changed at random."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from hypothesis import strategies as st

from tests.conftest import ROOT
from toolaudit.engine import Audit, Options
from toolaudit.model import JSON
from toolaudit.report import Report


def audited(lines: Sequence[JSON], **options: object) -> Report:
    """The report on values, one a line."""
    return audited_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines), **options)


def audited_bytes(data: bytes, **options: object) -> Report:
    """The report on a file of these bytes."""
    audit = Audit(Options(**options))  # type: ignore[arg-type]
    audit.paths(["-"], io.BytesIO(data), stdin_name="log")
    return audit.report


def said(report: Report) -> list[tuple[str, str, int | None, str]]:
    """Rule, severity, line and pointer of each finding."""
    return [(entry.rule, str(entry.severity), entry.line, entry.pointer) for entry in report.findings]


def counts(report: Report) -> tuple[int, int]:
    """Calls and results of the only input."""
    [given] = report.inputs
    return given.calls, given.results


def samples(form: str) -> list[Path]:
    """The clean samples of a format."""
    return sorted((ROOT / "samples/clean" / form).iterdir())


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 1 << 70),
    st.floats(allow_nan=False),
    st.text(max_size=4),
    st.sampled_from(["", "null", "1", "tools/call", "initialize", "error", "{}", '{"a":', "\x1b[2J"]),
    st.lists(st.none() | st.text(max_size=2) | st.just({}), max_size=2),
    st.dictionaries(st.sampled_from(["type", "id", "method", "item", "content", ""]), st.none() | st.text(max_size=3), max_size=3),
)


@st.composite
def changed(draw: st.DrawFn, form: str) -> list[JSON]:
    """The lines of a sample, with values in up to three places replaced by others, or left out, and lines in another order."""
    path = draw(st.sampled_from([path for path in samples(form) if path.suffix == ".jsonl"]))
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for _ in range(draw(st.integers(1, 3))):
        lines = _put(lines, draw(st.sampled_from(list(_nodes(lines))[1:])), draw(JUNK))
    return draw(st.permutations(lines)) if draw(st.booleans()) else lines


def _nodes(value: JSON, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    for key, child in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _nodes(child, (*path, key))


def _put(value: JSON, path: tuple[str | int, ...], junk: JSON) -> JSON:
    result = copy.deepcopy(value)
    parent = result
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = junk
    return result


def beginnings(form: str) -> Iterator[bytes]:
    """The samples of a format that are lines, cut after each line and within each."""
    for path in samples(form):
        if path.suffix == ".jsonl":
            lines = path.read_bytes().splitlines(keepends=True)
            for index, line in enumerate(lines):
                yield b"".join(lines[:index]) + line[: len(line) // 2]
                yield b"".join(lines[: index + 1])
