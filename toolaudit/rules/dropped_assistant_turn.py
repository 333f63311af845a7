"""The turn that made the calls is gone, while its results stayed."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Answer, Cause, Finding, Ledger, Place
from toolaudit.rules import Context, rule
from toolaudit.rules._say import of_result
from toolaudit.sessions import Doors
from toolaudit.text import quote


@rule(category="turns", severity="error", side="unasked", needs=("dropped",), since="0.1.0")
def dropped_assistant_turn(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """The assistant turn that made the calls is gone while its results stayed.

    ## Why it matters
    Results right after a user's words show that the turn between them was never appended, or was removed alone. Every result of that
    turn is now unexpected, and the next request is refused.

    ## Bad
    ```transcript
    user       Weather in Oslo?
    tool       <- call_a1 4 C     # dropped-assistant-turn
    assistant  It is 4 C in Oslo.
    ```

    ## Good
    ```transcript
    user       Weather in Oslo?
    assistant  -> call_a1 get_weather({"city": "Oslo"})
    tool       <- call_a1 4 C
    assistant  It is 4 C in Oslo.
    ```

    ## How to fix
    Append the assistant turn exactly as it arrived, before its results. When shortening a history, drop the turn and its results together.
    """
    doors = Doors(ledger.trajectory)
    roots: dict[int, Place] = {}
    for answer in ledger.answers:
        if answer.state == "dropped":
            before = answer.before.number if answer.before is not None else 0  # results of one run come from one turn
            cause = doors.of(answer.result.ref) or (Cause("trimming", "low") if before > 1 else Cause("persistence", "low"))
            yield _finding(answer, before, roots.setdefault(before, answer.result.place), cause)


def _finding(answer: Answer, before: int, root: Place, cause: Cause) -> Finding:
    return of_result(
        "dropped-assistant-turn",
        answer,
        f"the assistant turn that called {quote(answer.result.ref or '')} is missing between turn {before} and its result",
        f"append the turn that made the call after turn {before}, or take its results out with it",
        side="unasked",
        confidence="medium",
        cause=cause,
        gap=answer.turn.number,
        root=root if root != answer.result.place else None,
    )
