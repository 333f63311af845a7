"""The payload of a former attempt under a reused id."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Finding, Ledger, Related
from toolaudit.rules import Context, rule
from toolaudit.rules._say import of_result, tool
from toolaudit.text import quote


@rule(category="pairing", severity="warning", side="unasked", needs=("stale",), since="0.1.0")
def stale_result(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A result repeats the payload of a former call that had the same id but asked for something else.

    ## Why it matters
    Where ids recur (counters, constants), a cache or a late delivery keyed by id hands the old output to the new call. The pair looks
    whole, and the answer is that of another question.

    ## Bad
    ```transcript
    target openai-chat
    user       Compare a and b.
    assistant  -> read:0 read({"path": "a.txt"})
    tool       <- read:0 first line of the orchard register 1911
    assistant  -> read:0 read({"path": "b.txt"})     # reused-call-id
    tool       <- read:0 first line of the orchard register 1911     # stale-result
    assistant  They are the same.
    ```

    ## Good
    ```transcript
    user       Compare a and b.
    assistant  -> call_r1 read({"path": "a.txt"})
    tool       <- call_r1 first line of the orchard register 1911
    assistant  -> call_r2 read({"path": "b.txt"})
    tool       <- call_r2 first line of the mill register 1907
    assistant  They differ.
    ```

    ## How to fix
    Give every call an id of its own, key caches and pending results by conversation, turn and id, and run the second call again.
    """
    for answer in ledger.answers:
        if answer.state == "stale" and answer.pair is not None and (former := answer.pair.same_id) is not None:
            yield of_result(
                "stale-result",
                answer,
                f"the result of {tool(answer.pair.call.name)} repeats, byte for byte, "
                f"what the former call under {quote(answer.result.ref or '')} got",
                f"run the call of turn {answer.pair.turn.number} again: its arguments differ from those of turn {former.turn.number}",
                side="unasked",
                confidence="medium",
                related=(Related("call", answer.pair.call.place), Related("former result", former.answers[0].result.place)),
            )
