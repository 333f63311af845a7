"""Google Gemini Interactions: requests and interactions of both generations (`outputs` with turns, `steps`).

A call is `{type: function_call, id, name, arguments}`, with arguments as an object; its result is `{type: function_result, call_id,
result}`. The provider keeps the conversation: a request that names a `previous_interaction_id` holds results of calls that are not in
it. What the provider runs itself (`code_execution_call`, `google_search_result`, …) comes in pairs of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from toolaudit.formats import DECISIVE, STRONG, CannotExpress, Evidence, Message
from toolaudit.formats._json import flag_of, has, indexed, key_of, kind_of, mapping, number, sequence, strongest, text_or_none
from toolaudit.model import JSON, Call, Other, Part, Place, Result, Role, Text, Tool, Trajectory, Turn, Unknown
from toolaudit.text import quote

NAME: Final = "gemini-interactions"
TITLE: Final = "Google Gemini Interactions"
TARGET: Final = "gemini-interactions"
ADDRESS: Final = r"googleapis\.com/.*/interactions\b"

_ROLES: Final[dict[str, Role]] = {"user": "user", "model": "assistant", "system": "system"}
_SPOKEN: Final[dict[str, Role]] = {"user_input": "user", "model_output": "assistant"}
_HOSTED: Final = ("mcp_server_tool_", "code_execution_", "google_search_", "url_context_", "file_search_", "google_maps_", "retrieval_")
"""How the kinds of what the provider runs itself begin."""
_FAILED: Final = frozenset({"failed", "cancelled"})


# --------------------------------------------------------------------------------------------------------------- recognising


def recognise(value: JSON) -> Evidence | None:
    """Evidence that `value` is a request, a list of steps, or an interaction."""
    if isinstance(value, list):
        return strongest(value, recognise_message)
    if not isinstance(value, dict):
        return None
    if is_response(value):
        return Evidence(DECISIVE, '`"object": "interaction"` or `steps` with a status')
    if isinstance(value.get("previous_interaction_id"), str) and "input" in value:
        return Evidence(DECISIVE, "`previous_interaction_id`")
    found = value.get("input")
    return recognise(found if isinstance(found, list) else [found]) if isinstance(found, (list, dict)) else None


def recognise_message(value: JSON) -> Evidence | None:
    """Evidence that `value` is one step, content or turn."""
    kind = kind_of(value)
    if kind is None:
        content = mapping(value).get("content")
        of_turn = text_or_none(mapping(value).get("role")) in _ROLES and isinstance(content, list)
        return next(filter(None, map(recognise_message, content)), None) if of_turn and isinstance(content, list) else None
    if kind == "function_result" and has(value, "call_id", "result"):
        return Evidence(STRONG + 5, "`function_result`")
    if kind == "function_call" and isinstance(value.get("arguments"), dict) and not has(value, "call_id", "parts"):
        return Evidence(STRONG + 5, "`function_call` with arguments as an object")
    if (kind in _SPOKEN and has(value, "content")) or kind.startswith(_HOSTED[:1]):
        return Evidence(STRONG - 5, f"`{kind}`")
    return None


def is_response(value: JSON) -> bool:
    """An interaction, as against a request for one."""
    body = mapping(value)
    listed = isinstance(body.get("steps"), list) or isinstance(body.get("outputs"), list)
    return body.get("object") == "interaction" or (listed and isinstance(body.get("status"), str) and "input" not in body)


def fits(value: JSON) -> bool:
    """Whether a body may be a request, where its address says that it is one."""
    return isinstance(value, dict) and has(value, "input")


# ------------------------------------------------------------------------------------------------------------------- reading


def read(value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
    """The trajectory of a request, with the interaction it led to; of a list of steps; or of an interaction."""
    body = mapping(value)
    trajectory = Trajectory(place=place, format=NAME, kind="request", unit="item", model=text_or_none(body.get("model")))
    trajectory.tools = _tools(body.get("tools"))
    if body.get("previous_interaction_id") is not None:
        trajectory.hidden = "it goes on from an interaction that the provider keeps"
    if is_response(value):
        trajectory.kind, trajectory.id = "response", text_or_none(body.get("id"))
        trajectory.turns = number([*_input(body, place, trajectory.unknown), *_interaction(body, place, trajectory.unknown)])
    else:
        trajectory.turns = number(_input(body, place, trajectory.unknown) if body else _steps(sequence(value), place, trajectory.unknown))
        if answer is not None:
            trajectory.sent, trajectory.sent_turns = True, len(trajectory.turns)
            said = _interaction(mapping(answer[0]), answer[1], trajectory.unknown)
            trajectory.turns = number([*trajectory.turns, *said])
    yield trajectory


def read_messages(messages: list[Message]) -> Trajectory:
    """A conversation that was stored one step a record."""
    trajectory = Trajectory(place=Place(messages[0].place.record), format=NAME, kind="log", unit="item")
    trajectory.turns = number(turn for one in messages for turn in _step(one.value, one.place, trajectory.unknown))
    trajectory.fragment = bool(trajectory.turns) and trajectory.turns[0].role != "user"
    return trajectory


def _input(body: dict[str, JSON], place: Place, unknown: list[Unknown]) -> list[Turn]:
    """What was said: a text, a content, or a list of contents, steps or turns."""
    said, where = body.get("input"), place / "input"
    if isinstance(said, str):
        return [Turn(place=where, number=0, role="user", parts=[Text(place=where, text=said)])]
    return _steps(said, where, unknown) if isinstance(said, list) else _step(said, where, unknown) if isinstance(said, dict) else []


def _interaction(body: dict[str, JSON], place: Place, unknown: list[Unknown]) -> list[Turn]:
    """What came of it. A call that the interaction waits for is open by right."""
    key = "steps" if isinstance(body.get("steps"), list) else "outputs"
    status = text_or_none(body.get("status"))
    turns = _steps(sequence(body.get(key)), place / key, unknown)
    for turn in turns:
        turn.failed = status in _FAILED and turn.role == "assistant"
        if turn.role == "user" and key == "outputs":
            turn.role = "assistant"
        for call in turn.calls:
            call.expects = "later" if status == "requires_action" and call.executor == "client" else call.expects
    return turns


def _steps(steps: list[JSON], place: Place, unknown: list[Unknown]) -> list[Turn]:
    return [turn for index, step in indexed(steps) for turn in _step(step, place / index, unknown)]


def _step(value: JSON, place: Place, unknown: list[Unknown]) -> list[Turn]:
    """The turns of a step, a content or a turn: what holds several contents is one turn, but for its calls and results."""
    step = mapping(value)
    role, content = _SPOKEN.get(kind_of(step) or "", _ROLES.get(text_or_none(step.get("role")) or "")), step.get("content")
    if isinstance(value, str):
        return [Turn(place=place, number=0, role="user", parts=[Text(place=place, text=value)])]
    if role is None:
        part = _part(step, place, unknown)
        return [Turn(place=place, number=0, role=_speaker(part), parts=[part])]
    if isinstance(content, str):
        return [Turn(place=place, number=0, role=role, parts=[Text(place=place / "content", text=content)])]
    parts = [_part(mapping(one), place.down("content", index), unknown) for index, one in enumerate(sequence(content))]
    linked = [part for part in parts if isinstance(part, (Call, Result))]
    if not linked:
        return [Turn(place=place, number=0, role=role, parts=list(parts))]
    return [Turn(place=part.place, number=0, role=_speaker(part) if part in linked else role, parts=[part]) for part in parts]


def _speaker(part: Part) -> Role:
    if isinstance(part, Result):
        return "tool"
    return "user" if isinstance(part, Text) else "assistant"


def _part(value: dict[str, JSON], place: Place, unknown: list[Unknown]) -> Part:
    kind = kind_of(value)
    if kind == "function_call":
        return Call(
            place=place,
            id=key_of(value.get("id")),
            raw_id=value.get("id"),
            name=text_or_none(value.get("name")),
            args=value.get("arguments") if value.get("arguments") is not None else {},
            args_form="string" if isinstance(value.get("arguments"), str) else "object",
            args_key="arguments",
            kind=kind,
        )
    if kind == "function_result":
        failed = flag_of(value.get("is_error"))
        return Result(
            place=place,
            ref=key_of(value.get("call_id")),
            raw_ref=value.get("call_id"),
            ref_key="call_id",
            name=text_or_none(value.get("name")),
            flag=None if failed is None else "error" if failed else "ok",
            body=value.get("result"),
            body_key="result",
            kind=kind,
        )
    if kind == "text":
        return Text(place=place, text=text_or_none(value.get("text")) or "")
    if kind is None:
        unknown.append(Unknown(place=place, what="a step without a type"))
    elif not kind.startswith(_HOSTED) and not kind.endswith(("_call", "_result")) and kind not in _QUIET:
        unknown.append(Unknown(place=place, what=f"a step of the type {quote(kind)}"))
    return Other(place=place, kind="reasoning" if kind == "thought" else kind or "unknown")


_QUIET: Final = frozenset({"thought", "image", "audio", "video", "document", "file"})


def _tools(tools: JSON) -> tuple[Tool, ...] | None:
    if not isinstance(tools, list):
        return None
    found = [mapping(tool) for tool in tools if kind_of(tool) == "function"]
    return tuple(Tool(name=one["name"], schema=one.get("parameters")) for one in found if isinstance(one.get("name"), str))


# ------------------------------------------------------------------------------------------------------------------- writing


def write(trajectory: Trajectory) -> JSON:
    """The trajectory as a request with `input` steps. Raises CannotExpress for parts that only other formats have."""
    body: dict[str, JSON] = {"model": trajectory.model or "gemini-2.5-flash"}
    if trajectory.tools is not None:
        body["tools"] = [{"type": "function", "name": t.name, "parameters": t.schema or {"type": "object"}} for t in trajectory.tools]
    body["input"] = [_written(turn, part) for turn in trajectory.turns for part in turn.parts]
    if any(turn.failed or turn.empty_calls or turn.stop is not None for turn in trajectory.turns):
        raise CannotExpress("a list of calls that is empty, a failed turn, or the reason a turn ended for")
    return body


def _written(turn: Turn, part: Part) -> dict[str, JSON]:
    if isinstance(part, Text) and turn.role in ("user", "assistant"):
        return {"type": "user_input" if turn.role == "user" else "model_output", "content": [{"type": "text", "text": part.text}]}
    if isinstance(part, Call) and part.executor == "client" and part.args_form == "object":
        return {"type": "function_call", "id": part.id or "", "name": part.name, "arguments": part.args}
    if isinstance(part, Result) and part.executor == "client":
        step: dict[str, JSON] = {"type": "function_result", "call_id": part.ref or "", "result": part.body}
        return step if part.flag is None else {**step, "is_error": part.flag == "error"}
    raise CannotExpress(f"a part of kind {getattr(part, 'kind', '')}")


def raw_messages(value: JSON, place: Place) -> Iterable[tuple[JSON, Place]]:
    """Every step of a value that `read` takes, as stored, with its place."""
    if isinstance(value, list):
        return [(step, place / index) for index, step in indexed(value)]
    body = mapping(value)
    return [(step, place.down(key, at)) for key in ("input", "steps", "outputs") for at, step in enumerate(sequence(body.get(key)))]
