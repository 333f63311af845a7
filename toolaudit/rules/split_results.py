"""One batch answered over several messages that stand side by side."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Answer, Finding, Ledger, Related
from toolaudit.rules import Context, rule
from toolaudit.rules._say import of_turn
from toolaudit.text import listed, quote


@rule(category="containers", severity="warning", side="place", needs=("split",), since="0.1.0")
def split_results(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """The results of one turn are spread over several messages.

    ## Why it matters
    Nothing is refused and every test is green, but the transcript no longer shows calls that were answered together: the model learns
    from it to call one tool at a time, and each turn of three calls costs two further round trips and two resends of the history.

    ## Bad
    ```transcript
    target anthropic
    user       Plan a trip.
    assistant  -> toolu_1 search_flights({"to": "LIM"})
               -> toolu_2 get_weather({"city": "Lima"})
               -> toolu_3 list_hotels({"city": "Lima"})
    user       <- toolu_1 3 flights
               <- toolu_2 14 C
    user       <- toolu_3 2 hotels     # split-results
    assistant  Here is your plan.
    ```

    ## Good
    ```transcript
    target anthropic
    user       Plan a trip.
    assistant  -> toolu_1 search_flights({"to": "LIM"})
               -> toolu_2 get_weather({"city": "Lima"})
               -> toolu_3 list_hotels({"city": "Lima"})
    user       <- toolu_1 3 flights
               <- toolu_2 14 C
               <- toolu_3 2 hotels
    assistant  Here is your plan.
    ```

    ## How to fix
    Gather all results of a turn, whatever order the tools finish in, and put them into the one message that follows it.
    """
    told: set[int] = set()
    for answer in ledger.answers:
        if answer.where == "split" and id(answer.turn) not in told:
            told.add(id(answer.turn))
            yield _finding(ledger, answer)


def _finding(ledger: Ledger, answer: Answer) -> Finding:
    here = [a for a in ledger.answers if a.turn is answer.turn]
    first = next(a for a in ledger.answers if a.pair is not None and answer.pair is not None and a.pair.batch is answer.pair.batch)
    asked = answer.pair.turn.number if answer.pair else 0
    keys = listed([quote(a.result.ref or "") for a in here])
    return of_turn(
        "split-results",
        answer.turn,
        f"the answer to turn {asked} goes on in another message: {keys} should stand in turn {first.turn.number}",
        f"move the results of turn {answer.turn.number} into turn {first.turn.number}",
        side="place",
        call_id=answer.result.ref,
        tool=answer.pair.call.name if answer.pair else None,
        related=(Related("first results", first.turn.place),),
    )
