"""OpenAI Responses: request bodies, item lists, responses, input with output, pages of items, compacted windows.

A conversation is a list of items. A call and its output are items linked by `call_id`; the `id` of an item is its identity and
links nothing. Calls that the provider runs carry their result within, or have an output item that comes from the provider too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

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
)
from toolaudit.model import (
    JSON,
    ArgsForm,
    Call,
    CallState,
    Executor,
    Flag,
    Other,
    Part,
    Place,
    Result,
    Role,
    Text,
    Tool,
    Trajectory,
    Turn,
    Unknown,
)
from toolaudit.text import quote

NAME: Final = "openai-responses"
TITLE: Final = "OpenAI Responses"
TARGET: Final = "openai-responses"
ADDRESS: Final = r"/responses\b"


class CallKind(Struct, frozen=True):
    """How a kind of call item stores what it asks for, and who answers it."""

    args: tuple[str, ...]
    form: ArgsForm = "object"
    executor: Executor = "client"
    link: str = "call_id"
    """The key that an output names it by."""
    alone: bool = False
    """Carries its own result: nothing answers it."""


CALLS: dict[str, CallKind] = {
    "function_call": CallKind(("arguments",), "string"),
    "custom_tool_call": CallKind(("input",), "text"),
    "computer_call": CallKind(("action", "actions")),
    "shell_call": CallKind(("action",)),
    "apply_patch_call": CallKind(("operation",)),
    "local_shell_call": CallKind(("action",)),
    "tool_search_call": CallKind(("arguments",)),
    "program": CallKind(("code",), "text", "server"),
    "multi_agent_call": CallKind(("arguments", "action"), "object", "server"),
    "mcp_approval_request": CallKind(("arguments",), "text", link="id"),
    "mcp_call": CallKind(("arguments",), "text", "server", "id", alone=True),
    "web_search_call": CallKind(("action",), "object", "server", "id", alone=True),
    "file_search_call": CallKind(("queries",), "object", "server", "id", alone=True),
    "code_interpreter_call": CallKind(("code",), "text", "server", "id", alone=True),
    "image_generation_call": CallKind(("revised_prompt",), "text", "server", "id", alone=True),
}
OUTPUTS: dict[str, str] = {
    "function_call_output": "function_call",
    "custom_tool_call_output": "custom_tool_call",
    "computer_call_output": "computer_call",
    "shell_call_output": "shell_call",
    "apply_patch_call_output": "apply_patch_call",
    "local_shell_call_output": "local_shell_call",
    "tool_search_output": "tool_search_call",
    "program_output": "program",
    "multi_agent_call_output": "multi_agent_call",
    "mcp_approval_response": "mcp_approval_request",
}
NEITHER = {"reasoning", "compaction", "compaction_trigger", "item_reference", "additional_tools", "configuration_update", "mcp_list_tools"}
_MESSAGE_PARTS = {"input_text", "output_text", "input_image", "input_file", "refusal", "summary_text", "reasoning_text"}
_ROLES: dict[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_REQUEST = (
    "instructions",
    "previous_response_id",
    "conversation",
    "store",
    "reasoning",
    "max_output_tokens",
    "include",
    "text",
    "truncation",
)


# --------------------------------------------------------------------------------------------------------------- recognising


def recognise(value: JSON) -> Evidence | None:
    """Evidence that `value` is a request body, an item list, a response, a page or a compacted window."""
    if isinstance(value, list):
        return strongest(value, recognise_message)
    if not isinstance(value, dict):
        return None
    if value.get("object") in ("response", "response.compaction"):
        return Evidence(DECISIVE, f"`object` is `{value['object']}`")
    if value.get("object") == "list" and isinstance(value.get("data"), list):
        return _page(value["data"])
    if isinstance(value.get("input"), list):
        return _body(value, value["input"])
    if isinstance(value.get("input"), str):
        return _prompt(value)
    return None


def _page(data: list[JSON]) -> Evidence | None:
    found = strongest(data, recognise_message)
    return found if found is not None and found.strength > BARE else None


def _body(body: dict[str, JSON], items: list[JSON]) -> Evidence | None:
    found = strongest(items, recognise_message) if items else None
    if items and found is None:
        return None
    if has(body, *_REQUEST) or any(_is_flat(tool) for tool in sequence(body.get("tools"))):
        return max(found or Evidence(MEDIUM, ""), Evidence(MEDIUM, "fields of a Responses request"), key=lambda one: one.strength)
    if found is None:
        return Evidence(WEAK, "`input`") if has(body, "model") else None
    return max(found, Evidence(MEDIUM, "`input` with a model"), key=lambda one: one.strength) if has(body, "model") else found


def _prompt(body: dict[str, JSON]) -> Evidence | None:
    """`input` as plain text: other APIs have that too, so something else must speak for this one."""
    if isinstance(body.get("output"), list) and strongest(body["output"], recognise_message):
        return Evidence(STRONG, "`input` with `output` items")
    if has(body, "model") and has(body, *_REQUEST, "tools"):
        return Evidence(MEDIUM, "fields of a Responses request")
    model = body.get("model")
    other = not isinstance(model, str) or any(word in model for word in ("embed", "tts", "moderation", "rerank", "whisper", "image"))
    return None if other else Evidence(WEAK, "`input` with a model")


def _is_flat(tool: JSON) -> bool:
    value = mapping(tool)
    return value.get("type") == "function" and isinstance(value.get("name"), str) and "function" not in value


def fits(value: JSON) -> bool:
    """Whether a body may be a request, where its address says that it is one."""
    return isinstance(value, dict) and isinstance(value.get("input"), (list, str, dict))


def recognise_message(value: JSON) -> Evidence | None:
    """Evidence that `value` is one item."""
    if not isinstance(value, dict):
        return None
    kind = kind_of(value)
    if kind is None and value.get("type") is not None:
        return None
    if kind in CALLS or kind in OUTPUTS:
        return _tool_item(value, kind)
    if kind in NEITHER:
        return Evidence(STRONG, f"`{kind}` items") if has(value, "id", "summary", "encrypted_content") else None
    if kind in (None, "item_reference") and isinstance(value.get("id"), str) and not set(value) - {"id", "type"}:
        return Evidence(BARE, "an item reference")
    if isinstance(value.get("role"), str) and kind in (None, "message"):
        return _message_item(value)
    return None


def _tool_item(value: dict[str, JSON], kind: str) -> Evidence | None:
    links = ("call_id", "id", "approval_request_id", "output", "arguments", "status")
    if "role" in value or not any(key in value for key in links):
        return None
    plain = kind == "function_call" and not has(value, "call_id") and not isinstance(value.get("arguments"), str)  # others have it too
    return Evidence(MEDIUM if plain else STRONG, f"`{kind}` items")


def _message_item(value: dict[str, JSON]) -> Evidence | None:
    content = value.get("content")
    kinds = kinds_of(content)
    if kinds & _MESSAGE_PARTS - {"refusal"} or (value.get("type") == "message" and "stop_reason" not in value and isinstance(content, str)):
        return Evidence(MEDIUM, "message items")
    if has(value, "tool_calls", "function_call", "tool_call_id") or value["role"] not in _ROLES:
        return None
    plain = isinstance(content, str) or kinds <= {"text", "refusal"}
    return Evidence(BARE - 1, "messages") if plain and not isinstance(content, list) else None


# ------------------------------------------------------------------------------------------------------------------- reading


def read(value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
    """The trajectory in a request body, item list, response, `input` with `output`, or page."""
    trajectory = Trajectory(place=place, format=NAME, kind="request", unit="item")
    items = list(_items(value, place, trajectory))
    if answer is not None:
        trajectory.sent, trajectory.sent_turns = True, len(items)
        items += [(item, answer[1].down("output", i)) for i, item in enumerate(sequence(mapping(answer[0]).get("output")))]
    _fill(trajectory, items)
    if isinstance(value, dict):
        _describe(trajectory, value)
    yield trajectory


def read_messages(messages: list[Message]) -> Trajectory:
    """A conversation that was stored one item a record."""
    trajectory = Trajectory(place=Place(messages[0].place.record), format=NAME, kind="log", unit="item")
    _fill(trajectory, [(message.value, message.place) for message in messages])
    first = trajectory.turns[0] if trajectory.turns else None
    trajectory.fragment = first is not None and first.role not in ("user", "system")
    return trajectory


def _items(value: JSON, place: Place, trajectory: Trajectory) -> Iterator[tuple[JSON, Place]]:
    if isinstance(value, list):
        yield from ((item, place / index) for index, item in indexed(value))
        return
    if value.get("object") == "list":
        yield from _oldest_first([(item, place.down("data", index)) for index, item in enumerate(value["data"])])
        return
    if value.get("object") in ("response", "response.compaction") and not isinstance(value.get("input"), list):
        trajectory.kind = "response"
    if isinstance(value.get("input"), str):
        yield {"role": "user", "content": value["input"]}, place / "input"
    for key in ("input", "output"):
        yield from ((item, place.down(key, index)) for index, item in indexed(sequence(value.get(key))))


def _oldest_first(items: list[tuple[JSON, Place]]) -> list[tuple[JSON, Place]]:
    """Pages come newest first by default: turned round when every output stands before its call."""
    outputs = {key: i for i, (item, _) in enumerate(items) if kind_of(item) in OUTPUTS and (key := _ref(mapping(item)))}
    calls = {key: i for i, (item, _) in enumerate(items) if kind_of(item) in CALLS and (key := key_of(mapping(item).get("call_id")))}
    both = outputs.keys() & calls.keys()
    return items[::-1] if both and all(outputs[key] < calls[key] for key in both) else items


def _fill(trajectory: Trajectory, items: list[tuple[JSON, Place]]) -> None:
    hosted = {key_of(mapping(item).get("call_id")) for item, _ in items if is_hosted(mapping(item))}
    trajectory.turns = number(turn_of(mapping(item), where, hosted, trajectory.unknown) for item, where in items)


def _describe(trajectory: Trajectory, body: dict[str, JSON]) -> None:
    trajectory.model = text_or_none(body.get("model"))
    trajectory.parallel = flag_of(body.get("parallel_tool_calls"))
    trajectory.tools, trajectory.open_tools = _tools(body.get("tools"))
    if trajectory.kind == "response":
        trajectory.tools, trajectory.id = None, text_or_none(body.get("id"))
    elif has(body, "previous_response_id", "conversation"):
        key = "previous_response_id" if has(body, "previous_response_id") else "conversation"
        trajectory.hidden = f"`{key}` continues items that the server holds"
    elif body.get("has_more") is True:
        trajectory.hidden = "the page says that there are more items"
    if body.get("status") in ("failed", "cancelled"):
        for turn in trajectory.turns:
            turn.failed = turn.role == "assistant" and turn.place.keys[-2:-1] == ("output",)
    reason = mapping(body.get("incomplete_details")).get("reason")
    if isinstance(reason, str) and trajectory.turns:
        trajectory.turns[-1].stop = reason


def _tools(tools: JSON) -> tuple[tuple[Tool, ...] | None, bool]:
    """The declared functions, and whether other tools may bring names of their own."""
    if not isinstance(tools, list):
        return None, False
    found, beside = [], False
    for tool in tools:
        value = mapping(tool)
        if value.get("type") in ("function", "custom") and isinstance(value.get("name"), str):
            found.append(
                Tool(
                    name=value["name"],
                    schema=value.get("parameters") if value["type"] == "function" else None,
                    output=value.get("output_schema"),
                    strict=value.get("strict") is True,
                )
            )
        else:
            beside = True
    return tuple(found), beside


def is_hosted(item: dict[str, JSON]) -> bool:
    """A shell call in the provider's container, or a search that the server runs: the provider answers it."""
    kind = item.get("type")
    if kind == "shell_call":
        return mapping(item.get("environment")).get("type") in ("container_auto", "container_reference", "container")
    return kind == "tool_search_call" and item.get("execution") == "server"


