"""Two calls of a stream under one index."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Cause, Finding, Ledger
from toolaudit.rules import Context, rule
from toolaudit.rules._say import tool
from toolaudit.text import quote


@rule(category="streams", severity="warning", needs=("index-collision",), since="0.2.0")
def index_collision(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A new call comes under an index that another call of the stream has.

    ## Why it matters
    Clients put the fragments of a call together by its index. Two calls under one index become one: the name of the last, and the
    arguments of both glued together. Here they are taken for the two calls that their ids say they are.

    ## Bad
    ```json
    [
      {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "finish_reason": null, "delta":
        {"tool_calls": [{"index": 0, "id": "call_a1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}]}}]},
      {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "finish_reason": null, "delta":
        {"tool_calls": [{"index": 0, "id": "call_b1", "type": "function", "function": {"name": "get_time", "arguments": "{}"}}]}}]},
      {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "finish_reason": "tool_calls", "delta":
        {}}]}
    ]
    ```

    ## Good
    ```json
    [
      {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "finish_reason": null, "delta":
        {"tool_calls": [{"index": 0, "id": "call_a1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}]}}]},
      {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "finish_reason": null, "delta":
        {"tool_calls": [{"index": 1, "id": "call_b1", "type": "function", "function": {"name": "get_time", "arguments": "{}"}}]}}]},
      {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "finish_reason": "tool_calls", "delta":
        {}}]}
    ]
    ```

    ## How to fix
    Have the server count the calls of a turn. Until it does, begin a new call in the client whenever a new id comes.
    """
    for fault in ledger.trajectory.faults:
        if fault.rule == "index-collision":
            yield Finding(
                rule="index-collision",
                place=fault.place,
                message=f"{tool(fault.tool)} ({quote(fault.call_id or 'no id')}) comes under an index that another call of the stream has",
                help="let the server give each call of a turn its own index; in the client, begin a new call with each new id",
                cause=Cause("streaming", "medium"),
                turn=ledger.trajectory.sent_turns + 1,
                call_id=fault.call_id,
                tool=fault.tool,
            )
