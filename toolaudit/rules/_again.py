"""Calls made again: which calls are equal, and which tools change something."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from typing import Literal

import orjson

from toolaudit.model import Answer, Call, Ledger, Pair, Turn
from toolaudit.regex import regex
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
_WORD = regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


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
                key = key_of_arguments(pair.call)
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


def key_of_arguments(call: Call) -> bytes:
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


class Between:
    """What happened between two calls of a ledger, by counts that are made once."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def calls(self, first: Pair, second: Pair) -> tuple[int, int]:
        """How many calls of the turns between two calls, and beside the second, only read; and how many do not."""
        start, end = first.batch.number, second.batch.number
        reads, others = self._counts[end]
        reads_before, others_before = self._counts[start]
        if _reads(second):
            return reads - reads_before - 1, others - others_before
        return reads - reads_before, others - others_before - 1

    def user_spoke(self, first: Turn, second: Turn) -> bool:
        """The user said something between two turns."""
        return second.index > first.index + 1 and self._spoken[second.index] > self._spoken[first.index + 1]

    @cached_property
    def _counts(self) -> list[tuple[int, int]]:
        """By number of a batch: the calls up to its end that only read, and the others."""
        reads = list(itertools.accumulate((sum(map(_reads, batch.pairs)) for batch in self.ledger.batches), initial=0))
        every = list(itertools.accumulate((len(batch.pairs) for batch in self.ledger.batches), initial=0))
        return [(some, all_ - some) for some, all_ in zip(reads, every, strict=True)]

    @cached_property
    def _spoken(self) -> list[int]:
        """By number of a turn: the turns up to it in which the user said something."""
        turns = self.ledger.trajectory.turns
        spoken = (turn.role == "user" and any(part.text.strip() for part in turn.texts) for turn in turns)
        return list(itertools.accumulate(spoken, initial=0))


def _reads(pair: Pair) -> bool:
    return nature(pair.call.name or "") == "reads"
