"""One batch of calls stored as several assistant turns."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from toolaudit.model import Finding, Ledger, Pair, Related, Turn
from toolaudit.rules import Context, rule
from toolaudit.rules._say import is_judged, of_turn
from toolaudit.text import listed, quote


@rule(category="turns", severity="warning", side="shape", needs=("split-turn",), since="0.1.0")
def split_assistant_turn(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """One turn's calls are stored as several assistant turns, with the results behind the last.

    ## Why it matters
    Where messages are read one by one, the first of these turns has no answer behind it and the request is refused. Elsewhere the turns
    are joined, but the history is no longer what the model wrote.

    ## Bad
    ```transcript
    target anthropic
    user       Weather in Oslo and Lima?
    assistant  -> toolu_a1 get_weather({"city": "Oslo"})
    assistant  -> toolu_b1 get_weather({"city": "Lima"})     # split-assistant-turn
    user       <- toolu_a1 4 C
               <- toolu_b1 19 C
    assistant  Oslo is colder.
    ```

    ## Good
    ```transcript
    target anthropic
    user       Weather in Oslo and Lima?
    assistant  -> toolu_a1 get_weather({"city": "Oslo"})
               -> toolu_b1 get_weather({"city": "Lima"})
    user       <- toolu_a1 4 C
               <- toolu_b1 19 C
    assistant  Oslo is colder.
    ```

    ## How to fix
    Store the calls of one turn in one message, as they were received.
    """
    if ledger.trajectory.named:
        return  # the vendor's own streaming loop stores the calls of a turn so (google-genai)
    for turn, pairs, count in split_turns(ledger):
        if is_judged(ledger, turn):
            yield _finding(turn, pairs, count)


def split_turns(ledger: Ledger) -> list[tuple[Turn, list[Pair], int]]:
    """The second and later turns of each batch that was stored as several, each with the batch's pairs and how many stand before it.

    Two turns side by side are one batch when no result stands between them and the former was answered behind the latter: a turn that
    was given up and tried again has no answer of its own.
    """
    if ledger.trajectory.unit != "message":
        return []
    copies = {pair.turn.number for pair in ledger.pairs if pair.copy_of is not None}
    pairs: dict[int, list[Pair]] = {}
    for pair in ledger.pairs:
        if pair.copy_of is None and pair.call.executor == "client":
            pairs.setdefault(pair.turn.number, []).append(pair)
    found: list[tuple[Turn, list[Pair], int]] = []
    batch: list[Pair] = []
    for first, second in itertools.pairwise(ledger.trajectory.turns):
        former, latter = pairs.get(first.number, []), pairs.get(second.number, [])
        if second.number in copies or not (former and latter and _are_one(first, second, former)):
            batch = []
            continue
        batch = batch or [*former]
        found.append((second, batch, len(batch)))
        batch.extend(latter)
    return found


def _are_one(first: Turn, second: Turn, former: list[Pair]) -> bool:
    if first.failed or second.failed or first.results or (first.key is not None and first.key == second.key):
        return False
    answered = [answer.turn.number for pair in former for answer in pair.answers]
    return bool(answered) and min(answered) > second.number


_SHOWN = 4


def _finding(turn: Turn, pairs: list[Pair], count: int) -> Finding:
    first = pairs[0].turn
    keys = [quote(pair.call.id or "") for pair in pairs[: min(count, _SHOWN)]]
    named = listed([*keys, f"{count - _SHOWN} more"] if count > _SHOWN else keys, _SHOWN + 1)
    stand = "is" if count == 1 else "are"
    return of_turn(
        "split-assistant-turn",
        turn,
        f"turn {turn.number} calls again before {named} of turn {first.number} {stand} answered: one turn stored as several",
        f"move the calls of turn {turn.number} into turn {first.number}",
        side="shape",
        related=(Related("first part of the turn", first.place),),
    )
