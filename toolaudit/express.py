"""The proof of health: most of what is stored holds nothing to report, and that can be shown without building a model of it.

Only the fields that a rule could object to are decoded, and a conversation is walked once. The walk knows the ordinary shapes of three
formats and nothing else: whatever is missing, unusual, broken or merely unknown is in doubt and goes the long way, where the rules
decide. So it can be wrong in one direction only, and a test holds the two ways against each other: what is proved here has no finding
there, and the same counts.

Order of a turn is what makes the proof short: the set of ids asked for must be the set of ids answered before anything else is said.
From one such exchange to the next nothing is open. So doubt about one does not spread to the others: of a long conversation an
excerpt is judged, with the exchanges that could matter to those in doubt (`Walk.excerpt`).
"""

from __future__ import annotations

import functools
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Literal, TypeAlias

import msgspec
import orjson
from msgspec import Raw, Struct

from toolaudit.formats._json import SENTINELS, mapping
from toolaudit.formats._look import DEPTH
from toolaudit.hints import SENTENCE, WINDOW, is_plain, may_hold_traffic, may_report_failure
from toolaudit.rules._again import must_not_be_done_twice, nature
from toolaudit.rules._declared import is_valid
from toolaudit.targets import vendor_of_model

_NOTHING = Raw(b"")
_ENDS = frozenset({"stop", "length", "content_filter", "end_turn", "max_tokens", "stop_sequence", "refusal", "completed"})
_ITEMS = {"function_call": "fc", "function_call_output": "fc", "message": "msg", "reasoning": "rs"}
_ASKS = frozenset({"tool_calls", "tool_use"})
_OF_MODEL = frozenset({"function_call", "reasoning", "assistant"})


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


Never: TypeAlias = Literal["\0"] | None
"""The type of a key with which a record may be something else than it seems: only null is let through."""


class Message(Struct, gc=False):
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
    tool_plan: Never = None
    tool_name: Never = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None


class _Body(Struct, gc=False):
    messages: list[Message] | None = None
    input: list[Message] | None = None
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
    model: Any = None


class Element(_Body, gc=False):
    """A body in a list: with one of these keys, the list may be one of messages."""

    role: Any = None
    type: Any = None


_NAMES = tuple(name for name in Element.__struct_fields__ if name not in ("messages", "input", "tools", "model"))
_BESIDE = {kind: attrgetter(*(name for name in _NAMES if hasattr(kind, name))) for kind in (_Body, Element)}
_NOTHING_BESIDE = {kind: get(kind()) for kind, get in _BESIDE.items()}
_decode = msgspec.json.Decoder(_Body).decode
_decode_element = msgspec.json.Decoder(Element).decode
bodies = msgspec.json.Decoder(list[Element]).decode
_decode_list = msgspec.json.Decoder(list[Message]).decode
LONG = 200
"""From so many messages on, doubt about some of them does not put the rest of a conversation in doubt."""


def prove(data: bytes, *, element: bool = False) -> Walk | None:
    """A walk through the one ordinary conversation that the record holds; None when it is none, or short and not in order throughout.

    `element`: not of a record but of an element of a list, which may be a list of messages.
    """
    try:
        return _walked(*(_in_list(data) if element else conversation(data)))
    except NotProved:
        return None


def prove_body(body: Element) -> Walk | None:
    """The same of an element of a list that is decoded already; None as well for one that wraps another."""
    try:
        return _walked(*_ordinary(body))
    except NotProved:
        return None


def _walked(tools: bytes, messages: list[Message], items: bool) -> Walk | None:
    walk = Walk(tools, items=items)
    walk.all(messages, in_part=len(messages) >= LONG)
    return walk if messages and finish(walk) else None


def finish(walk: Walk) -> bool:
    """Whether a walk that has come to its end proves anything; of a short conversation all, or nothing."""
    return walk.end() and (not walk.doubts or walk.index >= LONG)


