"""Excerpts of long conversations: where most of one is proved to be in order, only what is in doubt is judged, with what stands near it
and with the exchanges whose calls it speaks of. An excerpt keeps the numbers and places that its messages have in the conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolaudit.express import Walk
from toolaudit.formats._json import Excerpt, mapping, sequence
from toolaudit.model import JSON, Trajectory

MOST = 0.6
"""An excerpt that is more than such a part of its conversation is none."""

_IDS = ("id", "call_id", "tool_use_id", "tool_call_id")


def chosen(walk: Walk, doubtful: Iterable[JSON]) -> list[int]:
    """The indexes of the messages to judge, when `doubtful` are the messages in doubt; empty when an excerpt is no use."""
    indexes = walk.excerpt(key for message in doubtful for key in ids_of(message))
    return indexes if len(indexes) <= MOST * walk.index else []


def doubtful(walk: Walk) -> Iterator[int]:
    """The indexes of the messages in doubt."""
    return (index for start, end in walk.doubts for index in range(start, end))


def ids_of(message: JSON) -> Iterator[str]:
    """Every id of a call that a message may speak of."""
    value = mapping(message)
    for one in (value, *map(mapping, sequence(value.get("content"))), *map(mapping, sequence(value.get("tool_calls")))):
        yield from (found for key in _IDS if isinstance(found := one.get(key), str))


def cut(value: JSON, walk: Walk) -> tuple[JSON, list[int]]:
    """A record with its conversation cut down to what is to be judged, and the indexes of what is left: none when it cannot be."""
    name = "input" if walk.items else "messages"
    for holder in (mapping(value), *map(mapping, mapping(value).values())):
        messages = holder.get(name)
        if isinstance(messages, list) and len(messages) == walk.index:
            indexes = chosen(walk, (messages[index] for index in doubtful(walk)))
            holder[name] = Excerpt([messages[index] for index in indexes], indexes)
            return value, indexes
    return value, []


def mark(trajectories: list[Trajectory], walk: Walk, indexes: list[int]) -> bool:
    """Make the one trajectory that was read from an excerpt know what it is; False when it is not what was expected."""
    if len(trajectories) != 1:
        return False
    trajectory = trajectories[0]
    if trajectory.format != walk.form or len(trajectory.turns) != len(indexes):
        return False
    own = set(doubtful(walk))
    for turn, index in zip(trajectory.turns, indexes, strict=True):
        turn.number = index + 1
    trajectory.told = frozenset(index + 1 for index in indexes if index not in own)
    trajectory.counted = False
    return True
