"""Mistral Conversations: histories, responses, requests and lists of entries.

Entries are `function.call` and `function.result`, linked by `tool_call_id`, between messages. The provider keeps the conversation: what is
appended to one holds results of calls that stand there. What the provider runs itself (`tool.execution`) is one entry. A call that is to
be confirmed first waits for that, and one that was denied gets no result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from toolaudit.formats import DECISIVE, STRONG, CannotExpress, Evidence, Message
from toolaudit.formats._json import has, indexed, key_of, kind_of, mapping, number, sequence, strongest, text_of, text_or_none
from toolaudit.model import JSON, Call, Other, Part, Place, Result, Role, Text, Tool, Trajectory, Turn, Unknown
from toolaudit.text import quote

NAME: Final = "mistral-conversations"
TITLE: Final = "Mistral Conversations"
TARGET: Final = "mistral-conversations"
ADDRESS: Final = r"api\.mistral\.ai/v1/conversations\b"

_OBJECTS: Final = {"conversation.history": "entries", "conversation.messages": "messages", "conversation.response": "outputs"}
_SPOKEN: Final[dict[str, Role]] = {"message.input": "user", "message.output": "assistant"}
_OTHERS: Final = frozenset({"tool.execution", "agent.handoff"})
_ROLES: Final[dict[str, Role]] = {"user": "user", "assistant": "assistant", "system": "system"}


# --------------------------------------------------------------------------------------------------------------- recognising


def recognise(value: JSON) -> Evidence | None:
    """Evidence that `value` is a history, a response, a request, or a list of entries."""
    if isinstance(value, list):
        return strongest(value, recognise_message)
    if not isinstance(value, dict):
        return None
    name = text_or_none(value.get("object")) or ""
    if name in _OBJECTS and isinstance(value.get(_OBJECTS[name]), list):
        return Evidence(DECISIVE, f"`{name}`")
    entries = value.get("inputs")
    return strongest(entries, recognise_message) if isinstance(entries, list) else None


def recognise_message(value: JSON) -> Evidence | None:
    """Evidence that `value` is one entry."""
    kind = kind_of(value)
    if kind in ("function.call", "function.result") and has(value, "tool_call_id", "name", "result"):
        return Evidence(STRONG + 5, f"`{kind}`")
    if kind in _OTHERS or (kind in _SPOKEN and has(value, "content")):
        return Evidence(STRONG - 5, f"`{kind}`")
    return None


def is_response(value: JSON) -> bool:
    """A response, as against a request or a history."""
    return isinstance(value, dict) and value.get("object") == "conversation.response"


def fits(value: JSON) -> bool:
    """Whether a body may be a request, where its address says that it is one."""
    return isinstance(value, dict) and isinstance(value.get("inputs"), (str, list))


# ------------------------------------------------------------------------------------------------------------------- reading


def read(value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
    """The trajectory of a history, a response, a request with its response, or a list of entries."""
    body = mapping(value)
    name = text_or_none(body.get("object")) or ""
    key = _OBJECTS.get(name, "inputs")
    trajectory = Trajectory(place=place, format=NAME, kind="request", unit="item", model=text_or_none(body.get("model")))
    trajectory.id = text_or_none(body.get("conversation_id"))
    trajectory.kind = "response" if is_response(value) else "log" if name else "request"
    said, where = (body.get(key), place / key) if body else (value, place)
    trajectory.turns = number(_entries(said, where, trajectory.unknown))
    if body and not name and (trajectory.id is not None or not has(body, "model", "agent_id")):
        trajectory.hidden = "it is appended to a conversation that the provider keeps"
    trajectory.tools = _tools(body.get("tools"))
    if answer is not None:
        trajectory.sent, trajectory.sent_turns = True, len(trajectory.turns)
        came = _entries(mapping(answer[0]).get("outputs"), answer[1] / "outputs", trajectory.unknown)
        trajectory.turns = number([*trajectory.turns, *came])
    yield trajectory


def read_messages(messages: list[Message]) -> Trajectory:
    """A conversation that was stored one entry a record."""
    trajectory = Trajectory(place=Place(messages[0].place.record), format=NAME, kind="log", unit="item")
    trajectory.turns = number(_entry(mapping(one.value), one.place, trajectory.unknown) for one in messages)
    trajectory.fragment = trajectory.turns[0].role != "user"
    return trajectory


def _entries(entries: JSON, place: Place, unknown: list[Unknown]) -> list[Turn]:
    if isinstance(entries, str):
        return [Turn(place=place, number=0, role="user", parts=[Text(place=place, text=entries)])]
    return [_entry(mapping(entry), place / index, unknown) for index, entry in indexed(sequence(entries))]


def _entry(value: dict[str, JSON], place: Place, unknown: list[Unknown]) -> Turn:
    kind = kind_of(value)
    if kind == "function.call":
        return Turn(place=place, number=0, role="assistant", parts=[_call(value, place)])
    if kind == "function.result":
        return Turn(place=place, number=0, role="tool", parts=[_result(value, place)])
    if kind in _OTHERS:
        return Turn(place=place, number=0, role="assistant", parts=[Other(place=place, kind=kind or "")])
    role = _SPOKEN.get(kind or "", _ROLES.get(text_or_none(value.get("role")) or "", "unknown"))
    if role == "unknown":
        unknown.append(Unknown(place=place, what=f"an entry of the type {quote(kind)}" if kind else "an entry without a type"))
    text = text_of(value.get("content"))
    part: Part = Text(place=place / "content", text=text) if text else Other(place=place, kind="content")
    return Turn(place=place, number=0, role=role, raw_role=text_or_none(value.get("role")) or "", parts=[part])


def _call(value: dict[str, JSON], place: Place) -> Call:
    status = value.get("confirmation_status")
    return Call(
        place=place,
        id=key_of(value.get("tool_call_id")),
        raw_id=value.get("tool_call_id"),
        name=text_or_none(value.get("name")),
        args=value.get("arguments"),
        args_form="string" if isinstance(value.get("arguments"), str) else "object" if "arguments" in value else "none",
        args_key="arguments",
        id_key="tool_call_id",
        kind="function.call",
        expects="later" if status == "pending" else "one",
        state="cancelled" if status == "denied" else "done",
    )


def _result(value: dict[str, JSON], place: Place) -> Result:
    ref = value.get("tool_call_id")
    return Result(
        place=place,
        ref=key_of(ref),
        raw_ref=ref,
        ref_key="tool_call_id",
        body=value.get("result"),
        body_key="result",
        kind="function.result",
    )


def _tools(tools: JSON) -> tuple[Tool, ...] | None:
    if not isinstance(tools, list):
        return None
    found = [mapping(mapping(tool).get("function")) for tool in tools]
    return tuple(Tool(name=one["name"], schema=one.get("parameters")) for one in found if isinstance(one.get("name"), str))


# ------------------------------------------------------------------------------------------------------------------- writing


def write(trajectory: Trajectory) -> JSON:
    """The trajectory as a request. Raises CannotExpress for parts that only other formats have."""
    if any(turn.failed or turn.empty_calls or turn.stop is not None for turn in trajectory.turns):
        raise CannotExpress("a list of calls that is empty, a failed turn, or the reason a turn ended for")
    body: dict[str, JSON] = {"model": trajectory.model or "mistral-medium-latest"}
    if trajectory.tools is not None:
        body["tools"] = [{"type": "function", "function": {"name": t.name, "parameters": t.schema or {}}} for t in trajectory.tools]
    return {**body, "inputs": [_written(turn, part) for turn in trajectory.turns for part in turn.parts]}


def _written(turn: Turn, part: Part) -> dict[str, JSON]:
    if isinstance(part, Text) and turn.role in ("user", "assistant"):
        kind = "message.input" if turn.role == "user" else "message.output"
        return {"object": "entry", "type": kind, "role": turn.role, "content": part.text}
    if isinstance(part, Call) and part.executor == "client":
        entry = {"object": "entry", "type": "function.call", "tool_call_id": part.id or "", "name": part.name}
        return {**entry, "arguments": part.args}
    if isinstance(part, Result) and part.executor == "client" and part.flag is None:
        return {"object": "entry", "type": "function.result", "tool_call_id": part.ref or "", "result": text_of(part.body)}
    raise CannotExpress(f"a part of kind {getattr(part, 'kind', '')}")


def raw_messages(value: JSON, place: Place) -> Iterable[tuple[JSON, Place]]:
    """Every entry of a value that `read` takes, as stored, with its place."""
    body = mapping(value)
    key = _OBJECTS.get(text_or_none(body.get("object")) or "", "inputs")
    entries, where = (body.get(key), place / key) if body else (value, place)
    return [(entry, where / index) for index, entry in indexed(sequence(entries))]
