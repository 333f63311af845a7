"""Which results the rules about their contents speak of, and how they read them."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit import traces
from toolaudit.model import Answer, Ledger
from toolaudit.rules._say import is_judged


def accepted(ledger: Ledger) -> Iterator[Answer]:
    """The results of client tools that count: no copies, no second results, nothing before a compaction."""
    for answer in ledger.answers:
        if answer.state not in ("duplicate", "copy", "stale") and answer.result.executor == "client" and is_judged(ledger, answer.turn):
            yield answer


def is_of_other_executor(answer: Answer) -> bool:
    """A result of a kind that only the provider gives, under the id of a call that the client runs."""
    return answer.pair is not None and answer.result.executor == "server" and answer.pair.call.executor == "client"


def failure_of(answer: Answer) -> traces.Failure | None:
    """How a result says that its call failed: by its flag, else by the head of its text."""
    if answer.result.flag == "cancelled":
        return "cancelled"
    found = next((traces.failure(text) for text in traces.windows(answer.result.body)[:1]), None)
    return found or ("error" if answer.result.flag in ("error", "denied") else None)
