"""Tool traffic without declared tools."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Finding, Ledger, Related
from toolaudit.rules import Context, rule
from toolaudit.text import plural


@rule(category="arguments", severity="warning", needs=("calls", "results"), since="0.1.0")
def undeclared_tools(ledger: Ledger, context: Context) -> Iterator[Finding]:
    """A request holds calls or results but declares no tools, where its receiver needs them declared.

    ## Why it matters
    Several receivers refuse a history with tool traffic when the request itself declares no tools. It happens in requests made on the
    side: a summary, a title, a last answer for which tools were switched off.

    ## Bad
    ```transcript
    target     strict     # undeclared-tools
    model      some-model
    user       Weather in Oslo?
    assistant  -> call_w1 get_weather({"city": "Oslo"})
    tool       <- call_w1 4 C
    ```

    ## Good
    ```transcript
    target     strict
    model      some-model
    tools      get_weather {"type": "object", "properties": {"city": {"type": "string"}}}
    user       Weather in Oslo?
    assistant  -> call_w1 get_weather({"city": "Oslo"})
    tool       <- call_w1 4 C
    ```

    ## How to fix
    Declare the same tools in every request that sends the history, and forbid their use by the choice of tools; or take calls and
    results out of what is sent.
    """
    trajectory = ledger.trajectory
    if not ledger.law.forbids("undeclared-tools") or context.tools:
        return
    is_body = trajectory.kind == "request" and trajectory.model is not None and trajectory.hidden is None
    client = [part for _, part in trajectory.parts() if part.letter in "cr"]
    if is_body and not trajectory.tools and not trajectory.open_tools and client:
        yield Finding(
            rule="undeclared-tools",
            place=trajectory.place,
            message=f"the request holds {plural(len(client), 'call or result', 'calls and results')} but declares no tools",
            help="declare the tools that the history names, in this request too",
            related=(Related("first of them", client[0].place),),
        )
