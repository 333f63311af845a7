"""OpenAI Chat Completions: request bodies, message lists, completions, batch lines and fine-tuning lines.

Calls are the `tool_calls` of an assistant message (or its legacy `function_call`); each result is a `tool` (legacy: `function`)
message of its own. Compatible servers use the same shape.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from toolaudit.formats import BARE, DECISIVE, MEDIUM, STRONG, WEAK, CannotExpress, Evidence, Message
from toolaudit.formats._json import (
    flag_of,
    has,
    indexed,
    key_of,
    kind_of,
    kinds_of,
    mapping,
    number,
    sequence,
    strongest,
    text_of,
    text_or_none,
    tokens_of,
)
from toolaudit.model import JSON, ArgsForm, Call, Other, Part, Place, Result, Role, Text, Tool, Trajectory, Turn, Unknown
from toolaudit.text import quote

NAME: Final = "openai-chat"
TITLE: Final = "OpenAI Chat Completions and compatible servers"
TARGET: Final = "openai-chat"
ADDRESS: Final = r"/chat/completions\b"

LEGACY = "function_call (legacy)"
_PROTO = "ROLE_"
"""How roles begin in xAI's protocol written as JSON; there a result names no call, but stands where its call is."""
_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
    "ROLE_SYSTEM": "system",
    "ROLE_DEVELOPER": "system",
    "ROLE_USER": "user",
    "ROLE_ASSISTANT": "assistant",
    "ROLE_TOOL": "tool",
    "ROLE_FUNCTION": "tool",
}
_PARTS = {"image_url", "input_audio", "file", "refusal"}
_FAILED = {"error", "aborted", "cancelled"}
"""Finish reasons by which routers and clients mark a turn that broke off."""
_PAIRS = ("preferred_output", "non_preferred_output")


# --------------------------------------------------------------------------------------------------------------- recognising


def recognise(value: JSON) -> Evidence | None:
    """Evidence that `value` is a request body, a list of messages, a completion or a fine-tuning line."""
    if isinstance(value, list):
        return strongest(value, recognise_message)
    if not isinstance(value, dict):
        return None
    if value.get("object") == "chat.completion" or _is_completion(value):
        return Evidence(DECISIVE, "a chat completion")
    if isinstance(value.get("input"), dict) and any(isinstance(value.get(key), list) for key in _PAIRS):
        return Evidence(DECISIVE, "a preference pair")
    messages = _messages(value)
    if messages is None:
        return None
    return max(_evidence(value, messages), key=lambda found: found.strength, default=None)


def _messages(body: dict[str, JSON]) -> list[JSON] | None:
    """The messages of a body, or of a page of stored ones."""
    if isinstance(body.get("messages"), list):
        found: list[JSON] = body["messages"]
        return found
    if body.get("object") == "list" and isinstance(body.get("data"), list) and any("role" in mapping(m) for m in body["data"]):
        stored: list[JSON] = body["data"]
        return stored if all(mapping(m).get("type") is None for m in stored) else None
    return None


def _is_completion(value: dict[str, JSON]) -> bool:
    choices = value.get("choices")
    return isinstance(choices, list) and bool(choices) and all(isinstance(mapping(choice).get("message"), dict) for choice in choices)


def _evidence(body: dict[str, JSON], messages: list[JSON]) -> Iterator[Evidence]:
    if found := strongest(messages, recognise_message):
        yield found
    if any(
        mapping(tool).get("type") == "function" and isinstance(mapping(tool).get("function"), dict) for tool in sequence(body.get("tools"))
    ):
        yield Evidence(MEDIUM, "tools with `function`")
    if has(body, "functions", "parallel_tool_calls", "max_completion_tokens", "response_format", "logprobs"):
        yield Evidence(MEDIUM, "fields of a Chat request")
    if isinstance(body.get("model"), str) and "claude" not in body["model"] and messages:
        yield Evidence(WEAK, "a model name")


def fits(value: JSON) -> bool:
    """Whether a body may be a request, where its address says that it is one."""
    return isinstance(value, dict) and isinstance(value.get("messages"), list)


