"""Claude Code: the session logs below `~/.claude/projects`, of main sessions and of sub-agents.

A line holds one block of a message of the model, or one result; lines of one `message.id` are one message. `parentUuid` makes a tree of
them: parallel calls are side branches, an edited prompt or a retry leaves a branch behind, a compaction begins anew and says by
`logicalParentUuid` what it goes on from. Lines of other kinds (hooks, progress, attachments) stand within the tree and say nothing.

Of each line the parts of its message are kept, and its place in the tree; of the lines that say nothing the place alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from toolaudit.formats import DECISIVE, Evidence
from toolaudit.formats._json import has, kind_of, mapping, number, sequence, text_or_none
from toolaudit.formats._pieces import joined
from toolaudit.formats.anthropic_messages import turn_of
from toolaudit.model import JSON, Other, Place, Trajectory, Turn, Unknown

NAME: Final = "claude-code"
TITLE: Final = "Claude Code session logs"
TARGET: Final = "anthropic"

_BOOKS: Final = frozenset(
    {
        "summary", "file-history-snapshot", "queue-operation", "progress", "mode", "permission-mode", "last-prompt", "ai-title",
        "custom-title", "agent-name", "pr-link", "worktree-state", "relocated", "bridge-session", "frame-link", "started",
    }
)  # fmt: skip
"""Kinds of lines that keep books: they hold nothing of the conversation."""


# --------------------------------------------------------------------------------------------------------------- recognising


_SAYS: Final = frozenset({"user", "assistant"})


def _is_line(value: JSON) -> bool:
    """A line that says by its keys that it is one of this program: those of others that look like it say something else in `message`."""
    kind = kind_of(value)
    if kind is None or has(value, "role"):
        return False
    message = mapping(value.get("message"))
    if has(message, "parts", "tool_calls"):
        return False
    if "parentUuid" in value:
        return has(value, "uuid", "sessionId")
    if kind not in _SAYS or "content" not in message:
        return False
    return has(value, "sessionId") if "role" in message else has(value, "timestamp")


def _is_book(value: JSON) -> bool:
    """A line that keeps books, of a kind that no other log has."""
    kind = kind_of(value)
    if kind not in _BOOKS or "role" in value:
        return False
    return has(value, "sessionId", "leafUuid", "snapshot", "uuid")


def recognise(value: JSON) -> Evidence | None:
    """Evidence that `value` is a list of the lines of a session."""
    if isinstance(value, list) and value and any(map(_is_line, value[:64])) and all(_is_line(one) or _is_book(one) for one in value):
        return Evidence(DECISIVE, "lines with `parentUuid`")
    return None


def session(value: JSON) -> Log | None:
    """The log that a line which names itself belongs to."""
    return Log() if _is_line(value) or _is_book(value) else None


# ------------------------------------------------------------------------------------------------------------------- reading


def read(value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
    """The conversations in a list of lines."""
    del answer
    log = Log()
    for index, line in enumerate(value):
        log.take(line, place / index)
    yield from log.end()


def _belongs(value: dict[str, JSON]) -> bool:
    """In a log that is known: a line of a kind that came with some later version, and holds no tool traffic that nobody would pair."""
    kind = kind_of(value)
    return kind is not None and "tool_" not in kind and "role" not in value and has(value, "sessionId", "uuid", "agentId", "attachment")


class _Line(Struct):
    """A line in the tree."""

    uuid: str
    parent: int
    """Index of the line it follows; -1 for the first of a conversation."""
    turn: Turn | None = None
    """What it says; None for a line that says nothing."""


class _Tree(Struct):
    """The lines of the main conversation, or of one agent."""

    lines: list[_Line] = []
    index: dict[str, int] = {}
    """Index of a line by its uuid."""
    late: dict[int, str] = {}
    """Lines whose parent was not there yet, with its uuid."""
    model: str | None = None
    id: str | None = None
    begun: bool = False
    """The first line that says something was seen; `sliced`: it goes on from one that is not in the file."""
    sliced: bool = False


class Log:
    """A session being read."""

    def __init__(self) -> None:
        self._trees: dict[str, _Tree] = {}
        self._unknown: list[Unknown] = []
        self._retracted: set[str] = set()
        """Lines that the program took back: a refusal, or what another model said anew."""

    def take(self, value: JSON, place: Place) -> Iterable[Trajectory] | None:
        """Take a line. All of a session may depend on its last line, so nothing is told before the end."""
        if not isinstance(value, dict) or not (_is_line(value) or _is_book(value) or _belongs(value)):
            return None
        if value["type"] not in _BOOKS or "parentUuid" in value:
            self._line(value, place)
        for retracted in sequence(value.get("retractedMessageUuids")):
            self._retracted.add(str(retracted))
        return ()

    def _line(self, value: dict[str, JSON], place: Place) -> None:
        agent = text_or_none(value.get("agentId")) or ("agents" if value.get("isSidechain") is True else "")
        tree = self._trees.setdefault(agent, _Tree())
        at = len(tree.lines)
        uuid = text_or_none(value.get("uuid")) or f"line {at}"
        if uuid in tree.index:
            return  # a resumed session is stored with what it resumes
        tree.id = tree.id or agent or text_or_none(value.get("sessionId"))
        turn = self._turn(value, place)
        parent = text_or_none(value.get("parentUuid")) or text_or_none(value.get("logicalParentUuid"))
        line = _Line(uuid, (-1 if "parentUuid" in value else at - 1) if parent is None else tree.index.get(parent, -2), turn)
        if line.parent == -2:
            line.parent = at - 1  # what it follows is not in the file: a line was lost, or damaged, and it stands where it stands
            tree.late[at] = parent or ""
        if turn is not None and not tree.begun:
            tree.begun, tree.sliced = True, at in tree.late and turn.role != "system"
        if turn is not None and tree.model is None:
            tree.model = text_or_none(mapping(value.get("message")).get("model"))
        tree.index[uuid] = at
        tree.lines.append(line)

    def _turn(self, value: dict[str, JSON], place: Place) -> Turn | None:
        """What a line says; None for one that says nothing to the model."""
        kind, message = value["type"], value.get("message")
        if kind == "system" and value.get("subtype") == "compact_boundary":
            return Turn(place=place, number=0, role="system", parts=[Other(place=place, kind="compaction")])
        if kind not in ("user", "assistant") or not isinstance(message, dict) or value.get("isVisibleInTranscriptOnly") is True:
            return None
        if value.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>":
            return None  # said by the program in the model's place, and never sent
        turn = turn_of({"role": kind, **message}, place / "message", self._unknown)
        turn.failed = value.get("aborted") is True
        return turn

    def end(self) -> Iterator[Trajectory]:
        """The conversations: of each tree the one that went on to the end, then the branches that were left behind."""
        for tree in self._trees.values():
            for uuid in self._retracted & tree.index.keys():
                tree.lines[tree.index[uuid]].turn = None
            _settle(tree)
            for number_of, path in enumerate(_paths(tree)):
                trajectory = _trajectory(tree, path, branch=number_of > 0)
                if trajectory.turns:
                    trajectory.unknown, self._unknown = self._unknown, []
                    yield trajectory

    def messages(self, trajectory: Trajectory) -> Iterable[tuple[JSON, Place]]:
        """None: lines are not messages as a provider knows them."""
        del trajectory
        return ()


def _settle(tree: _Tree) -> None:
    """Give lines that were written before what they follow their parents, unless that would lead round in a circle.

    Programs write lines nearly in order, so the walks are short; a log made to be slow is left as it stands.
    """
    steps = 4 * len(tree.lines) + 1000
    for at, parent in tree.late.items():
        found = above = tree.index.get(parent, -1)
        while above >= 0 and above != at and steps > 0:
            above, steps = tree.lines[above].parent, steps - 1
        if found >= 0 and above < 0:
            tree.lines[at].parent = found


def _paths(tree: _Tree) -> Iterator[list[int]]:
    """The conversations of a tree, as indexes of lines in order: that which ends last first.

    A line belongs to the conversation on whose path it stands, or on which its parent does if it is a piece of a message there or holds
    a result for one: that is how parallel calls are stored. All other lines were left behind, when a prompt was edited or tried again.
    """
    owner = [-1] * len(tree.lines)
    keys: dict[str, int] = {}
    answered: list[set[str]] = []
    paths: list[list[int]] = []
    for leaf in range(len(tree.lines) - 1, -1, -1):
        line = tree.lines[leaf]
        if owner[leaf] >= 0 or line.turn is None:
            continue
        at, path = leaf, []
        while at >= 0 and owner[at] < 0:
            path.append(at)
            at = tree.lines[at].parent
        path.reverse()
        trunk = owner[at] if at >= 0 else -1
        side = _side(tree, path, keys, trunk, answered[trunk]) if trunk >= 0 else 0
        for into, part in ((trunk, path[:side]), (len(paths), path[side:])):
            if not part:
                continue
            if into == len(paths):
                paths.append([])
                answered.append(set())
            paths[into] += part
            for one in part:
                owner[one] = into
                if (turn := tree.lines[one].turn) is not None:
                    answered[into].update(result.ref for result in turn.results if result.ref is not None)
                    if turn.role == "assistant" and turn.key is not None:
                        keys.setdefault(turn.key, into)
    for path in paths:
        path.sort()
        yield path


def _side(tree: _Tree, path: list[int], keys: dict[str, int], trunk: int, answered: set[str]) -> int:
    """How many of the lines beside a conversation, from it outwards, are pieces of its messages, or results: nothing new is said on them.

    What was tried anew, and then left behind, begins behind them; a second result on the way there is part of it.
    """
    until = len(path)
    again = until
    for index, at in enumerate(path):
        turn = tree.lines[at].turn
        if turn is None:
            continue
        if turn.results and set(turn.order) <= {"r", "x"}:
            if again == len(path) and any(result.ref in answered for result in turn.results):
                again = index
        elif turn.role != "assistant" or turn.key is None or keys.get(turn.key) != trunk:
            until = index
            break
    return until if until == len(path) else min(until, again)


def _trajectory(tree: _Tree, path: list[int], *, branch: bool) -> Trajectory:
    turns = joined(turn for at in path if (turn := tree.lines[at].turn) is not None)
    place = turns[0].place if turns else Place(0)
    trajectory = Trajectory(place=place, format=NAME, kind="log", carrier="user", id=tree.id, model=tree.model)
    trajectory.turns = number(turns)
    trajectory.fragment = branch or tree.sliced
    trajectory.drops_failed = True
    return trajectory
