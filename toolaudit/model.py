"""The words of the program as types: what a transcript is, how its pairs stand, and what can be said of them.

Everything here is a plain value. Readers (`formats/`) build `Trajectory`, `pairing.py` builds `Ledger`, rules build `Finding`;
nothing is changed after it is built, except by the stage that builds it. Whatever is broken in a file must be
representable here: ids may be absent, arguments may be of any type, a result may stand anywhere.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

from msgspec import Struct, field

JSON: TypeAlias = Any
"""A decoded JSON value: dict, list, str, int, float, bool or None."""

Key: TypeAlias = str | int
Side = Literal["unanswered", "unasked", "place", "shape"]
Confidence = Literal["high", "medium", "low"]
Verdict = Literal["rejected", "degraded", "accepted", "unknown"]
Kind = Literal["request", "response", "log", "dataset"]
Executor = Literal["client", "server"]
Unit = Literal["message", "item"]
ArgsForm = Literal["object", "string", "text", "none"]
CallState = Literal["done", "partial", "cancelled", "waiting"]
Flag = Literal["ok", "error", "denied", "cancelled"]


class Severity(enum.IntEnum):
    """How bad a finding is: `ERROR` is refused or loses information for sure, `WARNING` is degraded or ambiguous, `NOTE` is unusual."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    def __str__(self) -> str:
        return self.name.lower()

    @classmethod
    def named(cls, name: str) -> Severity:
        """The severity called `name` (`"error"`, `"warning"`, `"note"`)."""
        return cls[name.upper()]


# ------------------------------------------------------------------------------------------------------------------ places


class Place(Struct, frozen=True, gc=False):
    """Where a value stands: the record that holds it and the keys that lead to it."""

    record: int
    """1-based line of the record in JSON Lines; 0 when the whole source is one document."""
    path: tuple[Key, ...] = ()
    inner: tuple[Key, ...] | None = None
    """The keys within the JSON text of a string, when `path` leads to such a string."""

    def __truediv__(self, key: Key) -> Place:
        if self.inner is not None:
            return Place(self.record, self.path, (*self.inner, key))
        return Place(self.record, (*self.path, key))

    def within(self, keys: str) -> Place:
        """The place of what stands at keys joined with `/`; itself where there are none."""
        return self.down(*keys.split("/")) if keys else self

    def down(self, *keys: Key) -> Place:
        """The place `keys` further down."""
        if self.inner is not None:
            return Place(self.record, self.path, self.inner + keys)
        return Place(self.record, self.path + keys)

    def up(self) -> Place:
        """The place of the value that holds this one."""
        if self.inner:
            return Place(self.record, self.path, self.inner[:-1])
        return Place(self.record, self.path[:-1])

    @property
    def keys(self) -> tuple[Key, ...]:
        """All keys that lead to the value, through a string or not."""
        return self.path if self.inner is None else self.path + self.inner

    @property
    def pointer(self) -> str:
        """The RFC 6901 JSON pointer into the record; `""` for the record itself."""
        return _pointer(self.path)

    @property
    def inner_pointer(self) -> str | None:
        """The pointer within the JSON text of the string that `pointer` leads to; None when there is none."""
        return None if self.inner is None else _pointer(self.inner)


def _pointer(path: tuple[Key, ...]) -> str:
    return "".join(f"/{str(key).replace('~', '~0').replace('/', '~1')}" for key in path)


# ------------------------------------------------------------------------------------------------------- parts of a message


class Text(Struct, kw_only=True, gc=False):
    """Prose of a message, as stored."""

    letter: ClassVar[str] = "t"
    place: Place
    text: str


class Other(Struct, kw_only=True, gc=False):
    """A part that is neither prose, call nor result: `reasoning`, `image`, `compaction`, `fallback`, `reference`, …"""

    place: Place
    kind: str
    id: str | None = None
    value: JSON = None

    @property
    def letter(self) -> str:
        return "h" if self.kind == "reasoning" else "x"