def recognise_message(value: JSON) -> Evidence | None:
    """Evidence that `value` is one message."""
    if not isinstance(value, dict) or not isinstance(value.get("role"), str) or isinstance(value.get("parts"), list):
        return None
    if (strength := _of_calls(value)) is not None:
        return Evidence(strength, "`tool_calls`")
    if "tool_call_id" in value or (value["role"] == "function" and has(value, "name")):
        return Evidence(STRONG - 5, "results that name a call")
    if value["role"] == "developer" or has(value, "refusal", "weight", "finish_reason"):
        return Evidence(MEDIUM, "fields of a Chat message")
    content = value.get("content")
    if isinstance(content, list):
        kinds = kinds_of(content)
        if kinds & _PARTS:
            return Evidence(MEDIUM, "content parts of Chat")
        return Evidence(BARE, "messages") if kinds <= {"text"} else Evidence(BARE - 5, "messages")
    return Evidence(BARE, "messages") if isinstance(content, str) or value["role"] in _ROLES else Evidence(BARE - 5, "messages")


def _of_calls(value: dict[str, JSON]) -> int | None:
    """What calls in the shape of this format prove. A bare `tool` role proves nothing: logs of other kinds have it too."""
    if isinstance(value.get("function_call"), dict):
        return STRONG
    calls = [mapping(call) for call in sequence(value.get("tool_calls"))]
    shaped = [call for call in calls if isinstance(call.get("function"), dict) or isinstance(call.get("custom"), dict)]
    if any(has(call, "type", "custom") or isinstance(call["function"].get("arguments"), str) for call in shaped):
        return STRONG
    return MEDIUM if shaped or value.get("tool_calls") == [] else None


# ------------------------------------------------------------------------------------------------------------------- reading


