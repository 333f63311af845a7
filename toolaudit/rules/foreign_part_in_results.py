"""A part that the target does not take beside results."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Batch, Finding, Ledger, Other, Part, Related, Text, Turn
from toolaudit.rules import Context, rule
from toolaudit.rules._say import call_of, of_result, of_turn, tool
from toolaudit.text import quote


@rule(category="containers", severity="error", side="place", needs=("behind", "mixed-results", "server-call"), since="0.1.0")
def foreign_part_in_results(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A part stands beside results that the target does not take there.

    ## Why it matters
    An image or a document in front of the results hides them from the provider. And while a call of the provider's own is open, or code
    that it runs waits for results, the answer may hold results and nothing else.

    ## Bad
    ```transcript
    target anthropic
    user       Summarise the page and run uname.
    assistant  ~> srvtoolu_x1 web_fetch({"url": "https://example.org/a"})
               -> toolu_x9 run({"cmd": "uname"})
    user       <- toolu_x9 Linux
               | Be brief.     # foreign-part-in-results
    assistant  <~ srvtoolu_x1 the page
               | It is Linux.
    ```

    ## Good
    ```transcript
    target anthropic
    user       Summarise the page and run uname.
    assistant  ~> srvtoolu_x1 web_fetch({"url": "https://example.org/a"})
               -> toolu_x9 run({"cmd": "uname"})
    user       <- toolu_x9 Linux
    assistant  <~ srvtoolu_x1 the page
               | It is Linux.
    ```

    ## How to fix
    Send the results alone, and what else is to be said with a later message.
    """
    for answer in ledger.answers:
        if answer.where == "behind" and isinstance(answer.behind, Other) and answer.pair is not None:
            yield of_result(
                "foreign-part-in-results",
                answer,
                f"a part of type {quote(answer.behind.kind)} stands before the result of {tool(answer.pair.call.name)}",
                "put the results first",
                side="place",
                related=(Related("part", answer.behind.place), *call_of(answer)),
            )
    for batch in ledger.batches:
        if ledger.law.answers == "next-turn" and _wants_results_only(batch):
            yield from _beside(batch)


def _wants_results_only(batch: Batch) -> bool:
    """A call of the provider's stays open across the answer, or its code waits for the results."""
    clients = [p for p in batch.pairs if p.call.executor == "client"]
    own = {turn.number for turn in batch.turns}
    late = any(p.call.executor == "server" and not any(a.turn.number in own for a in p.answers) for p in batch.pairs)
    return bool(clients) and (late or any(p.call.caller for p in clients))


def _beside(batch: Batch) -> Iterator[Finding]:
    told = {turn.number for turn in batch.turns}
    for turn in (a.turn for p in batch.pairs for a in p.answers if a.state == "first" and a.where in ("in", "split")):
        if turn.number in told or turn.role == "assistant":
            continue
        told.add(turn.number)
        for part in turn.parts:
            if isinstance(part, (Text, Other)) and not (isinstance(part, Text) and not part.text):
                yield _finding(turn, part)
                break


def _finding(turn: Turn, part: Part) -> Finding:
    return of_turn(
        "foreign-part-in-results",
        turn,
        "the answer holds more than results while a call of the provider's own is open",
        "send the results alone, and the rest with a later message",
        variant="open-server-call",
        place=part.place,
        side="place",
    )
