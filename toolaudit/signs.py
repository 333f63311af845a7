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
        signs.add(pair.state)
        signs.update(_pair_signs(pair))
    for answer in ledger.answers:
        signs.update((answer.state, answer.where))
        signs.update(_result_signs(answer.result))
    for turn in ledger.trajectory.turns:
        signs.update(_turn_signs(turn))
    signs.update(_whole(ledger))
    if side_by_side or any(len(batch.turns) > 1 for batch in ledger.batches):
        signs.add("split-turn")
    return signs - {"paired", "first", "in"}


def _whole(ledger: Ledger) -> Iterable[str]:
    """Signs of the trajectory as a whole."""
    yield from (f"unknown-{unknown.of}" for unknown in ledger.trajectory.unknown)
    if ledger.trajectory.tools is not None:
        yield "tools"
    if ledger.trajectory.thinking:
        yield "thinking"
    if ledger.trajectory.unit == "item" and any(turn.key is not None for turn in ledger.trajectory.turns):
        yield "item-key"
    keys = [turn.key for turn in ledger.trajectory.turns if turn.key is not None]
    if len(set(keys)) < len(keys):
        yield "same-key"
    if ledger.pairs:
        yield "calls"
        tools = [(pair.call.name, pair.batch.number) for pair in ledger.pairs]
        if len({name for name, _ in tools}) < len(set(tools)):
            yield "same-tool"


def _result_signs(result: Result) -> Iterable[str]:
    if result.executor == "client":
        yield "results"
        if not _is_quiet(result.body):
            yield "telling"
    if result.flag in ("error", "denied", "cancelled"):
        yield "error-flag"
    if result.name is not None:
        yield "result-name"


def _is_quiet(body: JSON) -> bool:
    """The texts of a body hint at nothing; a body of another form than text is not looked into."""
    if isinstance(body, list):
        return all(isinstance(part, dict) and isinstance(text := part.get("text", ""), str) and quiet(text) for part in body)
    return body is None or (isinstance(body, str) and quiet(body))


def _pair_signs(pair: Pair) -> Iterable[str]:
    if pair.why:
        yield pair.why
    if pair.call.id is None:
        yield "nameless"
    if pair.same_id is not None:
        yield "same-id"
    if pair.call.item_id is not None:
        yield "item-id"
    if pair.call.executor == "server":
        yield "server-call"
    if len(pair.batch.pairs) > 1:
        yield "parallel"


def _turn_signs(turn: Turn) -> Iterable[str]:
    order = turn.order
    if "t" in order and any(may_hold_call(part.text) or may_hold_result(part.text) for part in turn.texts):
        yield "prose"
    if turn.empty_calls:
        yield "empty-calls"
    if turn.failed:
        yield "failed"
    if turn.stop is not None or turn.call_count or turn.tokens:
        yield "stop"
    if "h" in order:
        yield "reasoning"
    if "x" in order:
        yield "other"
        yield from (part.kind for part in turn.parts if isinstance(part, Other) and part.kind == "reference")
    if "c" in order and "t" in order.partition("c")[2]:
        yield "text-after-call"
    if "r" in order and set(order) != {"r"}:
        yield "mixed-results"
