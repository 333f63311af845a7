"""The normalised pair model as lines: a call with the results that answer it, in the shape of `schemas/pairs-v1.schema.json`.

A line holds ids, tool names, sizes and places, never content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from toolaudit import places
from toolaudit.engine import Audit, Options
from toolaudit.model import JSON, Answer, Call, Key, Ledger, Pair, Place, Trajectory
from toolaudit.report import Input

SCHEMA = "toolaudit/pairs-v1"

Line = dict[str, Any]


class Pairs(Audit):
    """A run that judges nothing: it gives the line of every call to `write` as soon as its trajectory is paired."""

    def __init__(self, options: Options, write: Callable[[Line], object]) -> None:
        super().__init__(options)
        self.chosen = frozenset()
        self.write = write

    def judge(self, trajectory: Trajectory, value: JSON, given: Input, document: bytes) -> None:  # noqa: ARG002
        """Pair one trajectory and write its lines."""
        ledger = self.ledger(trajectory)
        self._tally(ledger, given)
        for line in lines(ledger, given.path, document):
            self.write(line)


def lines(ledger: Ledger, path: str, document: bytes = b"") -> Iterator[Line]:
    """A line for every call of a trajectory, in order. `document` is the text it was read from, where it has lines of its own."""
    spots = [spot for pair in ledger.pairs for spot in (pair.call.place, *(answer.result.place for answer in pair.answers))]
    known = places.lines_of(document, {spot.path for spot in spots}) if document and spots else {}
    return (_line(pair, ledger.trajectory, path, known) for pair in ledger.pairs)


def _line(pair: Pair, trajectory: Trajectory, path: str, known: dict[tuple[Key, ...], int]) -> Line:
    call = pair.call
    return {
        "schema": SCHEMA,
        "path": path,
        "trajectory": trajectory.id,
        "format": trajectory.format,
        "batch": pair.batch.number,
        "turn": pair.turn.number,
        "call_id": call.id,
        "tool": call.name,
        "kind": call.kind,
        "executor": call.executor,
        "arguments": {"form": call.args_form, "bytes": _arguments(call)},
        "state": pair.state,
        "reason": (pair.why or None) if pair.state != "paired" else None,
        "link": pair.answers[0].link if pair.answers else None,
        "place": _place(call.place, known),
        "results": [_result(answer, known) for answer in pair.answers],
    }


def _result(answer: Answer, known: dict[tuple[Key, ...], int]) -> Line:
    return {
        "turn": answer.turn.number,
        "result_id": answer.result.ref,
        "where": answer.where,
        "state": answer.state,
        "outcome": answer.result.flag,
        "bytes": size(answer.result.body),
        "place": _place(answer.result.place, known),
    }


def _place(place: Place, known: dict[tuple[Key, ...], int]) -> Line:
    return {"line": place.record or known.get(place.path), "pointer": place.pointer}


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
