"""Text after a call in the same assistant turn."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Call, Finding, Ledger, Related, Text, Turn
from toolaudit.prose import imitates_result
from toolaudit.rules import Context, rule
from toolaudit.rules._say import is_judged, of_turn, tool


@rule(category="containers", severity="warning", side="shape", needs=("text-after-call",), since="0.1.0")
def text_after_call(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """Text after a call makes up its result, or stands where the target takes none.

    ## Why it matters
    When the text was written the call had not been run. What it says of the outcome is made up; the model goes on from it as if it had
    happened, and the true result that follows contradicts it.

    ## Bad
    ```transcript
    target anthropic
    user       Push the branch.
    assistant  -> toolu_pu1 bash({"command": "git push"})
               | Result: pushed to main, everything is up to date.     # text-after-call
    user       <-! toolu_pu1 permission denied
    assistant  The push was refused.
    ```

    ## Good
    ```transcript
    target anthropic
    user       Push the branch.
    assistant  -> toolu_pu1 bash({"command": "git push"})
               | I am pushing it now.
    user       <-! toolu_pu1 permission denied
    assistant  The push was refused.
    ```

    ## How to fix
    Take the made-up text out and let the turn end with its calls. Stop the generation where the model closes a call.
    """
    line = ledger.law.lookup("text-after-call", "plain")
    forbidden = line is not None and line.verdict in ("rejected", "degraded")
    for turn in ledger.live:
        if turn.role != "assistant" or not is_judged(ledger, turn):
            continue
        for call, text in _after_calls(turn):
            if pretence := imitates_result(text.text):
                yield _made_up(turn, call, text, pretence)
            elif forbidden:
                yield _plain(ledger, turn, call, text)


def _after_calls(turn: Turn) -> Iterator[tuple[Call, Text]]:
    """Each text that stands behind a call of the client, with the latest of them."""
    call: Call | None = None
    for part in turn.parts:
        if isinstance(part, Call) and part.executor == "client":
            call = part
        elif isinstance(part, Text) and call is not None and part.text.strip():
            yield call, part


def _made_up(turn: Turn, call: Call, text: Text, pretence: str) -> Finding:
    return of_turn(
        "text-after-call",
        turn,
        f"the text behind the call of {tool(call.name)} imitates {pretence}, though the call was not run yet",
        f"take the text out of turn {turn.number}: only the result can say what came of the call",
        place=text.place,
        side="shape",
        confidence="medium",
        call_id=call.id,
        tool=call.name,
        related=(Related("call", call.place),),
    )


def _plain(ledger: Ledger, turn: Turn, call: Call, text: Text) -> Finding:
    return of_turn(
        "text-after-call",
        turn,
        f"text stands behind the call of {tool(call.name)}, where the target `{ledger.law.name}` takes nothing but calls",
        f"move the text of turn {turn.number} before its calls",
        variant="plain",
        place=text.place,
        side="shape",
        call_id=call.id,
        tool=call.name,
        related=(Related("call", call.place),),
    )
