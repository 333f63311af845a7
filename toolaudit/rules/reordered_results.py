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
    for batch in ledger.batches:
        if (answer := _first_out_of_order(batch, ledger)) is not None:
            yield of_result(
                "reordered-results",
                answer,
                f"the results of turn {batch.turns[0].number} stand in another order than its calls",
                "sort the results by the order of the calls",
                side="place",
                related=call_of(answer),
            )


def _first_out_of_order(batch: Batch, ledger: Ledger) -> Answer | None:
    answers = [
        a
        for a in ledger.answers
        if a.state == "first" and a.pair is not None and a.pair.batch is batch and a.pair.call.executor == "client"
    ]
    wanted = [pair for pair in batch.pairs if any(a.pair is pair for a in answers)]
    return next((a for a, pair in zip(answers, wanted, strict=False) if a.pair is not pair), None)