def _identity(item: dict[str, JSON]) -> str | None:
    """The id of an item; a stand-in that a client library gives to all of them is none."""
    key = text_or_none(item.get("id"))
    return None if key == "__fake_id__" else key


def turn_of(item: dict[str, JSON], place: Place, hosted: set[str | None], unknown: list[Unknown]) -> Turn:
    """The turn that an item is; what is not understood in it is added to `unknown`. The provider answers calls with `hosted` ids itself."""
    kind = kind_of(item)
    turn = Turn(place=place, number=0, role="assistant", raw_role=text_or_none(item.get("role")) or "", key=_identity(item))
    if kind in CALLS:
        turn.parts = [_call(item, kind, place)]
    elif kind in OUTPUTS:
        result = _output(item, kind, place, hosted)
        turn.parts, turn.role = [result], "tool" if result.executor == "client" else "assistant"
    elif isinstance(item.get("role"), str) and kind in (None, "message"):
        turn.role = _ROLES.get(item["role"], "unknown")
        turn.parts = list(_content(item.get("content"), place / "content", unknown))
        if turn.role == "unknown":
            unknown.append(Unknown(place=place, what=f"a message with the role {quote(item['role'])}"))
    else:
        turn.parts = [_other(item, kind, place, unknown)]
    return turn


