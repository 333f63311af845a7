"""Google Gemini Live: recorded messages of a session, one a line or in a list, bare or in the frames of a recorder.

`toolCall.functionCalls` comes from the server and `toolResponse.functionResponses` goes back, at any time; `toolCallCancellation` says of
which calls nobody wants a result any more, and `willContinue` that a result is one of several. Keys are spelled in camel or in snake case,
and the SDK for Python mixes the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from toolaudit.formats import DECISIVE, Evidence
from toolaudit.formats._frames import frames
from toolaudit.formats._json import has, key_of, mapping, number, sequence, text_or_none
from toolaudit.model import JSON, Call, Other, Part, Place, Result, Trajectory, Turn

NAME: Final = "gemini-live"
TITLE: Final = "Google Gemini Live messages"
TARGET: Final = "gemini-live"

_SPELLINGS: Final = {
    "toolCall": "tool_call",
    "toolResponse": "tool_response",
    "toolCallCancellation": "tool_call_cancellation",
    "functionCalls": "function_calls",
    "functionResponses": "function_responses",
    "willContinue": "will_continue",
    "setupComplete": "setup_complete",
}
_CONTENT: Final = ("serverContent", "server_content", "clientContent", "client_content", "realtimeInput", "realtime_input")


# --------------------------------------------------------------------------------------------------------------- recognising


def _get(value: JSON, key: str) -> JSON:
    """The value of a key in either spelling; None where it has none."""
    found = mapping(value)
    return found.get(key) if found.get(key) is not None else found.get(_SPELLINGS[key])


def _key(value: JSON, key: str) -> str:
    """The spelling in which a value has a key."""
    return key if mapping(value).get(key) is not None else _SPELLINGS[key]


def _is_telling(value: dict[str, JSON]) -> bool:
    """Whether a message proves what it is one of. `toolCall` alone is a part of other formats."""
    if "role" in value or "type" in value or "parts" in value:
        return False
    if isinstance(_get(_get(value, "toolCall"), "functionCalls"), list):
        return True
    if isinstance(_get(_get(value, "toolResponse"), "functionResponses"), list):
        return True
    if isinstance(mapping(_get(value, "toolCallCancellation")).get("ids"), list) or isinstance(_get(value, "setupComplete"), dict):
        return True
    if value.keys() == {"setup"} and isinstance(mapping(value["setup"]).get("model"), str):
        return True
    return any(isinstance(value.get(key), dict) for key in _CONTENT)


def _is_message(value: dict[str, JSON]) -> bool:
    """Whether a value is a message, in a log that is known."""
    return _is_telling(value) or isinstance(value.get("setup"), dict) or has(value, "sessionResumptionUpdate", "goAway", "usageMetadata")


def recognise(value: JSON) -> Evidence | None:
    """Evidence that `value` is a list of messages."""
    if not isinstance(value, list) or not value:
        return None
    own = [list(frames(record, Place(0), _is_message)) for record in value]
    telling = all(own) and any(_is_telling(frame.value) for found in own for frame in found)
    return Evidence(DECISIVE, "messages of a Live session") if telling else None


def session(value: JSON) -> Log | None:
    """The log that a message which names itself belongs to."""
    return Log() if any(True for _ in frames(value, Place(0), _is_telling)) else None


# ------------------------------------------------------------------------------------------------------------------- reading


def read(value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
    """The sessions in a list of messages."""
    del answer
    log = Log()
    for index, record in enumerate(sequence(value)):
        yield from log.take(record, place / index) or ()
    yield from log.end()


class Log:
    """Messages being read in turn."""

    def __init__(self) -> None:
        self._begin(whole=False)

    def _begin(self, *, whole: bool) -> None:
        self._whole = whole
        self._turns: list[Turn] = []
        self._open: dict[str, Call] = {}
        """The latest call of each id."""

    def take(self, value: JSON, place: Place) -> Iterable[Trajectory] | None:
        """Take a message: one that sets a session up tells the one before it."""
        found = list(frames(value, place, _is_message))
        if not found:
            return None
        done: list[Trajectory] = []
        for frame in found:
            message, where = frame.value, frame.place
            if isinstance(message.get("setup"), dict) or (isinstance(_get(message, "setupComplete"), dict) and not self._whole):
                done += self.end()
                self._begin(whole=True)
            self._message(message, where)
        return done

    def end(self) -> Iterable[Trajectory]:
        """The session, if a tool was called or answered in it."""
        if not self._turns:
            return []
        turns, self._turns = number(self._turns), []
        trajectory = Trajectory(place=turns[0].place, format=NAME, kind="log", unit="item", named=True, turns=turns)
        if not self._whole:
            trajectory.hidden = "the record begins within a session"
        return [trajectory]

    def messages(self, trajectory: Trajectory) -> Iterable[tuple[JSON, Place]]:
        """None: see `raw_messages`."""
        del trajectory
        return ()

    def _message(self, message: dict[str, JSON], place: Place) -> None:
        call, response = _get(message, "toolCall"), _get(message, "toolResponse")
        if isinstance(call, dict):
            where = place.down(_key(message, "toolCall"), _key(call, "functionCalls"))
            calls = [_call(mapping(one), where / index) for index, one in enumerate(sequence(_get(call, "functionCalls")))]
            self._open.update({one.id: one for one in calls if one.id is not None})
            self._turns.append(Turn(place=place, number=0, role="assistant", parts=list(calls)))
        if isinstance(response, dict):
            where = place.down(_key(message, "toolResponse"), _key(response, "functionResponses"))
            results = sequence(_get(response, "functionResponses"))
            parts = [_result(mapping(one), where / index) for index, one in enumerate(results)]
            self._turns.append(Turn(place=place, number=0, role="tool", parts=list(parts)))
        for key in sequence(mapping(_get(message, "toolCallCancellation")).get("ids")):
            cancelled = self._open.get(key_of(key) or "")
            if cancelled is not None:
                cancelled.state = "cancelled"


def _call(value: dict[str, JSON], place: Place) -> Call:
    return Call(
        place=place,
        id=key_of(value.get("id")),
        raw_id=value.get("id"),
        name=text_or_none(value.get("name")),
        args=value.get("args") if value.get("args") is not None else {},
        args_key="args",
        expects="later",
        kind="functionCall",
    )


def _result(value: dict[str, JSON], place: Place) -> Part:
    if _get(value, "willContinue") is True:
        return Other(place=place, kind="part of a result")  # the last of them is the result
    response = value.get("response")
    return Result(
        place=place,
        ref=key_of(value.get("id")),
        raw_ref=value.get("id"),
        ref_key="id",
        name=text_or_none(value.get("name")),
        flag="error" if mapping(response).get("error") else None,
        body=response,
        body_key="response",
        kind="functionResponse",
    )
