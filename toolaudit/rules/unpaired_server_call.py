"""A provider-executed call without its result, or the result without the call."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Answer, Finding, Ledger, Related
from toolaudit.rules import Context, rule
from toolaudit.rules._results import is_of_other_executor
from toolaudit.rules._say import call_of, of_call, of_result, tool
from toolaudit.text import quote


@rule(
    category="pairing",
    severity="error",
    side="unanswered",
    needs=("server", "server-call", "orphan", "dropped", "role", "duplicate"),
    since="0.1.0",
)
def unpaired_server_call(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A call that the provider runs itself stands without its result, or the result without its call.

    ## Why it matters
    The provider writes both halves. One half alone means that an assistant turn was shortened, merged or resumed in the wrong place, and
    the next request is refused.

    ## Bad
    ```transcript
    target anthropic
    user       Advise me.
    assistant  Asking.
               ~> srvtoolu_v2 web_search({"query": "roof"})
    user       What does it cost?
    assistant  <~ srvtoolu_v2 slate     # unpaired-server-call
               | Slate.
    ```

    ```transcript
    target anthropic
    user       Advise me.
    assistant  ~> srvtoolu_v2 web_search({"query": "roof"})     # unpaired-server-call
    user       Go on.
    assistant  Slate.
    ```

    ## Good
    ```transcript
    target anthropic
    user       Advise me.
    assistant  Asking.
               ~> srvtoolu_v2 web_search({"query": "roof"})
               <~ srvtoolu_v2 slate
               | Slate.
    user       What does it cost?
    ```

    ## How to fix
    Keep the assistant turn exactly as it arrived. A turn that paused with an open call of the provider's is sent back unchanged, with
    nothing but tool results behind it.
    """
    for answer in ledger.answers:
        if is_of_other_executor(answer):
            yield _of_client(answer)
        elif answer.result.executor == "server" and (answer.where in ("late", "early", "role") or answer.state in ("orphan", "dropped")):
            yield _result(answer)
    for pair in ledger.pairs:
        if pair.state == "missing" and pair.why == "server":
            name, key, gap = tool(pair.call.name), quote(pair.call.id or ""), pair.batch.next_turn
            yield of_call(
                "unpaired-server-call",
                pair,
                f"{name} ({key}), which the provider runs, has no result although the conversation went on",
                "take the call out of its turn, or restore the result that the provider gave",
                side="unanswered",
                gap=gap.number if gap else None,
                related=(Related("next turn", gap.place),) if gap else (),
            )


def _of_client(answer: Answer) -> Finding:
    """The call is there, but it is none of the provider's."""
    name = answer.pair.call.name if answer.pair else None
    return of_result(
        "unpaired-server-call",
        answer,
        f"a {quote(answer.result.kind)} answers {tool(name)} ({quote(answer.result.ref or '')}), but only the provider gives results of "
        "this kind, and only to calls that it runs itself",
        "give the call a result of the client's kind, or restore the provider's call that this result belongs to",
        variant="orphan",
        side="unasked",
        related=call_of(answer),
    )


def _result(answer: Answer) -> Finding:
    key = quote(answer.result.ref or "")
    if answer.pair is None:
        return of_result(
            "unpaired-server-call",
            answer,
            f"a result of the provider's own call {key} stands without that call",
            "restore the call before it in the assistant turn, or take the result out",
            variant="orphan",
            side="unasked",
        )
    words, remedy = {
        "early": ("stands before its call", "put it behind the call"),
        "role": (f"stands in a {answer.turn.raw_role} message", "put it into the assistant turn, behind its call"),
    }.get(
        answer.where,
        (
            "comes after a message of the user's",
            f"move what stands between turns {answer.pair.turn.number} and {answer.turn.number} behind the result",
        ),
    )
    return of_result(
        "unpaired-server-call",
        answer,
        f"the provider's result for {tool(answer.pair.call.name)} ({key}) {words}",
        remedy,
        side="place",
        related=call_of(answer),
    )
