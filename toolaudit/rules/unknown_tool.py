"""A call to a tool that is not declared."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from toolaudit.model import Answer, Finding, Ledger, Pair, Severity
from toolaudit.regex import regex
from toolaudit.rules import Context, rule
from toolaudit.rules._declared import is_named, nearest, tools_of
from toolaudit.rules._results import failure_of
from toolaudit.rules._say import is_judged, of_call, tool
from toolaudit.text import plural, quote
from toolaudit.traces import windows


@rule(category="arguments", severity="warning", needs=("calls",), since="0.1.0")
def unknown_tool(ledger: Ledger, context: Context) -> Iterator[Finding]:
    """A call names a tool that the declared tools do not have.

    ## Why it matters
    The model invented the tool, the declarations changed in mid-conversation, or text from outside made it ask for something it was
    never given. A dispatcher that guesses the nearest name runs the wrong tool.

    ## Bad
    ```transcript
    tools      sow {"type": "object", "properties": {"row": {"type": "integer"}}}
    user       Harvest.
    assistant  -> call_h1 harvest_all({})     # unknown-tool
    tool       <- call_h1 no such tool
    ```

    ## Good
    ```transcript
    tools      sow {"type": "object", "properties": {"row": {"type": "integer"}}}
    user       Sow the first row.
    assistant  -> call_s1 sow({"row": 1})
    tool       <- call_s1 sown
    ```

    ## How to fix
    Answer such a call with an error that lists the tools there are. Keep declaring every tool that the history names for as long as
    the history is sent.
    """
    if ledger.trajectory.open_tools and context.tools is None:
        return
    tools = tools_of(ledger, context)
    if not tools:
        return
    unknown: dict[str, list[Pair]] = {}
    for pair in ledger.pairs:
        if is_named(pair.call) and pair.call.name not in tools and pair.copy_of is None and is_judged(ledger, pair.turn):
            unknown.setdefault(str(pair.call.name), []).append(pair)
    declared = list(itertools.islice(tools, 1000))
    for number, (name, pairs) in enumerate(unknown.items()):
        near = nearest(name, declared) if number < _MOST_HINTS else None
        yield _finding(pairs, near, sure=near is not None or not _was_there(ledger, pairs))


_MOST_HINTS = 32
"""For how many names a similar one is looked for: where more are unknown, the declarations are another agent's."""


def _was_there(ledger: Ledger, pairs: list[Pair]) -> bool:
    """The tool gave results: an earlier request declared it, and the declarations changed since (a hand-over between agents)."""
    trajectory = ledger.trajectory
    if trajectory.sent_turns and any(pair.turn.number > trajectory.sent_turns for pair in pairs):
        return False  # the answer to just this request
    return all(any(_is_output(answer) for answer in pair.answers) for pair in pairs)


_NO_SUCH = regex(r"no such|no tool|unknown|invalid|n[o']t (?:found|available|exist|declared|defined|registered)", re.IGNORECASE)


def _is_output(answer: Answer) -> bool:
    """A result that comes from the tool itself, not from a dispatcher that does not know it."""
    return failure_of(answer) is None and not any(_NO_SUCH.search(text[:120]) for text in windows(answer.result.body)[:1])


def _finding(pairs: list[Pair], near: str | None, sure: bool) -> Finding:
    pair = pairs[0]
    often = f", in {plural(len(pairs), 'call')}" if len(pairs) > 1 else ""
    return of_call(
        "unknown-tool",
        pair,
        f"{tool(pair.call.name)} is called{often}, but no tool of this name is declared",
        f"was {quote(near)} meant? else declare the tool, or answer the call with an error" if near else _REMEDY,
        place=pair.call.place.within(pair.call.name_key),
        severity=None if sure else Severity.NOTE,
        confidence="high" if sure else "medium",
    )


_REMEDY = "declare the tool, or answer the call with an error that lists the tools there are"
