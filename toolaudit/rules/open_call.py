"""A call unanswered at the very end."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Finding, Ledger, Pair
from toolaudit.rules import Context, rule
from toolaudit.rules._say import of_call, tool
from toolaudit.text import quote

_WORDS = {
    "pending": (
        "waits for its result: nothing follows it",
        "nothing to mend if the tool was still running; else answer it before the next request",
    ),
    "waiting": ("waits for an approval: nothing follows it", "answer the approval before the conversation goes on"),
    "async": ("runs asynchronously and has no result yet", "nothing to mend: its result may come in any later request"),
}


@rule(category="pairing", severity="note", side="unanswered", needs=("pending", "waiting", "async"), since="0.1.0")
def open_call(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A call is unanswered at the very end of the transcript.

    ## Why it matters
    It may be in flight, a call that ends the run, or one that waits for an approval; a trimmer that took the last results leaves the same
    trace. It is an error only once the transcript is sent like this: use `--sent` when that is the case.

    ## Bad
    ```transcript
    user       Check both silos.
    assistant  -> call_s1 silo({"n": 1})     # open-call
               -> call_s2 silo({"n": 2})     # open-call
    ```

    ## Good
    ```transcript
    user       Check both silos.
    assistant  -> call_s1 silo({"n": 1})
               -> call_s2 silo({"n": 2})
    tool       <- call_s1 full
               <- call_s2 empty
    ```

    ## How to fix
    Nothing, as long as the transcript only records what happened. Before the next request every call needs its result.
    """
    for pair in ledger.pairs:
        if pair.state == "open" and pair.why in _WORDS and not (pair.why == "async" and pair.batch.last):
            yield _finding(pair)


def _finding(pair: Pair) -> Finding:
    words, remedy = _WORDS[pair.why]
    message = f"{tool(pair.call.name)} ({quote(pair.call.id or 'no id')}) {words}"
    return of_call("open-call", pair, message, remedy, side="unanswered")
