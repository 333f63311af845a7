"""A history that begins with a call."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Call, Cause, Finding, Ledger, Other, Text, Trajectory
from toolaudit.rules import Context, rule
from toolaudit.rules._say import of_call, tool


@rule(category="turns", severity="note", needs=("calls",), since="0.1.0")
def starts_with_call(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A history begins with a turn of the assistant that calls a tool.

    ## Why it matters
    Some providers want a user turn first and refuse the request; elsewhere it is a sign that the beginning was cut off, and with it the
    question that the call belongs to.

    ## Bad
    ```transcript
    assistant  -> call_a1 get_weather({"city": "Oslo"})     # starts-with-call
    tool       <- call_a1 4 C
    assistant  It is cold.
    ```

    ## Good
    ```transcript
    user       Weather in Oslo?
    assistant  -> call_a1 get_weather({"city": "Oslo"})
    tool       <- call_a1 4 C
    assistant  It is cold.
    ```

    ## How to fix
    Keep the user turn that led to the call, or put a summary of what was cut in its place.
    """
    call = _first_call(ledger.trajectory)
    if call is None or not _is_whole(ledger.trajectory):
        return
    pair = next((one for one in ledger.pairs if one.call is call), None)
    if pair is None:
        return
    yield of_call(
        "starts-with-call",
        pair,
        f"the history begins with a call of {tool(call.name)}: no user turn stands before it",
        f"put the user turn that led to it before turn {pair.turn.number}",
        confidence="medium",
        cause=Cause("trimming", "low"),
    )


def _is_whole(trajectory: Trajectory) -> bool:
    """Whether its first turn is known to be the first that is sent: no response, no log, nothing held elsewhere."""
    if trajectory.kind not in ("request", "dataset") or trajectory.hidden or trajectory.fragment:
        return False
    elsewhere = ("compaction", "failed compaction", "reference")
    return not any(isinstance(part, Other) and part.kind in elsewhere for _, part in trajectory.parts())


def _first_call(trajectory: Trajectory) -> Call | None:
    """The client's call of the opening turn; where a turn is stored as items, those before it may be reasoning."""
    for turn in trajectory.turns:
        if turn.role == "system":
            continue
        if turn.role != "assistant":
            return None
        if found := next((call for call in turn.calls if call.executor == "client"), None):
            return found
        if trajectory.unit == "message" or any(isinstance(part, Text) for part in turn.parts):
            return None
    return None
