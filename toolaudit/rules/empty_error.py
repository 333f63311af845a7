"""An error flag without a word about the error."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import JSON, Finding, Ledger
from toolaudit.rules import Context, rule
from toolaudit.rules._results import accepted
from toolaudit.rules._say import call_of, of_result, tool


@rule(category="results", severity="error", needs=("error-flag",), since="0.1.0")
def empty_error(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A result is flagged as an error and says nothing.

    ## Why it matters
    The provider refuses an error without content, and the model could not learn from it what went wrong.

    ## Bad
    ```transcript
    target     anthropic
    user       Open the gate.
    assistant  -> toolu_g1 gate({"open": true})
    tool       <-! toolu_g1     # empty-error
    ```

    ## Good
    ```transcript
    target     anthropic
    user       Open the gate.
    assistant  -> toolu_g1 gate({"open": true})
    tool       <-! toolu_g1 the gate did not answer
    ```

    ## How to fix
    Put the message of the exception into the result; if there is none, its type.
    """
    for answer in accepted(ledger):
        result = answer.result
        # the flag of other formats is a status that stands for itself
        if result.flag == "error" and result.kind == "tool_result" and _is_empty(result.body):
            yield of_result(
                "empty-error",
                answer,
                f"the error result of {tool(answer.pair.call.name if answer.pair else None)} is empty",
                "say in the result what went wrong, if only the name of the exception",
                related=call_of(answer),
            )


def _is_empty(body: JSON) -> bool:
    if isinstance(body, list):
        return all(isinstance(part, dict) and part.get("type") == "text" and not part.get("text") for part in body)
    return body is None or body == ""
