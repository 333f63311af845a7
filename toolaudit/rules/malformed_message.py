"""A field that the published shape does not allow."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import JSON, Finding, Ledger, Place
from toolaudit.rules import Context, rule


@rule(category="input", severity="warning", side="shape", default=False, raw=True, since="0.1.0")
def malformed_message(ledger: Ledger, context: Context) -> Iterator[Finding]:
    """A message has a field that the published shape of its format does not allow. On with `--check-shape`.

    ## Why it matters
    Fine-tuning services and strict gateways check every field and refuse a file for one wrong type. The shape checked here is the one
    under `schemas/formats/`, as the providers' types give it.

    ## Bad
    ```json
    {"messages": [{"role": "user", "name": 7, "content": "7"}, {"role": "assistant", "content": "Seven."}]}
    ```

    ## Good
    ```json
    {"messages": [{"role": "user", "content": "7"}, {"role": "assistant", "content": "Seven."}]}
    ```

    ## How to fix
    Write the field as its message says; `toolaudit schema NAME` prints the shape.
    """
    from toolaudit.shape import faults

    numbers = {turn.place: turn.number for turn in ledger.trajectory.turns}
    for message, place in _messages(context):
        for fault in faults(ledger.trajectory.format, message):
            yield Finding(
                rule="malformed-message",
                place=place.down(*fault.path),
                message=fault.message,
                help="write the field as its format wants it: `toolaudit schema` prints the shape",
                side="shape",
                turn=numbers.get(place),
            )


def _messages(context: Context) -> list[tuple[JSON, Place]]:
    return list(context.messages)
