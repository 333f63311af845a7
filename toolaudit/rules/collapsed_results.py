"""Equal results for different questions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from toolaudit.hints import WINDOW
from toolaudit.model import Answer, Batch, Finding, Ledger, Pair, Related
from toolaudit.regex import regex
from toolaudit.rules import Context, rule
from toolaudit.rules._again import answer_of
from toolaudit.rules._say import is_judged, of_result, tool
from toolaudit.text import plural


@rule(category="pairing", severity="note", side="shape", needs=("parallel",), since="0.1.0")
def collapsed_results(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """Calls of one turn to one tool asked for different things and got the very same result.

    ## Why it matters
    Results that are collected in a map keyed by the tool's name leave one result for all calls of that tool: one city gets the other's
    weather, and every id is in its place.

    ## Bad
    ```transcript
    user       Weather in Oslo and Lima?
    assistant  -> call_o1 get_weather({"city": "Oslo"})
               -> call_l1 get_weather({"city": "Lima"})
    tool       <- call_o1 Lima: 18 C, light wind from the sea
               <- call_l1 Lima: 18 C, light wind from the sea     # collapsed-results
    ```

    ## Good
    ```transcript
    user       Weather in Oslo and Lima?
    assistant  -> call_o1 get_weather({"city": "Oslo"})
               -> call_l1 get_weather({"city": "Lima"})
    tool       <- call_o1 Oslo: 4 C, rain
               <- call_l1 Lima: 18 C, light wind from the sea
    ```

    ## How to fix
    Key results by the id of their call, never by name or position.
    """
    for batch in ledger.batches:
        if len(batch.pairs) > 1 and batch.copy_of is None and is_judged(ledger, batch.turns[0]):
            for pairs in _collapsed(batch):
                yield _finding(pairs)


def _collapsed(batch: Batch) -> Iterator[list[Pair]]:
    """Groups of calls to one tool with one and the same result, and arguments that differ."""
    groups: dict[tuple[str | None, str], list[Pair]] = {}
    for pair in batch.pairs:
        answer = answer_of(pair) if pair.copy_of is None and pair.call.executor == "client" else None
        if answer is not None and answer.state == "first" and answer.result.body:
            body = answer.result.body
            groups.setdefault((pair.call.name, body if isinstance(body, str) else repr(body)), []).append(pair)
    for pairs in groups.values():
        differ = len(pairs) > 1 and all(pair.call.args != other.call.args for pair, other in itertools.pairwise(pairs))
        if differ and _hardly_comes_twice(pairs[0].answers[0]):
            yield pairs


_GENERIC = regex(
    r"\b(?:ok|okay|done|success\w*|completed?|accepted|queued|saved|updated|created|written|no|none|not|nothing|empty|0)\b|\[\]|\{\}"
)


def _hardly_comes_twice(answer: Answer) -> bool:
    """The text of a result is long and particular enough that two calls hardly get it both."""
    from toolaudit import traces
    from toolaudit.rules._results import failure_of

    text = "\n".join(traces.windows(answer.result.body, deep=True))
    if len(text) < 16 or failure_of(answer) is not None or traces.placeholder(text):
        return False
    return len(text) >= WINDOW or not _GENERIC.search(text.casefold())


def _finding(pairs: list[Pair]) -> Finding:
    last = pairs[-1]
    return of_result(
        "collapsed-results",
        last.answers[0],
        f"{plural(len(pairs), 'call')} of {tool(last.call.name)} in turn {last.turn.number} asked for different things and got one and the "
        "same result",
        "check whether results are collected by the name of the tool: they belong under the id of their call",
        related=tuple(Related("equal result", pair.answers[0].result.place) for pair in pairs[:-1][:4]),
        confidence="medium",
    )