def read(value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
    """The trajectories in a request body, list, completion or fine-tuning line; a completion has one per choice."""
    if isinstance(value, list):
        yield _trajectory({}, _stored(value, place), place, answer)
    elif isinstance(value.get("input"), dict) and has(value, *_PAIRS):
        yield from _preferences(value, place)
    elif (messages := _messages(value)) is not None:
        base = place / ("messages" if isinstance(value.get("messages"), list) else "data")
        yield _trajectory(value, _stored(messages, base), place, answer)
    else:
        yield from _choices(value, place)


def read_messages(messages: list[Message]) -> Trajectory:
    """A conversation that was stored one message a record."""
    trajectory = _trajectory({}, [(m.value, m.place) for m in messages], Place(messages[0].place.record), None)
    trajectory.kind = "log"
    first = trajectory.turns[0] if trajectory.turns else None
    trajectory.fragment = first is not None and first.role in ("assistant", "tool")
    trajectory.model = next((m.value["model"] for m in messages if isinstance(m.value.get("model"), str)), None)
    return trajectory


def _stored(messages: list[JSON], base: Place) -> list[tuple[JSON, Place]]:
    return [(message, base / index) for index, message in indexed(messages)]


def _preferences(value: dict[str, JSON], place: Place) -> Iterator[Trajectory]:
    """One trajectory per preferred and rejected output, each behind the input it continues."""
    asked = mapping(value["input"])
    messages = _stored(sequence(asked.get("messages")), place.down("input", "messages"))
    told = range(0)
    for key in _PAIRS:
        if isinstance(value.get(key), list):
            trajectory = _trajectory(asked, messages + _stored(value[key], place / key), place, None)
            trajectory.kind, trajectory.told = "dataset", told
            told = range(1, len(messages) + 1)
            yield trajectory


def _choices(value: dict[str, JSON], place: Place) -> Iterator[Trajectory]:
    for index, choice in enumerate(sequence(value.get("choices"))):
        trajectory = Trajectory(place=place, format=NAME, kind="response", id=text_or_none(value.get("id")))
        trajectory.model = text_or_none(value.get("model"))
        turn = _turn(mapping(choice).get("message"), place.down("choices", index, "message"), trajectory.unknown)
        turn.stop = turn.stop or text_or_none(mapping(choice).get("finish_reason"))
        trajectory.turns = number([turn])
        yield trajectory


def _trajectory(body: dict[str, JSON], messages: list[tuple[JSON, Place]], place: Place, answer: tuple[JSON, Place] | None) -> Trajectory:
    trajectory = Trajectory(place=place, format=NAME, kind="request", model=text_or_none(body.get("model")), carrier="tool")
    turns = [_turn(message, where, trajectory.unknown) for message, where in messages]
    _untie(turns, trajectory.unknown)
    if answer is not None:
        trajectory.sent, trajectory.sent_turns = True, len(turns)
        turns += _answer_turns(answer, trajectory.unknown)
    trajectory.turns = number(turns)
    trajectory.named = any(turn.raw_role.startswith(_PROTO) for turn in turns)
    if _is_of_template(turns):
        trajectory.named, trajectory.vendor = True, "hf-template"
    if body.get("has_more") is True:
        trajectory.hidden = "the page says that there are more messages"
    elif any(isinstance(mapping(message).get("weight"), int) for message, _ in messages):
        trajectory.kind = "dataset"
    trajectory.tools = _tools(body)
    trajectory.parallel = flag_of(body.get("parallel_tool_calls"))
    return trajectory


def _is_of_template(turns: list[Turn]) -> bool:
    """The convention of chat templates: arguments are objects, and nothing has an id; names and the order link."""
    calls = [call for turn in turns for call in turn.calls]
    if not calls or any(call.raw_id is not None or call.args_form != "object" or call.kind == LEGACY for call in calls):
        return False
    return all(result.raw_ref is None for turn in turns for result in turn.results)


def _untie(turns: list[Turn], unknown: list[Unknown]) -> None:
    """Tool messages that name no call, in a transcript without structured calls, are prose of a template: nothing links them."""
    results = [part for turn in turns for part in turn.results]
    ids = {call.id for turn in turns for call in turn.calls}
    for turn in turns:
        if turn.key in ids and turn.results and turn.results[0].raw_ref is None:
            turn.results[0].ref, turn.results[0].ref_key = turn.key, "id"  # some logs keep the call's id as the message's own
    if any(turn.calls or turn.empty_calls or turn.raw_role.startswith(_PROTO) for turn in turns) or any(
        result.raw_ref is not None for result in results
    ):
        return
    loose = [turn for turn in turns if turn.results and turn.results[0].kind == "tool"]
    for turn in loose:
        turn.parts = [Text(place=turn.place / "content", text=text_of(turn.results[0].body))]
    if loose:
        unknown.append(Unknown(place=loose[0].place, what="a tool message that names no call, beside no structured calls,"))


def _answer_turns(answer: tuple[JSON, Place], unknown: list[Unknown]) -> list[Turn]:
    """The message of the first choice: further choices are other branches, which a transcript with its answer does not follow."""
    value, place = answer
    choices = sequence(mapping(value).get("choices"))
    if not choices:
        return [_turn(value, place, unknown)] if "role" in mapping(value) else []
    turn = _turn(mapping(choices[0]).get("message"), place.down("choices", 0, "message"), unknown)
    turn.stop = turn.stop or text_or_none(mapping(choices[0]).get("finish_reason"))
    return [turn]


def _tools(body: dict[str, JSON]) -> tuple[Tool, ...] | None:
    """The declared tools of either generation; None when the body declares none."""
    if not isinstance(body.get("tools"), list) and not isinstance(body.get("functions"), list):
        return None
    found = []
    for tool in sequence(body.get("tools")):
        value = mapping(tool)
        inner = mapping(value.get("function")) or mapping(value.get("custom")) or value
        if isinstance(inner.get("name"), str):
            schema = inner.get("parameters") if value.get("type") != "custom" else None
            found.append(Tool(name=inner["name"], schema=schema, output=inner.get("output_schema"), strict=inner.get("strict") is True))
    legacy = [mapping(function) for function in sequence(body.get("functions"))]
    found += [Tool(name=value["name"], schema=value.get("parameters")) for value in legacy if isinstance(value.get("name"), str)]
    return tuple(found)


def _turn(message: JSON, place: Place, unknown: list[Unknown]) -> Turn:
    value = mapping(message)
    role = text_or_none(value.get("role")) or ""
    turn = Turn(
        place=place,
        number=0,
        role=_ROLES.get(role, "unknown"),
        raw_role=role,
        key=text_or_none(value.get("id")),
        stop=text_or_none(value.get("finish_reason")) or text_or_none(value.get("stop_reason")),
        tokens=tokens_of(value.get("usage")),
    )
    turn.failed = turn.stop in _FAILED
    if turn.role == "unknown":
        unknown.append(Unknown(place=place, what=f"a message with the role {quote(role)}" if role else "a message without a role"))
    if turn.role == "tool" or (turn.role in ("user", "system") and has(value, "tool_call_id")):
        turn.parts = [_result(value, place)]
        return turn
    turn.parts = [*_reasoning(value, place), *_content(value.get("content"), place / "content", unknown), *_calls(value, place)]
    turn.empty_calls = value.get("tool_calls") == []
    return turn


def _reasoning(value: dict[str, JSON], place: Place) -> Iterator[Part]:
    for key in ("reasoning_content", "reasoning", "reasoning_details"):
        if value.get(key):
            yield Other(place=place / key, kind="reasoning")


def _content(content: JSON, place: Place, unknown: list[Unknown]) -> Iterator[Part]:
    if isinstance(content, str):
        if content:
            yield Text(place=place, text=content)
    elif isinstance(content, list):
        for index, part in enumerate(content):
            yield _content_part(part, place / index, unknown)
    elif content is not None:
        unknown.append(Unknown(place=place, what="content that is neither text nor a list of parts"))


def _content_part(part: JSON, place: Place, unknown: list[Unknown]) -> Part:
    if isinstance(part, str):
        return Text(place=place, text=part)
    kind = kind_of(part)
    if kind == "tool_result":  # the results of another format, beside the calls of this one
        ref = part.get("tool_use_id")
        return Result(place=place, ref=key_of(ref), raw_ref=ref, body=part.get("content"), kind="tool_result")
    if kind in ("text", "refusal"):
        return Text(place=place, text=text_or_none(part.get(kind)) or "")
    if kind in ("thinking", "reasoning"):
        return Other(place=place, kind="reasoning")
    if not isinstance(kind, str):
        if isinstance(text := mapping(part).get("text"), str):
            return Text(place=place, text=text)  # a message of xAI's protocol, written as JSON
        unknown.append(Unknown(place=place, what="a content part without a type"))
        return Other(place=place, kind="unknown")
    return Other(place=place, kind=kind)


def _calls(value: dict[str, JSON], place: Place) -> Iterator[Call]:
    for index, call in enumerate(sequence(value.get("tool_calls"))):
        yield _call(mapping(call), place.down("tool_calls", index))
    legacy = value.get("function_call")
    if isinstance(legacy, dict):
        yield Call(
            place=place / "function_call",
            id=None,
            name=text_or_none(legacy.get("name")),
            args=legacy.get("arguments"),
            args_form=_form(legacy, "arguments"),
            args_key="arguments",
            kind=LEGACY,
        )


def _call(value: dict[str, JSON], place: Place) -> Call:
    named = bool(mapping(value.get("function")).get("name"))  # some servers send both, one of them empty
    kind = "custom" if isinstance(value.get("custom"), dict) and not named else "function"
    inner = mapping(value.get(kind)) or value  # some dumps have name and arguments beside the id
    under = f"{kind}/" if value.get(kind) else ""
    args_key = "input" if kind == "custom" else "arguments"
    by_xai = str(value.get("type")).startswith("TOOL_CALL_TYPE_") and value["type"] != "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL"
    return Call(
        place=place,
        id=key_of(value.get("id")),
        raw_id=value.get("id"),
        name=text_or_none(inner.get("name")),
        args=inner.get(args_key),
        args_form="text" if kind == "custom" else _form(inner, args_key),
        args_key=under + args_key,
        name_key=under + "name",
        kind=kind,
        executor="server" if by_xai else "client",
        expects="none" if by_xai else "one",
        other_ids=tuple(other for key in ("call_id", "tool_call_id") if (other := key_of(value.get(key))) is not None),
    )


def _form(value: dict[str, JSON], key: str) -> ArgsForm:
    """A string of JSON on the wire; some logs store the decoded object."""
    if key not in value:
        return "none"
    return "string" if isinstance(value[key], str) else "object"


def _result(value: dict[str, JSON], place: Place) -> Result:
    legacy = value.get("role") == "function"
    error = flag_of(value.get("is_error"))
    many = sequence(value.get("tool_call_ids"))  # one result for a list of calls, in logs that do not know parallel ones
    ref_key = "tool_call_ids" if "tool_call_id" not in value and len(many) == 1 else "tool_call_id"
    ref = many[0] if ref_key == "tool_call_ids" else value.get("tool_call_id")
    return Result(
        place=place,
        ref=key_of(ref),
        raw_ref=ref,
        ref_key=ref_key,
        name=text_or_none(value.get("name")),
        flag=None if error is None else "error" if error else "ok",
        body=text_of(value.get("content")) if value.get("role") == "ROLE_TOOL" else value.get("content"),
        kind="function" if legacy else "tool",
    )


# ------------------------------------------------------------------------------------------------------------------- writing


def write(trajectory: Trajectory) -> JSON:
    """The trajectory as a request body. Raises CannotExpress for what only other formats have."""
    body: dict[str, JSON] = {"model": trajectory.model or "gpt-4.1-mini"}
    if trajectory.tools is not None:
        body["tools"] = [{"type": "function", "function": {"name": t.name, "parameters": t.schema or {}}} for t in trajectory.tools]
    body["messages"] = [message for turn in trajectory.turns for message in _written(turn)]
    return body


def _written(turn: Turn) -> list[dict[str, JSON]]:
    if turn.role in ("tool", "user") and turn.results:
        if set(turn.order) != {"r"}:
            raise CannotExpress("a message that holds a result and other parts")
        return [_tool_message(result) for result in turn.results]
    if "r" in turn.order or set(turn.order) & {"s", "z", "h"} or turn.order.rstrip("c").count("c"):
        raise CannotExpress("parts in an order, or of a kind, that a Chat message has not")
    message: dict[str, JSON] = {"role": "user" if turn.role == "tool" else turn.role}
    message["content"] = "\n".join(part.text for part in turn.texts) or (None if turn.calls else "")
    if turn.calls or turn.empty_calls:
        message["tool_calls"] = [_written_call(call) for call in turn.calls]
    if turn.failed:
        message["finish_reason"] = "error"
    elif turn.stop is not None:
        message["finish_reason"] = {"max_tokens": "length", "tool_use": "tool_calls"}.get(turn.stop, turn.stop)
    return [message]


def _written_call(call: Call) -> dict[str, JSON]:
    import json

    if call.kind == "custom":
        return {"id": call.id or "", "type": "custom", "custom": {"name": call.name, "input": call.args}}
    args = call.args if call.args_form == "string" else json.dumps(call.args)
    return {"id": call.id or "", "type": "function", "function": {"name": call.name, "arguments": args}}


def _tool_message(result: Result) -> dict[str, JSON]:
    message = {"role": "tool", "tool_call_id": result.ref or "", "content": text_of(result.body)}
    return message if result.name is None else {**message, "name": result.name}


def _is_raw_template(messages: JSON) -> bool:
    """Whether calls are stored as chat templates take them: with arguments as objects, and without ids."""
    calls = [mapping(call) for message in sequence(messages) for call in sequence(mapping(message).get("tool_calls"))]
    return bool(calls) and all(not has(call, "id") and isinstance(mapping(call.get("function")).get("arguments"), dict) for call in calls)


def raw_messages(value: JSON, place: Place) -> Iterable[tuple[JSON, Place]]:
    """Every message of a value that `read` takes, as stored, with its place (for the check of shapes)."""
    if _is_raw_template(value if isinstance(value, list) else mapping(value).get("messages")):
        return ()  # what templates take has no published shape
    if isinstance(value, list):
        return _stored(value, place)
    if isinstance(value.get("input"), dict) and has(value, *_PAIRS):
        asked = _stored(sequence(value["input"].get("messages")), place.down("input", "messages"))
        return asked + [pair for key in _PAIRS for pair in _stored(sequence(value.get(key)), place / key)]
    if (messages := _messages(value)) is not None:
        return _stored(messages, place / ("messages" if isinstance(value.get("messages"), list) else "data"))
    choices = enumerate(sequence(value.get("choices")))
    return [(mapping(choice).get("message"), place.down("choices", index, "message")) for index, choice in choices]
