"""A half that a recorded compaction swallowed."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Answer, Finding, Ledger, Other
from toolaudit.rules import Context, rule
from toolaudit.rules._say import call_of, of_result, tool
from toolaudit.text import quote


@rule(category="trimming", severity="note", side="unasked", needs=("other",), since="0.1.0")
def lost_in_compaction(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A recorded compaction took one half of a pair and left the other.

    ## Why it matters
    What stands before a compaction is not read any more. A result behind it, whose call is before it, answers nothing that the model
    still sees.

    ## Bad
    ```transcript
    target anthropic
    user       Read the deed.
    assistant  -> toolu_c1 read({"p": "deed"})
    assistant  % compaction
    user       <- toolu_c1 an old deed     # lost-in-compaction
    assistant  It is old.
    ```

    ## Good
    ```transcript
    target anthropic
    user       Read the deed.
    assistant  -> toolu_c1 read({"p": "deed"})
    user       <- toolu_c1 an old deed
    assistant  % compaction
    user       Go on.
    ```

    ## How to fix
    Compact between a turn's results and the next turn, never between a call and its result.
    """
    cut = _cut(ledger)
    for answer in ledger.answers:
        if cut is not None and answer.turn.number > cut and answer.pair is not None and answer.pair.turn.number < cut:
            yield _finding(answer)


def _cut(ledger: Ledger) -> int | None:
    """Number of the turn that holds the last compaction."""
    turns = [t for t in ledger.trajectory.turns if any(isinstance(p, Other) and p.kind == "compaction" for p in t.parts)]
    return turns[-1].number if turns else None


def _finding(answer: Answer) -> Finding:
    assert answer.pair is not None
    return of_result(
        "lost-in-compaction",
        answer,
        f"the call of {tool(answer.pair.call.name)} ({quote(answer.result.ref or '')}) stands before the compaction, its result behind it",
        "drop the result, or compact after it",
        side="unasked",
        related=call_of(answer),
    )
