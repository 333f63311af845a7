"""MCP: recorded JSON-RPC messages between clients and servers, one a line or in a list, bare or in the frames of a recorder.

A request `tools/call` is a call; the response with its `id` is the result. An id belongs to one connection and one direction: what a
server asks of its client (sampling, elicitation) is numbered by the server. `initialize` begins a new connection, and so does a name
that the recorder gives one. Results come in any order, and some calls never get any: the connection is asynchronous.

The messages in a request for sampling are a conversation of their own, and are read as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct, field

from toolaudit.formats import DECISIVE, Evidence
from toolaudit.formats._frames import Frame, frames
from toolaudit.formats._json import has, mapping, number, sequence, text_or_none
from toolaudit.model import JSON, Call, Place, Result, Tool, Trajectory, Turn, Unknown

NAME: Final = "mcp-jsonrpc"
TITLE: Final = "MCP JSON-RPC messages"
TARGET: Final = "mcp"

_CALL: Final = "tools/call"
_SAMPLING: Final = "sampling/createMessage"
_METHODS: Final = (
    "tools/",
    "resources/",
    "prompts/",
    "roots/",
    "elicitation/",
    "completion/complete",
    "logging/setLevel",
    "sampling/",
    "notifications/",
)
"""What methods of MCP begin with; other protocols speak JSON-RPC as well (language servers, agent clients, block chains)."""
_OF_CALLS: Final = ("structuredContent", "isError", "toolResult", "task")
_OF_OTHERS: Final = ("role", "model", "action", "serverInfo")
"""Keys of results to what else is asked: sampling, elicitation, `initialize`."""


# --------------------------------------------------------------------------------------------------------------- recognising


def _is_rpc(value: dict[str, JSON]) -> bool:
    return value.get("jsonrpc") == "2.0"


def _is_of_mcp(message: dict[str, JSON]) -> bool:
    """Whether a message says that it is one of MCP, and of no other protocol."""
    method = message.get("method")
    if isinstance(method, str):
        params = mapping(message.get("params"))
        return method.startswith(_METHODS) or (method == "initialize" and isinstance(params.get("protocolVersion"), str))
    result = mapping(message.get("result"))
    if isinstance(result.get("protocolVersion"), str) and isinstance(result.get("serverInfo"), dict):
        return True
    listed = sequence(result.get("tools"))
    return _answers_call(result) or bool(listed and all("inputSchema" in mapping(tool) for tool in listed))


def _answers_call(result: JSON) -> bool:
    """Whether a result has the shape that those of `tools/call` have, and those of no other request."""
    found = mapping(result)
    return (isinstance(found.get("content"), list) or has(found, *_OF_CALLS)) and not has(found, *_OF_OTHERS)


def recognise(value: JSON) -> Evidence | None:
    """Evidence that `value` is a list of messages."""
    if not isinstance(value, list) or not value:
        return None
    found = False
    for record in value:
        own = list(frames(record, Place(0), _is_rpc))
        if not own:
            return None
        found = found or any(_is_of_mcp(frame.value) for frame in own)
    return Evidence(DECISIVE, '`"jsonrpc": "2.0"` and methods of MCP') if found else None


def session(value: JSON) -> Log | None:
    """The log that a message which names itself belongs to."""
    return Log() if any(_is_of_mcp(frame.value) for frame in frames(value, Place(0), _is_rpc)) else None


# ------------------------------------------------------------------------------------------------------------------- reading


def read(value: JSON, place: Place, answer: tuple[JSON, Place] | None = None) -> Iterator[Trajectory]:
    """The connections in a list of messages."""
    del answer
    log = Log()
    for index, record in enumerate(sequence(value)):
        yield from log.take(record, place / index) or ()
    yield from log.end()


class _Connection(Struct):
    """What is known of one connection, from its `initialize` on."""

    lane: str | None
    whole: bool
    """Its beginning was seen."""
    turns: list[Turn] = field(default_factory=list)
    called: set[str] = field(default_factory=set)
    """Keys of its calls."""
    tools: dict[str, Tool] = field(default_factory=dict)
    listed: bool = False
    """The last page of its tools was seen."""
    changing: bool = False
    """Its tools changed: which of them a call could name is not known."""
    unknown: list[Unknown] = field(default_factory=list)
    open: int = 0


class _Request(Struct):
    """A request without its response so far."""

    method: str
    way: str | None
    connection: _Connection
    call: Call | None = None


class Log:
    """Messages being read in turn."""

    format: Final = NAME

    def __init__(self) -> None:
        self._connections: dict[str | None, _Connection] = {}
        self._former: list[_Connection] = []
        """Connections that ended while some of their calls were open."""
        self._waiting: dict[str, list[_Request]] = {}
        """Requests without a response, by their keys, in order."""

    def take(self, value: JSON, place: Place) -> Iterable[Trajectory] | None:
        """Take a message, or a batch of them. A request for sampling is left to be read as a conversation."""
        if isinstance(value, list) and value and all(isinstance(one, dict) and _is_rpc(one) for one in value):
            found = [Frame(one, place / index) for index, one in enumerate(value)]
        else:
            found = list(frames(value, place, _is_rpc))
        if not found:
            return None
        done = [trajectory for frame in found for trajectory in self._message(frame)]
        return None if not done and all(frame.value.get("method") == _SAMPLING for frame in found) else done

    def end(self) -> Iterable[Trajectory]:
        """The connections, in the order of their beginnings."""
        left = [*self._former, *self._connections.values()]
        self._connections, self._former, self._waiting = {}, [], {}
        return [_told(one) for one in sorted(left, key=lambda one: one.turns[0].place.record if one.turns else 0) if one.turns]

    def messages(self, trajectory: Trajectory) -> Iterable[tuple[JSON, Place]]:
        """None: see `raw_messages`."""
        del trajectory
        return ()

    def _message(self, frame: Frame) -> Iterable[Trajectory]:
        method = frame.value.get("method")
        done: Iterable[Trajectory] = ()
        if method == "initialize" and "id" in frame.value:
            done = self._begin(frame.lane)
        connection = self._connections.setdefault(frame.lane, _Connection(frame.lane, whole=False))
        if isinstance(method, str):
            self._asked(frame, method, connection)
        elif "result" in frame.value or "error" in frame.value:
            self._answered(frame, connection)
        else:
            connection.unknown.append(Unknown(place=frame.place, what="a JSON-RPC message that neither asks nor answers"))
        return done

    def _begin(self, lane: str | None) -> Iterable[Trajectory]:
        """Begin a connection; the one before it is told, unless a result of it may come yet."""
        former = self._connections.pop(lane, None)
        self._connections[lane] = _Connection(lane, whole=True)
        if former is None or not former.turns:
            return ()
        if former.open:
            self._former.append(former)
            return ()
        return (_told(former),)

    # ------------------------------------------------------------------------------------------------------------- requests

    def _asked(self, frame: Frame, method: str, connection: _Connection) -> None:
        if method == "notifications/cancelled":
            self._cancel(frame, mapping(frame.value.get("params")).get("requestId"))
        elif method == "notifications/tools/list_changed":
            connection.changing = True
        key = _key(frame.value.get("id"))
        call = _call(frame, key) if method == _CALL else None
        if call is not None:
            connection.turns.append(Turn(place=frame.place, number=0, role="assistant", parts=[call]))
        if key is not None:
            if call is not None:
                connection.called.add(key)
                connection.open += 1
            self._waiting.setdefault(key, []).append(_Request(method, frame.way, connection, call))

    def _cancel(self, frame: Frame, requested: JSON) -> None:
        """Nobody waits for a result any more. Who asked is who cancels; where that is not recorded, any request of the id is meant."""
        for request in self._of_lane(_key(requested), frame.lane):
            if request.call is not None and (frame.way is None or request.way is None or request.way == frame.way):
                request.call.state = "cancelled"

    # ------------------------------------------------------------------------------------------------------------ responses

    def _answered(self, frame: Frame, connection: _Connection) -> None:
        key = _key(frame.value.get("id"))
        if key is None:
            return  # an error about a message that could not be read
        request = self._request(key, frame)
        if request is None:
            self._unasked(key, frame, connection)
            return
        self._waiting[key] = [one for one in self._waiting[key] if one is not request]
        if request.call is not None:
            request.connection.turns.append(_result(key, frame))
            request.connection.open -= 1
        elif request.method == "tools/list":
            _declare(request.connection, mapping(frame.value.get("result")))

    def _request(self, key: str, frame: Frame) -> _Request | None:
        """The request that a response answers: the first one that went the other way and that it fits, else what comes nearest."""
        waiting = self._of_lane(key, frame.lane)
        other_way = [one for one in waiting if one.way is None or frame.way is None or one.way != frame.way]
        fitting = [one for one in other_way or waiting if _fits(frame.value, one)]
        return next(iter(fitting or other_way or waiting), None)

    def _of_lane(self, key: str | None, lane: str | None) -> list[_Request]:
        """The requests of a key that wait on a connection; one that is named is none that has another name."""
        waiting = self._waiting.get(key or "", [])
        same = [one for one in waiting if one.connection.lane == lane]
        return same or [one for one in waiting if lane is None or one.connection.lane is None]

    def _unasked(self, key: str, frame: Frame, connection: _Connection) -> None:
        """A response that nobody waits for: a second one, or one to what was asked before the log began, or never."""
        if key in connection.called or _answers_call(frame.value.get("result")):
            connection.turns.append(_result(key, frame))


def _told(connection: _Connection) -> Trajectory:
    """The calls and results of a connection."""
    turns = number(connection.turns)
    trajectory = Trajectory(place=turns[0].place, format=NAME, kind="log", unit="item", id=connection.lane, turns=turns)
    trajectory.unknown = connection.unknown
    if not connection.whole:
        trajectory.hidden = "the record begins within a connection"
    if connection.tools and not connection.changing:
        trajectory.tools, trajectory.open_tools = tuple(connection.tools.values()), not connection.listed
    return trajectory


def _key(value: JSON) -> str | None:
    """An id as text. The number 1 and the text `1` are two ids, and 0 is one."""
    if isinstance(value, str):
        return f'"{value}"' if value.lstrip("-").isdigit() else value or None
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _other_key(value: JSON) -> tuple[str, ...]:
    """The id of the other type that looks the same: what a peer that mixes the two up answers with."""
    if isinstance(value, str):
        return (value,) if value.lstrip("-").isdigit() else ()
    return (f'"{value}"',) if isinstance(value, int) and not isinstance(value, bool) else ()


def _fits(message: dict[str, JSON], request: _Request) -> bool:
    """Whether a response has the shape of an answer to what was asked."""
    if "error" in message:
        return True
    result = message.get("result")
    return _answers_call(result) if request.call is not None else not _answers_call(result)


def _call(frame: Frame, key: str | None) -> Call:
    params = mapping(frame.value.get("params"))
    arguments = params.get("arguments")
    return Call(
        place=frame.place,
        id=key,
        raw_id=frame.value.get("id"),
        name=text_or_none(params.get("name")),
        args=arguments,
        args_form="object" if arguments is not None else "none",
        args_key="params/arguments",
        name_key="params/name",
        expects="later",
        kind=_CALL,
        other_ids=_other_key(frame.value.get("id")),
    )


def _result(key: str, frame: Frame) -> Turn:
    message = frame.value
    error, result = mapping(message.get("error")), mapping(message.get("result"))
    failed = has(message, "error")
    part = Result(
        place=frame.place,
        ref=key,
        raw_ref=message.get("id"),
        ref_key="id",
        flag="error" if failed or result.get("isError") is True else None,
        body=error.get("message") if failed else result.get("content"),
        body_key="error" if failed else "result",
        kind="tools/call response",
    )
    return Turn(place=frame.place, number=0, role="tool", parts=[part])


def _declare(connection: _Connection, result: dict[str, JSON]) -> None:
    """Take a page of the server's tools. A tool that was told otherwise before has changed."""
    for declared in sequence(result.get("tools")):
        name = text_or_none(mapping(declared).get("name"))
        if name is not None:
            tool = Tool(name=name, schema=declared.get("inputSchema"))
            former = connection.tools.setdefault(name, tool)
            connection.changing = connection.changing or former != tool
    connection.listed = connection.listed or not has(result, "nextCursor")
