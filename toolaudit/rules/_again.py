"""Calls made again: which calls are equal, and which tools change something."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Literal

import orjson

from toolaudit.model import Answer, Call, Ledger, Pair, Turn
from toolaudit.rules._arguments import parse
from toolaudit.rules._say import is_judged

_READS = frozenset(
    """get read list search fetch find query look lookup view show describe check status grep glob cat ls head tail count select scan peek
    browse retrieve inspect stat wait poll ping validate verify lint diff explain compare calculate compute think plan analyze analyse
    summarize summarise translate screenshot snapshot recall ask watch monitor preview download weather time date whoami help
    pwd tree which exists load history wikipedia todo""".split()  # noqa: SIM905
)
_CHANGES = frozenset(
    """send create post delete remove pay transfer book order submit publish charge insert email mail deploy buy purchase refund cancel
    reserve schedule invite notify message tweet reply drop append add commit push merge withdraw deposit move rename release trigger
    start launch dispatch issue open close""".split()  # noqa: SIM905
)
_DONE_TWICE = frozenset(
    """send create post delete pay transfer book order submit publish charge insert email mail deploy buy purchase refund withdraw
    deposit tweet reply""".split()  # noqa: SIM905
)
"""Verbs of which nobody wants the same thing done twice in a row."""
_ASKED = frozenset({"status", "info", "list", "details", "history", "state", "count", "exists", "lookup", "search"})
"""Nouns for what is merely asked after: `email_status` sends nothing."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@lru_cache(maxsize=1024)
def nature(name: str) -> Literal["reads", "changes", "unknown"]:
    """What a tool does, as far as its name says: the first verb counts, `get_order` reads and `search_and_delete` changes."""
    words = _words(name)
    if not words:
        return "unknown"
    if words[0] in _READS:
        return "changes" if "and" in words and _CHANGES.intersection(words) else "reads"
    if words[-1] in _ASKED:
        return "reads"
    if _CHANGES.intersection(words):
        return "changes"
    return "reads" if _READS.intersection(words) else "unknown"


def must_not_be_done_twice(name: str) -> bool:
    """The name says that the tool does something of which a second time counts."""
    return nature(name) == "changes" and not _DONE_TWICE.isdisjoint(_words(name))


def _words(name: str) -> list[str]:
    """The words of a tool's own name, without its namespace."""
    own = re.split(r"__|[.:/]", name)[-1] or name
    return [word.lower() for word in _WORD.findall(own)]


def repeats(ledger: Ledger, wanted: Callable[[str], bool]) -> Iterator[tuple[Pair, Pair]]:
    """Every call of a `wanted` tool that was made before with equal arguments, with the latest of those before it.

    Copies of a turn and reused ids are no repeats, nor are equal calls of one turn.
    """
    for name, pairs in _by_tool(ledger).items():
        if len(pairs) > 1 and wanted(name):
            latest: dict[bytes, Pair] = {}
            for pair in pairs:
                key = _key(pair.call)
                if key in latest and latest[key].batch is not pair.batch:
                    yield latest[key], pair
                latest[key] = pair


def _by_tool(ledger: Ledger) -> dict[str, list[Pair]]:
    found: dict[str, list[Pair]] = {}
    for pair in ledger.pairs:
        own = pair.copy_of is None and pair.same_id is None and pair.call.executor == "client" and pair.call.expects != "none"
        if own and pair.call.name is not None and is_judged(ledger, pair.turn):
            found.setdefault(pair.call.name, []).append(pair)
    return found


def _key(call: Call) -> bytes:
    """Equal for equal arguments, whatever the order of their keys."""
    args = call.args
    if isinstance(args, str) and call.args_form == "string":
        read = parse(args)
        args = args if read.fault else read.value
    try:
        return orjson.dumps(args, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    except (TypeError, ValueError):  # half a surrogate pair, a huge number, depth
        return _key_of_odd(args)


def _key_of_odd(args: object) -> bytes:
    try:
        return repr(args).encode("utf-8", "backslashreplace")
    except RecursionError:
        return b"%d" % id(args)  # equal to nothing else


def arguments(call: Call) -> dict[str, object]:
    """The arguments as an object; empty when they are none."""
    value = parse(call.args).value if isinstance(call.args, str) and call.args_form == "string" else call.args
    return value if isinstance(value, dict) else {}


def answer_of(pair: Pair) -> Answer | None:
    """The result that answers a call, when there is just one."""
    return pair.answers[0] if len(pair.answers) == 1 else None


def calls_between(ledger: Ledger, first: Pair, second: Pair) -> list[Pair]:
    """The calls of the turns between two calls, and those beside the second."""
    start, end = first.batch.number, second.batch.number
    return [pair for pair in ledger.pairs if start < pair.batch.number < end or (pair.batch is second.batch and pair is not second)]


def user_spoke_between(ledger: Ledger, first: Turn, second: Turn) -> bool:
    """The user said something between two turns."""
    turns = ledger.trajectory.turns[first.number : second.number - 1]
    return any(turn.role == "user" and any(part.text.strip() for part in turn.texts) for turn in turns)
