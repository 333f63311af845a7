"""A turn that says it called tools, and holds no call."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Answer, Cause, Finding, Ledger, Related, Turn
from toolaudit.rules import Context, rule
from toolaudit.rules._say import of_turn
from toolaudit.rules.flattened_call import call_of, known_tools
from toolaudit.text import plural, quote

_ASKS = frozenset({"tool_calls", "tool_use", "function_call"})


@rule(category="turns", severity="warning", needs=("stop",), since="0.1.0")
def text_only_turn(ledger: Ledger, context: Context) -> Iterator[Finding]:
    """A turn of the assistant stopped to call tools, and holds no call.

    ## Why it matters
    Only the text was stored. After a restart the results refer to calls that no longer exist, or the history claims an outcome and
    shows nothing that led to it.

    ## Bad
    ```transcript
    user       Archive row 9.
    assistant (stop tool_calls)
               I will archive it.     # text-only-turn
    user       Did you?
    ```

    ## Good
    ```transcript
    user       Archive row 9.
    assistant (stop tool_calls)
               -> call_r9 archive({"row": 9})
    tool       <- call_r9 archived
    assistant (stop stop)
               It is archived.
    ```

    ## How to fix
    Store the whole turn as it was received, calls included, and not just its text.
    """
    if ledger.trajectory.kind == "dataset":
        return
    known = known_tools(ledger, context)
    calling = {turn.key for turn in ledger.trajectory.turns if turn.key is not None and turn.calls}
    orphans: dict[int, list[Answer]] = {}
    for answer in ledger.answers:
        if answer.pair is None:
            orphans.setdefault(answer.turn.number, []).append(answer)
    for turn in ledger.live:
        # other turns of the same message may hold its calls
        if turn.role == "assistant" and _lost(turn) and turn.key not in calling and call_of(turn, known) is None:
            yield _finding(turn, _behind(turn, orphans))


def _lost(turn: Turn) -> bool:
    if turn.calls or turn.results or turn.failed:
        return False
    if turn.stop in _ASKS or (turn.call_count > 0 and turn.stop != "pause_turn"):
        return True
    return turn.tokens >= TOKENS and turn.raw_role == "assistant" and not turn.parts


TOKENS = 16
"""So many tokens of a message without any text were something else: fewer may be the marks of its beginning and end."""


def _behind(turn: Turn, orphans: dict[int, list[Answer]]) -> list[Answer]:
    """Results that stand right behind the turn and answer nothing."""
    found, number = [], turn.number + 1
    while number in orphans:
        found += orphans[number]
        number += 1
    return found


def _finding(turn: Turn, orphans: list[Answer]) -> Finding:
    if turn.stop in _ASKS and turn.stop:
        says = f"it stopped with {quote(turn.stop)}"
    else:
        says = f"it made {plural(turn.call_count, 'call')}" if turn.call_count else f"it has {plural(turn.tokens, 'token')}"
    return of_turn(
        "text-only-turn",
        turn,
        f"turn {turn.number} holds no call, though its record says that {says}",
        f"put the calls of turn {turn.number} back as they were received",
        confidence="medium",
        cause=Cause("persistence", "medium"),
        related=tuple(Related("result without a call", answer.result.place) for answer in orphans),
    )
