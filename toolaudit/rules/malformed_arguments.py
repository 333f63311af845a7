"""Arguments that are no JSON object."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Finding, Ledger, Pair
from toolaudit.rules import Context, rule
from toolaudit.rules._arguments import place_of, read_arguments
from toolaudit.rules._say import of_call, tool


@rule(category="arguments", severity="warning", needs=("calls",), since="0.1.0")
def malformed_arguments(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """The arguments of a call are not a JSON object.

    ## Why it matters
    No tool can be run with them. Where arguments are an object, a string is refused; where they are a string of JSON, many servers parse
    it again on every request, so one bad call breaks the whole conversation from then on.

    ## Bad
    ```transcript
    user       What is the time and the weather in Ayr?
    assistant  -> call_t1 get_time({"city": "Ayr"}{"tz": "UTC"})     # malformed-arguments
    tool       <- call_t1 which of the two was meant?
    assistant  I will ask again, one at a time.
    ```

    A list where an object belongs:

    ```transcript
    user       What is the weather in Ayr?
    assistant  -> call_t1 get_weather(["Ayr"])     # malformed-arguments
    tool       <- call_t1 a city is needed
    assistant  Which city do you mean?
    ```

    ## Good
    ```transcript
    user       What is the time and the weather in Ayr?
    assistant  -> call_t1 get_time({"tz": "UTC"})
               -> call_t2 get_weather({"city": "Ayr"})
    tool       <- call_t1 12:40
               <- call_t2 11 C
    assistant  It is 12:40, and 11 C.
    ```

    ## How to fix
    Store the arguments as they came: parsed once where an object belongs, as the model's own string where a string does. Objects glued
    together come of a stream whose fragments were joined under one index. Replace arguments that cannot be read by `{}` and say in the
    result what was wrong.
    """
    for pair, found in read_arguments(ledger):
        if found.fault == "malformed":
            yield _finding(pair, found.what)


def _finding(pair: Pair, what: str) -> Finding:
    return of_call(
        "malformed-arguments",
        pair,
        f"{what} where the arguments of {tool(pair.call.name)} belong, which are one JSON object",
        "store the object that the model meant, or `{}`, and keep the error in the result",
        place=place_of(pair),
    )
