"""Finding transcripts in a value: recognised as it stands, or inside the wrappers that people put round them.

The search goes down mappings and lists, bounded in depth, and stops at whatever a format recognises. A request and a response side by
side in one wrapper are one exchange. What is found says what proved it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from toolaudit import formats, targets
from toolaudit.formats import BARE, Evidence, Format, Message
from toolaudit.formats._elsewhere import elsewhere
from toolaudit.formats._events import is_text, of_text
from toolaudit.formats._exchange import Exchange, exchange
from toolaudit.formats._json import has, mapping, name_of, number, session_key
from toolaudit.model import JSON, Place, Trajectory
from toolaudit.regex import regex

DEPTH = 6
"""How many wrappers deep a transcript is looked for."""

_ANSWERS = frozenset({"response", "output", "completion", "result", "resp", "reply", "answer", "res", "response_body", "outputs"})
_BATCH = {"custom_id": ("body", "params"), "recordId": ("modelInput",), "key": ("request",)}
"""By what a line of a batch is known, and where its request stands: OpenAI, Mistral, Groq and Anthropic; Bedrock; Gemini and Vertex."""
_STATUS = ("status", "status_code", "response", "http_status", "response_status")


def _host(address: str) -> str:
    return address.partition("://")[2].partition("/")[0][:80] or "an address without a host"


def _no(_: JSON) -> bool:
    return False


class Found(Struct, kw_only=True):
    """A value that a format recognised."""

    format: Format
    value: JSON
    place: Place
    evidence: Evidence
    id: str | None = None
    answer: tuple[JSON, Place] | None = None
    """The response that the request `value` got."""
    sent: bool = False
    stream: bool = False
    """The answer came as events, which are not read."""
    accepted: bool = False
    """The provider took it: the exchange was recorded with a status of success."""
    vendor: str | None = None
    """The name of the target that the address of the request proves."""
    also: tuple[str, ...] = ()
    """Other formats that the evidence fits as well."""

    @property
    def is_response(self) -> bool:
        """Whether the value is what a provider answered, as against what it was asked."""
        own = getattr(self.format, "is_response", is_response)
        return bool(own(self.value))

    def read(self) -> Iterator[Trajectory]:
        """The trajectories in it."""
        answer = self.answer
        events = answer if answer is not None and isinstance(answer[0], list) else None
        for trajectory in self.format.read(self.value, self.place, None if events else answer):
            if events is not None:
                _answer(trajectory, *events)
            trajectory.id = self.id or trajectory.id
            trajectory.sent = trajectory.sent or self.sent
            trajectory.vendor = trajectory.vendor or self.vendor
            trajectory.accepted = trajectory.accepted or self.accepted
            yield trajectory


def streamed(events: JSON) -> Format | None:
    """The format of the stream that a list holds the events of."""
    kinds = [form for form in formats.formats() if hasattr(form, "OF")]
    certain = (form for form in kinds if form.recognise(events) is not None)
    return next(certain, None) or next((form for form in kinds if getattr(form, "fits", _no)(events)), None)


def _answer(trajectory: Trajectory, events: JSON, place: Place) -> None:
    """Put what came back as a stream behind the request."""
    trajectory.sent, trajectory.sent_turns = True, len(trajectory.turns)
    form = streamed(events)
    for came in form.read(events, place) if form is not None else ():
        trajectory.turns = number([*trajectory.turns, *came.turns])
        trajectory.faults, trajectory.unknown = came.faults, trajectory.unknown + came.unknown
        return  # further ones are other branches


class Tie(Struct, kw_only=True):
    """A value with tool traffic that two formats claim with equal right."""

    place: Place
    names: tuple[str, ...]


class Loose(Struct, kw_only=True):
    """A record that is one message of a log, and the formats that may read it, the likeliest first."""

    message: Message
    evidence: dict[str, int]


class Other(Struct, kw_only=True):
    """A value that names itself, but not as a format that is read; `what` is a phrase such as `a Gemini conversation`."""

    place: Place
    what: str
    refusal: bool = False
    """A provider's error body: nothing in it could be paired."""


Seen = Found | Tie | Loose | Other


def look(value: JSON, place: Place, only: Format | None = None) -> list[Seen]:
    """Everything that is recognised in `value`; empty when nothing is. `only` forces a format."""
    return Search(only).look(value, place)


