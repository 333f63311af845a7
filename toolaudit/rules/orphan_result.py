"""A result whose call is not in the transcript."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Answer, Cause, Finding, Ledger, Related, Turn
from toolaudit.rules import Context, rule
from toolaudit.rules._say import case_of, of_result
from toolaudit.sessions import Doors
from toolaudit.text import quote


@rule(category="pairing", severity="error", side="unasked", needs=("orphan", "server"), since="0.1.0")
def orphan_result(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A result answers a call that is not in the transcript.

    ## Why it matters
    A result is matched to its call by id; one that matches nothing is refused by every provider that pairs by id, and the model
    sees an output that nobody asked for.

    ## Bad
    The history was cut between a call and its result:

    ```transcript
    tool       <- call_9 def main(): return 1     # orphan-result
    assistant  The bug is in line 3.
    user       Mend it.
    ```

    The id belongs to no call of the turn:

    ```transcript
    user       How deep are wells A and B?
    assistant  -> call_wa well({"id": "A"})
    tool       <- call_wa 9 m
               <- call_zz 12 m     # orphan-result
    assistant  Well A is 9 m deep.
    ```

    ## Good
    ```transcript
    user       How deep are wells A and B?
    assistant  -> call_wa well({"id": "A"})
               -> call_zz well({"id": "B"})
    tool       <- call_wa 9 m
               <- call_zz 12 m
    assistant  Well A is 9 m deep, well B 12 m.
    ```

    ## How to fix
    Put the assistant turn that made the call back in front of the result, or take the result out. The unit of trimming is the pair:
    drop a call and its results together.
    """
    doors = Doors(ledger.trajectory)
    for answer in ledger.answers:
        if answer.state in ("orphan", "server") and answer.result.executor == "client":
            yield _finding(answer, doors.of(answer.result.ref))


def _finding(answer: Answer, shown: Cause | None) -> Finding:
    before = answer.before
    message, remedy, cause = _words(answer, before)
    root = before.place if cause is not None and cause.name == "persistence" and before is not None and before.stop else None
    return of_result(
        "orphan-result",
        answer,
        message,
        remedy,
        variant=case_of(answer),
        side="unasked",
        cause=shown or cause,
        confidence="high",
        related=(Related("turn before", before.place),) if before else (),
        root=root,
    )


def _words(answer: Answer, before: Turn | None) -> tuple[str, str, Cause | None]:
    name = answer.result.name
    key = quote(answer.result.ref) if answer.result.ref else f"a call of {quote(name)}" if name else "a call"
    if answer.state == "server":
        return (
            f"a result is given for {key}, a call that the provider runs itself",
            "take the result out: the provider answers its own calls",
            None,
        )
    if before is None:
        return (
            f"the history begins with a result for {key}, whose call is not there",
            "take the result out, or keep the assistant turn that made the call: trim at turn boundaries",
            Cause("trimming", "medium"),
        )
    if before.role == "assistant" and not before.calls:
        return (
            f"a result answers {key}, but the assistant turn before it makes no call",
            f"store the calls of turn {before.number} with its text, or take the result out",
            Cause("persistence", "medium"),
        )
    if answer.result.ref is None:
        return (f"a result answers {key}, but none of the turn before it waits for one", "take the result out, or store its call", None)
    return (
        f"a result answers {key}, which is no call of the turn before it",
        "give the result the id of the call it answers, or take it out",
        None,
    )
