"""What the rules about calls and results have in common: filling in who, where and which turn."""

from __future__ import annotations

from typing import Any

from toolaudit.model import Answer, Finding, Ledger, Pair, Place, Related, Turn
from toolaudit.text import quote


def tool(name: str | None) -> str:
    """A tool in a sentence."""
    return quote(name) if name else "a tool"


def of_call(rule: str, pair: Pair, message: str, remedy: str, **more: Any) -> Finding:
    """A finding at a call."""
    call = pair.call
    given = {"place": call.place, "turn": pair.turn.number, "call_id": call.id, "tool": call.name, "subject": call}
    return Finding(rule=rule, message=message, help=remedy, **{**given, **more})


def of_result(rule: str, answer: Answer, message: str, remedy: str, **more: Any) -> Finding:
    """A finding at a result; its tool is that of the call, where it is known."""
    result = answer.result
    name = answer.pair.call.name if answer.pair else result.name
    given = {"place": result.place, "turn": answer.turn.number, "call_id": result.ref, "tool": name, "subject": result}
    return Finding(rule=rule, message=message, help=remedy, **{**given, **more})


def of_turn(rule: str, turn: Turn, message: str, remedy: str, **more: Any) -> Finding:
    """A finding at a message."""
    return Finding(rule=rule, message=message, help=remedy, **{"place": turn.place, "turn": turn.number, "subject": turn, **more})


def call_of(answer: Answer) -> tuple[Related, ...]:
    """The call that a result answers, as a related place."""
    return (Related("call", answer.pair.call.place),) if answer.pair else ()


def case_of(answer: Answer) -> str:
    """Function messages of the first generation have a law of their own."""
    return "legacy" if answer.result.kind == "function" else ""


def is_judged(ledger: Ledger, turn: Turn) -> bool:
    """The turn still counts: it does not stand before a compaction that took effect."""
    return not ledger.live or turn.number >= ledger.live[0].number


def first(places: list[Place]) -> Place | None:
    """The first place, in order of the file, when there is one."""
    return min(places, key=lambda place: (place.record, [str(key).zfill(9) for key in place.path]), default=None)
