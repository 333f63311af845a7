"""An id that the target's pattern or length refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolaudit.model import Cause, Finding, Ledger, Other, Turn
from toolaudit.rules import Context, rule
from toolaudit.rules._say import of_call, of_turn, tool
from toolaudit.targets import Ids
from toolaudit.text import quote


@rule(category="pairing", severity="error", side="shape", needs=("calls", "item-key"), since="0.1.0")
def invalid_id(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A call's id has characters, or a length, that the target refuses.

    ## Why it matters
    Ids travel with a conversation from one provider to another. One that was fine where it was made may break a pattern or a length
    elsewhere, and then the whole request is refused.

    ## Bad
    ```transcript
    target anthropic
    user       Read it.
    assistant  -> functions.read:0 read({"p": "x"})     # invalid-id
    tool       <- functions.read:0 x
    ```

    ## Good
    ```transcript
    user       Read it.
    assistant  -> functions_read_0 read({"p": "x"})
    tool       <- functions_read_0 x
    ```

    ## How to fix
    Map the id to one that the target takes, in the call and in its result alike, and keep the map for as long as the conversation lives.
    """
    ids: Ids = ledger.law.ids
    pattern = re.compile(ids.pattern) if ids.pattern else None
    seen = set()
    for pair in ledger.pairs:
        key = pair.call.id
        if key is not None and key not in seen and pair.call.executor == "client" and (fault := _fault(key, ids, pattern)):
            seen.add(key)
            yield of_call(
                "invalid-id",
                pair,
                f"the id {quote(key)} of {tool(pair.call.name)} {fault}",
                "rename it, in the call and in its result, to an id that the target takes",
                place=pair.call.place.within(pair.call.id_key),
                side="shape",
                cause=Cause("translation", "low"),
            )

    yield from _items(ledger)


_PREFIXES = {"function_call": "fc", "message": "msg", "reasoning": "rs"}
"""How the ids begin that the service gives to items of a kind; for other kinds no refusal is known."""


def _items(ledger: Ledger) -> Iterator[Finding]:
    """Items of a request whose own id has not the beginning that its kind asks for."""
    if ledger.law.answers != "anywhere" or ledger.trajectory.unit != "item" or ledger.trajectory.kind != "request":
        return
    for turn in ledger.live:
        prefix = _PREFIXES.get(_kind(turn))
        named = turn.calls[0].id if turn.calls else None
        if turn.key is not None and prefix is not None and not turn.key.startswith(prefix) and turn.key != named:
            yield of_turn(
                "invalid-id",
                turn,
                f"the item id {quote(turn.key)} does not begin with {prefix}, as ids of this kind of item do",
                "leave the item's id out, or give it the one that the response had",
                variant="item",
                place=turn.place / "id",
                side="shape",
                call_id=turn.key,
                cause=Cause("translation", "low"),
            )


def _kind(turn: Turn) -> str:
    part = turn.parts[0] if turn.parts else None
    if turn.calls:
        return turn.calls[0].kind
    if isinstance(part, Other):
        return part.kind
    return "message" if turn.role == "assistant" and not turn.results else ""


def _fault(key: str, ids: Ids, pattern: re.Pattern[str] | None) -> str:
    if ids.maximum and len(key) > ids.maximum:
        return f"has {len(key)} characters; the target takes {ids.maximum}"
    if ids.minimum and len(key) < ids.minimum:
        return f"has {len(key)} characters; the target wants at least {ids.minimum}"
    if pattern is not None and not pattern.search(key):
        return f"does not match {ids.pattern}"
    return ""
