"""The result is there, but late, early, in the wrong role, or behind another message."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Answer, Cause, Finding, Ledger, Pair, Related, Text
from toolaudit.rules import Context, rule
from toolaudit.rules._say import call_of, of_result, tool
from toolaudit.text import quote


@rule(category="pairing", severity="error", side="place", needs=("late", "early", "role"), since="0.1.0")
def misplaced_result(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A result stands where the target does not look for it.

    ## Why it matters
    The result exists, so nothing has to be invented; but to the provider the call is unanswered and the result unexpected. This is the
    usual outcome of a message that was queued while a tool ran.

    ## Bad
    ```transcript
    target openai-chat
    user       Open the map.
    assistant  -> call_map1 open_map({"zoom": 3})
    user       Hello? Are you there?
    tool       <- call_map1 map opened     # misplaced-result
    assistant  The map is open.
    ```

    A result before its call:

    ```transcript
    user       Open the map.
    tool       <- call_map1 map opened     # misplaced-result
    assistant  -> call_map1 open_map({"zoom": 3})
    user       And now?
    ```

    ## Good
    ```transcript
    user       Open the map.
    assistant  -> call_map1 open_map({"zoom": 3})
    tool       <- call_map1 map opened
    user       Hello? Are you there?
    assistant  The map is open.
    ```

    ## How to fix
    Move the result right behind the turn that made the call, and what stands between them behind the result. Never make up a second
    result for it.
    """
    for answer in ledger.answers:
        late = answer.where in ("late", "early", "role") and answer.result.executor == "client"
        if late and answer.state in ("first", "stale") and answer.pair is not None:
            yield _finding(answer, answer.pair)


def _finding(answer: Answer, pair: Pair) -> Finding:
    words, remedy = _words(answer, pair)
    between = (Related("what stands between", answer.behind.place),) if answer.behind else ()
    return of_result(
        "misplaced-result",
        answer,
        f"the result of {tool(pair.call.name)} ({quote(answer.result.ref or '')}) {words}",
        remedy,
        variant=answer.where,
        side="place",
        cause=Cause("concurrency", "low") if isinstance(answer.behind, Text) else None,
        related=(*call_of(answer), *between),
    )


def _words(answer: Answer, pair: Pair) -> tuple[str, str]:
    here, there = answer.turn.number, pair.turn.number
    if answer.where == "early":
        return f"stands in turn {here}, before its call in turn {there}", f"move the result behind turn {there}"
    if answer.where == "role":
        return f"stands in an {answer.turn.raw_role} message", f"move the result into the answer that follows turn {there}"
    return (
        f"comes in turn {here}, separated from its call in turn {there}",
        f"move the result right behind turn {there}, before anything else",
    )
