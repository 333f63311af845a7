"""Recognisably the wrong identifier."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Answer, Cause, Finding, Ledger, Pair
from toolaudit.rules import Context, rule
from toolaudit.rules._say import call_of, of_call, of_result, tool
from toolaudit.text import quote

ITEM_PREFIXES = {"function_call": "fc", "custom_tool_call": "ctc"}


@rule(category="pairing", severity="error", side="unasked", needs=("mismatched", "item-id"), since="0.1.0")
def mismatched_id(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A result, or an item, bears an identifier that is recognisably the wrong one.

    ## Why it matters
    The tool's name, the item's id instead of the call's, a suffix added on one side: the pair is there for a person to see, but the
    provider compares the ids as they stand and finds a call unanswered and a result unexpected.

    ## Bad
    ```transcript
    user       Weather at the lock?
    assistant  -> call_1770_ab get_weather({"at": "lock"})
    tool       <- get_weather drizzle     # mismatched-id
    assistant  Drizzle.
    ```

    ## Good
    ```transcript
    user       Weather at the lock?
    assistant  -> call_1770_ab get_weather({"at": "lock"})
    tool       <- call_1770_ab drizzle
    assistant  Drizzle.
    ```

    ## How to fix
    Copy the id of the call into the result, untouched: no renaming, no prefix, no shortening.
    """
    for answer in ledger.answers:
        if answer.state == "mismatched" and answer.pair is not None:
            yield _finding(answer, answer.pair)
    for pair in ledger.pairs:
        if pair.call.item_id is not None and pair.call.item_id == pair.call.id and not _fits(pair):
            yield _item(pair)


def _finding(answer: Answer, pair: Pair) -> Finding:
    result, own = answer.result, quote(pair.call.id or "")
    return of_result(
        "mismatched-id",
        answer,
        f"the result of {tool(pair.call.name)} names {quote(result.ref or '')}, {answer.note}, where the call's id {own} belongs",
        f"set its {result.ref_key} to {own}",
        place=result.place.within(result.ref_key),
        side="unasked",
        cause=Cause("translation", "medium"),
        related=call_of(answer),
    )


def _fits(pair: Pair) -> bool:
    """The item's id has the form that its kind asks for, or no form is known."""
    prefix = ITEM_PREFIXES.get(pair.call.kind)
    return prefix is None or (pair.call.item_id or "").startswith(prefix)


def _item(pair: Pair) -> Finding:
    key = quote(pair.call.item_id or "")
    return of_call(
        "mismatched-id",
        pair,
        f"the item of {tool(pair.call.name)} has the call's id {key} for its own id",
        "leave the item's id out, or give it the one that the response had: only call_id links a call to its output",
        variant="item",
        place=pair.call.place / "id",
        side="shape",
        cause=Cause("translation", "medium"),
    )
