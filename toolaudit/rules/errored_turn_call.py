"""A call in a turn that was aborted or failed."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Cause, Finding, Ledger, Pair, Related, Severity
from toolaudit.rules import Context, rule
from toolaudit.rules._say import is_judged, of_call, tool
from toolaudit.text import quote


@rule(category="turns", severity="warning", needs=("failed",), since="0.1.0")
def errored_turn_call(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A call stands in a turn that was aborted or ended in an error.

    ## Why it matters
    Most clients leave a failed turn out when they send the history again. Its results then answer nothing; kept without a result, the
    call is refused.

    ## Bad
    ```transcript
    user       Weather in Oslo?
    assistant (failed)
               -> call_a1 get_weather({"city": "Oslo"})     # errored-turn-call
    user       Try again.
    assistant  It is cold.
    ```

    ## Good
    ```transcript
    user       Weather in Oslo?
    assistant  -> call_b1 get_weather({"city": "Oslo"})
    tool       <- call_b1 4 C
    assistant  It is cold.
    ```

    ## How to fix
    Take the failed turn out together with its results, or keep it and answer each of its calls with an error result.
    """
    for pair in ledger.pairs:
        failed = pair.turn.failed and pair.copy_of is None and pair.call.executor == "client"
        if failed and pair.call.expects != "none" and is_judged(ledger, pair.turn):
            yield _finding(pair, dropped=ledger.trajectory.drops_failed)


def _finding(pair: Pair, *, dropped: bool) -> Finding:
    kept = not pair.answered and pair.batch.next_turn is not None
    key = quote(pair.call.id or "")
    what = f"was answered ({key})" if pair.answered else f"has no result ({key})"
    return of_call(
        "errored-turn-call",
        pair,
        f"{tool(pair.call.name)} was called in a turn that failed, and {what}",
        f"take turn {pair.turn.number} out together with its results, or answer {key} with an error result and keep it",
        variant="kept" if kept else "",
        severity=Severity.NOTE if dropped and not pair.answered else None,
        cause=Cause("interruption", "medium"),
        related=tuple(Related("result", answer.result.place) for answer in pair.answers),
    )
