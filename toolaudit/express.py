"""The proof of health: most records hold nothing to report, and it can be shown without building a model of them.

`prove` decodes only the fields that a rule could object to and walks the conversation once. It knows the ordinary shapes of three
formats and nothing else: whatever is missing, unusual, broken or merely unknown makes it answer None, and the record goes the long
way, where the rules decide. So it can be wrong in one direction only, and a test holds the two ways against each other: what is proved
here has no finding there, and the same counts.

Order of a turn is what makes the proof short: the set of ids asked for must be the set of ids answered before anything else is said.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec
import orjson
from msgspec import Raw, Struct

from toolaudit.formats._json import SENTINELS, mapping
from toolaudit.hints import SENTENCE, WINDOW, is_plain, may_hold_call, may_hold_result, may_report_failure
from toolaudit.reading import Healthy
from toolaudit.rules._again import must_not_be_done_twice, nature
from toolaudit.rules._declared import is_valid

_NOTHING = Raw(b"")
_ENDS = frozenset({"stop", "length", "content_filter", "end_turn", "max_tokens", "stop_sequence", "refusal", "completed"})
_ITEMS = {"function_call": "fc", "function_call_output": "fc", "message": "msg", "reasoning": "rs"}
_ASKS = frozenset({"tool_calls", "tool_use"})


class _Part(Struct, gc=False):
    type: str | None = None
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: dict[str, Any] | None = None
    tool_use_id: str | None = None
    content: str | list[_Part] | None = None
    is_error: bool | None = None
    caller: Any = None
    toolset_name: Any = None


class _Function(Struct, gc=False):
    name: str | None = None
    arguments: str | None = None


class _ToolCall(Struct, gc=False):
    id: str | None = None
    type: str | None = None
    function: _Function | None = None
    custom: Any = None
    call_id: Any = None
    tool_call_id: Any = None


class _Message(Struct, gc=False):
    """A message of either Messages or Chat, or an item of Responses."""

    role: str | None = None
    type: str | None = None
    content: str | list[_Part] | None = None
    tool_calls: list[_ToolCall] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    id: str | None = None
    call_id: str | None = None
    arguments: str | None = None
    output: str | list[_Part] | None = None
    status: str | None = None
    finish_reason: str | None = None
    stop_reason: str | None = None
    is_error: bool | None = None
    function_call: Any = None
    usage: Any = None
    refusal: Any = None
    parts: Any = None
    caller: Any = None
    async_: Any = msgspec.field(default=None, name="async")
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None


class _Body(Struct, gc=False):
    messages: list[_Message] | None = None
    input: list[_Message] | None = None
    tools: Raw = _NOTHING
    functions: Any = None
    object: Any = None
    choices: Any = None
    data: Any = None
    thread: Any = None
    response: Any = None
    output: Any = None
    outputs: Any = None
    completion: Any = None
    result: Any = None
    resp: Any = None
    reply: Any = None
    answer: Any = None
    res: Any = None
    response_body: Any = None
    incomplete_details: Any = None
    thinking: Any = None
    error: Any = None
    has_more: Any = None


_BESIDE = tuple(name for name in _Body.__struct_fields__ if name not in ("messages", "input", "tools"))
_decode = msgspec.json.Decoder(_Body).decode


def prove(data: bytes) -> Healthy | None:
    """That the record holds one ordinary conversation in which everything is in order; None when that is not certain."""
    if b'"messages"' not in data and b'"input"' not in data:
        return None  # a message of a log, most likely
    try:
        body = _decode(data)
        if not data.isascii():
            data.decode()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if body.messages is None and body.input is None:
        return _wrapped(data)
    for name in _BESIDE:
        if getattr(body, name) is not None:
            return None
    try:
        walk = _Walk(body.tools)
        if body.messages and body.input is None:
            return walk.messages(body.messages)
        if body.input and body.messages is None:
            return walk.items(body.input)
    except (_NotProved, msgspec.MsgspecError):
        pass
    return None


_raws = msgspec.json.Decoder(dict[str, Raw]).decode
_SAYS_WHAT_IT_IS = frozenset(
    {
        "jsonrpc",
        "parentUuid",
        "contents",
        "candidates",
        "parts",
        "conversations",
        "done",
        "steps",
        "toolConfig",
        "role",
        "error",
        "type",
        "object",
    }
    | {"messageStart", "messageStop", "contentBlockStart", "contentBlockDelta", "contentBlockStop"}
)
"""Keys of a wrapper that may make it something else than a wrapper."""
_TRAFFIC = (b'"messages"', b'"input"', b'"role"', b'"content"', b'"choices"', b'"output"', b'"parts"', b'"tool_calls"', b'\\"')


def _wrapped(data: bytes) -> Healthy | None:
    """The same of a record that wraps one conversation, with nothing beside it that could belong to one."""
    try:
        children = _raws(data)
    except (msgspec.MsgspecError, RecursionError):
        return None
    if not _SAYS_WHAT_IT_IS.isdisjoint(children):
        return None
    found: Healthy | None = None
    for raw in children.values():
        child = bytes(raw)
        if child[:1] == b"{" and (b'"messages"' in child or b'"input"' in child):
            if found is not None or (found := prove(child)) is None:
                return None
        elif child[:1] in (b"{", b"[", b'"') and any(key in child for key in _TRAFFIC):
            return None
    return found


class _NotProved(Exception):
    """Something is not of the ordinary kind."""


Check: TypeAlias = Callable[[Any], bool]


@functools.lru_cache(maxsize=256)
def _declared(tools: bytes) -> dict[str, Check] | None:
    """A check of arguments for each declared tool, by its name; None when nothing is declared.

    Raises _NotProved for declarations that are not the ordinary ones.
    """
    if not tools or tools == b"null":
        return None
    try:
        return dict(_check(tool) for tool in orjson.loads(tools))
    except (TypeError, ValueError, RecursionError):  # no list, no JSON for this decoder, deeper than a validator goes
        raise _NotProved from None


def _check(tool: Any) -> tuple[str, Check]:
    inner = mapping(mapping(tool).get("function")) or mapping(tool)
    name, schema = inner.get("name"), inner.get("input_schema", inner.get("parameters"))
    if not isinstance(name, str) or not isinstance(schema, dict) or inner.get("output_schema") is not None:
        raise _NotProved
    return name, is_valid(schema)


class _Walk:
    """One conversation being proved."""

    __slots__ = ("asked", "bodies", "called", "changed", "checks", "names", "open")

    def __init__(self, tools: Raw) -> None:
        self.checks = _declared(bytes(tools))
        self.open: dict[str, str] = {}  # id -> tool, of the calls that wait for their results
        self.names: dict[str, str] = {}
        self.called: list[str] = []
        self.bodies: list[str] = []
        self.changed: set[tuple[str, bytes]] = set()
        self.asked: set[str] = set()

    # ------------------------------------------------------------------------------------------------ Messages and Chat

    def messages(self, messages: list[_Message]) -> Healthy:
        """Messages of either format; which one, the first tool traffic says."""
        form = None
        spoken = False
        for message in messages:
            role = message.role
            if message.parts is not None or message.function_call is not None or message.usage is not None:
                raise _NotProved
            if role == "assistant":
                if not spoken:
                    raise _NotProved
                form = self._assistant(message, form)
            elif role == "user":
                spoken = True
                form = self._user(message, form)
            elif role == "tool":
                form = self._tool(message, form)
            elif role == "system" or (role == "developer" and form != "anthropic-messages"):
                self._system(message)
            else:
                raise _NotProved
        if self.open or form is None:
            raise _NotProved
        return Healthy(form, len(messages), self.called)

    def _assistant(self, message: _Message, form: str | None) -> str | None:
        if self.open:
            raise _NotProved
        self.bodies = []
        content, before = message.content, len(self.called)
        if isinstance(content, str):
            self._said(content)
        elif content is not None:
            form = self._blocks(content, form)
        if message.tool_calls is not None:
            if form == "anthropic-messages" or not message.tool_calls:
                raise _NotProved
            form = "openai-chat"
            for call in message.tool_calls:
                self._chat_call(call)
        stop = message.finish_reason or message.stop_reason
        if stop is not None and stop not in (_ASKS if len(self.called) > before else _ENDS):
            raise _NotProved
        return form

    def _blocks(self, content: list[_Part], form: str | None) -> str | None:
        asked = False
        for part in content:
            if part.type == "text":
                if asked:
                    raise _NotProved  # text after a call may imitate its result
                self._said(part.text)
            elif part.type == "tool_use":
                if form == "openai-chat" or part.caller is not None or part.toolset_name is not None:
                    raise _NotProved
                asked, form = True, "anthropic-messages"
                if part.input is None:
                    raise _NotProved
                self._call(part.id, part.name, part.input)
            elif part.type not in ("thinking", "redacted_thinking") or part is content[-1]:
                raise _NotProved
        return form

    def _chat_call(self, call: _ToolCall) -> None:
        function = call.function
        if function is None or not function.arguments or call.type not in ("function", None):
            raise _NotProved
        if call.custom is not None or call.call_id is not None or call.tool_call_id is not None or len(call.id or "") > 40:
            raise _NotProved
        self._call(call.id, function.name, self._object(function.arguments))

    def _user(self, message: _Message, form: str | None) -> str | None:
        content = message.content
        if message.tool_call_id is not None or content is None:
            raise _NotProved
        if isinstance(content, str):
            if self.open:
                raise _NotProved
            self._said(content)
            return form
        done = False
        for part in content:
            if part.type == "tool_result":
                if done or form != "anthropic-messages" or part.toolset_name is not None:
                    raise _NotProved
                self._answer(part.tool_use_id, part.content, None, marked=part.is_error is True)
            elif part.type == "text":
                done = True
                self._said(part.text)
            elif part.type in ("image", "image_url", "document"):
                done = True
            else:
                raise _NotProved
        if self.open:
            raise _NotProved
        return form

    def _tool(self, message: _Message, form: str | None) -> str:
        if form != "openai-chat" or message.is_error is not None or message.tool_calls is not None:
            raise _NotProved
        self._answer(message.tool_call_id, message.content, message.name)
        return form

    def _system(self, message: _Message) -> None:
        if self.open or message.tool_call_id is not None or message.tool_calls is not None:
            raise _NotProved
        self._prose(message.content, ("text",))

    def _prose(self, content: str | list[_Part] | None, kinds: tuple[str, ...]) -> None:
        """Content that holds prose, or parts of some other `kinds`, and nothing else."""
        if isinstance(content, str):
            self._said(content)
        elif content is not None:
            for part in content:
                if part.type not in kinds:
                    raise _NotProved
                self._said(part.text)

    # -------------------------------------------------------------------------------------------------------- Responses

    def items(self, items: list[_Message]) -> Healthy:
        """Items of Responses: links by `call_id`, an output after its call, and all answered before the user speaks."""
        previous = ""
        for item in items:
            kind = item.type
            if item.caller is not None or item.async_ is not None or item.parts is not None:
                raise _NotProved
            if item.id is not None:
                self._identify(item)
            if kind == "function_call":
                self._item_call(item, previous)
            elif kind == "function_call_output":
                self._item_output(item, previous)
            elif kind == "reasoning":
                if self.open:
                    raise _NotProved
            elif kind in ("message", None):
                self._item_message(item, previous)
            else:
                raise _NotProved
            previous = kind if kind in ("function_call", "function_call_output", "reasoning") else item.role or ""
        if self.open or previous == "reasoning" or not self.called:
            raise _NotProved
        return Healthy("openai-responses", len(items), self.called)

    def _identify(self, item: _Message) -> None:
        prefix = _ITEMS.get(item.type or "")
        if prefix is None or item.id in self.asked or item.id == item.call_id or not (item.id or "").startswith(prefix):
            raise _NotProved
        self.asked.add(item.id or "")

    def _item_call(self, item: _Message, previous: str) -> None:
        if not item.arguments or item.status not in ("completed", None) or len(item.call_id or "") > 64 or not previous:
            raise _NotProved
        if previous != "function_call":
            if self.open:
                raise _NotProved
            self.bodies = []
        self._call(item.call_id, item.name, self._object(item.arguments))

    def _item_output(self, item: _Message, previous: str) -> None:
        if previous == "reasoning" or item.status not in ("completed", None):
            raise _NotProved
        self._answer(item.call_id, item.output, item.name)

    def _item_message(self, item: _Message, previous: str) -> None:
        if self.open or item.tool_calls is not None or item.tool_call_id is not None or item.function_call is not None:
            raise _NotProved
        if item.role == "assistant":
            if not previous:
                raise _NotProved
        elif item.role not in ("user", "system", "developer") or previous == "reasoning":
            raise _NotProved
        self._prose(item.content, ("input_text", "output_text", "text", "input_image", "input_file"))

    # ----------------------------------------------------------------------------------------------------- what is common

    def _object(self, text: str) -> dict[str, Any]:
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            raise _NotProved from None
        if not isinstance(value, dict):
            raise _NotProved
        return value

    def _call(self, key: str | None, name: str | None, args: dict[str, Any]) -> None:
        if key is None or name is None or key in self.names or key in SENTINELS or not _is_plain(key):
            raise _NotProved
        if self.checks is not None:
            check = self.checks.get(name)
            if check is None or not check(args):
                raise _NotProved
        if must_not_be_done_twice(name):
            same = (name, orjson.dumps(args, option=orjson.OPT_SORT_KEYS))
            if same in self.changed:
                raise _NotProved
            self.changed.add(same)
        self.names[key] = self.open[key] = name
        self.called.append(key)

    def _answer(self, ref: str | None, body: str | list[_Part] | None, name: str | None, *, marked: bool | None = None) -> None:
        """A result; `marked` is whether an error flag is set, where the format has one."""
        tool = self.open.pop(ref or "", None)
        if tool is None or (name is not None and name != tool) or (body is None and marked is None):
            raise _NotProved
        if marked is None and isinstance(body, str) and not self.open and not self.bodies and nature(tool) == "reads":
            if not is_plain(body):  # the commonest case, on the shortest way
                self._read(body, marked)
            return
        texts = (body,) if isinstance(body, str) else _texts(body)
        if marked and not any(texts):
            raise _NotProved  # an error without content
        # a failure matters where its flag is missing, or where the call may be made again
        failing = marked is not None or nature(tool) != "reads"
        for text in texts:
            if self.open or self.bodies:
                if text in self.bodies and len(text) >= 16:
                    raise _NotProved  # two calls of a batch with one payload
                self.bodies.append(text)
            if not is_plain(text) or (failing and may_report_failure(text[:SENTENCE].lower())):
                self._read(text, marked)

    def _read(self, text: str, marked: bool | None) -> None:
        from toolaudit import traces  # most logs never need it

        for window in traces.windows(text):
            if traces.secret(window) is not None or traces.placeholder(window):
                raise _NotProved
        kind = traces.failure(text[:WINDOW])
        if kind is not None and (kind != "error" or marked is False):
            raise _NotProved

    def _said(self, text: str | None) -> None:
        if text and (may_hold_call(text) or may_hold_result(text)):
            raise _NotProved


def _is_plain(key: str) -> bool:
    """An id that every target's pattern takes."""
    return key.isascii() and (key.isidentifier() or key.replace("_", "a").replace("-", "a").isalnum())


def _texts(body: list[_Part] | None) -> Sequence[str]:
    texts = []
    for part in body or ():
        if part.type not in ("text", "input_text", "output_text", "image"):
            raise _NotProved
        if part.text is not None:
            texts.append(part.text)
    return texts