class Call(Struct, kw_only=True, gc=False):
    """A model's request to run a tool."""

    place: Place
    id: str | None
    """The id that a result must name; None when absent, empty or a sentinel such as `"null"`."""
    name: str | None
    args: JSON = None
    args_form: ArgsForm = "object"
    """How the arguments are stored: a JSON value, a string of JSON, free text that is never parsed, or not at all."""
    args_key: str = "input"
    """Keys from the call's place to its arguments, joined with `/`; empty where they stand in the same text."""
    name_key: str = "name"
    id_key: str = "id"
    executor: Executor = "client"
    expects: Literal["one", "none", "many", "later"] = "one"
    """`none`: carries its own result; `later`: may be answered in any later request; `many`: may be answered repeatedly."""
    state: CallState = "done"
    kind: str = "function"
    """The format's own word for it: `tool_use`, `function`, `custom`, `function_call`, `mcp_approval_request`, …"""
    item_id: str | None = None
    """The identity of the stored item where that differs from the call's id (Responses `fc_…`)."""
    other_ids: tuple[str, ...] = ()
    """Further identifiers stored with the call, which a confused result may name."""
    caller: str | None = None
    """The id of the enclosing program when the call was made by code that a provider runs."""
    group: str | None = None
    """The toolset the call belongs to, where tools have no name of their own."""
    raw_id: JSON = None
    """What stood where the id belongs, when `id` is None."""

    @property
    def letter(self) -> str:
        return "c" if self.executor == "client" else "s"


class Result(Struct, kw_only=True, gc=False):
    """The output of a tool, tagged with the id of the call it answers."""

    place: Place
    ref: str | None
    """The call id named by the result; None when absent, empty or a sentinel."""
    name: str | None = None
    flag: Flag | None = None
    """What the format itself says of the outcome; None when it has no such field or leaves it out."""
    body: JSON = None
    """The content as stored: a string, a list of parts, None; a mapping for structured outputs."""
    body_key: str = "content"
    ref_key: str = "tool_use_id"
    executor: Executor = "client"
    kind: str = "tool_result"
    item_id: str | None = None
    group: str | None = None
    raw_ref: JSON = None

    @property
    def letter(self) -> str:
        return "r" if self.executor == "client" else "z"


Part: TypeAlias = Text | Call | Result | Other
Role = Literal["system", "user", "assistant", "tool", "unknown"]


class Turn(Struct, kw_only=True, gc=False):
    """One message as stored (in the Responses format: one item)."""

    place: Place
    number: int
    """1-based number of the raw message in its conversation; where a trajectory is an excerpt of one, numbers are left out."""
    role: Role
    index: int = 0
    """0-based index in the turns of its trajectory."""
    parts: list[Part] = field(default_factory=list)
    raw_role: str = ""
    key: str | None = None
    """The id of the message, where it has one."""
    stop: str | None = None
    """Why the model stopped, in the format's own word, where it is stored."""
    empty_calls: bool = False
    """A list of calls is present and empty."""
    call_count: int = 0
    """How many calls other fields (usage, metadata) say this turn made; 0 when nothing says so."""
    tokens: int = 0
    """How many tokens other than reasoning this turn is said to have; 0 when nothing says so."""
    failed: bool = False
    """The turn was aborted or ended in an error."""

    @property
    def order(self) -> str:
        """One letter per part: `t` prose, `c` call, `r` result, `s`/`z` a provider's own call and result, `h` reasoning, `x` other."""
        return "".join([part.letter for part in self.parts])

    @property
    def calls(self) -> list[Call]:
        return [part for part in self.parts if isinstance(part, Call)]

    @property
    def results(self) -> list[Result]:
        return [part for part in self.parts if isinstance(part, Result)]

    @property
    def texts(self) -> list[Text]:
        return [part for part in self.parts if isinstance(part, Text)]


# -------------------------------------------------------------------------------------------------------------- trajectories


