"""Anthropic Messages: request bodies, message lists, responses, and what batches and wrappers hold of them.

Calls are `tool_use` blocks of an assistant message; results are `tool_result` blocks of the next user message. Calls that the
provider runs itself (`server_tool_use`, `mcp_tool_use`) have their results in an assistant message, the same or a later one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from toolaudit.formats import BARE, DECISIVE, MEDIUM, STRONG, WEAK, CannotExpress, Evidence, Message
from toolaudit.formats._json import (
    declared,
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
from toolaudit.model import JSON, Call, Other, Part, Place, Result, Role, Text, Tool, Trajectory, Turn, Unknown
from toolaudit.text import quote

NAME: Final = "anthropic-messages"
TITLE: Final = "Anthropic Messages"
TARGET: Final = "anthropic"
ADDRESS: Final = r"/v1/messages\b|/model/[^/]*anthropic[^/]*/invoke"

_CALLS = {"tool_use": "client", "server_tool_use": "server", "mcp_tool_use": "server"}
_THINKING = {"thinking", "redacted_thinking"}
_PLAIN = {"image", "document", "search_result", "container_upload", "mcp_tool_listing", "tool_addition", "tool_removal", "fallback"}
_KNOWN_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_TOOLSETS = ("browser_toolset", "computer_toolset", "mcp_toolset")


# --------------------------------------------------------------------------------------------------------------- recognising


def recognise(value: JSON) -> Evidence | None:
    """Evidence that `value` is a request body, a list of messages or a response."""
    if isinstance(value, list):
        return strongest(value, recognise_message)
    if not isinstance(value, dict):
        return None
    if value.get("type") == "message" and value.get("role") == "assistant" and isinstance(value.get("content"), list):
        return _as_response(value)
    messages = value.get("messages")
    if not isinstance(messages, list):
        return None
    if has(value, "anthropic_version"):
        return Evidence(DECISIVE, "`anthropic_version`")
    return max(_evidence(value, messages), key=lambda found: found.strength, default=None)


def _evidence(body: dict[str, JSON], messages: list[JSON]) -> Iterator[Evidence]:
    if found := strongest(messages, recognise_message):
        yield found
    if any(has(mapping(tool), "input_schema") for tool in sequence(body.get("tools"))):
        yield Evidence(MEDIUM, "tools with `input_schema`")
    if has(body, "system", "thread", "mcp_servers", "context_management", "stop_sequences"):
        yield Evidence(MEDIUM, "a top-level `system`" if has(body, "system") else "fields of a Messages request")
    if isinstance(body.get("model"), str) and "claude" in body["model"] and (messages or has(body, "thread")):
        yield Evidence(WEAK, "a model name")
    if not messages and has(body, "thread"):
        yield Evidence(STRONG, "`thread`")


def _as_response(value: dict[str, JSON]) -> Evidence | None:
    kinds = kinds_of(value["content"])
    if "stop_reason" in value or "input_tokens" in mapping(value.get("usage")) or kinds & {*_CALLS, *_THINKING}:
        return Evidence(DECISIVE, "a response with `stop_reason`")
    return None


def fits(value: JSON) -> bool:
    """Whether a body may be a request, where its address says that it is one."""
    return isinstance(value, dict) and isinstance(value.get("messages"), list)


def recognise_message(value: JSON) -> Evidence | None:
    """Evidence that `value` is one message."""
    if not isinstance(value, dict) or not isinstance(value.get("role"), str):
        return None
    content = value.get("content")
    if kind_of(content) is not None:
        content = [content]
    if content is None and has(value, "parts", "tool_calls", "function_call", "tool_call_id"):
        return None
    if isinstance(content, list):
        kinds = kinds_of(content)
        if kinds & _CALLS.keys():
            return Evidence(STRONG, "calls in content blocks")
        if any(kind.endswith("tool_result") for kind in kinds if kind is not None):
            return Evidence(STRONG - 5, "results in content blocks")
        if kinds & {*_THINKING, "compaction", "fallback"}:
            return Evidence(MEDIUM, "thinking blocks in content")
        if kinds & {"image", "document", "search_result"}:
            return Evidence(WEAK, "content blocks")
        return Evidence(BARE, "messages") if kinds <= {"text"} else Evidence(BARE - 1, "messages")
    return Evidence(BARE, "messages") if isinstance(content, str) or value["role"] in _KNOWN_ROLES else Evidence(BARE - 1, "messages")


# ------------------------------------------------------------------------------------------------------------------- reading


def read(value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
    """The trajectory in a request body, list or response; `answer` is the response that a captured request got."""
    if isinstance(value, list):
        yield _trajectory({}, value, place, answer)
    elif isinstance(value.get("messages"), list):
        yield _trajectory(value, value["messages"], place / "messages", answer)
    else:
        yield _response(value, place)


def read_messages(messages: list[Message]) -> Trajectory:
    """A conversation that was stored one message a record."""
    trajectory = Trajectory(place=Place(messages[0].place.record), format=NAME, kind="log", carrier="user")
    trajectory.turns = number(turn_of(message.value, message.place, trajectory.unknown) for message in messages)
    trajectory.fragment = bool(trajectory.turns) and trajectory.turns[0].role != "system" and "t" not in trajectory.turns[0].order
    trajectory.model = next((m.value["model"] for m in messages if isinstance(m.value.get("model"), str)), None)
    return trajectory


def _response(value: dict[str, JSON], place: Place) -> Trajectory:
    trajectory = Trajectory(place=place, format=NAME, kind="response", id=text_or_none(value.get("id")))
    trajectory.model = text_or_none(value.get("model"))
    trajectory.turns = number([turn_of(value, place, trajectory.unknown)])
    return trajectory


def _trajectory(body: dict[str, JSON], messages: list[JSON], base: Place, answer: tuple[JSON, Place] | None) -> Trajectory:
    place = base.up() if body else base
    trajectory = Trajectory(place=place, format=NAME, kind="request", model=text_or_none(body.get("model")))
    turns = [turn_of(message, base / index, trajectory.unknown) for index, message in indexed(messages)]
    if answer is not None:
        trajectory.sent, trajectory.sent_turns = True, len(turns)
        if isinstance(mapping(answer[0]).get("content"), list):
            turns.append(turn_of(answer[0], answer[1], trajectory.unknown))
    trajectory.turns = number(turns)
    if mapping(body.get("thread")).get("type") == "continue":
        trajectory.hidden = "the body continues a thread"
    trajectory.carrier = "user"
    trajectory.thinking = kind_of(body.get("thinking")) == "enabled"
    trajectory.tools, trajectory.open_tools = _tools(body.get("tools"))
    trajectory.open_tools |= has(body, "mcp_servers") or trajectory.hidden is not None
    disabled = flag_of(mapping(body.get("tool_choice")).get("disable_parallel_tool_use"))
    trajectory.parallel = None if disabled is None else not disabled
    return trajectory


def _tools(tools: JSON) -> tuple[tuple[Tool, ...] | None, bool]:
    """The declared tools, and whether there may be more than their names say."""
    if not isinstance(tools, list):
        return None, False
    kinds = [str(mapping(tool).get("type") or "") for tool in tools]
    beside = any(kind.startswith(_TOOLSETS) or kind.startswith(("tool_search", "code_execution")) for kind in kinds)
    return tuple(declared(tools, "input_schema")), beside


def turn_of(message: JSON, place: Place, unknown: list[Unknown]) -> Turn:
    """The turn that a stored message is; what is not understood in it is added to `unknown`."""
    value = mapping(message)
    role = text_or_none(value.get("role")) or ""
    turn = Turn(
        place=place,
        number=0,
        role=_KNOWN_ROLES.get(role, "unknown"),
        raw_role=role,
        key=text_or_none(value.get("id")),
        stop=text_or_none(value.get("stop_reason")),
        tokens=tokens_of(value.get("usage")),
    )
    if role == "tool" and has(value, "tool_call_id"):  # the results of another format, beside the calls of this one
        turn.role, turn.parts = "tool", [_result({**value, "tool_use_id": value["tool_call_id"]}, "tool_result", place)]
        return turn
    content = value.get("content")
    if kind_of(content) is not None:
        turn.parts = [_part(content, place / "content", unknown)]  # MCP sampling: one block stands for a list of one
        return turn
    if turn.role == "unknown":
        unknown.append(Unknown(place=place, what=f"a message with the role {quote(role)}" if role else "a message without a role"))
    if isinstance(content, str):
        turn.parts = [Text(place=place / "content", text=content)]
    elif isinstance(content, list):
        turn.parts = [_part(part, place.down("content", index), unknown) for index, part in enumerate(content)]
    elif content is not None:
        unknown.append(Unknown(place=place / "content", what="content that is neither text nor a list of blocks"))
    return turn


def _part(part: JSON, place: Place, unknown: list[Unknown]) -> Part:
    if isinstance(part, str):
        return Text(place=place, text=part)
    value = mapping(part)
    kind = value.get("type")
    if not isinstance(kind, str):
        unknown.append(Unknown(place=place, what="a content block without a type"))
        return Other(place=place, kind="unknown")
    if kind == "text":
        return Text(place=place, text=text_or_none(value.get("text")) or "")
    if kind in _CALLS:
        return _call(value, kind, place)
    if kind.endswith("tool_result"):
        return _result(value, kind, place)
    return _other(value, kind, place)


def _other(value: dict[str, JSON], kind: str, place: Place) -> Other:
    if kind in _THINKING:
        return Other(place=place, kind="reasoning", id=text_or_none(value.get("signature")) or None, value=kind)
    if kind == "compaction":
        # content null says that the compaction failed and nothing was cut; an encrypted form has no content of its own
        took = value.get("content") is not None or has(value, "encrypted_content")
        return Other(place=place, kind="compaction" if took else "failed compaction")
    return Other(place=place, kind=kind)  # unknown types are tolerated: new ones appear with every version of the API


def _call(value: dict[str, JSON], kind: str, place: Place) -> Call:
    caller = mapping(value.get("caller"))
    return Call(
        place=place,
        id=key_of(value.get("id")),
        raw_id=value.get("id"),
        name=text_or_none(value.get("name")),
        args=value.get("input"),
        args_form="object" if "input" in value else "none",
        executor="server" if _CALLS[kind] == "server" else "client",
        kind=kind,
        caller=text_or_none(caller.get("tool_id")),
        group=text_or_none(value.get("toolset_name")),
    )


def _result(value: dict[str, JSON], kind: str, place: Place) -> Result:
    error = flag_of(value.get("is_error", value.get("isError")))
    ref_key = "toolUseId" if "toolUseId" in value and "tool_use_id" not in value else "tool_use_id"  # MCP spells it so
    return Result(
        place=place,
        ref=key_of(value.get(ref_key)),
        raw_ref=value.get(ref_key),
        ref_key=ref_key,
        flag=None if error is None else "error" if error else "ok",
        body=value.get("content"),
        executor="client" if kind == "tool_result" else "server",
        kind=kind,
        group=text_or_none(value.get("toolset_name")),
    )


# ------------------------------------------------------------------------------------------------------------------- writing


def write(trajectory: Trajectory) -> JSON:
    """The trajectory as a request body. Raises CannotExpress for parts that only other formats have."""
    body: dict[str, JSON] = {"model": trajectory.model or "claude-sonnet-4-5", "max_tokens": 1024}
    if trajectory.tools is not None:
        body["tools"] = [{"name": t.name, "input_schema": t.schema or {"type": "object"}} for t in trajectory.tools]
    body["messages"] = [_written(turn) for turn in trajectory.turns]
    return body


def _written(turn: Turn) -> dict[str, JSON]:
    if turn.empty_calls:
        raise CannotExpress("an empty list of calls")
    if turn.failed:
        raise CannotExpress("a failed turn")
    role = "user" if turn.role == "tool" else turn.role
    message: dict[str, JSON] = {"role": role, "content": [_block(part) for part in turn.parts]}
    if turn.stop is not None:
        message["stop_reason"] = {"length": "max_tokens", "tool_calls": "tool_use"}.get(turn.stop, turn.stop)
    return message


def _block(part: Part) -> dict[str, JSON]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Call):
        if part.kind == "custom":
            raise CannotExpress("a call with free text for arguments")
        kind = "tool_use" if part.executor == "client" else "server_tool_use"
        return {"type": kind, "id": part.id if part.id is not None else "", "name": part.name, "input": part.args}
    if isinstance(part, Result):
        return _result_block(part)
    if part.kind == "reasoning":
        return {"type": "thinking", "thinking": str(part.value or ""), "signature": part.id or "sig"}
    if part.kind == "compaction":
        return {"type": "compaction", "content": str(part.value or "what came before")}
    raise CannotExpress(f"a part of kind {part.kind}")


def _result_block(result: Result) -> dict[str, JSON]:
    if result.executor == "server":
        return {
            "type": "web_search_tool_result",
            "tool_use_id": result.ref or "",
            "content": [{"type": "text", "text": text_of(result.body)}],
        }
    block: dict[str, JSON] = {"type": "tool_result", "tool_use_id": result.ref or "", "content": result.body}
    if result.flag == "error":
        block["is_error"] = True
    return block


def raw_messages(value: JSON, place: Place) -> Iterable[tuple[JSON, Place]]:
    """Every message of a value that `read` takes, as stored, with its place (for the check of shapes)."""
    if isinstance(value, list) or isinstance(mapping(value).get("messages"), list):
        base = place if isinstance(value, list) else place / "messages"
        return ((message, base / index) for index, message in indexed(value if isinstance(value, list) else value["messages"]))
    return [(value, place)]
