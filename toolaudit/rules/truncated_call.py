"""A call that was cut off."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Finding, Ledger, Pair, Severity
from toolaudit.rules import Context, rule
from toolaudit.rules._arguments import place_of, read_arguments
from toolaudit.rules._say import of_call, tool
from toolaudit.text import quote


@rule(category="arguments", severity="warning", needs=("calls",), since="0.1.0")
def truncated_call(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A call was cut off while the model wrote it.

    ## Why it matters
    What is left of its arguments is not what the model meant: a path or a number may end too early and still look right. It must not be
    run, and a history that keeps it without an answer is refused.

    ## Bad
    ```transcript
    user       Write the guest list.
    assistant  -> call_w1 write_file({"path": "guests.txt", "text": "Ada, Bo)     # truncated-call
    tool       <- call_w1 the arguments could not be read
    assistant  I will write it in two parts.
    ```

    ## Good
    ```transcript
    user       Write the guest list.
    assistant  -> call_w1 write_file({"path": "guests.txt", "text": "Ada, Bo"})
    tool       <- call_w1 12 bytes written
    assistant  Written.
    ```

    ## How to fix
    Take the call out and ask again with a higher limit, or answer it with an error. Run tools only when the reason for stopping says
    that the turn asks for them.
    """
    for pair, found in read_arguments(ledger):
        if found.fault == "truncated":
            yield _finding(ledger, pair, found.what)


def _finding(ledger: Ledger, pair: Pair, what: str) -> Finding:
    kept = not pair.answered and _is_kept(ledger, pair)
    stop = f" (it stopped for {quote(pair.turn.stop)})" if pair.turn.stop else ""
    if pair.why == "truncated":
        message = f"{tool(pair.call.name)} may be cut off: {what}{stop}"
    else:
        message = f"{tool(pair.call.name)} is cut off: {what} where its arguments belong{stop}"
    return of_call(
        "truncated-call",
        pair,
        message + (", and it was kept without an answer" if kept else ""),
        "take the call out and let the model write it again, or answer it with an error result; do not run it",
        place=pair.call.place if pair.why == "truncated" else place_of(pair),
        variant="kept" if kept else "",
        severity=None if kept or pair.answered else Severity.NOTE,
        gap=pair.batch.next_turn.number if kept and pair.batch.next_turn else None,
    )


def _is_kept(ledger: Ledger, pair: Pair) -> bool:
    """The conversation went on, or was sent, with the call still in it and unanswered."""
    trajectory = ledger.trajectory
    sent = trajectory.sent and (not trajectory.sent_turns or pair.turn.number <= trajectory.sent_turns)
    return sent or pair.batch.next_turn is not None
