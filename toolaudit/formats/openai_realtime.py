"""OpenAI Realtime: recorded events between a client and the server, one a line or in a list, bare or in the frames of a recorder.

One item shows in many events: when it is added, when it is done, when its arguments are complete, and once more in the response that made
it; what the client creates comes back from the server. All of these are one item, and its last whole version counts. An output names
its call by `call_id` and may stand anywhere behind it. A call that the user interrupted needs none.

Azure, xAI and others speak the same events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct, field

from toolaudit.formats import DECISIVE, Evidence
from toolaudit.formats._frames import Frame, frames
from toolaudit.formats._json import has, key_of, kind_of, mapping, number, sequence, text_or_none
from toolaudit.model import JSON, Call, Other, Part, Place, Result, Role, Text, Tool, Trajectory, Turn, Unknown
from toolaudit.text import quote

NAME: Final = "openai-realtime"
TITLE: Final = "OpenAI Realtime events"
TARGET: Final = "openai-realtime"

_WITH_ITEM: Final = frozenset(
    {
        "conversation.item.create",
        "conversation.item.created",
        "conversation.item.added",
        "conversation.item.done",
        "conversation.item.retrieved",
        "response.output_item.added",
        "response.output_item.done",
    }
)
_WHOLE: Final = frozenset(
    {"conversation.item.create", "conversation.item.done", "conversation.item.retrieved", "response.output_item.done"}
)
"""Events whose item has all that it will ever have."""
_INTERRUPTIONS: Final = frozenset(
    {
        "input_audio_buffer.speech_started",
        "response.cancel",
        "conversation.item.truncate",
        "conversation.item.truncated",
        "output_audio_buffer.clear",
        "output_audio_buffer.cleared",
    }
)
_OUTPUTS: Final = {"function_call_output": "call_id", "mcp_approval_response": "approval_request_id"}
"""Kinds of outputs, and by which key they name what they answer."""
_CALLS: Final = {"function_call": "call_id", "mcp_approval_request": "id", "mcp_call": "id"}
_ROLES: Final[dict[str, Role]] = {"system": "system", "user": "user", "assistant": "assistant"}


# --------------------------------------------------------------------------------------------------------------- recognising


def _is_event(value: dict[str, JSON]) -> bool:
    """Whether a value is an event of this protocol. The stream of Responses has events of the same names, but numbers them."""
    kind = value.get("type")
    if not isinstance(kind, str) or "sequence_number" in value:
        return False
    named = isinstance(value.get("event_id"), str)
    if kind.startswith("conversation.item."):
        return named or isinstance(value.get("item"), dict) or isinstance(value.get("item_id"), str)
    if kind.startswith("session."):
        return isinstance(value.get("session"), dict) and (named or kind == "session.update")
    if kind in ("response.create", "response.cancel"):  # over a socket, Responses are created by an event of this name too
        return named or not has(value, "model", "input")
    if kind.startswith("input_audio_buffer."):
        return named or isinstance(value.get("audio"), str) or value.keys() == {"type"}
    return named


_FAMILIES: Final = (
    "conversation.",
    "session.",
    "response.",
    "input_audio_buffer.",
    "output_audio_buffer.",
    "rate_limits.",
    "mcp_list_tools.",
)
_SHARED: Final = ("response.create", "response.cancel")


def _is_telling(value: dict[str, JSON]) -> bool:
    """Whether an event proves what it is one of. Vendors have more of their own, such as `ping`."""
    return _is_event(value) and value["type"].startswith(_FAMILIES) and value["type"] not in _SHARED


def recognise(value: JSON) -> Evidence | None:
    """Evidence that `value` is a list of events."""
    if not isinstance(value, list) or not value:
        return None
    telling = False
    for record in value:
        own = list(frames(record, Place(0), _is_event))
        if not own:
            return None
        telling = telling or any(_is_telling(frame.value) for frame in own)
    return Evidence(DECISIVE, "events of the Realtime API") if telling else None


def session(value: JSON) -> Log | None:
    """The log that an event which names itself belongs to."""
    return Log() if any(True for _ in frames(value, Place(0), _is_telling)) else None


# ------------------------------------------------------------------------------------------------------------------- reading


def read(value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
    """The conversations in a list of events."""
    del answer
    log = Log()
    for index, record in enumerate(sequence(value)):
        yield from log.take(record, place / index) or ()
    yield from log.end()


class _Item(Struct):
    """One item of the conversation, as its latest whole version says."""

    value: dict[str, JSON]
    place: Place
    whole: bool
    by_client: bool
    """The client created it: what was sent is what counts, and where a mistake was made."""
    echoed: bool = False
    """The server has sent it back."""
    cut: bool = False
    """It was interrupted while it was made, or before it was answered."""
    refused: bool = False
    deleted: int | None = None
    """How many responses had begun when it was deleted."""

    @property
    def kind(self) -> str:
        return kind_of(self.value) or ""

    @property
    def link(self) -> str | None:
        """The id by which calls and outputs find each other."""
        key = _CALLS.get(self.kind) or _OUTPUTS.get(self.kind)
        return key_of(self.value.get(key)) if key else None


class _Conversation(Struct):
    """One session, from its `session.created` on."""

    lane: str | None
    whole: bool = False
    """Its beginning was seen."""
    id: str | None = None
    model: str | None = None
    items: list[_Item] = field(default_factory=list)
    by_id: dict[str, _Item] = field(default_factory=dict)
    calls: dict[str, list[_Item]] = field(default_factory=dict)
    outputs: dict[str, list[_Item]] = field(default_factory=dict)
    created: dict[str, _Item] = field(default_factory=dict)
    """What the client created, by the id of its event."""
    sent: list[_Item] = field(default_factory=list)
    """What the client created without an id, and the server has not echoed so far."""
    made: dict[str, list[_Item]] = field(default_factory=dict)
    """What each response made."""
    lately: list[_Item] = field(default_factory=list)
    """Calls since the last interruption."""
    tools: dict[str, Tool] = field(default_factory=dict)
    declared: bool = False
    open_tools: bool = False
    responses: int = 0


class Log:
    """Events being read in turn."""

    def __init__(self) -> None:
        self._conversations: dict[str | None, _Conversation] = {}

    def take(self, value: JSON, place: Place) -> Iterable[Trajectory] | None:
        """Take an event: one that begins a session tells the session before it."""
        found = list(frames(value, place, _is_event))
        if not found:
            return None
        return [trajectory for frame in found for trajectory in self._event(frame)]

    def end(self) -> Iterable[Trajectory]:
        """The conversations that are left."""
        left, self._conversations = list(self._conversations.values()), {}
        return [trajectory for one in left for trajectory in _told(one)]

    def messages(self, trajectory: Trajectory) -> Iterable[tuple[JSON, Place]]:
        """None: see `raw_messages`."""
        del trajectory
        return ()

    def _event(self, frame: Frame) -> Iterable[Trajectory]:
        kind, event = str(frame.value["type"]), frame.value
        done: list[Trajectory] = []
        if kind == "session.created" and frame.lane in self._conversations:
            done = _told(self._conversations.pop(frame.lane))
        conversation = self._conversations.setdefault(frame.lane, _Conversation(frame.lane))
        if kind in _WITH_ITEM and isinstance(event.get("item"), dict):
            self._item(conversation, kind, frame)
        elif kind == "response.function_call_arguments.done":
            _arguments(conversation, frame)
        elif kind == "response.done":
            _response(conversation, frame)
        elif kind.startswith("session."):
            _session(conversation, kind, mapping(event.get("session")))
        else:
            _other(conversation, kind, event)
        return done

    def _item(self, conversation: _Conversation, kind: str, frame: Frame) -> None:
        event = frame.value
        item = _enter(conversation, event["item"], frame.place / "item", whole=kind in _WHOLE, by_client=kind == "conversation.item.create")
        _made_by(conversation, item, event)
        key = event.get("event_id")
        if kind == "conversation.item.create" and isinstance(key, str):
            conversation.created[key] = item


# -------------------------------------------------------------------------------------------------------------------- events


def _session(conversation: _Conversation, kind: str, said: dict[str, JSON]) -> None:
    """Take what a session says of itself: its model, and the tools it declares from now on."""
    if kind == "session.created" and not conversation.items:
        conversation.whole = True
    conversation.id = conversation.id or text_or_none(said.get("id"))
    conversation.model = conversation.model or text_or_none(said.get("model"))
    _declare(conversation, said)


def _declare(conversation: _Conversation, said: dict[str, JSON]) -> None:
    """Add declared tools to those of before: which of them a response could see is not followed."""
    if not isinstance(said.get("tools"), list):
        return
    conversation.declared = True
    for tool in said["tools"]:
        name = text_or_none(mapping(tool).get("name"))
        if name is None or kind_of(tool) not in ("function", None):
            conversation.open_tools = True
            continue
        found = Tool(name=name, schema=tool.get("parameters"))
        if conversation.tools.setdefault(name, found) != found:
            conversation.tools[name] = Tool(name=name)


def _arguments(conversation: _Conversation, frame: Frame) -> None:
    """The arguments of a call are complete; its name may be known already."""
    event = frame.value
    value = {"type": "function_call", "id": event.get("item_id"), "call_id": event.get("call_id"), "arguments": event.get("arguments")}
    former = conversation.by_id.get(key_of(event.get("item_id")) or "")
    name = event.get("name") or (former.value.get("name") if former is not None else None)
    item = _enter(conversation, {**value, "name": name}, frame.place, whole=True, by_client=False)
    _made_by(conversation, item, event)


def _made_by(conversation: _Conversation, item: _Item, event: dict[str, JSON]) -> None:
    response = text_or_none(event.get("response_id"))
    if response is not None:
        conversation.made.setdefault(response, []).append(item)


def _response(conversation: _Conversation, frame: Frame) -> None:
    """A response is done: its items stand in it once more, and what was cut off with it needs no answer."""
    conversation.responses += 1
    response = mapping(frame.value.get("response"))
    cut = response.get("status") in ("cancelled", "failed", "incomplete")
    for index, value in enumerate(sequence(response.get("output"))):
        if isinstance(value, dict):
            item = _enter(conversation, value, frame.place.down("response", "output", index), whole=True, by_client=False)
            item.cut = item.cut or cut
    for item in conversation.made.pop(text_or_none(response.get("id")) or "", ()):
        item.cut = item.cut or cut


def _other(conversation: _Conversation, kind: str, event: dict[str, JSON]) -> None:
    if kind in _INTERRUPTIONS:
        for item in conversation.lately:
            item.cut = item.cut or not conversation.outputs.get(item.link or "")
        conversation.lately.clear()
    elif kind == "conversation.item.deleted":
        gone = conversation.by_id.get(key_of(event.get("item_id")) or "")
        if gone is not None:
            gone.deleted = conversation.responses
    elif kind == "response.create":
        _declare(conversation, mapping(event.get("response")))
    elif kind == "conversation.created" and not conversation.items:
        conversation.whole = True
    elif kind == "error":
        refused = conversation.created.get(key_of(mapping(event.get("error")).get("event_id")) or "")
        if refused is not None:
            refused.refused = True


# --------------------------------------------------------------------------------------------------------------------- items


def _enter(conversation: _Conversation, value: dict[str, JSON], place: Place, *, whole: bool, by_client: bool) -> _Item:
    """The item that `value` is a version of; a new one if it is of none that is known."""
    whole = whole or value.get("status") == "completed"
    item = _known(conversation, value, by_client=by_client)
    if item is None:
        item = _Item(value, place, whole, by_client)
        conversation.items.append(item)
        if by_client and "id" not in value:
            conversation.sent.append(item)
        if item.kind in _CALLS:
            conversation.lately.append(item)
        if item.link is not None:
            kinds = conversation.calls if item.kind in _CALLS else conversation.outputs
            kinds.setdefault(item.link, []).append(item)
    elif item.by_client:
        item.echoed = item.echoed or not by_client
        conversation.sent = [one for one in conversation.sent if one is not item]
    elif whole or not item.whole:
        item.value, item.place, item.whole = {**item.value, **{k: v for k, v in value.items() if v is not None}}, place, whole or item.whole
    key = key_of(value.get("id"))
    if key is not None:
        conversation.by_id.setdefault(key, item)
    return item


def _known(conversation: _Conversation, value: dict[str, JSON], *, by_client: bool) -> _Item | None:
    """The item of which `value` is another version: by its id, else by the id that links it."""
    key, kind = key_of(value.get("id")), kind_of(value) or ""
    if key is not None and key in conversation.by_id:
        found = conversation.by_id[key]
        return found if found.kind == kind else None
    if kind in _OUTPUTS:
        outputs = conversation.outputs.get(key_of(value.get(_OUTPUTS[kind])) or "", [])
        return None if by_client else next((one for one in outputs if one.by_client and not one.echoed and not one.refused), None)
    if kind == "function_call":
        calls = conversation.calls.get(key_of(value.get("call_id")) or "", [])
        return next((one for one in reversed(calls) if _may_be_one(one, value, key)), None)
    sent = () if by_client else conversation.sent
    return next((one for one in sent if not one.refused and one.kind == kind and one.value.get("role") == value.get("role")), None)


def _may_be_one(item: _Item, value: dict[str, JSON], key: str | None) -> bool:
    """Whether two versions with one `call_id` are of one call: unless both have ids, are whole, and ask for different things."""
    if key is None or key_of(item.value.get("id")) is None or item.by_client:
        return True
    asked, given = (text_or_none(one.get("arguments")) or "" for one in (item.value, value))
    return not asked or not given or (asked == given and item.value.get("name") == value.get("name"))


def _told(conversation: _Conversation) -> list[Trajectory]:
    """The conversation, if anything was said in it."""
    unknown: list[Unknown] = []
    turns = [_turn(item, conversation, unknown) for item in conversation.items if not _is_gone(item, conversation)]
    if not turns:
        return []
    trajectory = Trajectory(place=turns[0].place, format=NAME, kind="log", unit="item", id=conversation.id or conversation.lane)
    trajectory.turns, trajectory.unknown, trajectory.model = number(turns), unknown, conversation.model
    if not conversation.whole:
        trajectory.hidden = "the record begins within a session"
    if conversation.declared:
        trajectory.tools, trajectory.open_tools = tuple(conversation.tools.values()), conversation.open_tools
    return [trajectory]


def _is_gone(item: _Item, conversation: _Conversation) -> bool:
    """Deleted, or never taken. An output goes with its call, unless a response was made without the one and with the other."""
    if item.deleted is not None:
        return True
    calls = conversation.calls.get(item.link or "", []) if item.kind in _OUTPUTS else []
    if item.refused:
        return bool(calls) or item.kind not in _OUTPUTS
    lost = [call for call in calls if call.deleted is not None]
    return bool(lost) and len(lost) == len(calls) and all(call.deleted == conversation.responses for call in lost)


def _turn(item: _Item, conversation: _Conversation, unknown: list[Unknown]) -> Turn:
    kind, place = item.kind, item.place
    turn = Turn(place=place, number=0, role="assistant", raw_role=text_or_none(item.value.get("role")) or "")
    if kind in _CALLS:
        turn.parts = [_call(item, conversation)]
    elif kind in _OUTPUTS:
        turn.parts, turn.role = [_output(item)], "tool"
    elif kind == "message":
        turn.role = _ROLES.get(turn.raw_role, "unknown")
        turn.parts = list(_content(item.value.get("content"), place / "content"))
    else:
        turn.parts = [Other(place=place, kind=kind or "unknown")]
        if kind not in ("mcp_list_tools", "item_reference", "reasoning"):
            unknown.append(Unknown(place=place, what=f"an item of type {quote(kind)}" if kind else "an item without a type"))
    return turn


def _content(content: JSON, place: Place) -> Iterator[Part]:
    """What was said, as text or as the transcript of audio."""
    for index, part in enumerate(sequence(content)):
        said = mapping(part).get("text", mapping(part).get("transcript"))
        if isinstance(said, str):
            yield Text(place=place / index, text=said)
        else:
            yield Other(place=place / index, kind=kind_of(part) or "unknown")


def _call(item: _Item, conversation: _Conversation) -> Call:
    value, kind = item.value, item.kind
    whole = item.whole and value.get("status") != "incomplete" and not item.cut
    answered = bool(conversation.outputs.get(item.link or ""))
    return Call(
        place=item.place,
        id=item.link,
        raw_id=value.get(_CALLS[kind]),
        id_key=_CALLS[kind],
        name=text_or_none(value.get("name")),
        args=value.get("arguments"),
        args_form="string" if "arguments" in value and (whole or answered) else "none",
        args_key="arguments",
        executor="server" if kind == "mcp_call" else "client",
        expects="none" if kind == "mcp_call" else "later",
        state="done" if whole or answered else "cancelled",
        kind=kind,
        item_id=key_of(value.get("id")) if kind == "function_call" else None,
    )


def _output(item: _Item) -> Result:
    value, kind = item.value, item.kind
    body_key = "approve" if kind == "mcp_approval_response" else "output"
    return Result(
        place=item.place,
        ref=item.link,
        raw_ref=value.get(_OUTPUTS[kind]),
        ref_key=_OUTPUTS[kind],
        flag="denied" if value.get("approve") is False else None,
        body=value.get(body_key),
        body_key=body_key,
        kind=kind,
        item_id=key_of(value.get("id")),
    )
