"""A call stored as prose in an assistant turn."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator

from toolaudit.model import Cause, Finding, Ledger, Text, Tool, Turn
from toolaudit.prose import Trace, call_in_prose
from toolaudit.rules import Context, rule
from toolaudit.rules._say import of_turn, tool


@rule(category="flattening", severity="warning", side="shape", needs=("prose",), since="0.1.0")
def flattened_call(ledger: Ledger, context: Context) -> Iterator[Finding]:
    """A call is written out as prose in an assistant turn.

    ## Why it matters
    Prose has no id: no result can answer it, two calls of one turn cannot be told apart, and whoever reads the transcript has to guess
    what was run. A model that sees its calls as prose soon writes prose instead of calls, and nothing runs at all.

    ## Bad
    ```transcript
    tools      read_file {"type": "object"}
    user       Read cellar.txt.
    assistant  [Used tool: read_file] {"path": "cellar.txt"}     # flattened-call
    user       And?
    ```

    A model's own markup, which no parser took out of its text:

    ```transcript
    tools      get_weather {"type": "object"}
    user       Weather in Oslo?
    assistant  <tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>     # flattened-call
    ```

    ## Good
    ```transcript
    tools      read_file {"type": "object"}
    user       Read cellar.txt.
    assistant  -> call_c1 read_file({"path": "cellar.txt"})
    tool       <- call_c1 14 barrels
    assistant  Fourteen barrels.
    ```

    Talk about a notation is no call:

    ```transcript
    tools      read_file {"type": "object"}
    user       How are calls written in that log?
    assistant  As `[Used tool: read_file] {"path": "cellar.txt"}`, which is prose.
    ```

    ## How to fix
    Store the call as a structured call with an id of its own, and its output as the result that names this id. Where the text came from
    the model, let the server's tool parser take the call out of it.
    """
    known = known_tools(ledger, context)
    is_taught = taught(ledger)
    for turn in ledger.live:
        if turn.role == "assistant" and turn.texts:
            found = call_of(turn, known, deep=context.deep)
            if found is not None and not is_taught(found[1].notation):
                yield _finding(turn, *found)


def known_tools(ledger: Ledger, context: Context) -> frozenset[str]:
    """The tools that are declared, or called anywhere in the transcript."""
    declared = [*(ledger.trajectory.tools or ()), *(one for one in context.tools or () if isinstance(one, Tool))]
    called = [pair.call.name for pair in ledger.pairs if pair.call.name]
    return frozenset([*(one.name for one in declared), *called])


def call_of(turn: Turn, known: frozenset[str], *, deep: bool = False) -> tuple[Text, Trace] | None:
    """The call that a turn holds as prose; one that it holds as a structured call besides is only an echo."""
    stored = {call.name for call in turn.calls}
    for text in turn.texts:
        trace = call_in_prose(text.text, known, deep=deep)
        if trace is not None and (trace.name is None or trace.name not in stored):
            return text, trace
    return None


def taught(ledger: Ledger) -> Callable[[str], bool]:
    """Whether the instructions ask for a notation and no result is structured: prose is the protocol then, not an accident."""

    @functools.cache
    def is_taught(notation: str) -> bool:
        if ledger.answers:
            return False
        mark = notation.partition("…")[0].strip(" [>")
        return any(mark in text and not text.lstrip(" [").startswith(mark) for text in _instructions(ledger))

    return is_taught


def _instructions(ledger: Ledger) -> Iterator[str]:
    """What is said before the assistant first speaks."""
    turns = itertools.takewhile(lambda turn: turn.role != "assistant", ledger.trajectory.turns)
    return (text.text for turn in turns for text in turn.texts)


def _finding(turn: Turn, text: Text, trace: Trace) -> Finding:
    return of_turn(
        "flattened-call",
        turn,
        f"a call of {tool(trace.name)} is written out as prose (`{trace.notation}`): it has no id, so nothing can answer it",
        f"store what turn {turn.number} calls as a structured call with an id, and its output as the result that names this id",
        place=text.place,
        side="shape",
        confidence=trace.confidence,
        tool=trace.name,
        cause=Cause("translation", "low"),
    )
