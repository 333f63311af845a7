"""Reasoning without what it led to."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Finding, Ledger, Other, Part, Result, Turn
from toolaudit.rules import Context, rule
from toolaudit.rules._say import is_judged, of_turn


@rule(category="reasoning", severity="warning", needs=("reasoning",), since="0.1.0")
def lost_reasoning(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """Reasoning stands alone: the call or the text that it led to is gone.

    ## Why it matters
    Reasoning and what follows from it are one unit to the providers that give it out: they refuse the history when one half is missing,
    and the model does not know why it did what it did.

    ## Bad
    ```transcript
    user       Plan a row of beans.
    assistant  * ten plants, a hand apart     # lost-reasoning
    user       Well?
    ```

    ## Good
    ```transcript
    target     anthropic
    user       Plan a row of beans.
    assistant  * ten plants, a hand apart
               Ten plants, a hand apart.
    user       Well done.
    ```

    ```transcript
    target     openai-responses
    user       Plan a row of beans.
    assistant  * ten plants, a hand apart
               Ten plants, a hand apart.
    user       Well done.
    ```

    ## How to fix
    Trim, store and send back a turn of the model whole. When its text or its call has to go, its reasoning goes with it.
    """
    trajectory = ledger.trajectory
    lone = {"openai-responses": _lone_item, "anthropic-messages": _last_block}.get(trajectory.format)
    if lone is None:
        return
    for turn in trajectory.turns[:-1]:
        part = lone(turn, trajectory.turns[turn.number]) if "h" in turn.order and turn.number != trajectory.sent_turns else None
        if part is not None and is_judged(ledger, turn):
            yield _finding(turn, part)


def _lone_item(turn: Turn, following: Turn) -> Part | None:
    """A reasoning item that is followed by no item of the model (Responses): at the end of a response that is normal."""
    part = turn.parts[0]
    if not isinstance(part, Other) or part.id is None:
        return None
    output = any(isinstance(other, Result) and other.executor == "client" for other in following.parts)
    return part if output or following.role in ("user", "system") else None


def _last_block(turn: Turn, following: Turn) -> Part | None:
    """A turn of the model that ends with thinking (Messages): it is refused once something follows it."""
    part = turn.parts[-1]
    return part if part.letter == "h" and following.role == "user" else None


def _finding(turn: Turn, part: Part) -> Finding:
    alone = len(turn.parts) == 1
    return of_turn(
        "lost-reasoning",
        turn,
        "this reasoning stands alone: the call or the text that it led to is not there"
        if alone
        else "this turn ends with its reasoning: the call or the text that it led to is not there",
        "put back what followed the reasoning, or take the reasoning out too",
        place=part.place,
        variant="last" if turn.place != part.place else "",
        confidence="medium",
    )
