"""Google Gemini `generateContent`: request bodies, lists of contents, responses, and the batch lines and chunks that hold them.

Calls are `functionCall` parts of a `model` content; results are `functionResponse` parts of the next `user` content (older SDKs: of
the role `function`). Ids are optional on both sides: the official SDK itself leaves them out of results, so a result without one
belongs to the first open call of its name. Keys are spelled in camel or in snake case, and absent ones may be there as null.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from toolaudit.formats import DECISIVE, MEDIUM, STRONG, WEAK, CannotExpress, Evidence, Message
from toolaudit.formats._json import has, indexed, key_of, kind_of, mapping, number, sequence, strongest, text_or_none
from toolaudit.model import JSON, Call, Other, Part, Place, Result, Role, Text, Tool, Trajectory, Turn, Unknown
from toolaudit.text import quote

NAME: Final = "gemini"
TITLE: Final = "Google Gemini generateContent"
TARGET: Final = "gemini"
ADDRESS: Final = r":(?:stream)?[gG]enerateContent\b"

_CALL, _RESULT = ("functionCall", "function_call"), ("functionResponse", "function_response")
_RUN = ("executableCode", "executable_code", "codeExecutionResult", "code_execution_result", "toolCall", "tool_call", "toolResponse")
_SIGNATURE = ("thoughtSignature", "thought_signature")
_DATA = ("inlineData", "inline_data", "fileData", "file_data", "videoMetadata", "video_metadata", "tool_response")
_KEYS = frozenset({"text", "thought", *_CALL, *_RESULT, *_RUN, *_SIGNATURE, *_DATA})
_ROLES: dict[str, Role] = {"user": "user", "model": "assistant", "function": "user", "system": "system"}
_FAILED = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE"})
"""Reasons by which a turn that was to call tools came to nothing."""
_CUT = frozenset({"MAX_TOKENS", "SAFETY", "RECITATION", "PROHIBITED_CONTENT"})


# --------------------------------------------------------------------------------------------------------------- recognising


def recognise(value: JSON) -> Evidence | None:
    """Evidence that `value` is a request body, a list of contents, or a response."""
    if isinstance(value, list):
        return strongest(value, recognise_message)
    if not isinstance(value, dict):
        return None
    if is_response(value):
        return Evidence(DECISIVE, "a response with `candidates`")
    contents = _contents(value)
    if contents is None:
        return None
    found = strongest(contents, recognise_message)
    if found is not None and found.strength >= MEDIUM:
        return Evidence(DECISIVE, "`contents`")
    return Evidence(WEAK, "`contents`") if not contents and has(value, "generationConfig", "systemInstruction", "tools") else None


def fits(value: JSON) -> bool:
    """Whether a body may be a request, where its address says that it is one."""
    return isinstance(value, dict) and isinstance(value.get("contents"), (list, dict))


def recognise_message(value: JSON) -> Evidence | None:
    """Evidence that `value` is one content: its parts have no type, and say by a key what they are."""
    if not isinstance(value, dict) or not isinstance(parts := value.get("parts"), list):
        return None
    role = value.get("role")
    if (
        (role is not None and text_or_none(role) not in _ROLES)
        or not all(_is_part(part) for part in parts)
        or has(value, "content", "kind", "messageId")
    ):
        return None
    if any(has(part, *_CALL, *_RESULT) for part in parts):
        return Evidence(STRONG, "`functionCall` or `functionResponse` parts")
    return Evidence(MEDIUM, "`parts`") if role is not None and parts else None


def _is_part(part: JSON) -> bool:
    return isinstance(part, dict) and kind_of(part) is None and (not part or not _KEYS.isdisjoint(part))


def is_response(value: JSON) -> bool:
    """A response, or a chunk of one, as against a request."""
    candidates = mapping(value).get("candidates")
    return isinstance(candidates, list) and all(
        isinstance(one, dict) and (has(one, "content", "finishReason", "finish_reason", "index") or not one) for one in candidates
    )


def _contents(value: dict[str, JSON]) -> list[JSON] | None:
    """The contents of a body: a list, or one content or text that stands for it."""
    contents = value.get("contents")
    if isinstance(contents, dict):
        return [contents]
    return contents if isinstance(contents, list) else None


def _either(value: dict[str, JSON], names: tuple[str, ...]) -> tuple[str, JSON]:
    """The first of several spellings of a key that has a value, with the value; the first spelling and None where none has."""
    for name in names:
        if value.get(name) is not None:
            return name, value[name]
    return names[0], None


# ------------------------------------------------------------------------------------------------------------------- reading


def read(value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
    """The trajectory of a request body or a list of contents; of a response one for each candidate."""
    if is_response(value):
        for index, one in enumerate(value["candidates"]):
            yield _response(value, mapping(one), place.down("candidates", index))
        return
    body = mapping(value)
    base = place / "contents" if body else place
    if isinstance(body.get("contents"), dict):
        contents: list[tuple[JSON, Place]] = [(body["contents"], base)]
    else:
        contents = [(one, base / index) for index, one in indexed(sequence(body.get("contents")) if body else sequence(value))]
    yield _trajectory(body, contents, place, answer)


def read_messages(messages: list[Message]) -> Trajectory:
    """A conversation that was stored one content a record."""
    trajectory = Trajectory(place=Place(messages[0].place.record), format=NAME, kind="log", carrier="user", named=True)
    trajectory.turns = number(_turn(message.value, message.place, trajectory.unknown) for message in messages)
    trajectory.fragment = bool(trajectory.turns) and "t" not in trajectory.turns[0].order
    return trajectory


def _response(body: dict[str, JSON], candidate: dict[str, JSON], place: Place) -> Trajectory:
    trajectory = Trajectory(place=place, format=NAME, kind="response", named=True)
    trajectory.id = text_or_none(_either(body, ("responseId", "response_id"))[1])
    trajectory.model = text_or_none(_either(body, ("modelVersion", "model_version"))[1])
    trajectory.turns = number([_candidate(candidate, place, trajectory.unknown)])
    return trajectory


def _candidate(candidate: dict[str, JSON], place: Place, unknown: list[Unknown]) -> Turn:
    """The content of a candidate, which may be missing when the call failed."""
    turn = _turn({"role": "model", **mapping(candidate.get("content"))}, place / "content", unknown)
    reason = _either(candidate, ("finishReason", "finish_reason"))[1]
    turn.stop = text_or_none(reason)
    turn.failed = turn.stop in _FAILED
    if turn.stop in _CUT:
        turn.stop = "length"
    return turn


def _trajectory(body: dict[str, JSON], contents: list[tuple[JSON, Place]], place: Place, answer: tuple[JSON, Place] | None) -> Trajectory:
    trajectory = Trajectory(place=place, format=NAME, kind="request", carrier="user", named=True, model=text_or_none(body.get("model")))
    turns = [_turn(content, where, trajectory.unknown) for content, where in contents]
    if answer is not None:
        trajectory.sent, trajectory.sent_turns = True, len(turns)
        candidates = sequence(mapping(answer[0]).get("candidates"))
        if candidates:
            turns.append(_candidate(mapping(candidates[0]), answer[1].down("candidates", 0), trajectory.unknown))
    trajectory.turns = number(turns)
    trajectory.tools, trajectory.open_tools = _tools(_declarations(body))
    if has(body, "cachedContent", "cached_content"):
        trajectory.hidden = "the body goes on from cached content"
    return trajectory


def _declarations(body: dict[str, JSON]) -> JSON:
    """The tools of a body, or of the configuration in which the SDK's own calls keep them."""
    return body.get("tools") if body.get("tools") is not None else mapping(body.get("config")).get("tools")