class Search:
    """A search for transcripts, by all formats or by the `only` one."""

    def __init__(self, only: Format | None) -> None:
        self.only = only

    def asked(self, value: JSON) -> Iterable[Format]:
        """The formats that are asked whether a value is theirs."""
        return (self.only,) if self.only is not None else formats.likely(value)

    def look(self, value: JSON, place: Place) -> list[Seen]:
        """Everything that is recognised in `value`; empty when nothing is."""
        return list(self.down(value, place, None, DEPTH))

    def down(self, value: JSON, place: Place, name: str | None, depth: int) -> Iterator[Seen]:
        """What `value` is, or what stands in it."""
        if isinstance(value, str) and place.inner is None and place.path and _may_be_json(value):
            value, place = _decoded(value), Place(place.record, place.path, ())
        if not isinstance(value, (dict, list)) or not value:
            return
        if isinstance(value, dict):
            name = session_key(value) or name_of(value) or name
            if self.only is None and (what := elsewhere(value)) is not None:
                yield Other(place=place, what=what)
                return
            if "request" in value and (one := exchange(value, place)) is not None:
                yield from self._exchanged(one, name, depth)
                return
        here = self._recognised(value, place, name)
        if here is not None:
            if isinstance(here, Found) and isinstance(value, dict) and not here.is_response:
                self._answered(here, value)
            yield here
        elif isinstance(value, dict) and (loose := self._loose(value, place)) is not None:
            yield loose
        elif depth > 0:
            found = list(self._inside(value, place, name, depth))
            if not found and isinstance(value, dict) and _is_refusal(value):
                found = [Other(place=place, what="a provider's refusal", refusal=True)]
            yield from found

    def _exchanged(self, one: Exchange, name: str | None, depth: int) -> Iterator[Seen]:
        """The request of an exchange, by the format of the API that its address names, if the body bears that out, else by its shape."""
        request, response = one.request, one.response
        if request is None or request.value is None:
            yield Other(place=Place(0), what="captured traffic with no request to a provider", refusal=True)
            return
        form = next((f for f in self.asked(request.value) if (a := getattr(f, "ADDRESS", None)) and regex(a).search(one.address)), None)
        evidence = form.recognise(request.value) if form is not None else None
        if form is not None and evidence is None and getattr(form, "fits", _no)(request.value):
            evidence = Evidence(BARE, "its address")
        if form is not None and evidence is not None:
            found: Seen | None = Found(format=form, value=request.value, place=request.place, evidence=evidence)
        else:
            found = self._recognised(request.value, request.place, None)
        if not isinstance(found, Found):
            inside = [found] if found is not None else list(self.down(request.value, request.place, name, depth - 1))
            yield from inside or [Other(place=request.place, what=f"traffic to {_host(one.address)}")]
            return
        found.id, found.sent, found.vendor = name, True, targets.vendor_of(one.address)
        found.accepted = one.status is not None and 200 <= one.status < 300
        if response is not None:
            found.stream = response.stream and streamed(response.value) is None
            found.answer = None if found.stream or (one.status or 200) >= 400 else (response.value, response.place)
        yield found

    def _answered(self, request: Found, value: dict[str, JSON]) -> None:
        """Add the response that some loggers store inside the request's own record."""
        for key, child in value.items():
            if key in _ANSWERS and isinstance(child, (dict, str)):
                for one in self.down(child, request.place / key, None, 2):
                    if isinstance(one, Found) and one.is_response:
                        request.answer = (one.value, one.place)
                request.sent = True

    def _recognised(self, value: JSON, place: Place, name: str | None) -> Found | Tie | None:
        claims = [(found, form) for form in self.asked(value) if (found := form.recognise(value)) is not None]
        if not claims:
            return None
        best = max(found.strength for found, _ in claims)
        leaders = [(found, form) for found, form in claims if found.strength == best]
        if len(leaders) > 1 and best > BARE:
            return Tie(place=place, names=tuple(form.NAME for _, form in leaders))
        # plain messages are the same in every format: any reader will do, and there is nothing to pair
        evidence, form = leaders[-1]
        also = tuple(other.NAME for _, other in leaders[:-1])
        return Found(format=form, value=value, place=place, evidence=evidence, id=name, also=also)

    def _loose(self, value: dict[str, JSON], place: Place) -> Loose | None:
        """`value` as one message of a log."""
        evidence = {f.NAME: found.strength for f in self.asked(value) if (found := f.recognise_message(value)) is not None}
        if not evidence:
            return None
        return Loose(message=Message(value, place, session_key(value)), evidence=evidence)

    def _inside(self, value: JSON, place: Place, name: str | None, depth: int) -> Iterator[Seen]:
        children = enumerate(value) if isinstance(value, list) else value.items()
        seen: list[tuple[str | int, Seen]] = []
        for key, child in children:
            for one in self.down(child, place / key, name if isinstance(value, dict) else None, depth - 1):
                seen.append((key, one))  # noqa: PERF401 - a list of two-level results
        if isinstance(value, list):
            yield from (one for _, one in seen)
        else:
            yield from _joined(value, seen)


