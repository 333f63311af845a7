"""An id absent, empty or a sentinel where the format needs one."""

from __future__ import annotations

import bisect
from collections.abc import Iterator

from toolaudit.model import JSON, Answer, Finding, Ledger, Pair
from toolaudit.rules import Context, rule
from toolaudit.rules._say import call_of, of_call, of_result, tool
from toolaudit.text import quote, word_for

_WITHOUT = frozenset({"function_call (legacy)", "tool_search_call"}), frozenset({"function", "tool_search_output"})
"""Kinds of calls, and of results, that have no id by design: the name, or the order, links them."""


@rule(category="pairing", severity="error", side="shape", needs=("nameless", "orphan", "results"), since="0.1.0")
def missing_id(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A call or a result has no usable id.

    ## Why it matters
    Without an id a result can be told to belong to a call only by guessing. An empty string or the word `null` is no id either: it is
    what a serialiser made of one that was lost.

    ## Bad
    ```transcript
    user       2 + 5?
    assistant  -> call_ad1 add({"x": 2, "y": 5})
    tool       <- ? 7     # missing-id
    assistant  7.
    ```

    ```transcript
    user       Look.
    assistant  -> ? look({})     # missing-id
    tool       <- ? seen
    assistant  Seen.
    ```

    ## Good
    ```transcript
    user       2 + 5?
    assistant  -> call_ad1 add({"x": 2, "y": 5})
    tool       <- call_ad1 7
    assistant  7.
    ```

    ## How to fix
    Store the id as the provider sent it and copy it into the result. In a stream it comes once, with the first fragment of the call.
    """
    if ledger.trajectory.named or _knows_no_ids(ledger):
        return
    nameless = set()
    for pair in ledger.pairs:
        if pair.call.id is None and pair.call.expects == "one" and pair.call.kind not in _WITHOUT[0]:
            nameless.add(id(pair.batch))
            yield _call(pair)
    starts = [batch.turns[0].number for batch in ledger.batches]
    for answer in ledger.answers:
        if answer.result.kind == "function" and answer.result.name is None:
            yield _unnamed(answer)
        elif answer.state == "nameless" and not _by_design(answer) and not _follows(ledger, answer, nameless, starts):
            yield _result(answer)


def _knows_no_ids(ledger: Ledger) -> bool:
    """Decoded arguments and not one key for an id: the dialect of templates and local servers, which link by name and order."""
    calls = [pair.call for pair in ledger.pairs]
    bare = all(call.raw_id is None and call.args_form == "object" and call.kind == "function" for call in calls)
    return bool(calls) and bare and all(answer.result.raw_ref is None for answer in ledger.answers)


def _by_design(answer: Answer) -> bool:
    """A function message of the first generation answers a call of its own generation by name; to any other it is no answer."""
    return answer.result.kind in _WITHOUT[1] and (answer.pair is None or answer.pair.call.kind in _WITHOUT[0])


def _follows(ledger: Ledger, answer: Answer, nameless: set[int], starts: list[int]) -> bool:
    """The calls before it have no ids: the result could not have one, and the calls are what is reported."""
    if answer.pair is not None:
        return id(answer.pair.batch) in nameless
    before = bisect.bisect_left(starts, answer.turn.number)
    return before > 0 and id(ledger.batches[before - 1]) in nameless


def _stored(value: JSON) -> str:
    """What stands where the id belongs; a value that no id could be is content, and not quoted."""
    if value is None or value == "":
        return "is absent" if value is None else "is empty"
    what = quote(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else word_for(value)
    return f"is {what}, which is no id"


def _call(pair: Pair) -> Finding:
    message = f"the call of {tool(pair.call.name)} cannot be answered by id: its id {_stored(pair.call.raw_id)}"
    return of_call("missing-id", pair, message, "give the call an id of its own, and its result the same one", side="shape")


def _unnamed(answer: Answer) -> Finding:
    """A function message of the first generation is linked by its name."""
    message = "a function message bears no name: it cannot be told which call it answers"
    return of_result("missing-id", answer, message, "give it the name of the function that was called", variant="name", side="shape")


def _result(answer: Answer) -> Finding:
    if answer.pair is not None:
        whose = f"probably the answer to {tool(answer.pair.call.name)} ({quote(answer.pair.call.id or '')})"
        remedy = f"set its {answer.result.ref_key} to {quote(answer.pair.call.id or '')}, if that is the call it answers"
    else:
        whose, remedy = "it cannot be told which call it answers", "give it the id of the call it answers"
    message = f"a result names no call: its {answer.result.ref_key} {_stored(answer.result.raw_ref)}; {whose}"
    return of_result(
        "missing-id",
        answer,
        message,
        remedy,
        variant="result",
        side="shape",
        confidence="high" if answer.pair is None else "medium",
        related=call_of(answer),
    )
