"""Requests of one conversation, linked: what stands in a later one is held against what was sent, and received, in the one before it.

Linked are the requests of one record: the exchanges of a cassette, of a HAR file, of a capture. Ids of calls link them, or else a history
that goes on from the whole of the former one, compared by meaning: ids, the order of keys and the spelling of JSON do not count.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from toolaudit.identifiers import recurring
from toolaudit.model import Call, Trajectory, Turn
from toolaudit.rules._again import key_of_arguments

BACK: Final = 8
"""So many requests are looked back: conversations that go on side by side take turns."""


class Sessions:
    """The latest requests of a record."""

    def __init__(self) -> None:
        self._latest: deque[tuple[Trajectory, frozenset[str]]] = deque(maxlen=BACK)

    def follow(self, trajectory: Trajectory) -> None:
        """Note which of the latest requests a request goes on from."""
        if trajectory.kind != "request" or not trajectory.sent or trajectory.unknown:
            return
        ids = ids_of(trajectory.turns)
        trajectory.former = self._former(trajectory, ids)
        self._latest.append((trajectory, ids))

    def _former(self, trajectory: Trajectory, ids: frozenset[str]) -> Trajectory | None:
        for former, known in reversed(self._latest):
            if former.format != trajectory.format or former.id != trajectory.id:
                continue
            if ids & known or goes_on(former, trajectory):
                return former
        return None


def ids_of(turns: Iterable[Turn]) -> frozenset[str]:
    """The ids that calls have, and results name; not those that recur by design (`call_0`)."""
    found = {call.id for turn in turns for call in turn.calls} | {result.ref for turn in turns for result in turn.results}
    return frozenset(key for key in found if key is not None and not recurring(key))


def asked(trajectory: Trajectory) -> list[Turn]:
    """The turns that were sent."""
    return trajectory.turns[: trajectory.sent_turns or None]


def received(trajectory: Trajectory) -> list[Turn]:
    """The turns that came back; empty where they are not stored."""
    return trajectory.turns[trajectory.sent_turns :] if trajectory.sent_turns else []


def goes_on(former: Trajectory, later: Trajectory) -> bool:
    """Whether a request begins with all that the former one sent."""
    before, now = asked(former), asked(later)
    return 0 < len(before) < len(now) and all(gist(one) == gist(other) for one, other in zip(before, now, strict=False))


def gist(turn: Turn) -> tuple[object, ...]:
    """What a turn means."""
    text = "\n".join(part.text.strip() for part in turn.texts if part.text.strip())
    return turn.role, text, tuple(map(meaning, turn.calls)), len(turn.results)


def meaning(call: Call) -> tuple[str | None, bytes]:
    """What a call asks for."""
    return call.name, key_of_arguments(call)