_BODY = ('"messages"', '"input"', '"role"', '"choices"', '"output"', '"content"')


def _may_be_json(text: str) -> bool:
    """A string that holds a body, or an event stream, as it went over the wire: loggers store them so."""
    if is_text(text):
        return "data: {" in text or "data:{" in text
    return text[:1] in ("{", "[") and len(text) > 16 and any(key in text for key in _BODY)


def _decoded(text: str) -> JSON:
    """The value in a JSON text; None where it is none."""
    import orjson

    if is_text(text):
        return of_text(text)
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _joined(wrapper: dict[str, JSON], seen: list[tuple[str | int, Seen]]) -> Iterator[Seen]:
    """A request and its response in one wrapper are one exchange; a message takes the session of its wrapper."""
    seen = _without_copies(seen)
    answers = [one for key, one in seen if _is_answer(key, one)]
    asked = [one for key, one in seen if isinstance(one, Found) and not _is_answer(key, one) and not one.is_response]
    if len(asked) == 1 and len(answers) <= 1:
        request = asked[0]
        request.sent = request.sent or has(wrapper, *_STATUS) or bool(answers) or _is_sent(wrapper)
        status = next((wrapper[key] for key in _STATUS if isinstance(wrapper.get(key), int)), 0)
        request.accepted = request.accepted or 200 <= status < 300
        if answers and (answer := _answer_value(answers[0])) is not None:
            request.answer = answer
            seen = [(key, one) for key, one in seen if one is not answers[0]]
    key = session_key(wrapper)
    for _, one in seen:
        if isinstance(one, Loose) and one.message.key is None and key is not None:
            one.message = Message(one.message.value, one.message.place, key)
        yield one


def _is_sent(wrapper: dict[str, JSON]) -> bool:
    """Whether a wrapper is a line of a batch, of any provider, or of a log that tells requests from responses."""
    if wrapper.get("type") == "request" or wrapper.get("event") == "request":
        return True
    return any(key in wrapper and has(wrapper, *bodies) for key, bodies in _BATCH.items())


def _without_copies(seen: list[tuple[str | int, Seen]]) -> list[tuple[str | int, Seen]]:
    """What loggers keep as text beside a body that is stored as it is, is a copy of it (canonical, or as it went over the wire)."""

    def asks(one: Seen, *, as_text: bool) -> bool:
        return isinstance(one, Found) and not one.is_response and (one.place.inner is not None) is as_text

    plain = any(asks(one, as_text=False) for _, one in seen)
    return [(key, one) for key, one in seen if not (plain and asks(one, as_text=True))]


def _is_answer(key: str | int, one: Seen) -> bool:
    if isinstance(one, Found) and one.is_response:
        return True
    return str(key).lower() in _ANSWERS


def _answer_value(one: Seen) -> tuple[JSON, Place] | None:
    if isinstance(one, Found):
        return one.value, one.place
    return (one.message.value, one.message.place) if isinstance(one, Loose) else None


def _is_refusal(value: dict[str, JSON]) -> bool:
    if mapping(value.get("result")).get("type") in ("errored", "canceled", "expired"):
        return True  # a line of a batch that came to nothing
    return isinstance(value.get("error"), dict) and "message" in value["error"] and value.get("type", "error") == "error"


def is_response(value: JSON) -> bool:
    """A response names itself, whatever its format; what offers choices and asks nothing is one as well."""
    found = mapping(value)
    if isinstance(found.get("choices"), list) and not has(found, "messages", "input"):
        return True
    if found.get("object") in ("response", "chat.completion", "text_completion"):
        return True
    return found.get("type") == "message" and "stop_reason" in found
