"""An id used again after its first call was answered."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Finding, Ledger, Pair, Related
from toolaudit.rules import Context, rule
from toolaudit.rules._say import is_judged, of_call, tool
from toolaudit.text import quote


@rule(category="pairing", severity="note", side="shape", needs=("same-id",), since="0.1.0")
def reused_call_id(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A call bears an id that an earlier call of the conversation had, which was answered before.

    ## Why it matters
    Some servers count ids from the start in each turn, and pairing by what is open copes with that. Others demand ids that are unique
    over the whole request, and everything that keys results by id alone mixes the two calls up.

    ## Bad
    ```transcript
    user       Two steps, please.
    assistant  -> call_0 terminal({"cmd": "step 0"})
    tool       <- call_0 r0
    assistant  -> call_0 terminal({"cmd": "step 1"})     # reused-call-id
    tool       <- call_0 r1
    assistant  Done.
    ```

    ## Good
    ```transcript
    user       Two steps, please.
    assistant  -> call_0 terminal({"cmd": "step 0"})
    tool       <- call_0 r0
    assistant  -> call_1 terminal({"cmd": "step 1"})
    tool       <- call_1 r1
    assistant  Done.
    ```

    ## How to fix
    Where the target wants unique ids, rename the later call and its result together, and no other.
    """
    for pair in ledger.pairs:
        former = pair.same_id
        if former is not None and pair.copy_of is None and _answered_before(pair, former) and is_judged(ledger, former.turn):
            yield _finding(pair, former)


def _answered_before(pair: Pair, former: Pair) -> bool:
    return former.batch is not pair.batch and any(answer.turn.number < pair.turn.number for answer in former.answers)


def _finding(pair: Pair, former: Pair) -> Finding:
    key = quote(pair.call.id or "")
    return of_call(
        "reused-call-id",
        pair,
        f"{tool(pair.call.name)} bears the id {key}, which an answered call of turn {former.turn.number} has",
        f"rename this call and its result if the target wants ids unique over the request; {key} belongs to turn {former.turn.number}",
        side="shape",
        related=(Related("first call", former.call.place),),
    )
