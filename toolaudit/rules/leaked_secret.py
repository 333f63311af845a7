"""A credential in a result."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Answer, Finding, Ledger
from toolaudit.rules import Context, rule
from toolaudit.rules._say import of_result, tool
from toolaudit.traces import Secret, secret, windows


@rule(category="results", severity="warning", needs=("telling",), since="0.1.0")
def leaked_secret(ledger: Ledger, context: Context) -> Iterator[Finding]:
    """A result holds a credential, or an address with a password.

    ## Why it matters
    It has been sent to the provider, stands in every later request and in every copy of the log, and the model may repeat it. Errors of
    database drivers are the usual way in: they quote the address they could not connect to.

    ## Bad
    ```transcript
    user       How many orders came in today?
    assistant  -> call_q1 query({"sql": "select count(*) from orders"})
    tool       <- call_q1 cannot connect to postgres://ledger:hunter2@db.internal/prod     # leaked-secret
    ```

    ## Good
    ```transcript
    user       How many orders came in today?
    assistant  -> call_q1 query({"sql": "select count(*) from orders"})
    tool       <- call_q1 cannot connect to the database (host db.internal)
    ```

    ## How to fix
    Withdraw the credential: it is no longer secret. Then keep it out of results, by turning exceptions into messages of your own and by
    redacting what tools read. Only the beginning and the end of long results are looked at; `--deep` reads them whole.
    """
    for answer in ledger.answers:
        if answer.state != "copy":
            found = next((one for text in windows(answer.result.body, context.deep) if (one := secret(text))), None)
            if found is not None:
                yield _finding(answer, found)


def _finding(answer: Answer, found: Secret) -> Finding:
    return of_result(
        "leaked-secret",
        answer,
        f"the result of {tool(answer.pair.call.name if answer.pair else answer.result.name)} holds {found.what}: {found.masked}",
        "withdraw the credential, and redact it where results are made",
        place=answer.result.place.within(answer.result.body_key),
        confidence=found.confidence,
    )
