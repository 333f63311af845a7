"""Reasoning without what it led to."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Cause, Finding, Ledger, Other, Part, Result, Trajectory, Turn
from toolaudit.rules import Context, rule
from toolaudit.rules._say import is_judged, of_turn


@rule(category="reasoning", severity="warning", needs=("reasoning", "thinking"), since="0.1.0")
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
    if trajectory.thinking and (turn := _loop(trajectory)) is not None and "h" not in turn.order.partition("c")[0]:
        yield _unthought(turn)
    if trajectory.format == "anthropic-messages" and trajectory.kind == "request":
        yield from _unsigned(ledger)
    lone = {"openai-responses": _lone_item, "anthropic-messages": _last_block}.get(trajectory.format)
    if lone is None:
        return
    for turn in trajectory.turns[:-1]:
        part = lone(turn, trajectory.turns[turn.index + 1]) if "h" in turn.order and turn.number != trajectory.sent_turns else None
        if part is not None and is_judged(ledger, turn):
            yield _finding(turn, part)


def _loop(trajectory: Trajectory) -> Turn | None:
    """The last turn of the model that was sent, when it called tools and nothing but their results follows: the loop that is going on."""
    for turn in reversed(trajectory.turns[: trajectory.sent_turns or None]):
        if turn.role == "assistant":
            return turn if turn.calls else None
        if set(turn.order) - {"r"}:
            return None
    return None


def _unsigned(ledger: Ledger) -> Iterator[Finding]:
    """Thinking beside a call that has lost its signature: the provider cannot tell any more that it is the model's own."""
    for turn in ledger.live:
        for part in turn.parts if turn.calls else ():
            if isinstance(part, Other) and part.kind == "reasoning" and part.value == "thinking" and part.id is None:
                yield of_turn(
                    "lost-reasoning",
                    turn,
                    "this thinking stands beside a call without its signature",
                    "keep thinking blocks as they were received, signature and all",
                    variant="signature",
                    place=part.place,
                    cause=Cause("persistence", "low"),
                )


def _unthought(turn: Turn) -> Finding:
    return of_turn(
        "lost-reasoning",
        turn,
        "the request demands thinking, but this turn of the tool loop begins with its call",
        "send the turn back as it was received, with its thinking block first",
        variant="manual",
        confidence="medium",
        cause=Cause("persistence", "low"),
    )


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
