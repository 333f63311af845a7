"""A call of a stream without an index."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Cause, Finding, Ledger
from toolaudit.rules import Context, rule
from toolaudit.rules._say import tool
from toolaudit.text import quote


@rule(category="streams", severity="note", needs=("missing-index",), since="0.2.0")
def missing_index(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A call of the stream comes without an index.

    ## Why it matters
    Fragments of calls interleave, and the index says which call each belongs to. Without it a client can only go by the id, and where
    that comes once, by the order: some refuse such a stream, others glue calls together.

    ## Bad
    ```json
    [
      {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "finish_reason": null, "delta":
        {"tool_calls": [{"id": "call_a1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}]}}]},
      {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "finish_reason": "tool_calls", "delta":
        {}}]}
    ]
    ```

    ## Good
    ```json
    [
      {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "finish_reason": null, "delta":
        {"tool_calls": [{"index": 0, "id": "call_a1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}]}}]},
      {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "finish_reason": "tool_calls", "delta":
        {}}]}
    ]
    ```

    ## How to fix
    Have the server number the calls of a turn from 0.
    """
    for fault in ledger.trajectory.faults:
        if fault.rule == "missing-index":
            yield Finding(
                rule="missing-index",
                place=fault.place,
                message=f"{tool(fault.tool)} ({quote(fault.call_id or 'no id')}) comes without an index",
                help="let the server number the calls of a turn from 0",
                cause=Cause("streaming", "medium"),
                turn=ledger.trajectory.sent_turns + 1,
                call_id=fault.call_id,
                tool=fault.tool,
            )
