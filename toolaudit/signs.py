"""The signs of a ledger: words for what deviates, or merely occurs. A rule says which signs it needs; without them it is not even imported.

The signs of text (`prose`, `telling`) are hints: they say that a text may hold what a rule looks for, never that it does.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolaudit.hints import may_hold_call, may_hold_result, quiet
from toolaudit.model import JSON, Ledger, Other, Pair, Result, Turn

OF_TEXT = frozenset({"prose", "telling"})
"""Signs that are looked for in the ends of a text only."""


def signs_of(ledger: Ledger, *, side_by_side: bool) -> set[str]:
    """Every sign of a ledger; `side_by_side`: batches of calls stand next to each other."""
    signs: set[str] = set()
    for pair in ledger.pairs:
        _of_pair(pair, signs)
    for answer in ledger.answers:
        signs.add(answer.state)
        signs.add(answer.where)
        _of_result(answer.result, signs)
    for turn in ledger.trajectory.turns:
        _of_turn(turn, signs)
    signs.update(_whole(ledger))
    if side_by_side or any(len(batch.turns) > 1 for batch in ledger.batches):
        signs.add("split-turn")
    return signs - {"paired", "first", "in"}


def _whole(ledger: Ledger) -> Iterable[str]:
    """Signs of the trajectory as a whole."""
    yield from (f"unknown-{unknown.of}" for unknown in ledger.trajectory.unknown)
    yield from (fault.rule for fault in ledger.trajectory.faults)
    if ledger.trajectory.former is not None:
        yield "former"
    if ledger.trajectory.tools is not None:
        yield "tools"
    if ledger.trajectory.thinking:
        yield "thinking"
    keys = [turn.key for turn in ledger.trajectory.turns if turn.key is not None]
    if keys and ledger.trajectory.unit == "item":
        yield "item-key"
    if len(set(keys)) < len(keys):
        yield "same-key"
    if ledger.pairs:
        yield "calls"
        tools = {(pair.call.name, pair.batch.number) for pair in ledger.pairs}
        if len({name for name, _ in tools}) < len(tools):
            yield "same-tool"


def _of_result(result: Result, signs: set[str]) -> None:
    if result.executor == "client":
        signs.add("results")
        if "telling" not in signs and not _is_quiet(result.body):
            signs.add("telling")
    if result.flag in ("error", "denied", "cancelled"):
        signs.add("error-flag")
    if result.name is not None:
        signs.add("result-name")


def _is_quiet(body: JSON) -> bool:
    """The texts of a body hint at nothing; a body of another form than text is not looked into."""
    if isinstance(body, list):
        return all(isinstance(part, dict) and isinstance(text := part.get("text", ""), str) and quiet(text) for part in body)
    return body is None or (isinstance(body, str) and quiet(body))


def _of_pair(pair: Pair, signs: set[str]) -> None:
    call = pair.call
    signs.add(pair.state)
    if pair.why:
        signs.add(pair.why)
    if call.id is None:
        signs.add("nameless")
    if pair.same_id is not None:
        signs.add("same-id")
    if call.item_id is not None:
        signs.add("item-id")
    if call.executor == "server":
        signs.add("server-call")
    if len(pair.batch.pairs) > 1:
        signs.add("parallel")


def _of_turn(turn: Turn, signs: set[str]) -> None:
    order = turn.order
    if "t" in order and "prose" not in signs and any(may_hold_call(part.text) or may_hold_result(part.text) for part in turn.texts):
        signs.add("prose")
    if turn.empty_calls:
        signs.add("empty-calls")
    if turn.failed:
        signs.add("failed")
    if turn.stop is not None or turn.call_count or turn.tokens:
        signs.add("stop")
    if "h" in order:
        signs.add("reasoning")
    if "x" in order:
        signs.add("other")
        if any(isinstance(part, Other) and part.kind == "reference" for part in turn.parts):
            signs.add("reference")
    if len(order) > 1:
        if "c" in order and "t" in order.partition("c")[2]:
            signs.add("text-after-call")
        if "r" in order and set(order) != {"r"}:
            signs.add("mixed-results")