class Tool(Struct, kw_only=True, gc=False):
    """A declared tool."""

    name: str
    schema: JSON = None
    """JSON Schema of the arguments; None when none is declared."""
    output: JSON = None
    """JSON Schema of the result; None when none is declared."""
    strict: bool = False
    group: str | None = None


class Unknown(Struct, kw_only=True, gc=False):
    """Something that a reader met and did not understand; `what` is a phrase such as ``content part of type `foo` ``."""

    place: Place
    what: str
    of: Literal["shape", "record", "tie"] = "shape"
    """A shape inside a recognised format, a record that is not JSON, or a value that two formats claim."""


class StreamFault(Struct, frozen=True):
    """What is wrong with the events of a response, as against what they say."""

    rule: Literal["index-collision", "missing-index", "unfinished-stream"]
    place: Place
    call_id: str | None = None
    tool: str | None = None


class Trajectory(Struct, kw_only=True, gc=False):
    """One conversation, in order, with what is known about it."""

    place: Place
    """The value that holds it: a request body, a list of messages, a response."""
    format: str
    kind: Kind = "log"
    unit: Unit = "message"
    """`item` where a stored turn is one item and neighbouring items of the model belong together (Responses)."""
    id: str | None = None
    turns: list[Turn] = field(default_factory=list)
    tools: tuple[Tool, ...] | None = None
    """Declared tools; None when the transcript declares none (an empty tuple: an empty list is declared)."""
    open_tools: bool = False
    """The declarations do not name every tool (MCP servers, toolsets): an unlisted name proves nothing."""
    model: str | None = None
    vendor: str | None = None
    """The name of the target that fields other than the model name prove (an address, an envelope)."""
    sent: bool = False
    """Known to have been sent to a provider as it stands."""
    drops_failed: bool = False
    """The program that keeps it leaves failed turns out when it sends the history again."""
    accepted: bool = False
    """Known to have been taken by the provider it was sent to: what that provider refuses is not in it."""
    sent_turns: int = 0
    """How many leading turns were the request when a response follows in `turns`; 0 when there is no such seam."""
    told: Collection[int] = ()
    """Numbers of the turns that are here for context: counted and told elsewhere."""
    counted: bool = True
    """Counts as a trajectory; not so an excerpt of a conversation that is counted as a whole."""
    hidden: str | None = None
    """Why earlier turns may exist that are not here (`previous_response_id`, …); None when the list is whole."""
    fragment: bool = False
    """A log that begins mid-conversation, or a page with more before it."""
    carrier: Role | None = None
    """The role of the messages that hold results in this format; None where results are no messages."""
    named: bool = False
    """Ids are optional in this format: a result without one answers the first open call of its tool's name."""
    thinking: bool = False
    """The request demands reasoning before each call (manual thinking)."""
    parallel: bool | None = None
    """The request's `parallel_tool_calls` (or its opposite number), when set."""
    unknown: list[Unknown] = field(default_factory=list)
    former: Trajectory | None = None
    """The request before it in the same conversation, where that is known."""
    streamed: bool = False
    """A response that was put together from its events: what it asks for is answered elsewhere."""
    faults: list[StreamFault] = field(default_factory=list)
    """What is wrong with those events."""

    def parts(self) -> Iterator[tuple[Turn, Part]]:
        """Every part with its turn, in order."""
        for turn in self.turns:
            for part in turn.parts:
                yield turn, part


# -------------------------------------------------------------------------------------------------------------------- ledger


Link = Literal["id", "variant", "name", "position", "copy"]
Where = Literal["in", "split", "behind", "late", "early", "role"]
PairState = Literal["paired", "missing", "open", "unjudged"]
AnswerState = Literal["first", "duplicate", "copy", "stale", "orphan", "dropped", "nameless", "mismatched", "unjudged", "server"]


