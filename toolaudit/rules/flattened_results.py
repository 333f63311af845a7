"""A result stored as prose."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator

from toolaudit.model import Cause, Finding, Ledger, Pair, Related, Text, Turn
from toolaudit.prose import Trace, result_in_prose
from toolaudit.rules import Context, rule
from toolaudit.rules._say import of_turn, tool
from toolaudit.rules.flattened_call import call_of, known_tools, taught
from toolaudit.text import quote


@rule(category="flattening", severity="warning", side="shape", needs=("prose",), since="0.1.0")
def flattened_results(ledger: Ledger, context: Context) -> Iterator[Finding]:
    """The output of a tool is written out as prose.

    ## Why it matters
    One tool at a time, it seems to work. But prose cannot say which of two parallel calls it answers or that one of them failed, and
    everything that is keyed on the id (trimming, accounting, viewers, replay through another model) has to guess.

    ## Bad
    ```transcript
    target openai-chat
    user       Read cellar.txt.
    assistant  -> call_c1 read_file({"path": "cellar.txt"})     # missing-result
    user       [Result of read_file (call_c1)]: 14 barrels     # flattened-results
    assistant  Fourteen barrels.
    ```

    ## Good
    ```transcript
    user       Read cellar.txt.
    assistant  -> call_c1 read_file({"path": "cellar.txt"})
    tool       <- call_c1 14 barrels
    user       Thanks. Result of the day: fourteen barrels.
    ```

    ## How to fix
    Store the output as a result that names the id of its call.
    """
    known = known_tools(ledger, context)
    ids = frozenset(pair.call.id for pair in ledger.pairs if pair.call.id)
    is_taught, unanswered = taught(ledger), _Unanswered(ledger)
    before: Turn | None = None
    for turn in ledger.live:
        if turn.role in ("user", "system", "assistant", "unknown") and turn.texts:
            found = _result_of(turn, known, ids, asked=_has_asked(before, known), deep=context.deep)
            if found is not None and not is_taught(found[1].notation):
                yield _finding(turn, *found, unanswered.by(turn, found[1]))
        before = turn


def _has_asked(before: Turn | None, known: frozenset[str]) -> bool:
    """The turn before is the assistant's and holds a call, structured or in prose."""
    return before is not None and before.role == "assistant" and (bool(before.calls) or call_of(before, known) is not None)


def _result_of(turn: Turn, known: frozenset[str], ids: frozenset[str], *, asked: bool, deep: bool) -> tuple[Text, Trace] | None:
    for text in turn.texts:
        trace = result_in_prose(text.text, known, ids, after_call=asked and turn.role == "user", deep=deep)
        if trace is not None and (turn.role == "user" or _is_echo(turn, trace, known)):
            return text, trace
    return None


def _is_echo(turn: Turn, trace: Trace, known: frozenset[str]) -> bool:
    """Outside user turns only what names a call of this transcript counts: instructions show notations, and models announce results."""
    if turn.role == "system":
        return trace.id is not None
    return trace.known and not turn.calls and call_of(turn, known) is None


def _finding(turn: Turn, text: Text, trace: Trace, pair: Pair | None) -> Finding:
    name = trace.name or (pair.call.name if pair else None)
    meant = f": it stands where the result of call {quote(pair.call.id or '')} belongs" if pair else ""
    key = pair.call.id if pair else trace.id
    remedy = f"as the result of {quote(key)}" if key else "as a result that names the id of its call"
    return of_turn(
        "flattened-results",
        turn,
        f"the output of {tool(name)} is written out as prose (`{trace.notation}`){meant}",
        f"store the output in turn {turn.number} {remedy}",
        place=text.place,
        side="shape",
        confidence=trace.confidence,
        call_id=key,
        tool=name,
        cause=Cause("translation", "low"),
        related=(Related("call", pair.call.place),) if pair else (),
        root=pair.call.place if pair else None,
    )


class _Unanswered:
    """The calls without a result, and which of them a turn of prose answers."""

    def __init__(self, ledger: Ledger) -> None:
        self.by_id: dict[str, Pair] = {}
        self.spoken = list(itertools.accumulate((turn.role == "assistant" for turn in ledger.trajectory.turns), initial=0))
        self.waiting: dict[tuple[int, str | None], list[tuple[int, Pair]]] = {}  # of one stretch of turns without the assistant
        missing = [(pair.batch.next_turn, pair) for pair in ledger.pairs if pair.state == "missing"]
        for following, pair in missing:
            if following is None:
                continue
            self.by_id.setdefault(pair.call.id or "", pair)
            if following.role != "assistant":
                stretch = self.spoken[following.index + 1]
                for name in {pair.call.name, None}:
                    self.waiting.setdefault((stretch, name), []).append((following.number, pair))
        for waiting in self.waiting.values():
            waiting.sort(key=lambda one: one[0])

    def by(self, turn: Turn, trace: Trace) -> Pair | None:
        """The call that the prose of a turn names, or in whose place it stands with no other in question."""
        if trace.id is not None:
            pair = self.by_id.get(trace.id)
            return pair if pair is not None and pair.turn.number < turn.number else None
        waiting = self.waiting.get((self.spoken[turn.index + 1], trace.name), [])
        count = bisect.bisect_right(waiting, turn.number, key=lambda one: one[0])
        return waiting[0][1] if count == 1 or (count and trace.name is not None) else None
