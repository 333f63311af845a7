"""An item id twice."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Finding, Ledger, Other, Part, Place, Related, Text, Turn
from toolaudit.rules import Context, rule
from toolaudit.rules._say import of_turn
from toolaudit.text import quote


@rule(category="pairing", severity="error", side="shape", needs=("same-key",), since="0.1.0")
def duplicate_item_id(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """Two items of one list bear the same item id.

    ## Why it matters
    The server keeps items by their id and refuses a list that holds one twice, or one that it holds already.

    ## Bad
    ```transcript
    target openai-responses
    user       Plan a row.
    assistant  * [rs_7] thinking
               | Beans.
    user       And then?
    assistant  * [rs_7] thinking     # duplicate-item-id
               | Peas.
    ```

    ## Good
    ```transcript
    target openai-responses
    user       Plan a row.
    assistant  * [rs_7] thinking
               | Beans.
    user       And then?
    assistant  * [rs_8] thinking
               | Peas.
    ```

    ## How to fix
    Append each item of a response once; with `previous_response_id` or a conversation, send only what is new.
    """
    seen: dict[str, Place] = {}
    copies = {id(pair.turn) for pair in ledger.pairs if pair.copy_of is not None}
    for turn in ledger.live:
        if ledger.trajectory.unit != "item" or turn.key is None or (turn.parts and _is_reference(turn.parts[0])):
            continue
        if turn.key in seen and id(turn) not in copies and not _leads_to(ledger, turn, copies):
            yield of_turn(
                "duplicate-item-id",
                turn,
                f"the item id {quote(turn.key)} stands a second time",
                "take one of the two items out",
                side="shape",
                related=(Related("first item", seen[turn.key]),),
            )
        seen.setdefault(turn.key, turn.place)


def _leads_to(ledger: Ledger, turn: Turn, copies: set[int]) -> bool:
    """Reasoning right before a call that is stored again is part of what was stored again."""
    following = ledger.trajectory.turns[turn.index + 1 : turn.index + 2]
    return "h" in turn.order and any(id(other) in copies for other in following)


def _is_reference(part: Part) -> bool:
    return not isinstance(part, Text) and isinstance(part, Other) and part.kind == "reference"