class Answer(Struct, kw_only=True, gc=False):
    """A result, with the call it was found to answer and where it stands."""

    result: Result
    turn: Turn
    state: AnswerState = "orphan"
    pair: Pair | None = None
    link: Link | None = None
    where: Where = "in"
    behind: Part | None = None
    """What stands before it in its message when `where` is `behind`; the intruder that made it late when it is `late`."""
    before: Turn | None = None
    """The nearest turn before it that is the model's, or says something beside results."""
    note: str = ""
    """Which relation an identifier has to the call (`tool name`, `item id`, …) when the link is `variant`."""


class Pair(Struct, kw_only=True, gc=False):
    """A call, with the results that answer it."""

    call: Call
    turn: Turn
    batch: Batch
    answers: list[Answer] = field(default_factory=list)
    state: PairState = "open"
    why: str = ""
    """The reason of a state that is not `paired`: `pending`, `truncated`, `waiting`, `async`, `errored`, `ambiguous`, …"""
    copy_of: Pair | None = None
    """The pair of which this is a verbatim copy (the turn, or the block, was stored again)."""
    same_id: Pair | None = None
    """An earlier pair with the same call id that is not a copy."""

    @property
    def answered(self) -> bool:
        return bool(self.answers)


class Batch(Struct, kw_only=True, gc=False):
    """All calls of one assistant turn, after joining what the target joins."""

    number: int
    turns: list[Turn]
    pairs: list[Pair] = field(default_factory=list)
    last: bool = False
    """Nothing but its answers follows in the trajectory."""
    next_turn: Turn | None = None
    """The first turn after the batch and its answers that makes a missing result too late."""
    copy_of: Batch | None = None


class Ledger(Struct, kw_only=True, gc=False):
    """Everything pairing found out about one trajectory."""

    trajectory: Trajectory
    law: Any
    """The `Law` (see `targets/`) it was judged by."""
    pairs: list[Pair] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    live: list[Turn] = field(default_factory=list)
    """The turns that are judged: all, or those after the last effective compaction."""
    signs: set[str] = field(default_factory=set)
    """What deviates: a rule runs only when one of its signs is here."""
    arguments: Sequence[tuple[Pair, Any]] | None = None
    """How the arguments of the calls stand; None until a rule asks (see `rules/_arguments.py`)."""

    def pair_of(self, call: Call) -> Pair:
        """The pair of a call of this trajectory."""
        return next(pair for pair in self.pairs if pair.call is call)

    def let_go(self) -> None:
        """Part what refers to each other, when all is said: the collector, which looks into none of it, would never free it."""
        for batch in self.batches:
            batch.pairs.clear()
        for answer in self.answers:
            answer.pair = None


# ------------------------------------------------------------------------------------------------------------------ findings


class Related(Struct, frozen=True, gc=False):
    """Another place that a finding speaks of; `label` is a word or two (`call`, `first result`)."""

    label: str
    place: Place


class Cause(Struct, frozen=True, gc=False):
    """The door by which a fault probably came in; an inference, so never of high confidence."""

    name: Literal[
        "retry",
        "partial-failure",
        "first-call-only",
        "persistence",
        "trimming",
        "interruption",
        "translation",
        "streaming",
        "concurrency",
    ]
    confidence: Literal["medium", "low"] = "medium"


class Finding(Struct, kw_only=True, gc=False):
    """What a rule has to say about one place of one trajectory."""

    rule: str
    place: Place
    message: str
    """One sentence to a person: lower case, no full stop, tool names in backticks."""
    help: str
    """The remedy for this instance."""
    variant: str = ""
    """Which line of the target's law speaks of it, when the law tells cases of one rule apart."""
    side: Side | None = None
    confidence: Confidence = "high"
    severity: Severity | None = None
    """Set by a rule only where the instance decides; else the target's law, else the rule's default."""
    cause: Cause | None = None
    turn: int | None = None
    call_id: str | None = None
    tool: str | None = None
    related: tuple[Related, ...] = ()
    root: Place | None = None
    """The place of the finding this one comes from, when several have one root."""
    subject: Call | Result | Turn | None = None
    gap: int | None = None
    """Number of the turn before which something is missing, for drawing."""
