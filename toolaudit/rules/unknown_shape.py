"""JSON of a recognised format with something not understood."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Finding, Ledger
from toolaudit.rules import Context, rule
from toolaudit.text import safe


@rule(category="input", severity="note", side="shape", needs=("unknown-shape", "unknown-tie"), since="0.1.0")
def unknown_shape(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """Something in a recognised transcript is not understood, or two formats fit it equally well.

    ## Why it matters
    A part that is not understood is not audited. Better that it is said than that the file is called clean.

    ## Bad
    ```json
    {"model": "gpt-4.1", "messages": [{"role": "user", "content": "Hi"}, {"role": "narrator", "content": "It rains."}]}
    ```

    ## Good
    ```json
    {"model": "gpt-4.1", "messages": [{"role": "user", "content": "Hi"}, {"role": "system", "content": "It rains."}]}
    ```

    ## How to fix
    Name the format with `--input-format` when two fit; report the shape if it is one that a provider really uses.
    """
    for unknown in ledger.trajectory.unknown:
        if unknown.of != "record":
            yield Finding(
                rule="unknown-shape",
                place=unknown.place,
                message=f"{safe(unknown.what)} is not understood, so it is not audited"
                if unknown.of == "shape"
                else f"{safe(unknown.what)}: it is not guessed which one holds",
                help="nothing to mend if it carries no calls or results"
                if unknown.of == "shape"
                else "name the format with --input-format",
                side="shape",
            )
