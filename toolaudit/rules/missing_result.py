"""A call without a result although the conversation went on."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Cause, Finding, Ledger, Pair, Related
from toolaudit.rules import Context, rule
from toolaudit.rules._say import tool
from toolaudit.sessions import Doors
from toolaudit.text import quote


@rule(category="pairing", severity="error", side="unanswered", needs=("missing",), since="0.1.0")
def missing_result(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A call has no result although the conversation went on.

    ## Why it matters
    Every call of a turn must be answered before anything else is said: providers refuse the next request, and the model
    no longer knows what came of its call.

    ## Bad
    ```transcript
    user       Weather in Lima, and flights there?
    assistant  -> call_a1 search_flights({"to": "LIM"})
               -> call_b1 get_weather({"city": "Lima"})     # missing-result
    tool       <- call_a1 3 flights found
    user       Thanks, book the first.
    ```

    ## Good
    ```transcript
    user       Weather in Lima, and flights there?
    assistant  -> call_a1 search_flights({"to": "LIM"})
               -> call_b1 get_weather({"city": "Lima"})
    tool       <- call_a1 3 flights found
               <-! call_b1 the weather service timed out
    user       Thanks, book the first.
    ```

    ## How to fix
    Give the call a result before the next turn. A tool that failed, was interrupted or was refused by the user still gets one: an
    error result counts as an answer.
    """
    doors = Doors(ledger.trajectory)
    causes: dict[int, Cause | None] = {}  # one a batch
    for pair in ledger.pairs:
        if pair.state == "missing" and pair.why != "server":
            if pair.batch.number not in causes:
                causes[pair.batch.number] = _cause(ledger, pair)
            yield _finding(pair, doors.of(pair.call.id) or causes[pair.batch.number])


def _finding(pair: Pair, cause: Cause | None) -> Finding:
    call, gap = pair.call, pair.batch.next_turn
    before = f"before turn {gap.number}" if gap else "in this request"
    return Finding(
        rule="missing-result",
        variant={"function_call (legacy)": "legacy", "mcp_approval_request": "approval"}.get(call.kind, ""),
        place=call.place,
        message=f"{tool(call.name)} was called but never answered" + (f": no result for call {quote(call.id)}" if call.id else ""),
        help=f"give {quote(call.id) if call.id else 'it'} a result {before} (an error result counts), "
        f"or take the call out of turn {pair.turn.number}",
        side="unanswered",
        cause=cause,
        turn=pair.turn.number,
        call_id=call.id,
        tool=call.name,
        related=(Related("next turn", gap.place),) if gap else (),
        subject=call,
        gap=gap.number if gap else None,
    )


def _cause(ledger: Ledger, pair: Pair) -> Cause | None:
    clients = [p for p in pair.batch.pairs if p.call.executor == "client"]
    answered = [p for p in clients if p.answered]
    if ledger.trajectory.parallel is False and len(clients) > 1 and answered == clients[:1]:
        return Cause("first-call-only", "medium")
    if answered == clients[:1] and len(clients) > 2:
        return Cause("first-call-only", "low")
    if answered:
        return Cause("partial-failure", "medium")
    following = pair.batch.next_turn
    return Cause("interruption", "medium") if following is not None and following.role == "user" else None
