"""What the inputs of the benchmarks are made of: words, declared tools, conversations; drawn from a seed, and never the same twice."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import orjson

from toolaudit import formats
from toolaudit.model import Call, Part, Place, Result, Role, Text, Trajectory, Turn

FORMATS = ("anthropic-messages", "openai-chat", "openai-responses")
NOWHERE = Place(0)


# -------------------------------------------------------------------------------------------------------------------- words


class Words:
    """Prose without end: pairs of words are drawn afresh from 65,536, common words more often, so that a compressor finds in it about what
    it finds in prose."""

    def __init__(self, rng: random.Random) -> None:
        self._pool, self._rng = _pairs(), rng
        self._mean = sum(map(len, self._pool)) / len(self._pool)

    def text(self, size: int) -> str:
        """About `size` characters in lines."""
        count = max(1, round(size / self._mean))
        drawn = memoryview(self._rng.randbytes(2 * count)).cast("H")  # 16 bits a pair: far quicker than `choices`
        return "".join(itemgetter(*drawn)(self._pool))


@functools.cache
def _pairs() -> list[str]:
    """The pool: a few words are paths, numbers or quoted, and one pair in a hundred is not ASCII."""
    rng, letters = random.Random(0), "etaoinshrdlucmfwypvbgkjqxz"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(8000)]
    words += [f"{word}_{rng.randrange(1000)}.py" for word in words[:400]] + [str(rng.randrange(10**6)) for _ in range(400)]
    words += [f"“{word}” é" for word in words[:60]] + ["日本", "größer", '"quoted"'] * 20
    rng.shuffle(words)
    ranked = rng.choices(words, [1 / (rank + 2) for rank in range(len(words))], k=1 << 17)
    ends = rng.choices((" ", ", ", ". ", "\n"), (80, 6, 6, 8), k=1 << 17)
    ended = list(map("".join, zip(ranked, ends, strict=True)))
    return list(map("".join, zip(ended[::2], ended[1::2], strict=True)))


# -------------------------------------------------------------------------------------------------------------------- tools

NAMES = [f"{verb}_{noun}" for verb in ("read", "list", "search", "check", "query", "fetch") for noun in ("file", "folder", "table", "page")]
SETS = [random.Random(number).sample(NAMES, 8) for number in range(12)]
"""The names of the tools that conversations declare together."""


def declared(form: str, number: int, *, checked: bool = True) -> list[dict[str, Any]]:
    """The tools of set `number` as a format declares them; unchecked, their schemas ask for nothing, and their size is the same."""
    return [_declaration(form, name, 40 + 30 * number % 160, checked=checked) for name in SETS[number]]


def _declaration(form: str, name: str, length: int, *, checked: bool) -> dict[str, Any]:
    said = (f"Use this to {name.replace('_', ' a ')}, whenever what is there matters to the answer. " * 12)[:length]
    full = _declare(form, name, said, _schema(said))
    if checked:
        return full
    missing = len(orjson.dumps(full)) - len(orjson.dumps(_declare(form, name, said, {})))
    return _declare(form, name, said + (said * 40)[:missing], {})


def _declare(form: str, name: str, said: str, schema: dict[str, Any]) -> dict[str, Any]:
    if form == "anthropic-messages":
        return {"name": name, "description": said, "input_schema": schema}
    function = {"name": name, "description": said, "parameters": schema}
    return {"type": "function", "function": function} if form == "openai-chat" else {"type": "function", **function}


def _schema(said: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "target": {"type": "string", "minLength": 1, "description": said},
            "limit": {"type": "integer", "minimum": 0, "maximum": 1000},
            "mode": {"type": "string", "enum": ["brief", "full", "raw"]},
            "fields": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["target", "limit"],
        "additionalProperties": False,
    }


# ------------------------------------------------------------------------------------------------------------ conversations

USUAL = 15
"""Exchanges in a conversation of the usual length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The measures of the conversations of an input: from, to. Sizes are in characters; each order of magnitude is alike likely."""

    exchanges: tuple[int, int] = (9, 22)
    calls: tuple[int, ...] = (1, 1, 1, 2, 3)
    said: tuple[int, int] = (60, 400)
    arguments: tuple[int, int] = (40, 400)
    results: tuple[int, int] = (200, 20_000)
    faults: float = 0.01
    """The share of conversations of the usual length that lack one result."""


class Conversations:
    """Well-formed conversations, but for a share that lacks one result."""

    def __init__(self, seed: int = 1, shape: Shape | None = None) -> None:
        self.rng = random.Random(seed)
        self.words = Words(self.rng)
        self.shape = shape or Shape()

    def make(self, form: str, names: Sequence[str] = NAMES) -> dict[str, Any]:
        """The next conversation as a request body that declares no tools; its calls are of the tools `names`."""
        prefix = "toolu" if form == "anthropic-messages" else "call"
        turns = [self._turn("user", [self._text()])]
        exchanges = self.rng.randint(*self.shape.exchanges)
        faulty = self._faulty(exchanges)
        for number in range(exchanges):
            turns += self._exchange(prefix, names, faulty=number == faulty)
        turns.append(self._turn("assistant", [self._text()]))
        written: dict[str, Any] = formats.format(form).write(Trajectory(place=NOWHERE, format="", turns=[t for t in turns if t.parts]))
        return written

    def body(self, form: str, *, checked: bool = True) -> dict[str, Any]:
        """The next conversation as a request body with declared tools."""
        number = self.rng.randrange(len(SETS))
        body = self.make(form, SETS[number])
        return {"model": body.pop("model"), "tools": declared(form, number, checked=checked), **body}

    def _faulty(self, exchanges: int) -> int:
        """The number of the exchange that loses a result, -1 for none; a long conversation is the likelier to lose one."""
        drawn, where = self.rng.random(), self.rng.randrange(exchanges)
        return where if drawn < self.shape.faults * max(1, exchanges / USUAL) else -1

    def _exchange(self, prefix: str, names: Sequence[str], *, faulty: bool) -> list[Turn]:
        calls = [self._call(prefix, names) for _ in range(self.rng.choice(self.shape.calls))]
        said = [self._text()] if self.rng.random() < 0.5 else []
        results = [Result(place=NOWHERE, ref=call.id, body=self.words.text(self._size(self.shape.results))) for call in calls]
        self.rng.shuffle(results)
        return [self._turn("assistant", [*said, *calls]), self._turn("tool", [*results[faulty:]])]

    def _size(self, measure: tuple[int, int]) -> int:
        least, most = measure
        return int(least * (most / least) ** self.rng.random())

    def _text(self) -> Text:
        return Text(place=NOWHERE, text=self.words.text(self._size(self.shape.said)))

    def _call(self, prefix: str, names: Sequence[str]) -> Call:
        args: dict[str, Any] = {"target": self.words.text(self._size(self.shape.arguments)), "limit": self.rng.randrange(1000)}
        if self.rng.random() < 0.5:
            args["mode"] = self.rng.choice(("brief", "full", "raw"))
            args["fields"] = self.words.text(30).split()
        return Call(place=NOWHERE, id=f"{prefix}_{self.rng.getrandbits(96):024x}", name=self.rng.choice(names), args=args)

    def _turn(self, role: Role, parts: list[Part]) -> Turn:
        return Turn(place=NOWHERE, number=0, role=role, raw_role=role, parts=parts)
