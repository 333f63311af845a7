"""A second result for an answered call."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import JSON, Answer, Cause, Finding, Ledger, Pair, Related
from toolaudit.rules import Context, rule
from toolaudit.rules._results import is_of_other_executor
from toolaudit.rules._say import call_of, of_result, tool
from toolaudit.text import quote


@rule(category="pairing", severity="error", side="unasked", needs=("duplicate",), since="0.1.0")
def duplicate_result(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A call that has its result is answered a second time.

    ## Why it matters
    Exactly one result belongs to a call. Providers refuse a second one, or silently take the last; when the two differ, nobody knows
    which the model went by.

    ## Bad
    ```transcript
    user       Weigh the flour.
    assistant  -> call_fl1 scale({})
    tool       <- call_fl1 2.5 kg
               <- call_fl1 2.5 kg     # duplicate-result
    assistant  2.5 kg.
    ```

    ## Good
    ```transcript
    user       Weigh the flour.
    assistant  -> call_fl1 scale({})
    tool       <- call_fl1 2.5 kg
    assistant  2.5 kg.
    ```

    ## How to fix
    Keep the result that the tool really gave, in the place right after the call, and take the other out. A wrapper that retries must
    not append again what is appended already.
    """
    fillers: dict[int, bool] = {}  # first results that are placeholders
    for answer in ledger.answers:
        if answer.state == "duplicate" and not is_of_other_executor(answer):
            yield _finding(answer, answer.pair, fillers) if answer.pair is not None else _unseen(answer)


def _finding(answer: Answer, pair: Pair, fillers: dict[int, bool]) -> Finding:
    own = answer.result
    if pair.call.executor == "server" and own.executor == "client":
        return of_result(
            "duplicate-result",
            answer,
            f"{tool(pair.call.name)} ({quote(own.ref or '')}) was answered by the provider itself, and again by the client",
            "take the client's result out: the provider answers its own calls",
            variant="server",
            side="unasked",
            related=call_of(answer),
        )
    former = next((other for other in pair.answers if other is not answer), answer)
    same = _is_equal(former.result.body, own.body)
    if not same and id(former) not in fillers:
        fillers[id(former)] = _is_placeholder(former)
    kept = "keep the first" if same or not fillers[id(former)] else "keep this one and take the placeholder out"
    return of_result(
        "duplicate-result",
        answer,
        f"{tool(pair.call.name)} ({quote(own.ref or '')}) is answered twice, {'with equal' if same else 'with different'} contents",
        f"{kept}: the first result stands in turn {former.turn.number}, this one in turn {answer.turn.number}",
        side="unasked",
        cause=Cause("retry", "medium" if same else "low"),
        related=(*call_of(answer), Related("first result", former.result.place)),
    )


def _unseen(answer: Answer) -> Finding:
    """The call is held by the server, but it is answered twice here."""
    return of_result(
        "duplicate-result",
        answer,
        f"the call {quote(answer.result.ref or '')}, which is not in this transcript, is answered twice here",
        "keep one of the two results",
        side="unasked",
        cause=Cause("retry", "low"),
    )


def _is_equal(body: JSON, other: JSON) -> bool:
    try:
        return bool(body == other)
    except RecursionError:  # so deep that nobody can say
        return False


def _is_placeholder(answer: Answer) -> bool:
    from toolaudit.traces import placeholder, windows

    return any(placeholder(text) for text in windows(answer.result.body))
