"""A failure that is not flagged as one."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Finding, Ledger, Result
from toolaudit.rules import Context, rule
from toolaudit.rules._results import accepted
from toolaudit.rules._say import call_of, of_result, tool
from toolaudit.traces import failure, placeholder, windows


@rule(category="results", severity="note", needs=("telling",), since="0.1.0")
def unmarked_error(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """The text of a result reports a failure, but its error flag is not set.

    ## Why it matters
    The flag is how the model, a viewer and every count of failures tell an error from data. Without it a failed call counts as a success.

    ## Bad
    ```transcript
    target     anthropic
    user       Open the gate.
    assistant  -> toolu_g1 gate({"open": true})
    tool       <- toolu_g1 Error: the gate did not answer     # unmarked-error
    ```

    ## Good
    ```transcript
    target     anthropic
    user       Open the gate.
    assistant  -> toolu_g1 gate({"open": true})
    tool       <-! toolu_g1 Error: the gate did not answer
    ```

    ## How to fix
    Set `is_error` where the exception is turned into a result.
    """
    if ledger.trajectory.format != "anthropic-messages":
        return
    for answer in accepted(ledger):
        if answer.result.kind == "tool_result" and answer.result.flag in (None, "ok") and _reports_failure(answer.result):
            yield of_result(
                "unmarked-error",
                answer,
                f"the result of {tool(answer.pair.call.name if answer.pair else None)} begins like the report of a failure, "
                "but is not flagged as an error",
                "set `is_error` on it if the tool failed",
                confidence="medium",
                related=call_of(answer),
            )


def _reports_failure(result: Result) -> bool:
    text = next(iter(windows(result.body)), "")
    return failure(text) in ("error", "timeout") and not placeholder(text)
