"""A result under another tool's name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolaudit.model import Finding, Ledger
from toolaudit.rules import Context, rule
from toolaudit.rules._say import call_of, is_judged, of_result, tool
from toolaudit.text import quote


@rule(category="pairing", severity="warning", side="shape", needs=("result-name",), since="0.1.0")
def mismatched_name(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """The name on a result is not that of the call it answers.

    ## Why it matters
    One of the two is wrong: the result was given the id of another call, or a translation renamed only one side. Providers that match by
    name refuse it or attach it to another call.

    ## Bad
    ```jsonl
    {"role": "user", "content": "What time is it in Ayr?"}
    {"role": "assistant", "tool_calls": [{"id": "call_t1", "type": "function", "function": {"name": "get_time", "arguments": "{}"}}]}
    {"role": "tool", "tool_call_id": "call_t1", "name": "get_weather", "content": "12:40"}
    {"role": "assistant", "content": "12:40."}
    ```

    ## Good
    ```jsonl
    {"role": "user", "content": "What time is it in Ayr?"}
    {"role": "assistant", "tool_calls": [{"id": "call_t1", "type": "function", "function": {"name": "get_time", "arguments": "{}"}}]}
    {"role": "tool", "tool_call_id": "call_t1", "name": "get_time", "content": "12:40"}
    {"role": "assistant", "content": "12:40."}
    ```

    ## How to fix
    Take the name of a result from its call. If the names are right, the ids are not: give the result the id of the call it belongs to.
    """
    for answer in ledger.answers:
        pair, name = answer.pair, answer.result.name
        if (
            name is None
            or pair is None
            or pair.call.name is None
            or (answer.link != "id" and answer.result.kind != "function" and not ledger.trajectory.named)
            or answer.state not in ("first", "stale", "nameless")
        ):
            continue
        if not _is_same(name, pair.call.name) and is_judged(ledger, answer.turn):
            yield of_result(
                "mismatched-name",
                answer,
                f"the result of {tool(pair.call.name)} ({quote(answer.result.ref or '')}) bears the name {quote(name)}",
                f"name the result {quote(pair.call.name)}, or give it the id of the call it belongs to",
                related=call_of(answer),
            )


def _is_same(name: str, other: str) -> bool:
    """Equal but for letter case, punctuation, and a namespace on one side."""
    return _plain(name) == _plain(other) or _plain(_own(name)) == _plain(_own(other))


def _own(name: str) -> str:
    return re.split(r"__|[.:/]", name)[-1]


def _plain(name: str) -> str:
    return "".join(character for character in name if character.isalnum()).casefold()
