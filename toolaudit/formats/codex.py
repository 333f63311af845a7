"""Codex: the rollouts below `~/.codex/sessions`, of this and of former versions.

A line is `{timestamp, type, payload}`. What the model sees are the payloads of `response_item`: items of Responses, in the order of the
prompt. `event_msg` tells the same to the screen under ids of its own, and pairs nothing. Former versions wrote bare items behind a header.
A resumed session writes its `session_meta` again. After `compacted` the prompt begins anew: what stands before it is closed.

Of each item the parts are kept; what stands before a compaction is told at once, if nothing of it is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from toolaudit.formats import DECISIVE, Evidence
from toolaudit.formats._json import has, key_of, kind_of, number, text_or_none
from toolaudit.formats.openai_responses import CALLS, NEITHER, OUTPUTS, is_hosted, turn_of
from toolaudit.model import JSON, Other, Place, Trajectory, Turn, Unknown

NAME: Final = "codex"
TITLE: Final = "Codex rollouts"
TARGET: Final = "openai-responses"

_LINES: Final = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"})
_HEADER: Final = ("instructions", "git")
_ITEMS: Final = CALLS.keys() | OUTPUTS.keys() | NEITHER | {"message"}


# --------------------------------------------------------------------------------------------------------------- recognising


def _is_line(value: JSON) -> bool:
    """A line in an envelope."""
    kind = kind_of(value)
    if kind is None or not isinstance(value.get("payload"), dict):
        return False
    return kind in _LINES or ("timestamp" in value and value.keys() <= {"timestamp", "type", "payload", "ordinal"})


def _is_header(value: JSON) -> bool:
    """The first line of a former version."""
    return (
        isinstance(value, dict)
        and kind_of(value) is None
        and has(value, "timestamp")
        and has(value, "id")
        and any(k in value for k in _HEADER)
    )


def recognise(value: JSON) -> Evidence | None:
    """Evidence that `value` is a list of the lines of a rollout."""
    if isinstance(value, list) and value and all(map(_is_line, value)):
        return Evidence(DECISIVE, "lines of `response_item`")
    return None


def session(value: JSON) -> Log | None:
    """The log that a line which names itself belongs to."""
    if _is_header(value):
        return Log(bare=True)
    return Log() if kind_of(value) in _LINES and _is_line(value) else None


# ------------------------------------------------------------------------------------------------------------------- reading


def read(value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
    """The conversation in a list of lines."""
    del answer
    log = Log()
    for index, line in enumerate(value):
        yield from log.take(line, place / index) or ()
    yield from log.end()


class Log:
    """A rollout being read; `bare`: its items have no envelope."""

    def __init__(self, *, bare: bool = False) -> None:
        self._bare = bare
        self._turns: list[Turn] = []
        self._unknown: list[Unknown] = []
        self._open: set[str | None] = set()
        """Ids of the calls that wait for their outputs."""
        self._hosted: set[str | None] = set()
        self._id: str | None = None
        self._model: str | None = None
        self._compacted = False

    def take(self, value: JSON, place: Place) -> Iterable[Trajectory] | None:
        """Take a line: what a compaction closes is told."""
        if not _is_line(value):
            return self._take_bare(value, place) if self._bare else None
        kind, payload = value["type"], value["payload"]
        if kind == "response_item":
            self._item(payload, place / "payload")
        elif kind == "session_meta":
            self._id = self._id or text_or_none(payload.get("id"))
        elif kind == "turn_context":
            self._model = self._model or text_or_none(payload.get("model"))
        elif kind == "compacted":
            return self._compact(place)
        return ()

    def _take_bare(self, value: JSON, place: Place) -> Iterable[Trajectory] | None:
        if _is_header(value):
            self._id = self._id or text_or_none(value.get("id"))
        elif kind_of(value) in _ITEMS:
            self._item(value, place)
        elif not isinstance(value, dict) or not has(value, "record_type"):
            return None
        return ()

    def _item(self, item: dict[str, JSON], place: Place) -> None:
        kind = kind_of(item)
        if kind not in _ITEMS and not has(item, "call_id"):
            return  # snapshots, notes of the program: new ones come with every version, and none of them is a call
        if is_hosted(item):
            self._hosted.add(key_of(item.get("call_id")))
        turn = turn_of(item, place, self._hosted, self._unknown)
        self._turns.append(turn)
        for call in turn.calls:
            if call.executor == "client" and call.expects == "one":
                self._open.add(call.id)
        for result in turn.results:
            self._open.discard(result.ref)

    def _compact(self, place: Place) -> Iterable[Trajectory]:
        if self._open:  # its output may stand behind
            self._turns.append(Turn(place=place, number=0, role="system", parts=[Other(place=place, kind="compaction")]))
            return ()
        return self.end()

    def end(self) -> Iterable[Trajectory]:
        """The conversation, as far as it was not told."""
        if not self._turns:
            return
        trajectory = Trajectory(place=self._turns[0].place, format=NAME, kind="log", unit="item", id=self._id, model=self._model)
        trajectory.turns, trajectory.unknown = number(self._turns), self._unknown
        trajectory.counted = not self._compacted
        trajectory.fragment = self._compacted or self._turns[0].role not in ("user", "system")
        self._turns, self._unknown, self._compacted = [], [], True
        yield trajectory

    def messages(self, trajectory: Trajectory) -> Iterable[tuple[JSON, Place]]:
        """None: lines are not messages as a provider knows them."""
        del trajectory
        return ()