def _other(item: dict[str, JSON], kind: JSON, place: Place, unknown: list[Unknown]) -> Other:
    key = text_or_none(item.get("id"))
    if kind == "item_reference" or (kind is None and key is not None):
        return Other(place=place, kind="reference", id=key)
    if not isinstance(kind, str):
        unknown.append(Unknown(place=place, what="an item without a type"))
        return Other(place=place, kind="unknown")
    if kind not in NEITHER:
        unknown.append(Unknown(place=place, what=f"an item of type {quote(kind)}"))
    return Other(place=place, kind=kind, id=key, value=has(item, "encrypted_content") or None)


def _content(content: JSON, place: Place, unknown: list[Unknown]) -> Iterator[Part]:
    if isinstance(content, str):
        yield Text(place=place, text=content)
    for index, part in enumerate(sequence(content)):
        text = mapping(part).get("text", mapping(part).get("refusal"))
        if isinstance(text, str):
            yield Text(place=place / index, text=text)
        else:
            yield Other(place=place / index, kind=text_or_none(mapping(part).get("type")) or "unknown")
    if content is not None and not isinstance(content, (str, list)):
        unknown.append(Unknown(place=place, what="content that is neither text nor a list of parts"))


def _call(item: dict[str, JSON], kind: str, place: Place) -> Call:
    known = CALLS[kind]
    args_key = next((key for key in known.args if key in item), known.args[0])
    hosted = is_hosted(item)
    link = "id" if kind == "local_shell_call" and not has(item, "call_id") else known.link
    key = key_of(item.get(link))
    return Call(
        place=place,
        id=key,
        raw_id=item.get(link),
        id_key=link,
        name=text_or_none(item.get("name")) or (None if kind in ("function_call", "custom_tool_call") else kind),
        args=item.get(args_key),
        args_form="none" if args_key not in item else _form(known, item[args_key]),
        args_key=args_key,
        executor="server" if hosted else known.executor,
        expects="none" if known.alone or (hosted and key is None) else "later" if item.get("async") is True else "one",
        state=_state(item, kind),
        kind=kind,
        item_id=key_of(item.get("id")) if link != "id" else None,
        caller=text_or_none(mapping(item.get("caller")).get("caller_id")),
    )


