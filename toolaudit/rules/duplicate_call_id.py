"""Two calls with one id in a turn, or while the first is open."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Cause, Finding, Ledger, Pair, Related
from toolaudit.rules import Context, rule
from toolaudit.rules._say import is_judged, of_call, tool
from toolaudit.text import quote


@rule(category="pairing", severity="error", side="shape", needs=("same-id",), since="0.1.0")
def duplicate_call_id(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """Two calls bear one id in a turn, or while the first of them is still open.

    ## Why it matters
    The id is all that joins a result to its call. With two open calls of one id no result can be told to be whose; strict servers
    refuse the list, lenient ones give both calls the same result.

    ## Bad
    ```transcript
    user       Ring both bells.
    assistant  -> call_dup1 ring({"bell": 1})
               -> call_dup1 ring({"bell": 2})     # duplicate-call-id
    tool       <- call_dup1 rang 1
               <- call_dup1 rang 2
    ```

    ## Good
    ```transcript
    user       Ring both bells.
    assistant  -> call_dup1 ring({"bell": 1})
               -> call_dup2 ring({"bell": 2})
    tool       <- call_dup1 rang 1
               <- call_dup2 rang 2
    ```

    ## How to fix
    Give each call its own id, as it came from the model. A block that a stream delivered twice is to be stored once.
    """
    for pair in ledger.pairs:
        if pair.same_id is not None and pair.copy_of is None and _overlap(pair, pair.same_id) and is_judged(ledger, pair.turn):
            yield _finding(pair, pair.same_id)


def _overlap(pair: Pair, former: Pair) -> bool:
    """Both calls were open at one time: in one batch, or the first had no answer before the second was made."""
    return former.batch is pair.batch or not any(answer.turn.number < pair.turn.number for answer in former.answers)


def _finding(pair: Pair, former: Pair) -> Finding:
    copy = pair.why == "block"
    words = "the same call stands twice in the turn" if copy else f"two calls that are open at once bear the id {quote(pair.call.id or '')}"
    remedy = "store the block once" if copy else f"give one of them another id: the first stands in turn {former.turn.number}"
    return of_call(
        "duplicate-call-id",
        pair,
        f"{tool(pair.call.name)}: {words}",
        remedy,
        side="shape",
        cause=Cause("streaming", "low") if copy else None,
        related=(Related("first call", former.call.place),),
    )
