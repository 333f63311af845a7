"""A repairer's placeholder instead of a result."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Finding, Ledger
from toolaudit.rules import Context, rule
from toolaudit.rules._results import accepted
from toolaudit.rules._say import call_of, of_result, tool
from toolaudit.traces import placeholder, windows


@rule(category="results", severity="note", needs=("telling",), since="0.1.0")
def synthetic_result(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A call was answered by a repairer's placeholder, not by its tool.

    ## Why it matters
    The pairs are whole only because something filled a hole: the real result was lost, or the tool never ran. Whoever counts on paired
    transcripts, or learns from them, sees a failure that no tool reported.

    ## Bad
    ```transcript
    user       Describe the photos.
    assistant  -> call_w1 describe({"photo": 1})
    tool       <- call_w1 No result provided     # synthetic-result
    assistant  I will look at the photo again.
    ```

    ## Good
    ```transcript
    user       Describe the photos.
    assistant  -> call_w1 describe({"photo": 1})
    tool       <- call_w1 a white boat
    assistant  The photo shows a white boat.
    ```

    ## How to fix
    Nothing in the transcript. Find the door by which the result got lost: an interrupted run, a trimmer that took one half of a pair,
    a log that was written before the tool had returned.
    """
    for answer in accepted(ledger):
        if any(placeholder(text) for text in windows(answer.result.body)):
            name = tool(answer.pair.call.name if answer.pair else answer.result.name)
            yield of_result(
                "synthetic-result",
                answer,
                f"the result of {name} is a placeholder that a repairer put there: the tool's own is lost",
                "find out where the result was lost; restore it if the tool did run",
                related=call_of(answer),
            )
