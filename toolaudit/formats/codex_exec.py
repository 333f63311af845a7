"""Codex: what `codex exec --json` and the Codex SDK yield, one event a line or all of them in an array.

A call and its outcome are one item, told when it starts and when it is completed; its `status` says how it ended. Ids of items count from
0 in each run. A search on the web carries its own outcome, and a change of files is told only when it is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from toolaudit.formats import DECISIVE, Evidence
from toolaudit.formats._json import has, key_of, kind_of, mapping, number, text_or_none
from toolaudit.model import JSON, ArgsForm, Call, Other, Part, Place, Result, Text, Trajectory, Turn

NAME: Final = "codex-exec"
TITLE: Final = "Codex exec events"
TARGET: Final = "openai-responses"

_ARGUMENTS: Final[dict[str, tuple[str, ArgsForm]]] = {
    "command_execution": ("command", "text"),
    "mcp_tool_call": ("arguments", "object"),
    "file_change": ("changes", "text"),
    "web_search": ("query", "text"),
}
"""Kinds of items that are calls: where what they ask for stands, and in which form."""
_OTHERS: Final = frozenset({"agent_message", "reasoning", "todo_list", "error"})
_ENDS: Final = frozenset({"completed", "failed", "declined"})


# --------------------------------------------------------------------------------------------------------------- recognising


def _is_event(value: JSON) -> bool:
    kind = kind_of(value)
    if kind in ("turn.started", "error"):
        return True
    if kind in ("turn.completed", "turn.failed"):
        return isinstance(value.get("usage"), dict) or isinstance(value.get("error"), dict)
    return _is_telling(value)


def _is_telling(value: JSON) -> bool:
    """Whether an event proves what it is one of."""
    kind = kind_of(value)
    if kind == "thread.started":
        return isinstance(mapping(value).get("thread_id"), str)
    if kind not in ("item.started", "item.updated", "item.completed"):
        return False
    item = mapping(value.get("item"))
    return isinstance(item.get("id"), str) and (kind_of(item) in _ARGUMENTS or kind_of(item) in _OTHERS)


def recognise(value: JSON) -> Evidence | None:
    """Evidence that `value` is a list of events."""
    if isinstance(value, list) and value and all(map(_is_event, value)) and any(map(_is_telling, value)):
        return Evidence(DECISIVE, "events of `codex exec`")
    return None


def session(value: JSON) -> Log | None:
    """The log that an event which names itself belongs to."""
    return Log() if _is_telling(value) else None


# ------------------------------------------------------------------------------------------------------------------- reading


def read(value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
    """The runs in a list of events."""
    del answer
    log = Log()
    for index, event in enumerate(value):
        yield from log.take(event, place / index) or ()
    yield from log.end()


class Log:
    """Events being read in turn."""

    def __init__(self) -> None:
        self._begin(None)

    def _begin(self, thread: str | None) -> None:
        self._thread = thread
        self._turns: list[Turn] = []
        self._started: set[str | None] = set()
        """Ids of the calls of this run."""
        self._open: dict[str | None, Turn] = {}

    def take(self, value: JSON, place: Place) -> Iterable[Trajectory] | None:
        """Take an event: one that begins a run tells the run before it."""
        kind = kind_of(value)
        if not _is_event(value) and kind not in ("item.started", "item.updated", "item.completed"):
            return None
        done: list[Trajectory] = []
        if kind == "thread.started":
            done = list(self.end())
            self._begin(value["thread_id"])
        elif kind in ("turn.completed", "turn.failed"):
            self._over(place, failed=kind == "turn.failed")
        elif kind in ("item.started", "item.completed"):
            self._item(mapping(value.get("item")), place / "item", completed=kind == "item.completed")
        return done

    def end(self) -> Iterable[Trajectory]:
        """The run, if anything was done in it."""
        if not self._turns:
            return
        turns = number(self._turns)
        yield Trajectory(place=turns[0].place, format=NAME, kind="log", unit="item", id=self._thread, turns=turns)
        self._begin(self._thread)

    def messages(self, trajectory: Trajectory) -> Iterable[tuple[JSON, Place]]:
        """None: see `raw_messages`."""
        del trajectory
        return ()

    def _over(self, place: Place, *, failed: bool) -> None:
        """The turn is over: what was started and not completed never will be, unless it goes on in the background. A turn that failed
        says by that why there is no outcome.
        """
        for call in [call for turn in self._open.values() for call in turn.calls if failed]:
            call.state = "cancelled"
        if self._open:
            self._turns.append(Turn(place=place, number=0, role="user", parts=[Other(place=place, kind="end of turn")]))
        self._open = {}

    def _item(self, item: dict[str, JSON], place: Place, *, completed: bool) -> None:
        kind, key = kind_of(item), key_of(item.get("id"))
        if kind not in _ARGUMENTS:
            if completed:
                self._turns.append(_said(item, place))
            return
        if key not in self._started or key is None:
            turn = Turn(place=place, number=0, role="assistant", parts=[_call(item, kind, key, place)])
            self._turns.append(turn)
            self._started.add(key)
            if kind != "web_search":
                self._open[key] = turn
        if kind != "web_search" and (completed or text_or_none(item.get("status")) in _ENDS):
            self._open.pop(key, None)
            self._turns.append(Turn(place=place, number=0, role="tool", parts=[_result(item, kind, key, place)]))


def _said(item: dict[str, JSON], place: Place) -> Turn:
    text, kind = text_or_none(item.get("text")), kind_of(item)
    spoken = kind == "agent_message" and text is not None
    part: Part = Text(place=place / "text", text=text or "") if spoken else Other(place=place, kind=kind or "unknown")
    return Turn(place=place, number=0, role="assistant", parts=[part])


def _call(item: dict[str, JSON], kind: str, key: str | None, place: Place) -> Call:
    args_key, form = _ARGUMENTS[kind]
    return Call(
        place=place,
        id=key,
        raw_id=item.get("id"),
        name=text_or_none(item.get("tool")) or kind,
        args=item.get(args_key),
        args_form=form if has(item, args_key) else "none",
        args_key=args_key,
        name_key="tool" if "tool" in item else "type",
        executor="server" if kind == "web_search" else "client",
        expects="none" if kind == "web_search" else "later" if kind == "command_execution" else "one",
        kind=kind,
        group=text_or_none(item.get("server")),
    )


def _result(item: dict[str, JSON], kind: str, key: str | None, place: Place) -> Result:
    body, body_key = item.get("aggregated_output"), "aggregated_output"
    if kind == "mcp_tool_call":
        failed = has(item, "error")
        body_key = "error" if failed else "result"
        body = mapping(item.get(body_key)).get("message" if failed else "content")
    status = item.get("status")
    return Result(
        place=place,
        ref=key,
        raw_ref=item.get("id"),
        ref_key="id",
        flag="error" if status == "failed" else "denied" if status == "declined" else None,
        body=body,
        body_key=body_key,
        kind=kind,
    )