def _tools(tools: JSON) -> tuple[tuple[Tool, ...] | None, bool]:
    """The declared functions, and whether there may be more: what the provider runs itself has no declaration."""
    if not isinstance(tools, list):
        return None, False
    found, others = [], False
    for tool in tools:
        functions = _either(mapping(tool), ("functionDeclarations", "function_declarations"))[1]
        others |= functions is None
        for one in sequence(functions):
            name = mapping(one).get("name")
            if isinstance(name, str):
                # `parameters` is a dialect of OpenAPI, with types in capitals: only the other key holds JSON Schema
                found.append(Tool(name=name, schema=_either(one, ("parametersJsonSchema", "parameters_json_schema"))[1]))
    return tuple(found), others


def _turn(content: JSON, place: Place, unknown: list[Unknown]) -> Turn:
    if isinstance(content, str):
        return Turn(place=place, number=0, role="user", parts=[Text(place=place, text=content)])
    value = mapping(content)
    role = value.get("role") or "user"
    turn = Turn(place=place, number=0, role=_ROLES.get(role, "unknown") if isinstance(role, str) else "unknown")
    turn.raw_role = text_or_none(role) or ""
    if turn.role == "unknown":
        unknown.append(Unknown(place=place, what=f"a content with the role {quote(str(role))}"))
    parts = value.get("parts")
    if isinstance(parts, dict):
        turn.parts = list(_part(parts, place / "parts", unknown))
    elif isinstance(parts, list):
        turn.parts = [one for index, part in enumerate(parts) for one in _part(part, place.down("parts", index), unknown)]
    elif parts is not None:
        unknown.append(Unknown(place=place / "parts", what="parts that are no list"))
    return turn


