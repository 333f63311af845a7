"""A record that is not JSON."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Finding, Ledger
from toolaudit.rules import Context, rule


@rule(category="input", severity="error", side="shape", needs=("unknown-record",), since="0.1.0")
def unreadable_record(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A record of the input cannot be read as JSON.

    ## Why it matters
    What cannot be read cannot be audited: a call or a result may stand in it. The ids that can still be made out are kept, and the pair
    findings of the rest of the file are marked as uncertain.

    ## Bad
    A line that was cut while it was written, or damaged by a redactor:

    ```jsonl
    {"role": "user", "content": "Weather in Oslo?"}
    {"role": "assistant", "content": null, "tool_calls": [{"id": "call_a1", "type": "func
    ```

    ## Good
    ```jsonl
    {"role": "user", "content": "Weather in Oslo?"}
    {"role": "assistant", "content": "4 C."}
    ```

    ## How to fix
    Write each record whole (to a temporary name, then rename; or one write per line), and redact values, never raw text.
    """
    for unknown in ledger.trajectory.unknown:
        if unknown.of == "record":
            yield Finding(
                rule="unreadable-record",
                place=unknown.place,
                message=f"this record cannot be read: {unknown.what}",
                help="restore the record from its source; what it holds is not audited",
                side="shape",
            )
