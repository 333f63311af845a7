"""The normalised pair model as lines: a call with the results that answer it, in the shape of `schemas/pairs-v1.schema.json`.

A line holds ids, tool names, sizes and places, never content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import msgspec

from toolaudit import places
from toolaudit.engine import Audit, Options, Outcome, tally
from toolaudit.model import JSON, Answer, Call, Ledger, Pair, Place, Trajectory
from toolaudit.pairing import pair as paired
from toolaudit.reading import Stored
from toolaudit.sources import Identity, Source, Unusable, identity_of
from toolaudit.text import identifier

SCHEMA = "toolaudit/pairs-v1"

Line = dict[str, Any]


class Pairs(Audit):
    """A run that judges nothing: it gives the line of every call to `write` as soon as its trajectory is paired."""

    def __init__(self, options: Options, write: Callable[[Line], object], written: Identity | None = None) -> None:
        """`written` is the file that the lines go to, which is not read though it stands among the others."""
        super().__init__(options)
        self.written = written
        self.chosen = frozenset()
        self.quick = False  # the healthy records have lines too
        self.write = write

    def judge(self, stored: Stored, outcome: Outcome) -> None:
        """Pair one trajectory and write its lines."""
        trajectory = stored.trajectory
        trajectory.sent = trajectory.sent or self.options.sent
        ledger = paired(trajectory, self.named[0] if self.named else self._natural(trajectory))
        if trajectory.format:
            tally(ledger, outcome)
        for line in lines(ledger, outcome.given.path, stored.document, stored.first_line):
            self.write(line)
        ledger.let_go()

    def outcomes(self, item: Source | Unusable, stdin: BinaryIO | None = None) -> Iterator[Outcome]:
        """What comes of a source that is not the one written to."""
        if isinstance(item, Unusable) or not self._is_written(item):
            yield from super().outcomes(item, stdin)
        elif item.named:
            yield from super().outcomes(Unusable(item.path, "it is the file that the lines are written to", True))

    def _is_written(self, source: Source) -> bool:
        return self.written is not None and identity_of(0 if source.file is None else source.file) == self.written


def lines(ledger: Ledger, path: str, document: places.Document = b"", first_line: int = 1) -> Iterator[Line]:
    """A line for every call of a trajectory, in order. `document` is the text it was read from, where lines are counted in it."""
    line = _Lines(ledger, document, first_line)
    return (_line(pair, ledger.trajectory, path, line) for pair in ledger.pairs)


class _Lines:
    """The lines of the calls and results of a ledger."""

    def __init__(self, ledger: Ledger, document: places.Document, first_line: int) -> None:
        spots = (spot.path for pair in ledger.pairs for spot in (pair.call.place, *(answer.result.place for answer in pair.answers)))
        self.known = places.lines_of(document, set(spots)) if document else {}
        self.before = first_line - 1

    def place(self, place: Place) -> Line:
        """A place as it is written."""
        within = self.known.get(place.path)
        return {"line": self.before + within if within is not None else place.record or None, "pointer": place.pointer}


def _line(pair: Pair, trajectory: Trajectory, path: str, lines: _Lines) -> Line:
    call = pair.call
    return {
        "schema": SCHEMA,
        "path": path,
        "trajectory": identifier(trajectory.id),
        "format": trajectory.format,
        "batch": pair.batch.number,
        "turn": pair.turn.number,
        "call_id": identifier(call.id),
        "tool": identifier(call.name),
        "kind": identifier(call.kind),
        "executor": call.executor,
        "arguments": {"form": call.args_form, "bytes": _arguments(call)},
        "state": pair.state,
        "reason": (pair.why or None) if pair.state != "paired" else None,
        "link": pair.answers[0].link if pair.answers else None,
        "place": lines.place(call.place),
        "results": [_result(answer, lines) for answer in pair.answers],
    }


def _result(answer: Answer, lines: _Lines) -> Line:
    return {
        "turn": answer.turn.number,
        "result_id": identifier(answer.result.ref),
        "where": answer.where,
        "state": answer.state,
        "outcome": answer.result.flag,
        "bytes": size(answer.result.body),
        "place": lines.place(answer.result.place),
    }


def _arguments(call: Call) -> int:
    return 0 if call.args_form == "none" else size(call.args)


def size(value: JSON) -> int:
    """Bytes of `value` as stored: of a string, its text; of anything else, its shortest JSON; of nothing, none."""
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    if value is None:
        return 0
    try:
        return len(msgspec.json.encode(value))
    except (ValueError, OverflowError, RecursionError, TypeError):  # lone surrogates, huge numbers, nesting: counted by hand
        return _counted(value)


def _counted(value: JSON) -> int:
    """About the length of the JSON of any value, by an explicit stack."""
    total, stack = 0, [value]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            total += 2 + 2 * len(one)
            stack += [*one.keys(), *one.values()]
        elif isinstance(one, list):
            total += 1 + max(len(one), 1)
            stack += one
        else:
            total += size(one) + 2 if isinstance(one, str) else len(repr(one))
    return total
