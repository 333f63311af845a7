"""Results in another order than the calls."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Answer, Batch, Finding, Ledger
from toolaudit.rules import Context, rule
from toolaudit.rules._say import call_of, of_result


@rule(category="containers", severity="note", side="place", needs=("parallel",), default=False, since="0.1.0")
def reordered_results(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """The results of a turn stand in another order than its calls.

    ## Why it matters
    The order carries no meaning: results are matched by id. Call order is a courtesy that keeps replays and diffs stable, so this is off
    unless it is asked for.

    ## Bad
    ```transcript
    user       Wind and rain?
    assistant  -> call_w1 wind({})
               -> call_r1 rain({})
    tool       <- call_r1 2 mm     # reordered-results
               <- call_w1 9 kn
    ```

    ## Good
    ```transcript
    user       Wind and rain?
    assistant  -> call_w1 wind({})
               -> call_r1 rain({})
    tool       <- call_w1 9 kn
               <- call_r1 2 mm
    ```

    ## How to fix
    Sort the results by the order of the calls before they are stored.
    """
    given: dict[int, list[Answer]] = {}
    for answer in ledger.answers:
        if answer.state == "first" and answer.pair is not None and answer.pair.call.executor == "client":
            given.setdefault(answer.pair.batch.number, []).append(answer)
    for batch in ledger.batches:
        if (found := _first_out_of_order(batch, given.get(batch.number, []))) is not None:
            yield of_result(
                "reordered-results",
                found,
                f"the results of turn {batch.turns[0].number} stand in another order than its calls",
                "sort the results by the order of the calls",
                side="place",
                related=call_of(found),
            )


def _first_out_of_order(batch: Batch, answers: list[Answer]) -> Answer | None:
    answered = {id(answer.pair) for answer in answers}
    wanted = [pair for pair in batch.pairs if id(pair) in answered]
    return next((answer for answer, pair in zip(answers, wanted, strict=False) if answer.pair is not pair), None)
