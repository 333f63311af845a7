"""The same call again although the first was answered."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolaudit.model import Cause, Finding, Ledger, Pair, Related
from toolaudit.regex import regex
from toolaudit.rules import Context, rule
from toolaudit.rules._again import Between, answer_of, arguments, must_not_be_done_twice, repeats
from toolaudit.rules._results import failure_of
from toolaudit.rules._say import of_call, tool
from toolaudit.traces import placeholder, windows


@rule(category="retries", severity="note", needs=("same-tool",), since="0.1.0")
def replayed_call(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A call that changes something is made again although the first was answered.

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
    between = Between(ledger)
    for first, second in repeats(ledger, must_not_be_done_twice):
        if arguments(second.call) and _may_have_succeeded(first) and _in_a_row(between, first, second):
            yield _finding(first, second)


_REFUSED = regex(
    r"""\W{0,3}(?:[a-z]{1,20}\W{1,3}){0,2}(?:status\W{1,3}|code\W{1,3}|https?\W{1,3})?[45]\d\d\b
    |.{0,80}\b(?:not|never|n['’]t|nothing|failed|failure|denied|rejected|refused|declined|insufficient|unable|unauthori[sz]ed|forbidden)\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""The head of a result that says, without the form of an error, that nothing was done; one word too many here only costs a note."""


def _may_have_succeeded(pair: Pair) -> bool:
    """The one answer of a call is no failure, no refusal and no placeholder."""
    answer = answer_of(pair)
    if answer is None or answer.state != "first" or failure_of(answer) is not None:
        return False
    texts = windows(answer.result.body)
    return not any(placeholder(text) for text in texts) and not any(_REFUSED.match(text) for text in texts[:1])


def _in_a_row(between: Between, first: Pair, second: Pair) -> bool:
    """Nothing else was changed, and the user asked for nothing, between the two."""
    _, changed = between.calls(first, second)
    return not changed and not between.user_spoke(first.turn, second.turn)


def _finding(first: Pair, second: Pair) -> Finding:
    return of_call(
        "replayed-call",
        second,
        f"{tool(second.call.name)} is called again with equal arguments, although the call of turn {first.turn.number} was answered",
        "check whether it was meant to be done twice; if not, undo the second and keep the first result in the history",
        related=(Related("first call", first.call.place),),
        cause=Cause("retry", "low"),
        confidence="medium",
    )
