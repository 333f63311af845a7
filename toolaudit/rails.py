"""The picture of a finding: every open call owns a rail, and its result closes it. A fault is a rail that does not close.

`Stage.scene` chooses what of a conversation is shown, as rows; `draw` turns rows into lines. Rows hold no content unless it was asked for.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby, islice

from msgspec import Struct

from toolaudit.model import JSON, Answer, Batch, Call, Finding, Key, Ledger, Other, Pair, Part, Place, Result, Severity, Text, Turn
from toolaudit.outputs import Style
from toolaudit.outputs._terminal import BOLD, DIM, TONES, Ink, cells, pad
from toolaudit.report import Row
from toolaudit.text import clip, plural, safe, tail

RAILS = 6
"""So many calls are drawn; the rest is counted."""
CONTEXT = 1
"""Turns shown before the first turn concerned and after the last."""
NEAR = 3
"""So many turns between two that are concerned are still shown; more are folded."""
BESIDE_ID = 25
"""Cells of text where an id follows."""
PREVIEW = 40
"""Cells of a message."""
_DRAWN = 4 * PREVIEW
"""So many characters of a name or an id are looked at; even those that take no cells."""
SHORT_ID = 12
"""An id of so many cells is never cut where there are sixty columns."""

_MARKS = {
    "missing-result": "this call",
    "orphan-result": "answers nothing",
    "duplicate-result": "second answer",
    "stale-result": "from a former call",
    "open-call": "still open",
    "duplicate-call-id": "same id again",
    "reused-call-id": "id used again",
    "mismatched-id": "another id",
    "missing-id": "no id",
    "invalid-id": "this id",
    "mismatched-name": "another name",
    "collapsed-results": "the same bytes",
    "unpaired-server-call": "has no other half",
    "duplicate-item-id": "same item again",
    "unresolved-reference": "refers to nothing",
    "dropped-assistant-turn": "its call is gone",
    "duplicated-assistant-turn": "this turn again",
    "altered-assistant-turn": "not as received",
    "split-assistant-turn": "of the same batch",
    "text-only-turn": "lost its calls",
    "empty-tool-calls": "no calls in it",
    "errored-turn-call": "in a failed turn",
    "starts-with-call": "nothing before it",
    "text-before-result": "behind other content",
    "foreign-part-in-results": "not a result",
    "text-after-call": "after a call",
    "reordered-results": "out of order",
    "flattened-results": "looks like the result",
    "flattened-call": "looks like a call",
    "merged-results": "holds several outputs",
    "trimmed-pair": "cut from its other half",
    "lost-in-compaction": "other half compacted",
    "malformed-arguments": "these arguments",
    "truncated-call": "cut off",
    "invalid-arguments": "these arguments",
    "unknown-tool": "no such tool",
    "undeclared-tools": "not declared",
    "synthetic-result": "a placeholder",
    "empty-error": "an empty error",
    "wrong-result-type": "of the wrong type",
    "unmarked-error": "reads like a failure",
    "leaked-secret": "holds a secret",
    "unsafe-retry": "run again",
    "replayed-call": "run again",
    "index-collision": "same index again",
    "missing-index": "no index",
    "unfinished-stream": "the stream stops here",
    "lost-reasoning": "its reasoning is gone",
}
"""What is said of the row a finding is about. A rule that is not here says `here`: a new rule is one new file."""

_MARKS_OF_CALLS = {"flattened-results": "this call", "merged-results": "this call", "duplicate-result": "this call"}
"""What is said instead where that row is a call."""

_MARKS_OF_RELATED = {"call": "its call", "result": "its result", "original": "the original"}

_PLAIN = Ink(Style())


# --------------------------------------------------------------------------------------------------------------------- scene


class Spot(Struct, frozen=True, gc=False):
    """A turn, by its index, and the part of it that is meant; None for the turn as a whole."""

    index: int
    part: Part | None = None


class Stage:
    """A conversation, and what its scenes have in common: worked out once, so that a scene costs what it shows.

    Pairs, parts, turns and batches are known by identity: equal ones are what many findings are about.
    """

    def __init__(self, ledger: Ledger, *, content: bool) -> None:
        self.content = content
        self.turns = ledger.trajectory.turns
        self.index = {id(turn): index for index, turn in enumerate(self.turns)}
        self.pairs = {id(pair.call): pair for pair in ledger.pairs}
        self.answers = {id(answer.result): answer for answer in ledger.answers}
        self.numbers: dict[int, int] = {}
        self.spots: dict[int, Spot] = {}
        self.order: dict[int, int] = {}
        for index, turn in enumerate(self.turns):
            self.numbers.setdefault(turn.number, index)
            self.spots.setdefault(id(turn), Spot(index))
            for part in turn.parts:
                self.spots.setdefault(id(part), Spot(index, part))
                self.order.setdefault(id(part), len(self.order))
        self._batches: dict[int, _Calls] = {}
        self._answered: dict[int, dict[int, int]] = {}
        self._gists: dict[int, str] = {}

    def scene(self, finding: Finding) -> tuple[Row, ...]:
        """The turns that `finding` concerns, as rows; nothing where it concerns no turn."""
        focus = self.spots.get(id(finding.subject)) if finding.subject is not None else None
        focus = focus or self.find(finding.place)
        return tuple(_numbered(_Scene(self, finding, focus).rows())) if focus else ()

    @cached_property
    def places(self) -> dict[tuple[int, tuple[Key, ...]], Spot]:
        """What stands where. A turn of one part that stands at the very same place is that part."""
        found: dict[tuple[int, tuple[Key, ...]], Spot] = {}
        for index, turn in enumerate(self.turns):
            found.setdefault(_key(turn.place), Spot(index))
            for part in turn.parts:
                if len(turn.parts) == 1:
                    found[_key(part.place)] = Spot(index, part)
                else:
                    found.setdefault(_key(part.place), Spot(index, part))
        return found

    def find(self, place: Place) -> Spot | None:
        """The innermost part that holds `place`, else the turn."""
        record, path = _key(place)
        prefixes = (path[:length] for length in range(len(path), -1, -1))
        return next((spot for prefix in prefixes if (spot := self.places.get((record, prefix))) is not None), None)

    @cached_property
    def opening(self) -> int:
        """How many turns stand before the first of the model."""
        return next((index for index, turn in enumerate(self.turns) if turn.role == "assistant"), len(self.turns))

    def calls(self, batch: Batch) -> _Calls:
        """What is known of a batch."""
        if (found := self._batches.get(id(batch))) is None:
            found = self._batches[id(batch)] = _Calls(batch, self.index)
        return found

    def answered(self, pair: Pair, turn: Turn) -> int:
        """How many answers of `pair` stand in `turn`."""
        if (found := self._answered.get(id(pair))) is None:
            found = self._answered[id(pair)] = Counter(id(answer.turn) for answer in pair.answers)
        return found.get(id(turn), 0)

    def gist(self, turn: Turn) -> str:
        """What a message is made of; with content, how it begins."""
        if (found := self._gists.get(id(turn))) is None:
            found = self._gists[id(turn)] = _gist(turn, content=self.content)
        return found


class _Calls:
    """A batch, seen once for all of its scenes."""

    def __init__(self, batch: Batch, index: dict[int, int]) -> None:
        self.pairs = sorted(batch.pairs, key=lambda pair: index[id(pair.turn)])
        self.at = {id(pair): number for number, pair in enumerate(self.pairs)}
        answers = [answer for pair in batch.pairs for answer in pair.answers]
        self.last_answer = max((index[id(answer.turn)] for answer in answers), default=-1)
        self.home = next((answer.turn for answer in answers if answer.where == "in"), None)
        """The message where its answers belong."""
        self.made: dict[int, list[Pair]] = {}
        """Its pairs, by the turn that made the calls."""
        self.answered: dict[int, int] = {}
        """How many of these are answered."""
        for pair in self.pairs:
            self.made.setdefault(id(pair.turn), []).append(pair)
            self.answered[id(pair.turn)] = self.answered.get(id(pair.turn), 0) + pair.answered

    def near(self, pair: Pair) -> Iterator[tuple[int, Pair]]:
        """The pairs round `pair`, and itself, each with its distance."""
        at = self.at[id(pair)]
        for number in range(max(at - RAILS, 0), min(at + RAILS + 1, len(self.pairs))):
            yield abs(number - at), self.pairs[number]


def _key(place: Place) -> tuple[int, tuple[Key, ...]]:
    return place.record, place.path


def _numbered(rows: Iterable[Row]) -> Iterator[Row]:
    """Rails are built under the identity of their pair and leave under their number in the scene."""
    numbers: dict[int, int] = {}
    for row in rows:
        if row.rail is not None:
            row.rail = numbers.setdefault(row.rail, len(numbers))
        yield row


class _Scene:
    """What is shown for one finding."""

    def __init__(self, stage: Stage, finding: Finding, focus: Spot) -> None:
        self.stage = stage
        self.finding = finding
        self.focus = focus
        self.content = stage.content
        self.turns = stage.turns
        self.index = stage.index
        self.pairs = stage.pairs
        self.answers = stage.answers
        self.related = [(related.label, stage.find(related.place)) for related in finding.related[:RAILS]]
        self.ghosts = self._ghosts()
        self.primes = self._primes()
        self.primed = {id(pair) for pair in self.primes}
        self.shown = {id(pair): pair for pair in self._chosen()}
        self.batches = {id(pair.batch): pair.batch for pair in self.shown.values()}
        self.marks = self._marks()
        self.items = self._items()

    # ------------------------------------------------------------------------------------------------------ what is meant

    def _parts(self) -> Iterator[Part]:
        """The parts that the finding names; all parts of a turn that it is about."""
        yield from [self.focus.part] if self.focus.part is not None else self.turns[self.focus.index].parts
        yield from (spot.part for _, spot in self.related if spot is not None and spot.part is not None)

    def _ghosts(self) -> dict[int, Answer]:
        """Results that the finding names whose call is not here."""
        named = [answer for part in self._parts() if (answer := self.answers.get(id(part))) is not None and answer.pair is None]
        return {id(answer): answer for answer in named[:RAILS]}

    def _primes(self) -> list[Pair]:
        """The pairs that the finding names, and the originals of those that are copies."""
        found: dict[int, Pair] = {}
        for part in self._parts():
            answer = self.answers.get(id(part))
            pair = answer.pair if answer is not None else self.pairs.get(id(part))
            for one in (pair, pair.copy_of) if pair is not None else ():
                if one is not None:
                    found.setdefault(id(one), one)
        return list(found.values())

    def _chosen(self) -> list[Pair]:
        """The pairs that get a rail: those named first, then the nearest of their batches, in the order of the calls."""
        primes = sorted(self.primes, key=self._position)[:RAILS]
        near: dict[int, tuple[int, Pair]] = {}
        for prime in primes:
            for distance, pair in self.stage.calls(prime.batch).near(prime):
                near[id(pair)] = min(near.get(id(pair), (distance, pair)), (distance, pair), key=lambda one: one[0])
        nearest = sorted(near.values(), key=lambda one: (one[0], self._position(one[1])))
        return sorted((pair for _, pair in nearest[: RAILS - len(self.ghosts)]), key=self._position)

    def _position(self, pair: Pair) -> tuple[int, int]:
        return self.index[id(pair.turn)], self.stage.calls(pair.batch).at[id(pair)]

    def _concerned(self) -> set[int]:
        """The turns that the picture is about, by index."""
        found = {self.focus.index, *(spot.index for _, spot in self.related if spot is not None)}
        for pair in self.shown.values():
            found.add(self.index[id(pair.turn)])
            found.update(self.index[id(answer.turn)] for answer in pair.answers[:NEAR])
        return found

    def _items(self) -> dict[int, list[Part]]:
        """The parts that have rows, by the index of their turn and in their order there.

        Prose is shown in a turn with calls or results only where it matters: the finding names it, or a result stands behind it.
        """
        named = [answer for part in self._parts() if (answer := self.answers.get(id(part))) is not None]
        parts: list[Part] = [pair.call for pair in self.shown.values()]
        parts += [answer.result for pair in self.shown.values() for answer in pair.answers[:RAILS]]
        parts += [answer.result for answer in (*self.ghosts.values(), *named[: 2 * RAILS])]
        parts += [answer.behind for answer in named if answer.behind is not None]
        parts += [spot.part for _, spot in ((None, self.focus), *self.related) if spot is not None and spot.part is not None]
        found: dict[int, list[Part]] = {}
        for part in sorted({id(part): part for part in parts}.values(), key=lambda part: self.stage.order.get(id(part), -1)):
            if (spot := self.stage.spots.get(id(part))) is not None:
                found.setdefault(spot.index, []).append(part)
        return found

    # ------------------------------------------------------------------------------------------------------ what is said

    def _marks(self) -> dict[int, str]:
        """The words beside a part or turn, by its identity."""
        marks = {id(spot.part or self.turns[spot.index]): _related_mark(label) for label, spot in reversed(self.related) if spot}
        focus = self.focus.part or self.turns[self.focus.index]
        return marks | {id(focus): self._focus_mark(focus)}

    def _focus_mark(self, focus: Part | Turn) -> str:
        rule = self.finding.rule
        if isinstance(focus, Call) and rule in _MARKS_OF_CALLS:
            return _MARKS_OF_CALLS[rule]
        if rule in {"split-results", "misplaced-result"}:
            return self._displaced(focus)
        return _MARKS.get(rule, "here")

    def _displaced(self, focus: Part | Turn) -> str:
        """What is wrong with where an answer stands."""
        parts = focus.parts if isinstance(focus, Turn) else [focus]
        answer = next((answer for part in parts if (answer := self.answers.get(id(part))) is not None), None)
        if answer is None or answer.pair is None:
            return "not in its place"
        if answer.where in {"early", "role", "behind"}:
            return {"early": "before its call", "role": "in the wrong role", "behind": "behind other content"}[answer.where]
        home = self.stage.calls(answer.pair.batch).home
        return f"belongs to turn {home.number}" if home is not None and home is not answer.turn else "too late"

    # ------------------------------------------------------------------------------------------------------ rows

    def rows(self) -> Iterator[Row]:
        """The rows in order: turns, folds between them, and what is missing where it is missing."""
        waiting = sorted(self._absences(), key=lambda absence: absence[0])
        for start, stop, folded in self._stretches(headed=bool(waiting) and waiting[0][0] < 0):
            while waiting and waiting[0][0] < stop:
                yield waiting.pop(0)[1]
            yield from [_folded_turns(folded)] if folded else self._turn(start)
        yield from (row for _, row in waiting)

    def _stretches(self, *, headed: bool) -> Iterator[tuple[int, int, int]]:
        """Ranges of turns: of one that is shown, of several that are folded, with how many these are in the conversation, which may be
        more than an excerpt has. `headed`: the beginning of the list is part of it."""
        concerned = self._concerned()
        until = self._gap(self.primes[0]) if self.primes and self._is_open(self.primes[0]) else -1
        shown = {*concerned, max(min(concerned) - CONTEXT, 0), until if until > max(concerned) else max(concerned) + CONTEXT}
        last = -1 if headed else min(shown) - 1
        number = 0 if headed else self.turns[last + 1].number - 1
        for index in sorted(index for index in shown if index < len(self.turns)):
            between = self.turns[index].number - number - 1
            yield from [(last + 1, index, between)] if between > NEAR else ((n, n + 1, 0) for n in range(last + 1, index))
            yield index, index + 1, 0
            last, number = index, self.turns[index].number

    def _turn(self, index: int) -> Iterator[Row]:
        turn = self.turns[index]
        parts = self.items.get(index, [])
        rows = [row for part in parts if (row := self._part(part)) is not None]
        rows += [*self._folded_results(turn, rows), *self._folded_calls(turn)]
        if not rows:
            rows.append(Row(kind="message", text=self.stage.gist(turn)))
        rows[0].turn, rows[0].role = turn.number, _role(turn)
        if id(turn) in self.marks:
            rows[0].mark, rows[0].focus = rows[0].mark or self.marks[id(turn)], index == self.focus.index
        yield from self._seam(parts)
        yield from rows

    def _seam(self, parts: list[Part]) -> Iterator[Row]:
        """The border between two messages that answer one batch, where they should be one."""
        for part in parts:
            answer = self.answers.get(id(part))
            if answer is not None and answer.where == "split" and id(answer.pair) in self.shown:
                yield Row(kind="cut", text="next message", rail=id(answer.pair))
                return

    def _folded_calls(self, turn: Turn) -> Iterator[Row]:
        """What stands for the calls of the batches shown that have no rail."""
        batches = [self.stage.calls(batch) for batch in self.batches.values()]
        shown = [pair for pair in self.shown.values() if pair.turn is turn]
        count = sum(len(calls.made.get(id(turn), ())) for calls in batches) - len(shown)
        if count:
            answered = sum(calls.answered.get(id(turn), 0) for calls in batches) - sum(pair.answered for pair in shown)
            how = "all" if answered == count else str(answered) if answered else "none"
            yield Row(kind="fold", text=f"… {plural(count, 'more call')}, {how} answered")

    def _folded_results(self, turn: Turn, rows: list[Row]) -> Iterator[Row]:
        """What stands for the many results of one call."""
        drawn = sum(row.kind == "result" and row.rail in self.shown for row in rows)
        more = sum(self.stage.answered(pair, turn) for pair in self.shown.values()) - drawn
        if more:
            yield Row(kind="fold", text=f"… {plural(more, 'more result')}")

    def _part(self, part: Part) -> Row | None:
        """The row of a part; None when it is not shown."""
        row = self._row(part)
        if row is not None:
            row.mark, row.focus = self.marks.get(id(part), ""), part is self.focus.part
        return row

    def _row(self, part: Part) -> Row | None:
        if isinstance(part, Call):
            pair = self.pairs.get(id(part))
            return self._call(pair) if pair is not None and id(pair) in self.shown else None
        if isinstance(part, Result):
            return self._result(part, self.answers.get(id(part)))
        return Row(kind="message", text=self._prose(part.text) if isinstance(part, Text) else _word(part.kind))

    def _call(self, pair: Pair) -> Row:
        call = pair.call
        name = _word(call.name or "?")
        closes = bool(pair.answers) or self._is_open(pair)
        text = _arguments(call, BESIDE_ID - cells(name) - 2, content=self.content)
        return Row(kind="call", id=_id(call.id), name=name, text=text, rail=id(pair) if closes else None)

    def _result(self, result: Result, answer: Answer | None) -> Row | None:
        if answer is not None and id(answer.pair) in self.shown and answer.pair is not None:
            pair = answer.pair
            text = _outcome(result, content=self.content)
            name = _word(result.name) if result.name and result.name != pair.call.name else None
            return Row(kind="result", id=_id(result.ref), name=name, text=text, rail=id(pair), closes=answer is pair.answers[0])
        if answer is not None and (id(answer) in self.ghosts or id(result) in self.marks):
            ghost = id(answer) if id(answer) in self.ghosts else None
            return Row(kind="result", id=_id(result.ref), text=_outcome(result, content=self.content), rail=ghost, ghost=True)
        return None

    # ------------------------------------------------------------------------------------------------------ what is not there

    def _absences(self) -> Iterator[tuple[int, Row]]:
        """What is missing, each with the index of the turn before which it is missing; -1 for what lies before the list."""
        headless = False
        for answer in self.ghosts.values():
            at = self._before(answer)
            headless = headless or at < 0
            row = Row(kind="gap", role="assistant", id=_id(answer.result.ref), name="?", text=" (…)", rail=id(answer), ghost=True)
            row.mark = "not in this file"
            yield at, row
        if headless:
            yield -1, Row(kind="cut", text="history starts here")
        for pair in self.shown.values():
            if self._is_open(pair):
                yield self._gap(pair), self._nothing(pair)

    def _nothing(self, pair: Pair) -> Row:
        word = "not yet" if self.finding.rule == "open-call" else "expected here"
        return Row(kind="gap", id=_id(pair.call.id), text="(nothing)", rail=id(pair), mark=word if id(pair) in self.primed else "")

    def _is_open(self, pair: Pair) -> bool:
        """A result is wanted and not there."""
        return not pair.answers and pair.state != "paired" and pair.copy_of is None and pair.call.expects != "none"

    def _gap(self, pair: Pair) -> int:
        """Before which turn a result is missing: where the finding says, else where its batch ends."""
        if self.finding.gap is not None and any(pair.batch is prime.batch for prime in self.primes):
            return self.stage.numbers.get(self.finding.gap, len(self.turns))
        if pair.batch.next_turn is not None:
            return self.index[id(pair.batch.next_turn)]
        return max(self.index[id(pair.turn)], self.stage.calls(pair.batch).last_answer) + 1

    def _before(self, answer: Answer) -> int:
        """Before which turn the call of an orphan should be."""
        index = self.index[id(answer.turn)]
        if self.finding.gap is not None:
            return min(self.stage.numbers.get(self.finding.gap, index), index)
        return -1 if self.stage.opening >= index else index

    # ------------------------------------------------------------------------------------------------------ words

    def _prose(self, text: str) -> str:
        return _PLAIN.clip(_flat(text), PREVIEW) if self.content else _size(text)


def _gist(turn: Turn, *, content: bool) -> str:
    texts = [part.text for part in turn.texts if part.text.strip()]
    if texts and content:
        return _PLAIN.clip(_flat(texts[0]), PREVIEW)
    size = [plural(sum(map(len, texts)), "character")] if texts else []
    counts = [plural(len(some), noun) for some, noun in ((turn.calls, "call"), (turn.results, "result")) if some]
    kinds = dict.fromkeys(_word(part.kind) for part in turn.parts if isinstance(part, Other))
    return _PLAIN.clip(", ".join([*size, *counts, *islice(kinds, PREVIEW)]) or "empty", PREVIEW)


def _related_mark(label: str) -> str:
    return _MARKS_OF_RELATED.get(label, _word(label))


def _word(text: str) -> str:
    """A name, safe; of a very long one as much as can be drawn."""
    return safe(clip(text, _DRAWN))


def _id(text: str | None) -> str | None:
    """An id, safe; of a very long one the end, where ids differ."""
    return None if text is None else safe(tail(text, _DRAWN))


def _role(turn: Turn) -> str:
    return _word(turn.raw_role) if turn.role == "unknown" and turn.raw_role else turn.role


def _folded_turns(count: int) -> Row:
    return Row(kind="fold", text=f"… {plural(count, 'turn')}")


def _flat(text: str) -> str:
    """The beginning of `text`, safe, with white space and line ends as single spaces."""
    return safe(" ".join(text[: 8 * PREVIEW].split()))


def _size(body: JSON) -> str:
    text = _text(body)
    if text is not None:
        return plural(len(text), "character") if text else "empty"
    if isinstance(body, list):
        return plural(len(body), "part")
    return plural(len(body), "field") if isinstance(body, dict) else "empty" if body is None else "a value"


def _text(body: JSON) -> str | None:
    """The prose of a result that is a string, or a list of one text part."""
    if isinstance(body, list) and len(body) == 1 and isinstance(body[0], dict):
        body = body[0].get("text")
    return body if isinstance(body, str) else None


def _outcome(result: Result, *, content: bool) -> str:
    """What the format says of the outcome, and how long the output is; with content, how it begins."""
    if not content:
        return _PLAIN.clip(", ".join(filter(None, (result.flag, _size(result.body)))), BESIDE_ID)
    if result.body is None:
        return result.flag or "empty"
    text = _text(result.body)
    lead = f"{result.flag}: " if result.flag not in {None, "ok"} else ""
    room = BESIDE_ID - len(lead)
    return lead + (_quoted(text, room) if text is not None else _PLAIN.clip(_brief(result.body, deep=True), room))


def _arguments(call: Call, room: int, *, content: bool) -> str:
    """The arguments in brackets; without content, whether there are any."""
    if call.args_form == "none" or call.args in (None, "", {}):
        return "()"
    if not content or room < 4:
        return "(…)"
    return f"({_PLAIN.clip(_listed(_decoded(call)), room)})"


def _decoded(call: Call) -> JSON:
    if call.args_form != "string" or not isinstance(call.args, str) or len(call.args) > 4096:
        return call.args
    try:
        return json.loads(call.args)
    except (ValueError, RecursionError):
        return call.args


def _listed(value: JSON) -> str:
    if not isinstance(value, dict):
        return _brief(value, deep=True)
    return ", ".join(f"{_word(str(key))}={_brief(item)}" for key, item in list(value.items())[:PREVIEW])


def _brief(value: JSON, *, deep: bool = False) -> str:
    """A JSON value in a few words: of containers only the outermost is opened."""
    if isinstance(value, str):
        return _quoted(value, PREVIEW)
    if isinstance(value, dict):
        items = (f"{_word(str(key))}: {_brief(item)}" for key, item in list(value.items())[:PREVIEW])
        return f"{{{', '.join(items) if deep else '…' if value else ''}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_brief, value[:PREVIEW])) if deep else '…' if value else ''}]"
    return _number_text(value) if isinstance(value, bool | int | float | None) else "?"


def _number_text(value: bool | float | None) -> str:
    try:
        return json.dumps(value)
    except ValueError:  # more digits than Python writes
        return "a number"


def _quoted(text: str, room: int) -> str:
    return f'"{_PLAIN.clip(_flat(text), room - 2)}"'


# ---------------------------------------------------------------------------------------------------------------------- draw

_ROLE = 11
_ASCII = str.maketrans("┌└╘│┼─╌►◄◌┆┄╭", "++=||-.><o:.+")


class Shape(Struct, frozen=True, gc=False):
    """How a row meets its rail: the corner on it, the line across the rails to its right, the tip before the text."""

    corner: str
    line: str
    tip: str


_OPENS, _CLOSES = Shape("┌", "─", "►"), Shape("└", "─", "◄")
_AGAIN, _NOTHING, _GHOST = Shape("╘", "─", "◄"), Shape("└", "╌", "◌"), Shape("┆", "╌", "◌")
_EARLY, _LATE_CALL = Shape("┌", "─", "◄"), Shape("└", "─", "►")


def draw(rows: Sequence[Row], style: Style, severity: Severity = Severity.ERROR) -> list[str]:
    """The lines of a scene, each at most `style.width` cells (sixty at least are needed). `severity` chooses the colour of the fault."""
    return list(_Drawing(rows, style, severity).lines())


def gutter(rows: Sequence[Row]) -> int:
    """The width of the column of turn numbers."""
    return max(3, *(len(str(row.turn or "")) for row in rows)) if rows else 3


class _Drawing:
    """The state of a drawing on its way down the rows: which rails are open."""

    def __init__(self, rows: Sequence[Row], style: Style, severity: Severity) -> None:
        self.rows = rows
        self.ink = Ink(style)
        self.tone = TONES[severity]
        self.gutter = gutter(rows)
        self.count = max((row.rail + 1 for row in rows if row.rail is not None), default=0)
        self.room = style.width - self.gutter - 3 - _ROLE - (self.count + 3 if self.count else 0)
        self.fill = style.width - self.gutter - 7
        self.arrow = "<-" if style.ascii else "←"
        self.open: set[int] = set()
        self.calls = {row.rail for row in rows if row.kind == "call"}
        self.begun: set[int | None] = set()
        self.broken = {row.rail for row in rows if row.focus or row.ghost or row.kind == "gap" or (row.kind == "result" and not row.closes)}
        self.labels = [self.ink.shown(_label(row)) for row in rows]
        self.ids = [self.ink.shown(row.id or "") for row in rows]
        self.text_width, self.id_width = self._columns()

    def _columns(self) -> tuple[int, int]:
        """The widths of text and id. Where it is tight, blanks go first, then the heads of long ids, then text; then marks are cut."""
        longest = max((cells(label) for label, id_ in zip(self.labels, self.ids, strict=True) if id_), default=0)
        longest_id = max(map(cells, self.ids), default=0)
        mark = max((cells(self.ink.shown(row.mark)) for row in self.rows), default=0)
        width = {"text": max(BESIDE_ID, min(longest, PREVIEW)), "id": max(7, longest_id) if longest_id else 0}
        over = sum(width.values()) + 1 + (mark + 2 + len(self.arrow) if mark else 0) - self.room
        for column, floor in (("text", max(12, min(longest, BESIDE_ID))), ("id", SHORT_ID), ("text", 8)):
            cut = min(max(over, 0), max(width[column] - floor, 0))
            width[column] -= cut
            over -= cut
        return width["text"], width["id"]

    def lines(self) -> Iterator[str]:
        for row, label, id_ in zip(self.rows, self.labels, self.ids, strict=True):
            bar = self.ink.paint(f"{_number(row):>{self.gutter}} {self._glyphs('│')} ", DIM)
            if row.kind == "cut" and row.rail is None:
                yield bar + self.ink.paint(self._glyphs(self._border(label)), DIM)
                continue
            role = pad(self.ink.clip(self.ink.shown(row.role), _ROLE - 2), _ROLE)
            yield (bar + role + self._strokes(row) + self._words(row, label, id_)).rstrip(" ")

    def _border(self, label: str) -> str:
        """A line across the picture: what is above it is not in the transcript."""
        label = f"┄┄ {self.ink.clip(label, self.fill - 6)} "
        return label + "┄" * (self.fill - cells(label))

    def _glyphs(self, text: str) -> str:
        return text.translate(_ASCII) if self.ink.ascii else text

    # ------------------------------------------------------------------------------------------------------ rails

    def _strokes(self, row: Row) -> str:
        """The rails beside a row, with what the row does to its own."""
        if not self.count:
            return ""
        shape = self._shape(row)
        glyphs = list(self._beside(row, shape))
        self._advance(row, shape)
        if not self.ink.color:
            return self._glyphs("".join(glyph for glyph, _ in glyphs))
        runs = groupby(glyphs, key=lambda stroke: self._look(*stroke))
        return "".join(self.ink.paint(self._glyphs("".join(glyph for glyph, _ in run)), *look) for look, run in runs)

    def _shape(self, row: Row) -> Shape | None:
        if row.kind == "call":
            return _LATE_CALL if row.rail in self.begun else _OPENS
        if row.kind == "gap":
            return _GHOST if row.ghost else _NOTHING
        if row.kind != "result":
            return None
        if not row.closes and not row.ghost:
            return _AGAIN
        return _EARLY if row.rail in self.calls and row.rail not in self.begun else _CLOSES

    def _beside(self, row: Row, shape: Shape | None) -> Iterator[tuple[str, int | None]]:
        """Every glyph with the rail it belongs to."""
        own = self.count if row.rail is None or shape is None else row.rail
        quiet = "┄" if row.kind == "cut" else " "
        for rail in range(self.count):
            if rail < own:
                yield ("│", rail) if rail in self.open else (quiet, None)
            elif rail == own:
                yield shape.corner if shape else "│", rail
            else:
                yield "┼" if rail in self.open else shape.line if shape else " ", own
        if row.kind == "cut":
            yield " ", None
            return
        loose = own == self.count
        yield (("╌" if loose else shape.line) if shape else " "), row.rail
        yield (shape.tip if shape else " "), row.rail
        yield " ", None

    def _advance(self, row: Row, shape: Shape | None) -> None:
        if row.rail is None or shape is None:
            return
        self.begun.add(row.rail)
        if shape in (_OPENS, _EARLY, _GHOST):
            self.open.add(row.rail)
        else:
            self.open.discard(row.rail)

    def _look(self, glyph: str, rail: int | None) -> tuple[str, ...]:
        if glyph == " ":
            return ()
        if rail is None or rail not in self.broken:
            return (DIM,)
        return (BOLD, self.tone) if glyph == "◌" else (self.tone,)

    # ------------------------------------------------------------------------------------------------------ words

    def _words(self, row: Row, label: str, id_: str) -> str:
        """Text, id and mark. A row without id has their room for its text."""
        mark = self._mark(row)
        if id_:
            text = pad(self.ink.clip(label, self.text_width), self.text_width + 1)
            id_ = self.ink.tail(id_, self.id_width)
            label = self._painted(row, text) + self.ink.paint(id_, *([] if row.focus else [DIM]))
            return label + " " * (self.id_width - cells(id_)) + f" {self.ink.paint(mark, self.tone)}" if mark else label
        if row.kind == "cut":
            return self.ink.paint(self.ink.clip(label, self.room), DIM)
        label = self.ink.clip(label, self.room - (cells(mark) + 1 if mark else 0))
        if not mark:
            return self._painted(row, label)
        column = min(self.text_width + 1 + self.id_width, self.room - cells(mark) - 1)
        return self._painted(row, pad(label, column)) + f" {self.ink.paint(mark, self.tone)}"

    def _mark(self, row: Row) -> str:
        room = self.room - (self.text_width + self.id_width + 2 if row.id else 13)
        return self.ink.clip(f"{self.arrow} {self.ink.shown(row.mark)}", room) if row.mark else ""

    def _painted(self, row: Row, text: str) -> str:
        return self.ink.paint(text, *([BOLD] if row.focus else [DIM] if row.kind == "fold" else []))


def _label(row: Row) -> str:
    if row.kind == "result" and row.name:
        return f"{row.name}: {row.text}"
    return f"{row.name or ''}{row.text}"


def _number(row: Row) -> str:
    if row.kind == "gap" and row.ghost:
        return "?"
    return "~" if row.kind == "cut" and row.rail is None else str(row.turn or "")