def conversation(data: bytes, depth: int = DEPTH, *, element: bool = False) -> tuple[bytes, list[Message], bool]:
    """Declared tools and messages of a record with one conversation, and whether those are items of Responses.

    `depth` is how many wrappers deep they may stand. Raises NotProved where the record holds something else, or something beside.
    """
    try:
        body: _Body = _decode_element(data) if element else _decode(data)
        if not data.isascii():
            data.decode()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise NotProved from None
    if body.messages is None and body.input is None:
        if b'"messages"' not in data and b'"input"' not in data:
            raise NotProved  # a message of a log, most likely
        return _wrapped(data, depth - 1)
    return _ordinary(body)


def _ordinary(body: _Body) -> tuple[bytes, list[Message], bool]:
    """The same of a body with nothing beside."""
    kind = type(body)
    if (body.messages is None) == (body.input is None) or _BESIDE[kind](body) != _NOTHING_BESIDE[kind]:
        raise NotProved
    if isinstance(body.model, str) and vendor_of_model(body.model) is not None:
        raise NotProved  # a law of its own holds
    return bytes(body.tools), body.messages if body.messages is not None else body.input or [], body.messages is None


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


def _wrapped(data: bytes, depth: int) -> tuple[bytes, list[Message], bool]:
    """The same of a record that wraps one conversation, with nothing beside it that could belong to one."""
    if depth < 0:
        raise NotProved
    try:
        children = _raws(data)
    except (msgspec.MsgspecError, RecursionError):
        raise NotProved from None
    if not _SAYS_WHAT_IT_IS.isdisjoint(children):
        raise NotProved
    if any(bytes(children[key])[:5] == b'"http' for key in ("url", "uri") if key in children):
        raise NotProved  # an address may prove whose law holds
    found: tuple[bytes, list[Message], bool] | None = None
    for raw in children.values():
        child = bytes(raw)
        if child[:1] == b"{" and (b'"messages"' in child or b'"input"' in child):
            if found is not None:
                raise NotProved
            found = conversation(child, depth)
        elif child[:1] in (b"{", b"[", b'"') and any(key in child for key in _TRAFFIC):
            raise NotProved
    if found is None:
        raise NotProved
    return found


def _in_list(data: bytes) -> tuple[bytes, list[Message], bool]:
    """The same of an element of a list that is not itself a conversation."""
    if data[:1] != b"[":
        return conversation(data, DEPTH - 1, element=True)
    try:
        messages = _decode_list(data)
        if not data.isascii():
            data.decode()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise NotProved from None
    items = are_items(messages)
    if not all(is_plain_in_list(message, items=items) for message in messages):
        raise NotProved
    return b"", messages, items


def are_items(messages: Iterable[Message]) -> bool:
    """Whether a bare list can only be one of items of Responses."""
    return any(message.type not in ("message", None) for message in messages)


def is_plain_in_list(message: Message, *, items: bool) -> bool:
    """Whether what a message is does not depend on the kind of the body that holds it: in a bare list that is for all formats to say."""
    return message.type in ("message", None) or (items and message.role is None)


class NotProved(Exception):
    """Something is not of the ordinary kind."""


class _Everything(Exception):
    """Something that may change how all of the conversation is read."""


Check: TypeAlias = Callable[[Any], bool]


@functools.lru_cache(maxsize=256)
def _declared(tools: bytes) -> dict[str, Check] | None:
    """A check of arguments for each declared tool, by its name; None when nothing is declared.

    Raises NotProved for declarations that are not the ordinary ones.
    """
    if not tools or tools == b"null":
        return None
    try:
        return dict(_check(tool) for tool in orjson.loads(tools))
    except (TypeError, ValueError, RecursionError):  # no list, no JSON for this decoder, deeper than a validator goes
        raise NotProved from None


def _check(tool: Any) -> tuple[str, Check]:
    inner = mapping(mapping(tool).get("function")) or mapping(tool)
    name, schema = inner.get("name"), inner.get("input_schema", inner.get("parameters"))
    if not isinstance(name, str) or not isinstance(schema, dict) or inner.get("output_schema") is not None:
        raise NotProved
    return name, is_valid(schema)


