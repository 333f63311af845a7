"""One result that holds the outputs of several calls."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from toolaudit.formats._json import text_of
from toolaudit.model import Answer, Confidence, Finding, Ledger, Pair, Related
from toolaudit.regex import regex
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
        if silent and len(silent) < len(asked):
            words, names = _by_word(silent), Counter(pair.call.name for pair in silent)
            for pair in asked:
                if pair.answered and (found := _judge(pair, asked, silent, words, names)) is not None:
                    yield found


def _by_word(pairs: list[Pair]) -> dict[str, list[tuple[int, Pair]]]:
    """Calls with their number, by the word of their id that fewest of the others have."""
    words = [_WORD.findall(pair.call.id or "") for pair in pairs]
    often = Counter(word for one in words for word in one)
    found: dict[str, list[tuple[int, Pair]]] = {}
    for number, (pair, own) in enumerate(zip(pairs, words, strict=True)):
        if own:
            found.setdefault(min(own, key=often.__getitem__), []).append((number, pair))
    return found


_WORD = regex(r"[\w-]+")


def _held(text: str, words: dict[str, list[tuple[int, Pair]]]) -> list[Pair]:
    """The calls whose ids stand in a text, in their order."""
    if len(words) <= _MOST_NAMES and not any(word in text for word in words):
        return []  # the usual case: looked for one by one, a few words are not there in no time
    present = set(_WORD.findall(text))
    found = [one for word in present if word in words for one in words[word] if _names(text, present, one[1].call.id or "")]
    return [pair for _, pair in sorted(found, key=lambda one: one[0])]


def _names(text: str, present: set[str], key: str) -> bool:
    """The id stands in the text, and is not a part of a longer one."""
    if _WORD.fullmatch(key):
        return key in present
    return present.issuperset(_WORD.findall(key)) and re.search(rf"(?<![\w-]){re.escape(key)}(?![\w-])", text) is not None


def _judge(
    pair: Pair, asked: list[Pair], silent: list[Pair], words: dict[str, list[tuple[int, Pair]]], names: Counter[str | None]
) -> Finding | None:
    answer = pair.answers[0]
    text = text_of(answer.result.body)
    held = _held(text, words)
    if held:
        return _finding(answer, held, "names", "high")
    named = names if len(names) > _MOST_NAMES else names + Counter([pair.call.name])
    if len(named) <= _MOST_NAMES and all(_labels(text, name, times) for name, times in named.items()):
        return _finding(answer, silent, "names the tools of", "medium")
    if len(silent) == len(asked) - 1 and _length(text) == len(asked):
        return _finding(answer, silent, f"is a list of {len(asked)}, just as many as there are calls, beside", "medium")
    return None


_MOST_NAMES = 64
"""A text is not searched for the names of more tools than these."""


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
