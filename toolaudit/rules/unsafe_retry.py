"""The same call again although the first may have done its work."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolaudit.model import Cause, Finding, Ledger, Pair, Related
from toolaudit.regex import regex
from toolaudit.rules import Context, rule
from toolaudit.rules._again import Between, answer_of, arguments, nature, repeats
from toolaudit.rules._results import failure_of
from toolaudit.rules._say import of_call, tool


@rule(category="retries", severity="warning", needs=("same-tool",), since="0.1.0")
def unsafe_retry(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A call is made again after a timeout or an interruption, without making sure that the first did nothing.

    ## Why it matters
    A timeout is not a failure: the letter may have been sent, the money moved. The same call again may do it a second time, and no
    result will show it.

    ## Bad
    ```transcript
    user       Send the rota to Kim.
    assistant  -> call_e1 send_letter({"to": "Kim", "text": "rota"})
    tool       <-! call_e1 error: read timeout after 30 s
    assistant  -> call_e2 send_letter({"to": "Kim", "text": "rota"})     # unsafe-retry
    tool       <- call_e2 sent, number 18
    assistant  Sent.
    ```

    ## Good
    ```transcript
    user       Send the rota to Kim.
    assistant  -> call_e1 send_letter({"to": "Kim", "text": "rota", "request_id": "r-71"})
    tool       <-! call_e1 error: read timeout after 30 s
    assistant  -> call_e2 send_letter({"to": "Kim", "text": "rota", "request_id": "r-71"})
    tool       <- call_e2 sent, number 18
    assistant  Sent.
    ```

    Looking first is as good:

    ```transcript
    user       Send the rota to Kim.
    assistant  -> call_e1 send_letter({"to": "Kim", "text": "rota"})
    tool       <-! call_e1 error: read timeout after 30 s
    assistant  -> call_l1 list_letters({"to": "Kim"})
    tool       <- call_l1 none today
    assistant  -> call_e2 send_letter({"to": "Kim", "text": "rota"})
    tool       <- call_e2 sent, number 18
    assistant  Sent.
    ```

    ## How to fix
    Give calls that change something a key by which the receiver recognises a second attempt, and send the same key again; or look up
    what became of the first attempt before the second.
    """
    between = Between(ledger)
    for first, second in repeats(ledger, lambda name: nature(name) != "reads"):
        if (outcome := _open_outcome(first)) and not _is_safe(between, first, second):
            yield _finding(first, second, outcome)


def _open_outcome(pair: Pair) -> str:
    """How a call ended when that leaves open whether it did its work; empty when it does not."""
    answer = answer_of(pair)
    return _OUTCOMES.get(failure_of(answer) or "", "") if answer is not None else ""


_OUTCOMES = {
    "timeout": "timed out",
    "cancelled": "was cancelled",
    "interrupted": "was interrupted",
    "unknown": "ended without a known outcome",
}
_IDEMPOTENT = regex(r"idempot|request_?id|client_?token|dedup|nonce|transaction_?id|correlation_?id", re.IGNORECASE)


def _is_safe(between: Between, first: Pair, second: Pair) -> bool:
    """The receiver can tell the attempts apart, the tool only reads, or somebody looked in between."""
    given = arguments(second.call)
    keyed = any(_IDEMPOTENT.search(key) and value not in (None, "") for key, value in given.items())
    looked, _ = between.calls(first, second)
    return keyed or looked > 0 or _only_reads(given)


_HARMLESS = regex(
    r"\s*(?:ls|cat|head|tail|grep|rg|find|pwd|wc|which|git (?:status|log|diff|show|blame|branch)|pytest|ps|df|du|stat)\b[^;&|>]*\Z"
)


def _only_reads(given: dict[str, object]) -> bool:
    """The command line of a shell tool that changes nothing."""
    command = given.get("command", given.get("cmd"))
    return isinstance(command, str) and _HARMLESS.match(command) is not None


def _finding(first: Pair, second: Pair, outcome: str) -> Finding:
    return of_call(
        "unsafe-retry",
        second,
        f"{tool(second.call.name)} is called again with equal arguments after the first call {outcome}: it may have been done twice",
        "look up what became of the first call before the second, or send the same idempotency key with both",
        related=(Related("first call", first.call.place), Related("its result", first.answers[0].result.place)),
        cause=Cause("retry", "medium"),
        confidence="high" if nature(str(second.call.name)) == "changes" else "medium",
    )
