"""One batch answered over several messages that stand side by side."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Answer, Finding, Ledger, Pair, Related, Turn
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
    first: dict[int, Turn] = {}  # the message that begins the answer to a batch
    apart: dict[int, list[Answer]] = {}
    for answer in ledger.answers:
        if answer.pair is not None:
            first.setdefault(answer.pair.batch.number, answer.turn)
            if answer.where == "split":
                apart.setdefault(answer.turn.number, []).append(answer)
    for answers in apart.values():
        if (pair := answers[0].pair) is not None:
            home = first[pair.batch.number]
            if home is answers[0].turn:  # the message right behind the calls holds other results
                home = ledger.trajectory.turns[pair.batch.turns[-1].index + 1]
            yield _finding(pair, answers, home)


def _finding(pair: Pair, answers: list[Answer], home: Turn) -> Finding:
    answer = answers[0]
    results = "the result" if len(answers) == 1 else "the results"
    keys = listed([quote(one.result.ref or "") for one in answers])
    return of_turn(
        "split-results",
        answer.turn,
        f"the answer to turn {pair.turn.number} goes on in another message: {results} of {keys} should stand in turn {home.number}",
        f"move {results} of turn {answer.turn.number} into turn {home.number}",
        side="place",
        call_id=answer.result.ref,
        tool=pair.call.name,
        related=(Related("first results", home.place),),
    )