def _part(part: JSON, place: Place, unknown: list[Unknown]) -> Iterator[Part]:
    if isinstance(part, str):
        yield Text(place=place, text=part)
        return
    value = mapping(part)
    signature = text_or_none(_either(value, _SIGNATURE)[1])
    if value.get("thought") is True:
        yield Other(place=place, kind="reasoning", id=signature)
        return
    key, call = _either(value, _CALL)
    if isinstance(call, dict):
        yield _call(call, key, place)
        return
    key, result = _either(value, _RESULT)
    if isinstance(result, dict):
        yield _result(result, key, place)
    elif isinstance(value.get("text"), str):
        yield Text(place=place, text=value["text"])
    elif has(value, *_RUN, *_DATA):
        yield Other(place=place, kind="data" if has(value, *_DATA) else "code execution")  # the provider's own, in one piece
    elif signature is not None:
        yield Other(place=place, kind="signature")
    else:
        if any(one is not None for one in value.values()) or not isinstance(part, dict):
            unknown.append(Unknown(place=place, what="a part that is none of those that are known"))
        yield Other(place=place, kind="unknown")


def _call(value: dict[str, JSON], key: str, place: Place) -> Call:
    partial = value.get("willContinue") is True or value.get("will_continue") is True
    return Call(
        place=place,
        id=key_of(value.get("id")),
        raw_id=value.get("id"),
        name=text_or_none(value.get("name")),
        args=value.get("args") if value.get("args") is not None else {},
        args_form="object",
        args_key=f"{key}/args",
        name_key=f"{key}/name",
        id_key=f"{key}/id",
        kind="functionCall",
        state="partial" if partial else "done",
    )


def _result(value: dict[str, JSON], key: str, place: Place) -> Result:
    body, body_key = _body(value.get("response"))
    return Result(
        place=place,
        ref=key_of(value.get("id")),
        raw_ref=value.get("id"),
        ref_key=f"{key}/id",
        name=text_or_none(value.get("name")),
        flag="error" if mapping(value.get("response")).get("error") else None,
        body=body,
        body_key=f"{key}/response{body_key}",
        kind="functionResponse",
    )


def _body(response: JSON) -> tuple[JSON, str]:
    """What a tool said: clients wrap its text in an object, for a response is always one."""
    value = mapping(response)
    if len(value) == 1:
        for name in ("output", "result", "error", "content"):
            if isinstance(value.get(name), str):
                return value[name], f"/{name}"
    return response, ""


# ------------------------------------------------------------------------------------------------------------------- writing


def write(trajectory: Trajectory) -> JSON:
    """The trajectory as a request body. Raises CannotExpress for parts that only other formats have, and for what has no id, which
    is no fault here."""
    body: dict[str, JSON] = {} if trajectory.model is None else {"model": trajectory.model}
    body["contents"] = [_written(turn) for turn in trajectory.turns if turn.role != "system"]
    system = [text.text for turn in trajectory.turns if turn.role == "system" for text in turn.texts]
    if system:
        body["systemInstruction"] = {"parts": [{"text": text} for text in system]}
    if trajectory.tools is not None:
        declared = [{"name": t.name, "parametersJsonSchema": t.schema or {"type": "object"}} for t in trajectory.tools]
        body["tools"] = [{"functionDeclarations": declared}]
    return body


def _written(turn: Turn) -> dict[str, JSON]:
    if turn.empty_calls or turn.failed or turn.stop is not None:
        raise CannotExpress("a list of calls that is empty, a failed turn, or the reason a turn ended for")
    return {"role": "model" if turn.role == "assistant" else "user", "parts": [_written_part(part) for part in turn.parts]}


def _written_part(part: Part) -> dict[str, JSON]:
    if isinstance(part, Text):
        return {"text": part.text}
    if isinstance(part, Call) and part.executor == "client" and part.args_form == "object" and part.id is not None:
        return {"functionCall": {"id": part.id, "name": part.name, "args": part.args}}
    if isinstance(part, Result) and part.executor == "client" and part.ref is not None:
        said = {"error" if part.flag == "error" else "output": part.body}
        return {"functionResponse": {"id": part.ref, "name": part.name, "response": said}}
    raise CannotExpress(f"a part of kind {getattr(part, 'kind', '')}")


def raw_messages(value: JSON, place: Place) -> Iterable[tuple[JSON, Place]]:
    """Every content of a value that `read` takes, as stored, with its place."""
    contents = mapping(value).get("contents") if isinstance(value, dict) else value
    base = place if isinstance(value, list) else place / "contents"
    if isinstance(contents, list):
        return ((content, base / index) for index, content in indexed(contents))
    return [(value, place)]