def _form(known: CallKind, value: JSON) -> ArgsForm:
    return known.form if isinstance(value, str) or known.form == "text" else "object"


def _state(item: dict[str, JSON], kind: str) -> CallState:
    if kind == "mcp_approval_request":
        return "waiting"
    return "partial" if item.get("status") == "incomplete" else "done"


def _ref(item: dict[str, JSON]) -> str | None:
    keys = ("approval_request_id",) if item.get("type") == "mcp_approval_response" else ("call_id", "id")
    if item.get("type") not in ("local_shell_call_output", "mcp_approval_response"):
        keys = ("call_id",)
    return next((key for name in keys if (key := key_of(item.get(name))) is not None), None)


def _output(item: dict[str, JSON], kind: str, place: Place, hosted: set[str | None]) -> Result:
    ref_key = "approval_request_id" if kind == "mcp_approval_response" else "call_id"
    provider = kind in ("program_output", "multi_agent_call_output") or item.get("execution") == "server"
    body_key = next((key for key in ("output", "result", "tools", "approve") if key in item), "output")
    return Result(
        place=place,
        ref=_ref(item),
        raw_ref=item.get(ref_key),
        ref_key=ref_key,
        name=text_or_none(item.get("name")),
        flag=_flag(item),
        body=item.get(body_key),
        body_key=body_key,
        executor="server" if provider or (kind == "shell_call_output" and key_of(item.get("call_id")) in hosted) else "client",
        kind=kind,
        item_id=key_of(item.get("id")),
    )


