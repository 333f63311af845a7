"""A list of calls that is present and empty."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Finding, Ledger
from toolaudit.rules import Context, rule
from toolaudit.rules._say import is_judged, of_turn


@rule(category="turns", severity="warning", needs=("empty-calls",), since="0.1.0")
def empty_tool_calls(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A turn has a list of calls with nothing in it.

    ## Why it matters
    Where the list may be left out it may not be empty: the request is refused. Some chat templates take it for a turn that calls tools
    and drop its text.

    ## Bad
    ```transcript
    target openai-chat
    user       Hello.
    assistant (no calls)
               Good morning.     # empty-tool-calls
    user       Goodbye.
    ```

    ## Good
    ```transcript
    user       Hello.
    assistant  Good morning.
    user       Goodbye.
    ```

    ## How to fix
    Leave the list out when there are no calls.
    """
    sent = ledger.trajectory.sent_turns or (0 if ledger.trajectory.kind == "response" else len(ledger.trajectory.turns))
    for turn in ledger.live:  # some servers write such a list into their answers: nobody has sent it yet
        if turn.number <= sent and turn.empty_calls and is_judged(ledger, turn):
            yield of_turn(
                "empty-tool-calls",
                turn,
                f"turn {turn.number} has a list of calls with nothing in it",
                f"leave `tool_calls` out of turn {turn.number}; if it did call tools, put its calls back",
                place=turn.place / "tool_calls",
                side="shape",
            )