_LOCAL = frozenset({"text", "tool_use", "tool_result", "thinking", "redacted_thinking", "image", "image_url", "document", "refusal"})
_LOCAL |= {"input_text", "output_text", "input_image", "input_file", "reasoning", "function_call", "function_call_output", "message"}
"""Types of parts and items that mean nothing for what is far from them. (A compaction, say, hides all that came before.)"""
_OF_MESSAGES = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})
NEAR = 2
"""So many exchanges before and after one in doubt are judged with it."""


FEW = 3
"""So many messages between others that are judged are taken in."""


class Walk:
    """One conversation, being proved message by message.

    `feed` takes the messages in order; `end` says whether anything was proved. What is in doubt then stands in `doubts`.
    """

    __slots__ = (
        "begun", "bodies", "called", "changed", "checks", "doubting", "doubts", "everything", "form", "identified", "index",
        "items", "open", "plain", "previous", "repeats", "seen", "settled", "since", "spans", "spoken", "told", "tools", "unsure", "wary",
    )  # fmt: skip

    def __init__(self, tools: bytes = b"", *, items: bool | None = False) -> None:
        self.tools = tools
        self.checks = _declared(tools)
        self.items = items
        """Items of Responses, as against messages; None as long as it may be either."""
        self.form: str | None = None
        """The name of the format, from the first tool traffic on."""
        self.index = 0  # of the message that comes next
        self.since = 0  # index of the first message of the current exchange
        self.begun = array("I")  # the indexes of the first messages of all exchanges
        self.open: dict[str, str] = {}  # id -> tool, of the calls that wait for their results
        self.seen: dict[str, int] = {}  # id of a call -> index of the first message of its exchange
        self.called: list[str] = []  # the ids of the calls of what is proved
        self.settled = 0  # how many of `called` belong to former exchanges
        self.bodies: list[str] = []  # of the results of this batch
        self.changed: dict[tuple[str, bytes], int] = {}  # calls that must not be made twice
        self.identified: dict[str, int] = {}  # id of an item -> index of the first message of its exchange
        self.spoken = False  # the user, once
        self.told = -1  # index of the last message in which the user spoke
        self.previous = ""
        self.plain = True  # nothing but texts so far
        self.doubting = False
        self.doubts: list[list[int]] = []
        """Ranges of indexes of messages that are in doubt, `[from, to]`."""
        self.spans: list[tuple[int, int]] = []  # what has to be judged together, for a call was perhaps made twice
        self.everything = False
        """Doubt about some of the conversation is doubt about all of it."""
        self.wary = False
        """Calls are remembered as they are where something is in doubt: something may be, in what stands before."""
        self.repeats = False
        """A call was made twice that matters only in that case."""
        self.unsure = False
        """A developer spoke, which not every format knows."""

    def all(self, messages: Iterable[Message], *, in_part: bool) -> None:
        """Feed messages. Raises NotProved at the first doubt, unless the conversation may be judged `in_part`."""
        for message in messages:
            self.feed(message)
            if self.doubting and not in_part:
                raise NotProved

    def feed(self, message: Message) -> None:
        """Take the next message."""
        if self.doubting:
            if not begins(message, self.previous, items=bool(self.items)):
                self._doubt(message)
                self.index += 1
                return
            self.doubting = False
        try:
            if self.items:
                self._item(message)
            else:
                self._message(message)
        except NotProved:
            self._doubt(message)
        self.index += 1

    def end(self, *, log: bool = False) -> bool:
        """Take no more messages. Whether anything was proved: what stands in `doubts` is to be judged, the rest is in order."""
        if self.everything:
            return False
        if self.form is None and log and self.plain and not self.doubts and not self.items:
            self.form = "openai-chat"  # plain messages are the same in every format
        if (self.open or self.previous == "reasoning") and not self.doubting:
            self._extend(self.index)
        return self.form is not None and (bool(self.called) or not self.items)

    @property
    def turns(self) -> int:
        """How many messages are proved."""
        return self.index - sum(end - start for start, end in self.doubts)

    def is_settled(self, index: int) -> bool:
        """Whether all that is judged for the sake of what is in doubt stood before an index already: nothing later can change it."""
        return not self.doubts or self._stop(self.doubts[-1][1], NEAR + 1) <= index

    def append(self, later: Walk) -> bool:
        """Go on as if the messages of `later`, a walk that began where an exchange does, had been fed. False where that is not certain.

        `later` was wary, and is given away.
        """
        if not self._is_met_by(later):
            return False
        by, calls = self.index, len(self.called)
        if later.doubts and self.told >= 0:
            self.spans.append((self.told, self.told + 1))
        self.form, self.index, self.since = self.form or later.form, by + later.index, by + later.since
        self.begun.extend(by + at for at in later.begun)
        self.open, self.bodies = later.open, later.bodies
        self.seen.update((key, by + at) for key, at in later.seen.items())
        self.called += later.called
        self.settled = calls + later.settled
        self.changed.update((key, by + at) for key, at in later.changed.items())
        self.identified.update((key, by + at) for key, at in later.identified.items())
        self.spoken, self.told = self.spoken or later.spoken, by + later.told if later.told >= 0 else self.told
        self.previous, self.plain, self.doubting = later.previous, self.plain and later.plain, later.doubting
        self.doubts += [[by + start, by + end] for start, end in later.doubts]
        self.spans += [(by + start, by + end) for start, end in later.spans]
        self.unsure = self.unsure or later.unsure
        return True

    def _is_met_by(self, later: Walk) -> bool:
        """Whether nothing that came so far bears on what `later` has proved."""
        if not self.doubting and (self.open or self.previous == "reasoning"):
            return False
        if bool(self.items) != bool(later.items) or not (self.form in (None, later.form) or later.form is None):
            return False
        if self.form == "anthropic-messages" and later.unsure:
            return False
        if self.doubts and later.repeats:
            return False
        again = self.changed.keys() & later.changed.keys()
        if again and (self.doubts or later.doubts or any(must_not_be_done_twice(name) for name, _ in again)):
            return False
        return self.seen.keys().isdisjoint(later.seen) and self.identified.keys().isdisjoint(later.identified)

    # ------------------------------------------------------------------------------------------------------------- doubt

    def _begin(self) -> None:
        """Nothing is open: what follows does not depend on what was."""
        self.since = self.index
        self.settled = len(self.called)
        self.begun.append(self.index)

    def _doubt(self, message: Message) -> None:
        self._extend(self.index + 1)
        self.doubting, self.previous = True, said_by(message)
        try:
            self._enter(message)
        except _Everything:
            self.everything = True

    def _extend(self, end: int) -> None:
        """Put the current exchange in doubt, up to an index."""
        if self.doubts and self.doubts[-1][1] >= self.since:
            self.doubts[-1][1] = end
        else:
            self.doubts.append([self.since, end])
            if self.told >= 0:
                self.spans.append((self.told, self.told + 1))
        del self.called[self.settled :]
        self.open.clear()
        self.bodies = []
        self.previous = ""

    def _enter(self, message: Message) -> None:
        """Remember the calls of a message in doubt: what else bears their ids, or repeats them, is in doubt too."""
        if (message.type or "message") not in _LOCAL or message.parts is not None:
            raise _Everything
        for part in message.content if isinstance(message.content, list) else ():
            if part.type not in _LOCAL or (message.type is not None and part.type in _OF_MESSAGES):
                raise _Everything
            if part.type == "tool_use":
                self._remember(part.id, part.name, part.input)
        for call in message.tool_calls or ():
            function = call.function or _Function()
            self._remember(call.id, function.name, function.arguments)
        if message.id is not None:
            self.identified.setdefault(message.id, self.since)
        if message.type == "function_call":
            self._remember(message.call_id, message.name, message.arguments)

    def _remember(self, key: str | None, name: str | None, args: dict[str, Any] | str | None) -> None:
        if key is not None:
            self.seen.setdefault(key, self.since)
        if name is None or nature(name) == "reads":
            return
        try:
            value = orjson.loads(args) if isinstance(args, str) else args
            same = (name, orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
        except (orjson.JSONDecodeError, TypeError):
            raise _Everything from None  # equal to what, cannot be told
        if same in self.changed:
            self.spans.append((self.changed[same], self.index + 1))
        self.changed[same] = self.since

    def excerpt(self, ids: Iterable[str] = ()) -> list[int]:
        """The indexes of the messages to be judged: those in doubt, what stands near them, both ends of the conversation, and the
        exchanges whose calls or items bear one of `ids`."""
        near = [(self._start(start, NEAR), self._stop(end, NEAR)) for start, end in self.doubts]
        near += [(self._start(start, 1), self._stop(end, 1)) for start, end in self.spans]
        borne = [at for key in ids for known in (self.seen, self.identified) if (at := known.get(key)) is not None]
        near += [(self._start(at, 1), self._stop(at + 1, 1)) for at in borne]
        near += [(0, self._stop(0, NEAR)), (self._start(self.index, NEAR), self.index)]
        return [index for start, stop in _joined(near) for index in range(start, stop)]

    def _start(self, index: int, before: int = 0) -> int:
        """Where the exchange of a message begins, or one of those before it."""
        at = bisect_right(self.begun, index) - 1 - before
        return self.begun[at] if at >= 0 else 0

    def _stop(self, index: int, after: int = 0) -> int:
        """Where the exchange that goes on up to an index ends, or one of those after it."""
        at = bisect_right(self.begun, max(index - 1, 0)) + after
        return self.begun[at] if at < len(self.begun) else self.index

    # ------------------------------------------------------------------------------------------------ Messages and Chat

    def _message(self, message: Message) -> None:
        """A message of either format; which one, the first tool traffic says."""
        role = message.role
        if message.parts is not None or message.function_call is not None or message.usage is not None:
            raise NotProved
        if role == "assistant":
            if self.open:
                raise NotProved
            self._begin()
            self._assistant(message)
        elif role == "tool":
            self._tool(message)
        elif role == "user":
            self._user(message)
        elif role == "system":
            self._system(message)
        elif role == "developer" and self.form != "anthropic-messages":
            self.unsure = True
            self._system(message)
        else:
            raise NotProved

    def _assistant(self, message: Message) -> None:
        if not self.spoken:
            raise NotProved
        self.bodies = []
        content, before = message.content, len(self.called)
        if isinstance(content, str):
            self._said(content)
        elif content is not None:
            self._blocks(content)
        if message.tool_calls is not None:
            if self.form == "anthropic-messages" or not message.tool_calls:
                raise NotProved
            self.form = "openai-chat"
            for call in message.tool_calls:
                self._chat_call(call)
        stop = message.finish_reason or message.stop_reason
        if stop is not None and stop not in (_ASKS if len(self.called) > before else _ENDS):
            raise NotProved

    def _blocks(self, content: list[_Part]) -> None:
        asked = False
        for part in content:
            if part.type == "text":
                if asked:
                    raise NotProved  # text after a call may imitate its result
                self._said(part.text)
            elif part.type == "tool_use":
                if self.form == "openai-chat" or part.caller is not None or part.toolset_name is not None or part.input is None:
                    raise NotProved
                asked, self.form = True, "anthropic-messages"
                self._call(part.id, part.name, part.input)
            elif part.type not in ("thinking", "redacted_thinking") or part is content[-1]:
                raise NotProved
            else:
                self.plain = False

    def _chat_call(self, call: _ToolCall) -> None:
        function = call.function
        if function is None or not function.arguments or call.type not in ("function", None):
            raise NotProved
        if call.custom is not None or call.call_id is not None or call.tool_call_id is not None or len(call.id or "") > 40:
            raise NotProved
        self._call(call.id, function.name, self._object(function.arguments))

    def _user(self, message: Message) -> None:
        content = message.content
        if message.tool_call_id is not None or message.tool_calls is not None or content is None:
            raise NotProved
        if isinstance(content, str):
            self._speak(content)
            return
        done = not content or content[0].type != "tool_result"
        if done:
            self._speak("")
        for part in content:
            if part.type == "tool_result":
                if done or self.form != "anthropic-messages" or part.toolset_name is not None:
                    raise NotProved
                self._answer(part.tool_use_id, part.content, None, marked=part.is_error is True)
            elif part.type == "text":
                done = True
                self._said(part.text)
            elif part.type in ("image", "image_url", "document"):
                done, self.plain = True, False
            else:
                raise NotProved
        if self.open:
            raise NotProved
        if done:
            self.spoken, self.told = True, self.index

    def _speak(self, text: str) -> None:
        """The user says something: a new exchange."""
        if self.open:
            raise NotProved
        self._begin()
        self.spoken, self.told = True, self.index
        self._said(text)

    def _tool(self, message: Message) -> None:
        if self.form != "openai-chat" or message.is_error is not None or message.tool_calls is not None:
            raise NotProved
        self._answer(message.tool_call_id, message.content, message.name)

    def _system(self, message: Message) -> None:
        if self.open or message.tool_call_id is not None or message.tool_calls is not None:
            raise NotProved
        self._begin()
        self._prose(message.content, ("text",))

    def _prose(self, content: str | list[_Part] | None, kinds: tuple[str, ...]) -> None:
        """Content that holds prose, or parts of some other `kinds`, and nothing else."""
        if isinstance(content, str):
            self._said(content)
        elif content is not None:
            for part in content:
                if part.type not in kinds:
                    raise NotProved
                self._said(part.text)

    # -------------------------------------------------------------------------------------------------------- Responses

    def _item(self, item: Message) -> None:
        """An item of Responses: links by `call_id`, an output after its call, and all answered before the user speaks."""
        kind, previous = item.type, self.previous
        if item.caller is not None or item.async_ is not None or item.parts is not None:
            raise NotProved
        of_model = kind in ("function_call", "reasoning") or item.role == "assistant"
        if previous == "reasoning" and not of_model:
            raise NotProved  # it led to nothing
        if kind != "function_call_output" and not self.open and not (of_model and previous in _OF_MODEL):
            self._begin()
        if item.id is not None:
            self._identify(item)
        if kind == "function_call":
            self._item_call(item, previous)
        elif kind == "function_call_output":
            self._item_output(item)
        elif kind == "reasoning":
            if self.open:
                raise NotProved
        elif kind in ("message", None):
            self._item_message(item, previous)
        else:
            raise NotProved
        self.previous = said_by(item)

    def _identify(self, item: Message) -> None:
        prefix = _ITEMS.get(item.type or "")
        if prefix is None or item.id in self.identified or item.id == item.call_id or not (item.id or "").startswith(prefix):
            raise NotProved
        self.identified[item.id or ""] = self.since

    def _item_call(self, item: Message, previous: str) -> None:
        if not item.arguments or item.status not in ("completed", None) or len(item.call_id or "") > 64 or not previous:
            raise NotProved
        if previous != "function_call":
            if self.open:
                raise NotProved
            self.bodies = []
        self.form = "openai-responses"
        self._call(item.call_id, item.name, self._object(item.arguments))

    def _item_output(self, item: Message) -> None:
        if item.status not in ("completed", None):
            raise NotProved
        self._answer(item.call_id, item.output, item.name)

    def _item_message(self, item: Message, previous: str) -> None:
        if self.open or item.tool_calls is not None or item.tool_call_id is not None or item.function_call is not None:
            raise NotProved
        if item.role == "assistant":
            if not previous:
                raise NotProved
        elif item.role not in ("user", "system", "developer"):
            raise NotProved
        else:
            self.told = self.index
        self._prose(item.content, ("input_text", "output_text", "text", "input_image", "input_file"))

    # ----------------------------------------------------------------------------------------------------- what is common

    def _object(self, text: str) -> dict[str, Any]:
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            raise NotProved from None
        if not isinstance(value, dict):
            raise NotProved
        return value

    def _call(self, key: str | None, name: str | None, args: dict[str, Any]) -> None:
        if key is None or name is None or key in self.seen or key in SENTINELS or not _is_plain(key):
            raise NotProved
        if self.checks is not None:
            check = self.checks.get(name)
            if check is None or not check(args):
                raise NotProved
        if nature(name) != "reads" and (self.doubts or self.wary or must_not_be_done_twice(name)):
            same = (name, orjson.dumps(args, option=orjson.OPT_SORT_KEYS))
            if same in self.changed:
                if self.doubts or must_not_be_done_twice(name):
                    raise NotProved
                self.repeats = True
            self.changed[same] = self.since
        self.seen[key] = self.since
        self.open[key] = name
        self.called.append(key)

    def _answer(self, ref: str | None, body: str | list[_Part] | None, name: str | None, *, marked: bool | None = None) -> None:
        """A result; `marked` is whether an error flag is set, where the format has one."""
        tool = self.open.pop(ref or "", None)
        if tool is None or (name is not None and name != tool) or (body is None and marked is None):
            raise NotProved
        if marked is None and isinstance(body, str) and not self.open and not self.bodies and nature(tool) == "reads":
            if not is_plain(body):  # the commonest case, on the shortest way
                self._read(body, marked)
            return
        texts = (body,) if isinstance(body, str) else _texts(body)
        if marked and not any(texts):
            raise NotProved  # an error without content
        # a failure matters where its flag is missing, or where the call may be made again
        failing = marked is not None or nature(tool) != "reads"
        for text in texts:
            if self.open or self.bodies:
                if text in self.bodies and len(text) >= 16:
                    raise NotProved  # two calls of a batch with one payload
                self.bodies.append(text)
            if not is_plain(text) or (failing and may_report_failure(text[:SENTENCE].lower())):
                self._read(text, marked)

    def _read(self, text: str, marked: bool | None) -> None:
        from toolaudit import traces  # most logs never need it

        for window in traces.windows(text):
            if traces.secret(window) is not None or traces.placeholder(window):
                raise NotProved
        kind = traces.failure(text[:WINDOW])
        if kind is not None and (kind != "error" or marked is False):
            raise NotProved

    def _said(self, text: str | None) -> None:
        if text and may_hold_traffic(text):
            raise NotProved


def begins(message: Message, previous: str, *, items: bool) -> bool:
    """Whether a message begins an exchange, whatever was open before; `previous` is what the one before it was said by."""
    if items:
        if message.type in ("function_call", "reasoning") or message.role == "assistant":
            return previous not in _OF_MODEL  # a turn of the model ends where something else stands
        return message.role == "user" and message.type in ("message", None)
    if message.role == "user":
        content = message.content
        return message.tool_call_id is None and (not isinstance(content, list) or all(part.type == "text" for part in content))
    return message.role == "assistant"


def _joined(ranges: Iterable[tuple[int, int]]) -> Iterator[list[int]]:
    """Ranges in order, one in place of several with few messages between them: those a drawing shows, and does not fold."""
    last: list[int] = []
    for start, stop in sorted(ranges):
        if last and start <= last[1] + FEW:
            last[1] = max(last[1], stop)
        else:
            yield from [last] if last else []
            last = [start, stop]
    yield from [last] if last else []


def said_by(item: Message) -> str:
    """What decides whether the next item goes on with the same turn: the kind of an item of the model or its tools, else a role."""
    return item.type if item.type in ("function_call", "function_call_output", "reasoning") else item.role or ""


def _is_plain(key: str) -> bool:
    """An id that every target's pattern takes."""
    return key.isascii() and (key.isidentifier() or key.replace("_", "a").replace("-", "a").isalnum())


def _texts(body: list[_Part] | None) -> Sequence[str]:
    texts = []
    for part in body or ():
        if part.type not in ("text", "input_text", "output_text", "image"):
            raise NotProved
        if part.text is not None:
            texts.append(part.text)
    return texts
