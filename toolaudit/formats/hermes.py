"""Chat messages whose calls are text: `<tool_call>` blocks of the model, answered by `<tool_response>` blocks (Hermes, Qwen and others).

Results stand in the next `tool` message, or in the user's, in the order of their calls. Nothing has an id. A transcript that has calls of
its own beside such text is none of these: there, the text is a call that leaked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from toolaudit.formats import MEDIUM, Evidence, _chat, _text_calls
from toolaudit.formats._json import has, mapping, text_of, text_or_none
from toolaudit.model import JSON, Place, Role, Text, Trajectory, Turn, Unknown

NAME: Final = "hermes"
TITLE: Final = "Chat messages with calls as text (Hermes)"
TARGET: Final = "hf-template"

_ROLES: Final[dict[str, Role]] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}


# --------------------------------------------------------------------------------------------------------------- recognising


def recognise(value: JSON) -> Evidence | None:
    """Evidence that `value` is a list of messages, or a body with one, of which calls and results are both text."""
    messages = value if isinstance(value, list) else mapping(value).get("messages")
    if not isinstance(messages, list) or (isinstance(value, dict) and value.get("tools") and has(value, "model")):
        return None  # a request that declares its tools expects calls that are no text
    called = answered = False
    for message in messages:
        if not isinstance(message, dict) or has(message, "tool_calls", "tool_call_id", "function_call", "parts"):
            return None
        role, content = message.get("role"), message.get("content")
        if role == "assistant":
            called = called or _text_calls.holds_calls(content)
        elif role in ("tool", "user") and called:
            answered = answered or _text_calls.holds_results(content)
    return Evidence(MEDIUM + 5, "`<tool_call>` answered by `<tool_response>`") if called and answered else None


# ------------------------------------------------------------------------------------------------------------------- reading


def read(value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
    """The trajectory of a list of messages, or of a body with one."""
    trajectory = _chat.conversation(NAME, value, place, _turn)
    if answer is not None:
        _chat.answered(trajectory, mapping(answer[0]).get("message", answer[0]), answer[1], _turn)
    trajectory.named, trajectory.carrier = True, None
    yield trajectory


def _turn(value: dict[str, JSON], place: Place, unknown: list[Unknown]) -> Turn:
    turn = _chat.begun(value, place, unknown, _ROLES)
    text, where = text_of(value.get("content")), place / "content"
    if turn.role == "assistant":
        turn.parts = list(_text_calls.said(text, where))
    elif turn.role == "tool" or (turn.role == "user" and _text_calls.holds_results(text)):
        turn.role = "tool"
        turn.parts = list(_text_calls.results(text, where))
    elif text:
        turn.parts = [Text(place=where, text=text)]
    turn.stop = text_or_none(value.get("finish_reason"))
    return turn


def raw_messages(value: JSON, place: Place) -> Iterable[tuple[JSON, Place]]:
    """Every message of a value that `read` takes, as stored, with its place."""
    return _chat.stored(value, place)
