"""Bedrock Converse: request bodies, message lists, responses, and the invocation logs that hold them.

A content block has no type: its one key says what it is. Calls are `toolUse` blocks of an assistant message; results are `toolResult`
blocks of the next user message. A `toolUse` of the type `server_tool_use` is run by the provider, with its result in the same message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from toolaudit.formats import DECISIVE, STRONG, WEAK, CannotExpress, Evidence, Message
from toolaudit.formats._json import has, indexed, key_of, kind_of, mapping, number, sequence, strongest, text_of, text_or_none, tokens_of
from toolaudit.model import JSON, Call, Other, Part, Place, Result, Role, Text, Tool, Trajectory, Turn, Unknown
from toolaudit.text import quote

NAME: Final = "bedrock-converse"
TITLE: Final = "Amazon Bedrock Converse"
TARGET: Final = "bedrock-converse"
ADDRESS: Final = r"/converse(?:-stream)?$"

_OWN = frozenset({"toolUse", "toolResult", "reasoningContent", "cachePoint", "guardContent", "citationsContent"})
"""Keys of blocks that no other format has."""
_DATA = frozenset({"image", "document", "video", "audio", "searchResult", "text"})
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_REQUEST = ("toolConfig", "inferenceConfig", "additionalModelRequestFields", "guardrailConfig", "performanceConfig")


# --------------------------------------------------------------------------------------------------------------- recognising


def recognise(value: JSON) -> Evidence | None:
    """Evidence that `value` is a request body, a list of messages or a response."""
    if isinstance(value, list):
        return strongest(value, recognise_message)
    if not isinstance(value, dict):
        return None
    if is_response(value):
        return Evidence(DECISIVE, "a response with `stopReason`")
    messages = value.get("messages")
    if not isinstance(messages, list):
        return None
    if has(value, *_REQUEST):
        return Evidence(DECISIVE, "fields of a Converse request")
    found = strongest(messages, recognise_message)
    return found if found is not None and found.strength > WEAK else None


def fits(value: JSON) -> bool:
    """Whether a body may be a request, where its address says that it is one."""
    return isinstance(value, dict) and isinstance(value.get("messages"), list)


def recognise_message(value: JSON) -> Evidence | None:
    """Evidence that `value` is one message: blocks without a type, that say by a key what they are."""
    if (
        not isinstance(value, dict)
        or text_or_none(value.get("role")) not in _ROLES
        or not isinstance(content := value.get("content"), list)
    ):
        return None
    if not content or not all(isinstance(block, dict) and kind_of(block) is None for block in content):
        return None
    if any(not _OWN.isdisjoint(block) for block in content):
        return Evidence(STRONG, "`toolUse`, `toolResult` or other blocks of Converse")
    return Evidence(WEAK, "blocks without a type") if all(len(b) == 1 and not _DATA.isdisjoint(b) for b in content) else None


def is_response(value: JSON) -> bool:
    """A response, as against a request."""
    found = mapping(value)
    return isinstance(mapping(found.get("output")).get("message"), dict) and has(found, "stopReason", "metrics")


# ------------------------------------------------------------------------------------------------------------------- reading


def read(value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
    """The trajectory of a request body, a list of messages or a response."""
    if is_response(value):
        trajectory = Trajectory(place=place, format=NAME, kind="response")
        trajectory.turns = number([_answer(value, place, trajectory.unknown)])
        yield trajectory
        return
    body = mapping(value)
    base = place / "messages" if body else place
    messages = sequence(body.get("messages")) if body else sequence(value)
    yield _trajectory(body, messages, base, place, answer)


def read_messages(messages: list[Message]) -> Trajectory:
    """A conversation that was stored one message a record."""
    trajectory = Trajectory(place=Place(messages[0].place.record), format=NAME, kind="log", carrier="user")
    trajectory.turns = number(_turn(message.value, message.place, trajectory.unknown) for message in messages)
    trajectory.fragment = bool(trajectory.turns) and "t" not in trajectory.turns[0].order
    return trajectory


def _answer(response: dict[str, JSON], place: Place, unknown: list[Unknown]) -> Turn:
    turn = _turn(response["output"]["message"], place.down("output", "message"), unknown)
    turn.stop, turn.tokens = text_or_none(response.get("stopReason")), tokens_of(response.get("usage"))
    return turn


def _trajectory(body: dict[str, JSON], messages: list[JSON], base: Place, place: Place, answer: tuple[JSON, Place] | None) -> Trajectory:
    trajectory = Trajectory(place=place, format=NAME, kind="request", carrier="user", model=text_or_none(body.get("modelId")))
    turns = [_turn(message, base / index, trajectory.unknown) for index, message in indexed(messages)]
    if answer is not None:
        trajectory.sent, trajectory.sent_turns = True, len(turns)
        if is_response(answer[0]):
            turns.append(_answer(answer[0], answer[1], trajectory.unknown))
    trajectory.turns = number(turns)
    trajectory.tools, trajectory.open_tools = _tools(mapping(body.get("toolConfig")).get("tools"))
    return trajectory


def _tools(tools: JSON) -> tuple[tuple[Tool, ...] | None, bool]:
    """The declared tools, and whether there may be more: what the provider runs itself has no specification."""
    if not isinstance(tools, list):
        return None, False
    found, others = [], False
    for tool in map(mapping, tools):
        spec = mapping(tool.get("toolSpec"))
        if isinstance(spec.get("name"), str):
            found.append(Tool(name=spec["name"], schema=mapping(spec.get("inputSchema")).get("json")))
        else:
            others |= not has(tool, "cachePoint")
    return tuple(found), others


def _turn(message: JSON, place: Place, unknown: list[Unknown]) -> Turn:
    value = mapping(message)
    role = text_or_none(value.get("role")) or ""
    turn = Turn(place=place, number=0, role=_ROLES.get(role, "unknown"), raw_role=role)
    if turn.role == "unknown":
        unknown.append(Unknown(place=place, what=f"a message with the role {quote(role)}" if role else "a message without a role"))
    content = value.get("content")
    if isinstance(content, str):
        turn.parts = [Text(place=place / "content", text=content)]
    elif isinstance(content, list):
        turn.parts = [_part(block, place.down("content", index), unknown) for index, block in enumerate(content)]
    elif content is not None:
        unknown.append(Unknown(place=place / "content", what="content that is no list of blocks"))
    return turn


def _part(block: JSON, place: Place, unknown: list[Unknown]) -> Part:
    value = mapping(block)
    if isinstance(call := value.get("toolUse"), dict):
        return _call(call, place)
    if isinstance(result := value.get("toolResult"), dict):
        return _result(result, place)
    if isinstance(value.get("text"), str):
        return Text(place=place, text=value["text"])
    if has(value, "reasoningContent"):
        said = mapping(mapping(value["reasoningContent"]).get("reasoningText"))
        return Other(place=place, kind="reasoning", id=text_or_none(said.get("signature")))
    kind = next((key for key, inner in value.items() if inner is not None), None)
    if kind is None:
        unknown.append(Unknown(place=place, what="a content block without a key that says what it is"))
    return Other(place=place, kind=kind or "unknown")


def _call(value: dict[str, JSON], place: Place) -> Call:
    return Call(
        place=place,
        id=key_of(value.get("toolUseId")),
        raw_id=value.get("toolUseId"),
        name=text_or_none(value.get("name")),
        args=value.get("input"),
        args_form="object" if "input" in value else "none",
        args_key="toolUse/input",
        name_key="toolUse/name",
        id_key="toolUse/toolUseId",
        executor="server" if has(value, "type") else "client",
        kind="toolUse",
    )


def _result(value: dict[str, JSON], place: Place) -> Result:
    status = value.get("status")
    return Result(
        place=place,
        ref=key_of(value.get("toolUseId")),
        raw_ref=value.get("toolUseId"),
        ref_key="toolResult/toolUseId",
        flag="error" if status == "error" else "ok" if status == "success" else None,
        body=value.get("content"),
        body_key="toolResult/content",
        executor="server" if has(value, "type") else "client",
        kind="toolResult",
    )


# ------------------------------------------------------------------------------------------------------------------- writing


def write(trajectory: Trajectory) -> JSON:
    """The trajectory as a request body. Raises CannotExpress for parts that only other formats have."""
    body: dict[str, JSON] = {} if trajectory.model is None else {"modelId": trajectory.model}
    body["messages"] = [_written(turn) for turn in trajectory.turns if turn.role != "system"]
    system = [text.text for turn in trajectory.turns if turn.role == "system" for text in turn.texts]
    if system:
        body["system"] = [{"text": text} for text in system]
    if trajectory.tools is not None:
        specs = [{"name": t.name, "inputSchema": {"json": t.schema or {"type": "object"}}} for t in trajectory.tools]
        body["toolConfig"] = {"tools": [{"toolSpec": spec} for spec in specs]}
    return body


def _written(turn: Turn) -> dict[str, JSON]:
    if turn.empty_calls or turn.failed or turn.stop is not None:
        raise CannotExpress("a list of calls that is empty, a failed turn, or the reason a turn ended for")
    return {"role": "assistant" if turn.role == "assistant" else "user", "content": [_block(part) for part in turn.parts]}


def _block(part: Part) -> dict[str, JSON]:
    if isinstance(part, Text):
        return {"text": part.text}
    if isinstance(part, Call) and part.args_form == "object":
        kind = {"type": "server_tool_use"} if part.executor == "server" else {}
        return {"toolUse": {"toolUseId": part.id or "", "name": part.name, "input": part.args, **kind}}
    if isinstance(part, Result):
        kind = {"type": "server_tool_result"} if part.executor == "server" else {}
        status = {"status": "error"} if part.flag == "error" else {}
        return {"toolResult": {"toolUseId": part.ref or "", "content": [{"text": text_of(part.body)}], **status, **kind}}
    raise CannotExpress(f"a part of kind {part.kind}")


def raw_messages(value: JSON, place: Place) -> Iterable[tuple[JSON, Place]]:
    """Every message of a value that `read` takes, as stored, with its place."""
    if isinstance(value, list) or isinstance(mapping(value).get("messages"), list):
        base = place if isinstance(value, list) else place / "messages"
        return ((message, base / index) for index, message in indexed(value if isinstance(value, list) else value["messages"]))
    return [(value, place)]
