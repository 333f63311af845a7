"""Other content before a result in its message: prose."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Finding, Ledger, Place, Related, Text
from toolaudit.rules import Context, rule
from toolaudit.rules._say import call_of, of_result, tool
from toolaudit.text import quote


@rule(category="containers", severity="error", side="place", needs=("behind",), since="0.1.0")
def text_before_result(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """Text stands before a result in the message that answers a turn.

    ## Why it matters
    The results come first, then whatever else is to be said. A reminder or a user's words in front of them make the result count as
    missing.

    ## Bad
    ```transcript
    target anthropic
    user       Prune the plan.
    assistant  -> toolu_hd1 todo({"add": "hedge"})
    user       Update your list.
               <- toolu_hd1 added     # text-before-result
    ```

    ## Good
    ```transcript
    target anthropic
    user       Prune the plan.
    assistant  -> toolu_hd1 todo({"add": "hedge"})
    user       <- toolu_hd1 added
               | Update your list.
    ```

    ## How to fix
    Put all results at the start of the message and the text behind them.
    """
    roots: dict[Place, Place] = {}
    for answer in ledger.answers:
        if answer.where != "behind" or not isinstance(answer.behind, Text) or answer.pair is None:
            continue
        root = roots.setdefault(answer.behind.place, answer.result.place)
        yield of_result(
            "text-before-result",
            answer,
            f"text stands before the result of {tool(answer.pair.call.name)} ({quote(answer.result.ref or '')})",
            "put the results first and the text behind them",
            side="place",
            related=(Related("text", answer.behind.place), *call_of(answer)),
            root=root if root != answer.result.place else None,
        )
