"""An equal turn again, with only copies or results between."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Cause, Finding, Ledger, Pair, Related
from toolaudit.rules import Context, rule
from toolaudit.rules._say import of_call, of_turn
from toolaudit.text import listed, quote


@rule(category="turns", severity="error", side="shape", needs=("copy",), since="0.1.0")
def duplicated_assistant_turn(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """An assistant turn with calls is stored again, with nothing but results or further copies between.

    ## Why it matters
    The code that appends ran twice: a retry wrapper entered it again, or the turn was put in front of each of its results. The ids are
    no longer unique, and one of the copies has calls without results.

    ## Bad
    ```transcript
    user       Weather in Oslo?
    assistant  -> call_a1b2c3d4 get_weather({"city": "Oslo"})
    assistant  -> call_a1b2c3d4 get_weather({"city": "Oslo"})     # duplicated-assistant-turn
    tool       <- call_a1b2c3d4 4 C
    assistant  It is 4 C.
    ```

    Repeated before each single result:

    ```transcript
    user       Weather in Oslo and Lima?
    assistant  -> call_a1b2c3d4 get_weather({"city": "Oslo"})
               -> call_e5f6a7b8 get_weather({"city": "Lima"})
    tool       <- call_a1b2c3d4 4 C
    assistant  -> call_a1b2c3d4 get_weather({"city": "Oslo"})     # duplicated-assistant-turn
               -> call_e5f6a7b8 get_weather({"city": "Lima"})
    tool       <- call_e5f6a7b8 19 C
    assistant  4 C and 19 C.
    ```

    ## Good
    ```transcript
    user       Weather in Oslo and Lima?
    assistant  -> call_a1b2c3d4 get_weather({"city": "Oslo"})
               -> call_e5f6a7b8 get_weather({"city": "Lima"})
    tool       <- call_a1b2c3d4 4 C
               <- call_e5f6a7b8 19 C
    assistant  4 C and 19 C.
    ```

    ## How to fix
    Store the turn once, and all its results behind it. Append in one place only, and never inside what a retry repeats.
    """
    told: set[int] = set()
    answered: dict[int, bool] = {}
    for pair in ledger.pairs:
        # items of one model turn are one copy: the first of them is reported
        one = id(pair.batch if ledger.trajectory.unit == "item" else pair.turn)
        if pair.copy_of is not None and one not in told:
            told.add(one)
            for batch in (pair.batch, pair.copy_of.batch):
                if batch.number not in answered:
                    answered[batch.number] = all(p.answers for p in batch.pairs)
            yield _finding(ledger, pair, pair.copy_of, whole=answered[pair.batch.number] and answered[pair.copy_of.batch.number])


def _finding(ledger: Ledger, pair: Pair, original: Pair, *, whole: bool) -> Finding:
    keys = listed([quote(call.id or "") for call in pair.turn.calls])
    message = f"turn {original.turn.number} is stored again as turn {pair.turn.number}, with its calls {keys}"
    remedy = f"take turn {pair.turn.number} out and keep all results behind turn {original.turn.number}"
    more = {
        "variant": "answered" if whole else "",
        "side": "shape",
        "cause": Cause("retry", "medium"),
        "related": (Related("first copy", original.turn.place),),
    }
    if ledger.trajectory.unit == "item":
        return of_call("duplicated-assistant-turn", pair, message, remedy, **more)
    return of_turn("duplicated-assistant-turn", pair.turn, message, remedy, call_id=pair.call.id, tool=pair.call.name, **more)