def _flag(item: dict[str, JSON]) -> Flag | None:
    if item.get("approve") is False:
        return "denied"
    return "error" if item.get("status") == "failed" else None


# ------------------------------------------------------------------------------------------------------------------- writing


def write(trajectory: Trajectory) -> JSON:
    """The trajectory as a request body. Raises CannotExpress for what only other formats have."""
    body: dict[str, JSON] = {"model": trajectory.model or "gpt-5-mini"}
    if trajectory.tools is not None:
        body["tools"] = [{"type": "function", "name": t.name, "parameters": t.schema or {}} for t in trajectory.tools]
    body["input"] = [_item(turn, part) for turn in trajectory.turns for part in _parts(turn)]
    return body


def _parts(turn: Turn) -> list[Part]:
    if turn.failed or turn.empty_calls or turn.stop is not None:
        raise CannotExpress("a stop reason, a failure or an empty list of calls on one message")
    if turn.role == "user" and turn.results:
        raise CannotExpress("a message that holds a result and other parts")
    return turn.parts


def _item(turn: Turn, part: Part) -> dict[str, JSON]:
    import json

    if isinstance(part, Text):
        kind = "output_text" if turn.role == "assistant" else "input_text"
        return {"type": "message", "role": "user" if turn.role == "tool" else turn.role, "content": [{"type": kind, "text": part.text}]}
    if isinstance(part, Call):
        if part.executor == "server":
            raise CannotExpress("a provider's call with a result of its own kind")
        args = part.args if part.args_form in ("string", "text") else json.dumps(part.args)
        kind, key = ("custom_tool_call", "input") if part.args_form == "text" else ("function_call", "arguments")
        item = {"type": kind, "call_id": part.id or "", "name": part.name, key: args}
        return item if part.item_id is None else {**item, "id": part.item_id}
    if isinstance(part, Result):
        if part.executor == "server":
            raise CannotExpress("a provider's result")
        return {"type": "function_call_output", "call_id": part.ref or "", "output": text_of(part.body)}
    if part.kind == "reasoning":
        return {"type": "reasoning", "id": part.id or "rs_1", "summary": []}
    if part.kind == "reference":
        return {"type": "item_reference", "id": part.id}
    if part.kind == "compaction":
        return {"type": "compaction", "encrypted_content": "…"}
    raise CannotExpress(f"a part of kind {part.kind}")


def raw_messages(value: JSON, place: Place) -> Iterable[tuple[JSON, Place]]:
    """Every item of a value that `read` takes, as stored, with its place (for the check of shapes)."""
    if isinstance(value, list):
        return ((item, place / index) for index, item in enumerate(value))
    keys = ("data",) if mapping(value).get("object") == "list" else ("input", "output")
    return ((item, place.down(key, index)) for key in keys for index, item in enumerate(sequence(mapping(value).get(key))))
