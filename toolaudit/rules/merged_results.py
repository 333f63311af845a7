"""One result that holds the outputs of several calls."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolaudit.formats._json import text_of
from toolaudit.model import Answer, Confidence, Finding, Ledger, Pair, Related
from toolaudit.rules import Context, rule
from toolaudit.rules._say import of_result
from toolaudit.text import listed, plural, quote


@rule(category="flattening", severity="warning", side="unanswered", needs=("parallel",), since="0.1.0")
def merged_results(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """One result holds the outputs of several calls of its turn.

    ## Why it matters
    The other calls count as unanswered, so the next request is refused; and within the one result nothing says which output belongs to
    which call, or that one of them failed.

    ## Bad
    ```transcript
    user       Weather in Oslo and Lima?
    assistant  -> call_a1 get_weather({"city": "Oslo"})
               -> call_b1 get_weather({"city": "Lima"})     # missing-result
    tool       <- call_a1 call_a1: 4 C, call_b1: 19 C     # merged-results
    user       Thanks.
    ```

    ## Good
    ```transcript
    user       Weather in Oslo and Lima?
    assistant  -> call_a1 get_weather({"city": "Oslo"})
               -> call_b1 get_weather({"city": "Lima"})
    tool       <- call_a1 4 C
               <- call_b1 19 C
    user       Thanks.
    ```

    ## How to fix
    Give each call a result of its own with only its own output.
    """
    for batch in ledger.batches:
        asked = [pair for pair in batch.pairs if pair.call.executor == "client" and pair.copy_of is None]
        silent = [pair for pair in asked if pair.state in ("missing", "open") and not pair.answered]
        if silent and len(asked) > 1:
            yield from (found for pair in asked if pair.answered and (found := _judge(pair, asked, silent)) is not None)


def _judge(pair: Pair, asked: list[Pair], silent: list[Pair]) -> Finding | None:
    answer = pair.answers[0]
    text = text_of(answer.result.body)
    held = [one for one in silent if one.call.id and re.search(rf"(?<![\w-]){re.escape(one.call.id)}(?![\w-])", text)]
    if held:
        return _finding(answer, held, "names", "high")
    named = [pair, *silent]
    if all(_labels(text, one.call.name, sum(other.call.name == one.call.name for other in named)) for one in named):
        return _finding(answer, silent, "names the tools of", "medium")
    if len(silent) == len(asked) - 1 and _length(text) == len(asked):
        return _finding(answer, silent, f"is a list of {len(asked)}, just as many as there are calls, beside", "medium")
    return None


def _labels(text: str, name: str | None, times: int) -> bool:
    """A tool's name stands before outputs as often as it was called; a mere mention in running prose is not enough."""
    if not name or text.count(name) < times:
        return False
    return len(re.findall(rf"(?<![\w.-]){re.escape(name)}(?![\w-])[\])\"'`*]{{0,3}}\s?(?:[:=(]|->|\n)", text)) >= times


def _length(text: str) -> int:
    """How many elements a JSON list has; 0 when the text is none."""
    import orjson

    if text.lstrip()[:1] != "[":
        return 0
    try:
        value = orjson.loads(text)
    except ValueError:
        return 0
    return len(value) if isinstance(value, list) else 0


def _finding(answer: Answer, held: list[Pair], words: str, confidence: Confidence) -> Finding:
    keys = listed([quote(one.call.id or "") for one in held])
    calls = plural(len(held), "unanswered call")
    return of_result(
        "merged-results",
        answer,
        f"the result of {quote(answer.result.ref or '')} {words} {keys}: it seems to hold the output of {calls} too",
        f"give {keys} a result of its own, and leave in this one only its own output"
        if len(held) == 1
        else f"give {keys} results of their own, and leave in this one only its own output",
        side="unanswered",
        confidence=confidence,
        related=tuple(Related("unanswered call", one.call.place) for one in held),
    )
