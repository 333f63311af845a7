"""A stream without its end."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Cause, Finding, Ledger
from toolaudit.rules import Context, rule


@rule(category="streams", severity="warning", side="shape", needs=("unfinished-stream",), since="0.2.0")
def unfinished_stream(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """The events of a response stop before the one that ends it.

    ## Why it matters
    The connection was cut, or the log was. What came last may be half a call: its arguments must not be run, and the turn must not be sent
    back as if it were whole.

    ## Bad
    ```json
    [
      {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "finish_reason": null, "delta":
        {"role": "assistant", "content": "It is "}}]}
    ]
    ```

    ## Good
    ```json
    [
      {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "finish_reason": null, "delta":
        {"role": "assistant", "content": "It is 4 C."}}]},
      {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "delta":
        {}}]}
    ]
    ```

    ## How to fix
    Ask again. Keep of the response only what was complete when it broke off.
    """
    for fault in ledger.trajectory.faults:
        if fault.rule == "unfinished-stream":
            yield Finding(
                rule="unfinished-stream",
                place=fault.place,
                message="the stream stops here, before the event that ends it",
                help="ask again; keep of this response only the blocks and calls that were complete",
                side="shape",
                cause=Cause("interruption", "medium"),
                turn=ledger.trajectory.sent_turns + 1,
            )
