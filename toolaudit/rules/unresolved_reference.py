"""A reference that nothing in sight resolves."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Finding, Ledger, Other
from toolaudit.rules import Context, rule
from toolaudit.text import quote


@rule(category="pairing", severity="note", side="unasked", needs=("reference",), since="0.1.0")
def unresolved_reference(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """An item refers to another by id, and nothing in the transcript has that id.

    ## Why it matters
    The item is held by the server, so what it is (a call, a result, reasoning) cannot be seen from here: the pairs of this transcript
    cannot be judged. Where nothing is stored on the server, the request is refused.

    ## Bad
    ```transcript
    target openai-responses
    user       Price of tin?
    assistant  @ fc_tin1     # unresolved-reference
    tool       <- call_tin1 21.4
    ```

    ## Good
    ```transcript
    target openai-responses
    user       Price of tin?
    assistant  -> call_tin1 price({"of": "tin"})
    tool       <- call_tin1 21.4
    ```

    ## How to fix
    Nothing, if the server stores the items. To have the transcript judged, store the items themselves.
    """
    keys = {turn.key for turn in ledger.trajectory.turns if not any(_is_reference(part) for part in turn.parts)}
    for turn in ledger.live:
        for part in turn.parts:
            if _is_reference(part) and isinstance(part, Other) and part.id not in keys:
                yield Finding(
                    rule="unresolved-reference",
                    place=part.place,
                    message=f"the reference {quote(part.id or '')} points to an item that is not here; pairs beside it cannot be judged",
                    help="store the item itself if the transcript is to be judged whole",
                    side="unasked",
                    turn=turn.number,
                    subject=turn,
                )


def _is_reference(part: object) -> bool:
    return isinstance(part, Other) and part.kind == "reference"
