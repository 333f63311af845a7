"""A small agent loop with doors for every known breakage: what it sends, and what it gets, as a capture would have recorded it.

The loop keeps a history in words of its own, `user`, `assistant` and `results`; a door changes what is kept of it, or what is sent.
Three formats write it down.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

JSON = Any


@dataclass(frozen=True)
class Call:
    id: str
    name: str
    args: tuple[tuple[str, JSON], ...]


@dataclass(frozen=True)
class Message:
    role: str
    text: str = ""
    calls: tuple[Call, ...] = ()
    results: tuple[tuple[str, str], ...] = ()


History = list[Message]


def user(text: str) -> Message:
    return Message("user", text)


# ------------------------------------------------------------------------------------------------------------------- formats


def chat(message: Message) -> list[JSON]:
    if message.role == "results":
        return [{"role": "tool", "tool_call_id": key, "content": text} for key, text in message.results]
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(dict(call.args))}}
        for call in message.calls
    ]
    return [{"role": message.role, "content": message.text or None} | ({"tool_calls": calls} if calls else {})]


def blocks(message: Message) -> list[JSON]:
    text = [{"type": "text", "text": message.text}] if message.text else []
    calls = [{"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.args)} for call in message.calls]
    results = [{"type": "tool_result", "tool_use_id": key, "content": text} for key, text in message.results]
    return [{"role": "assistant" if message.role == "assistant" else "user", "content": [*results, *text, *calls]}]


def items(message: Message) -> list[JSON]:
    kind = "output_text" if message.role == "assistant" else "input_text"
    role = "assistant" if message.role == "assistant" else "user"
    text = [{"type": "message", "role": role, "content": [{"type": kind, "text": message.text}]}] if message.text else []
    calls = [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": json.dumps(dict(call.args))} for call in message.calls
    ]
    return [*text, *calls, *({"type": "function_call_output", "call_id": key, "output": text} for key, text in message.results)]


@dataclass(frozen=True)
class Form:
    url: str
    prefix: str
    write: Callable[[Message], list[JSON]]
    key: str
    answer: Callable[[list[JSON], bool], JSON]


FORMS = {
    "openai-chat": Form(
        "https://api.openai.com/v1/chat/completions",
        "call_",
        chat,
        "messages",
        lambda made, calls: {
            "object": "chat.completion",
            "choices": [{"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": made[0]}],
        },
    ),
    "anthropic-messages": Form(
        "https://api.anthropic.com/v1/messages",
        "toolu_",
        blocks,
        "messages",
        lambda made, calls: {"id": "msg_1", "type": "message", "model": "m", **made[0], "stop_reason": "tool_use" if calls else "end_turn"},
    ),
    "openai-responses": Form(
        "https://api.openai.com/v1/responses",
        "call_",
        items,
        "input",
        lambda made, _: {"object": "response", "id": "resp_1", "status": "completed", "output": made},
    ),
}


# ---------------------------------------------------------------------------------------------------------------------- loop


@dataclass
class Loop:
    """An agent at work. `kept` changes what is stored of a step; `sent` what of the history is sent."""

    form: Form
    rng: random.Random
    kept: Callable[[Loop, Message, Message], History] = lambda _, turn, results: [turn, results]
    sent: Callable[[Loop, History], History] = lambda _, history: history
    name: str = "a"
    history: History = field(default_factory=list)
    exchanges: list[JSON] = field(default_factory=list)
    step: int = 0
    began: dict[int, int] = field(default_factory=dict)
    """The index of the first exchange behind each step, by the number of the next."""
    widths: tuple[int, ...] = (1, 2, 3)

    def key(self) -> str:
        return self.form.prefix + "".join(self.rng.choices("abcdefghijkmnpqrstuvwxyz23456789", k=20))

    def turn(self) -> Message:
        """What the model answers: some calls, of different tools or of different arguments."""
        tools = self.rng.choices(("get_tide", "find_port", "read_log"), k=self.rng.choice(self.widths))
        calls = tuple(Call(self.key(), tool, (("at", f"{self.name}{self.step}.{number}"),)) for number, tool in enumerate(tools))
        return Message("assistant", self.rng.choice(("", f"Looking at {self.name} {self.step}.")), calls)

    def run(self, steps: int = 6) -> list[JSON]:
        """Work for so many steps, with a word of the user's now and then; the exchanges so far."""
        self.history.append(user(f"What about {self.name}?"))
        for _ in range(steps):
            turn = self.turn()
            self.exchange(turn)
            results = Message("results", results=tuple((call.id, f"{call.name} says {self.rng.randint(1, 10**6)}") for call in turn.calls))
            self.history += self.kept(self, turn, results)
            self.step += 1
            self.began[self.step] = len(self.exchanges)
            if self.rng.random() < 0.3:
                said = Message("assistant", f"So far so good, {self.name} {self.step}.")
                self.exchange(said)
                self.history += [said, user(f"Go on with {self.name} {self.step}.")]
        self.exchange(Message("assistant", "Done."))
        return self.exchanges

    def exchange(self, answer: Message) -> None:
        body = {"model": "m", self.form.key: [part for message in self.sent(self, self.history) for part in self.form.write(message)]}
        response = {"status": 200, "body": self.form.answer(self.form.write(answer), bool(answer.calls))}
        self.exchanges.append({"request": {"url": self.form.url, "body": body}, "response": response})


