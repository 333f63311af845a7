"""Two transcripts side by side: which pairs of the first the second has kept, under which ids, and which it has lost, torn or made up.

Pairs are compared by meaning: the order of keys, the spelling of JSON, containers and ids do not count. A call finds its counterpart by its
id, tool and arguments; else by tool and arguments; else by its id alone; always the first that is left, in order.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Literal

from msgspec import Struct, field

from toolaudit.engine import Audit, Options, Outcome
from toolaudit.errors import InputError
from toolaudit.formats._json import text_of
from toolaudit.model import JSON, Ledger, Pair, Place, Turn
from toolaudit.pairing import pair as paired
from toolaudit.reading import Stored
from toolaudit.rules._again import key_of_arguments
from toolaudit.text import quote

Change = Literal["cut", "torn", "doubled", "re-identified", "invented", "altered-arguments", "altered-result"]


class Spot(Struct, frozen=True):
    """Where a call stands."""

    line: int | None
    pointer: str
    turn: int


class Half(Struct, frozen=True):
    """A call with what answers it, for comparing."""

    id: str | None
    tool: str | None
    arguments: bytes
    result: bytes | None
    """Digest of what the result says; None where there is none."""
    answers: int
    state: str
    spot: Spot


class Run(Struct):
    """One of the two transcripts."""

    path: str
    format: str = ""
    trajectories: int = 0
    calls: list[Half] = field(default_factory=list)
    orphans: dict[str | None, Spot] = field(default_factory=dict)
    """Results without their call, by the id they name."""
    turns: Counter[bytes] = field(default_factory=Counter)
    """What the user and the model said, by its digest."""
    spoken: dict[bytes, tuple[int, str]] = field(default_factory=dict)
    """Number and role of the first turn that says it."""
    count: int = 0
    widths: list[int] = field(default_factory=list)
    """How many calls each turn made that made any."""
    tokens: int = 0
    """As far as they are recorded."""


class Difference(Struct, frozen=True):
    """One way in which the second differs from the first."""

    change: Change
    message: str
    tool: str | None
    first: Spot | None
    second: Spot | None
    first_id: str | None
    second_id: str | None


class TurnChange(Struct, frozen=True):
    """A turn that one of the two has more often."""

    change: Literal["lost", "doubled", "added"]
    role: str
    turn: int
    times: int


class Comparison(Struct):
    """What came of comparing two transcripts."""

    first: Run
    second: Run
    kept: int = 0
    """Pairs of the first that are pairs in the second, whatever else changed."""
    lost: int = 0
    """Pairs of the first that are none in the second."""
    differences: list[Difference] = field(default_factory=list)
    turns: list[TurnChange] = field(default_factory=list)


class _Reader(Audit):
    """A run that keeps the longest trajectory of what it reads."""

    def __init__(self, options: Options, path: str) -> None:
        super().__init__(options)
        self.chosen = frozenset()
        self.quick = False  # what is healthy has pairs too
        self.best = Run(path)
        self.seen = 0

    def judge(self, stored: Stored, outcome: Outcome) -> None:
        """Pair one trajectory, and keep it if it is the longest."""
        del outcome
        trajectory = stored.trajectory
        self.seen += bool(trajectory.format)
        if trajectory.format and len(trajectory.turns) > self.best.count:
            ledger = paired(trajectory, self.named[0] if self.named else self._natural(trajectory))
            self.best = _run(self.best.path, ledger)
            ledger.let_go()


def compare(first: str, second: str, options: Options | None = None) -> Comparison:
    """Compare two files; of one with several trajectories the longest. Raises InputError for a file that holds none."""
    runs = []
    for path in (first, second):
        reader = _Reader(options or Options(), path)
        reader.paths([path])
        if not reader.best.format:
            reason = next(iter(reader.report.incomplete), f"no transcript is recognised in {path}")
            raise InputError(reason, "`toolaudit formats` lists what is recognised" if "recognised" in reason else "")
        reader.best.trajectories = reader.seen
        runs.append(reader.best)
    return compared(*runs)


# ------------------------------------------------------------------------------------------------------------------ the two runs


def _run(path: str, ledger: Ledger) -> Run:
    trajectory = ledger.trajectory
    run = Run(path, format=trajectory.format, count=len(trajectory.turns))
    run.calls = [_half(one) for one in ledger.pairs if one.copy_of is None and one.call.executor == "client"]
    for answer in ledger.answers:
        if answer.pair is None and answer.result.executor == "client":
            run.orphans.setdefault(answer.result.ref, _spot(answer.result.place, answer.turn))
    run.widths = [len(own) for batch in ledger.batches if (own := [p for p in batch.pairs if p.copy_of is None])]
    for turn in trajectory.turns:
        run.tokens += turn.tokens
        if (said := _said(turn)) is not None:
            run.turns[said] += 1
            run.spoken.setdefault(said, (turn.number, turn.role))
    return run


def _half(one: Pair) -> Half:
    answers = [answer for answer in one.answers if answer.state != "duplicate"]
    body = _digest(text_of(answers[0].result.body) or _plain(answers[0].result.body)) if answers else None
    spot = _spot(one.call.place, one.turn)
    return Half(one.call.id, one.call.name, key_of_arguments(one.call), body, len(one.answers), one.state, spot)


def _spot(place: Place, turn: Turn) -> Spot:
    return Spot(place.record or None, place.pointer, turn.number)


def _said(turn: Turn) -> bytes | None:
    """What the user or the model says in a turn; None for a turn that only answers calls, or says nothing."""
    text = "\n".join(part.text.strip() for part in turn.texts if part.text.strip())
    calls = [f"{call.name}{key_of_arguments(call)!r}" for call in turn.calls]
    if turn.role not in ("user", "assistant") or not (text or calls):
        return None
    return _digest("\0".join([turn.role, text, *calls]))


def _plain(value: JSON) -> str:
    import json

    return json.dumps(value, sort_keys=True, default=str)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.strip().encode("utf-8", "replace"), digest_size=16).digest()


# ------------------------------------------------------------------------------------------------------------------- comparing


def compared(first: Run, second: Run) -> Comparison:
    """How the second differs from the first."""
    result = Comparison(first, second)
    partners = _aligned(first.calls, second.calls)
    for index, half in enumerate(first.calls):
        other = second.calls[partners[index]] if index in partners else None
        for difference in _differences(half, other, second):
            result.differences.append(difference)
        if half.state == "paired":
            whole = other is not None and other.state == "paired"
            result.kept += whole
            result.lost += not whole
    known = set(partners.values())
    for index, half in enumerate(second.calls):
        if index not in known:
            result.differences.append(_difference("invented", f"{_name(half)} is a call that the first does not have", None, half))
    result.turns = list(_turns(first, second))
    return result


def _aligned(first: list[Half], second: list[Half]) -> dict[int, int]:
    """The counterpart of each call of the first, by their indexes."""
    found: dict[int, int] = {}
    taken: set[int] = set()
    keys: tuple[Callable[[Half], object], ...] = (
        lambda half: (half.id, half.tool, half.arguments) if half.id is not None else None,
        lambda half: (half.tool, half.arguments),
        lambda half: (half.id, half.tool) if half.id is not None else None,
    )
    for key in keys:
        waiting: dict[object, list[int]] = defaultdict(list)
        for at in range(len(second) - 1, -1, -1):
            if at not in taken and (own := key(second[at])) is not None:
                waiting[own].append(at)
        for at, half in enumerate(first):
            if at not in found and (own := key(half)) is not None and waiting.get(own):
                found[at] = waiting[own].pop()
                taken.add(found[at])
    return found


def _differences(half: Half, other: Half | None, second: Run) -> Iterator[Difference]:
    if other is None:
        if half.id is not None and half.id in second.orphans:
            spot = second.orphans[half.id]
            message = f"{_name(half)} is gone, and its result is still there"
            yield Difference("torn", message, half.tool, half.spot, spot, half.id, half.id)
        else:
            yield _difference("cut", f"{_name(half)} is gone" + (", with its result" if half.answers else ""), half, None)
        return
    if half.state == "paired" and not other.answers:
        yield _difference("torn", f"the result of {_name(half)} is gone, and its call is still there", half, other)
    elif other.answers > max(half.answers, 1):
        yield _difference("doubled", f"{_name(half)} has {other.answers} results", half, other)
    if half.id != other.id:
        yield _difference("re-identified", f"{_name(half)} bears the id {quote(other.id or 'none')} now", half, other)
    if half.arguments != other.arguments:
        yield _difference("altered-arguments", f"the arguments of {_name(half)} are not the same", half, other)
    if half.result is not None and other.result is not None and half.result != other.result:
        yield _difference("altered-result", f"the result of {_name(half)} does not say the same", half, other)


def _difference(change: Change, message: str, half: Half | None, other: Half | None) -> Difference:
    tool = half.tool if half else other.tool if other else None
    spots = (half.spot if half else None, other.spot if other else None)
    return Difference(change, message, tool, *spots, half.id if half else None, other.id if other else None)


def _name(half: Half) -> str:
    return f"{quote(half.tool) if half.tool else 'a call'}" + (f" ({quote(half.id)})" if half.id else "")


def _turns(first: Run, second: Run) -> Iterator[TurnChange]:
    for said, times in first.turns.items():
        number, role = first.spoken[said]
        now = second.turns.get(said, 0)
        if now < times:
            yield TurnChange("lost", role, number, times - now)
        elif now > times:
            yield TurnChange("doubled", role, number, now - times)
    for said, times in second.turns.items():
        if said not in first.turns:
            number, role = second.spoken[said]
            yield TurnChange("added", role, number, times)
