"""The same call again although the first succeeded."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Cause, Finding, Ledger, Pair, Related
from toolaudit.rules import Context, rule
from toolaudit.rules._again import answer_of, arguments, calls_between, must_not_be_done_twice, nature, repeats, user_spoke_between
from toolaudit.rules._results import failure_of
from toolaudit.rules._say import of_call, tool
from toolaudit.traces import placeholder, windows


@rule(category="retries", severity="note", needs=("same-tool",), since="0.1.0")
def replayed_call(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A call that changes something is made again although the first succeeded.

    ## Why it matters
    What it does is done twice: two letters, two payments. Models do this when a result got lost on the way to them, or when a run is
    resumed from too early a point.

    ## Bad
    ```transcript
    user       Pay the baker.
    assistant  -> call_p1 pay({"to": "baker", "amount": 12})
    tool       <- call_p1 paid, receipt 4711
    assistant  -> call_p2 pay({"to": "baker", "amount": 12})     # replayed-call
    tool       <- call_p2 paid, receipt 4712
    assistant  Paid.
    ```

    ## Good
    ```transcript
    user       Pay the baker.
    assistant  -> call_p1 pay({"to": "baker", "amount": 12})
    tool       <- call_p1 paid, receipt 4711
    assistant  Paid.
    user       Pay him for today too.
    assistant  -> call_p2 pay({"to": "baker", "amount": 12})
    tool       <- call_p2 paid, receipt 4712
    assistant  Paid.
    ```

    ## How to fix
    Nothing, when it was meant. Else make sure that results reach the model, that a resumed run starts after what is done, and that the
    receiver recognises a second attempt by a key.
    """
    for first, second in repeats(ledger, must_not_be_done_twice):
        if arguments(second.call) and _succeeded(first) and _in_a_row(ledger, first, second):
            yield _finding(first, second)


def _succeeded(pair: Pair) -> bool:
    answer = answer_of(pair)
    if answer is None or answer.state != "first" or failure_of(answer) is not None:
        return False
    return not any(placeholder(text) for text in windows(answer.result.body))


def _in_a_row(ledger: Ledger, first: Pair, second: Pair) -> bool:
    """Nothing else was changed, and the user asked for nothing, between the two."""
    quiet = all(nature(pair.call.name or "") == "reads" for pair in calls_between(ledger, first, second))
    return quiet and not user_spoke_between(ledger, first.turn, second.turn)


def _finding(first: Pair, second: Pair) -> Finding:
    return of_call(
        "replayed-call",
        second,
        f"{tool(second.call.name)} is called again with equal arguments, although the first call succeeded (turn {first.turn.number})",
        "check whether it was meant to be done twice; if not, undo the second and keep the first result in the history",
        related=(Related("first call", first.call.place),),
        cause=Cause("retry", "low"),
        confidence="medium",
    )