# --------------------------------------------------------------------------------------------------------------------- doors

AT = 2
"""The step in which a door stands open."""


def at(door: Callable[[Loop, Message, Message], History]) -> Callable[[Loop, Message, Message], History]:
    return lambda loop, turn, results: door(loop, turn, results) if loop.step == AT else [turn, results]


@at
def appended_again(_: Loop, turn: Message, results: Message) -> History:
    """A retry ran the whole append again."""
    return [turn, results, turn, results]


@at
def results_again(_: Loop, turn: Message, results: Message) -> History:
    """A retry ran the append of the results again."""
    return [turn, replace(results, results=(*results.results, *results.results))]


@at
def one_failed(_: Loop, turn: Message, results: Message) -> History:
    """One of the tools raised, and its result was never appended."""
    gone = len(results.results) // 2
    return [turn, replace(results, results=tuple(one for index, one in enumerate(results.results) if index != gone))]


@at
def first_only(_: Loop, turn: Message, results: Message) -> History:
    """Only `tool_calls[0]` was run."""
    return [turn, replace(results, results=results.results[:1])]


@at
def text_only(_: Loop, turn: Message, results: Message) -> History:
    """The turn was stored as its text."""
    return [replace(turn, text=turn.text or "Looking.", calls=()), results]


@at
def turn_lost(_: Loop, __: Message, results: Message) -> History:
    """The turn was not stored."""
    return [results]


@at
def other_arguments(_: Loop, turn: Message, results: Message) -> History:
    """A translation layer rewrote the arguments of a call."""
    first, *rest = turn.calls
    return [replace(turn, calls=(replace(first, args=(("at", "elsewhere"),)), *rest)), results]


@at
def other_ids(loop: Loop, turn: Message, results: Message) -> History:
    """A translation layer made up ids of its own, for call and result alike."""
    made = {call.id: loop.key() for call in turn.calls}
    return [
        replace(turn, calls=tuple(replace(call, id=made[call.id]) for call in turn.calls)),
        replace(results, results=tuple((made[key], text) for key, text in results.results)),
    ]


@at
def call_dropped(_: Loop, turn: Message, results: Message) -> History:
    """A layer that knows of one call a turn stored the first and its result."""
    return [replace(turn, calls=turn.calls[:1]), replace(results, results=results.results[:1])]


def restarted(loop: Loop, history: History) -> History:
    """A worker that was restarted begins from a checkpoint that lies between a turn and its results."""
    return history if loop.step != AT + 1 else [*history[:-1]] if history[-1].role == "results" else history


def delivered_twice(loop: Loop, turn: Message, results: Message) -> History:
    """The queue delivered a result a second time, a step later."""
    if loop.step != AT + 1:
        return [turn, results]
    late = next(message for message in reversed(loop.history) if message.role == "results")
    return [turn, replace(results, results=(*results.results, late.results[0]))]


def trimmed(policy: str) -> Callable[[Loop, History], History]:
    """A history that is cut from a step on."""

    def sent(loop: Loop, history: History) -> History:
        if loop.step <= AT:
            return history
        calls = [index for index, message in enumerate(history[:-2]) if message.calls]
        cut = calls[0]
        if policy == "head":
            return history[cut + 1 :]
        if policy == "summary":
            return [user("So far: tides were asked for."), *history[cut + 1 :]]
        if policy == "evicted":
            return [*history[: cut + 1], *history[cut + 2 :]]
        if policy == "cleared":
            return [*history[:cut], replace(history[cut], calls=(), text="(cleared)"), *history[cut + 1 :]]
        raise AssertionError(policy)

    return sent


def safe_cuts(loop: Loop, history: History) -> History:
    """A history that is cut where no call waits, and pairs that are taken out whole."""
    if loop.step <= AT:
        return history
    calls = [index for index, message in enumerate(history[:-2]) if message.calls]
    return [history[0], *history[calls[-1] + 2 :]] if calls else history


def sessions(form: str, seed: object, count: int = 1, **doors: Any) -> Iterator[Loop]:
    """Loops that have run."""
    for number in range(count):
        rng = random.Random(f"{form}{seed}{number}")
        loop = Loop(FORMS[form], rng, name=f"harbour {seed}.{number}", **doors)
        loop.run(rng.randint(4, 7))
        yield loop


def interleaved(loops: list[list[JSON]], rng: random.Random) -> list[JSON]:
    """The exchanges of several loops, as one proxy sees them."""
    rest = [list(one) for one in loops]
    mixed = []
    while any(rest):
        mixed.append(rng.choice([one for one in rest if one]).pop(0))
    return mixed
