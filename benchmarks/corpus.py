"""Makes the inputs of the measurements: seeded, so that a size and a kind always give the same bytes.

`python -m benchmarks.corpus conversations 100 out.jsonl` writes 100 MB of conversations, one a line, three formats in turn.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

from toolaudit import formats
from toolaudit.model import Call, Place, Result, Text, Tool, Trajectory, Turn

FORMATS = ("anthropic-messages", "openai-chat", "openai-responses")
NOWHERE = Place(0)
TOOLS = {
    "read_file": ("path", "lines"),
    "list_folder": ("path", "depth"),
    "search_text": ("pattern", "folder"),
    "run_tests": ("target", "timeout"),
    "get_weather": ("city", "unit"),
    "query_table": ("sql", "limit"),
}


class Words:
    """Prose from a pool of lines made once: quick to draw, and never all the same."""

    def __init__(self, rng: random.Random) -> None:
        letters = "etaoinshrdlucmfwypvbgkjqxz"
        words = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(4000)]
        self.rng = rng
        self.lines = [" ".join(rng.choices(words, k=rng.randint(5, 14))) for _ in range(40_000)]
        self.lines += [f"{line} é ü 日本 “{line[:9]}”" for line in self.lines[:2000]]

    def text(self, size: int) -> str:
        """About `size` characters in lines."""
        count = max(1, size // 60)
        start = self.rng.randrange(len(self.lines))
        drawn = [self.lines[(start + i * 7919) % len(self.lines)] for i in range(count)]
        return "\n".join(drawn)


def tools() -> tuple[Tool, ...]:
    """The declared tools of every conversation."""
    return tuple(Tool(name=name, schema=_schema(keys)) for name, keys in TOOLS.items())


def _schema(keys: tuple[str, str]) -> dict[str, Any]:
    first, second = keys
    return {
        "type": "object",
        "properties": {first: {"type": "string", "description": "what to look at"}, second: {"type": "integer", "minimum": 0}},
        "required": [first],
        "additionalProperties": False,
    }


class Conversations:
    """Well-formed conversations of 20 to 60 messages; a share of them (`faults`) lacks one result."""

    def __init__(self, seed: int = 1, faults: float = 0.01) -> None:
        self.rng = random.Random(seed)
        self.words = Words(self.rng)
        self.faults = faults
        self.count = 0

    def make(self, prefix: str = "call") -> Trajectory:
        """The next conversation."""
        self.count += 1
        turns: list[Turn] = [self._turn("user", [Text(place=NOWHERE, text=self.words.text(300))])]
        for _ in range(self.rng.randint(8, 22)):
            turns += self._exchange(prefix)
        turns.append(self._turn("assistant", [Text(place=NOWHERE, text=self.words.text(400))]))
        if self.rng.random() < self.faults:
            answers = [turn for turn in turns if turn.role == "tool"]
            self.rng.choice(answers).parts.pop()
            turns = [turn for turn in turns if turn.parts]
        return Trajectory(place=NOWHERE, format="", turns=turns, tools=tools())

    def _exchange(self, prefix: str) -> list[Turn]:
        calls = [self._call(prefix) for _ in range(self.rng.choice((1, 1, 1, 2, 3)))]
        said = [Text(place=NOWHERE, text=self.words.text(120))] if self.rng.random() < 0.5 else []
        results = [Result(place=NOWHERE, ref=call.id, body=self.words.text(self._size())) for call in calls]
        self.rng.shuffle(results)
        return [self._turn("assistant", [*said, *calls]), self._turn("tool", list(results))]

    def _size(self) -> int:
        return int(200 * 100 ** self.rng.random())  # 0.2 to 20 kB, every order of magnitude alike

    def _call(self, prefix: str) -> Call:
        name = self.rng.choice(list(TOOLS))
        first, second = TOOLS[name]
        args = {first: self.words.text(60), second: self.rng.randint(0, 99)}
        return Call(place=NOWHERE, id=f"{prefix}_{self.rng.getrandbits(96):024x}", name=name, args=args)

    def _turn(self, role: Any, parts: list[Any]) -> Turn:
        return Turn(place=NOWHERE, number=0, role=role, raw_role=role, parts=parts)


def conversations(megabytes: float, seed: int = 1) -> Iterator[bytes]:
    """One conversation a line, the three formats in turn, half of the lines with every non-ASCII character escaped."""
    import json

    source, written, number = Conversations(seed), 0, 0
    while written < megabytes * 1e6:
        form = FORMATS[number % 3]
        body = formats.format(form).write(source.make("toolu" if form == FORMATS[0] else "call"))
        line = json.dumps(body).encode() if number % 2 else orjson.dumps(body)
        yield line + b"\n"
        written, number = written + len(line) + 1, number + 1


def messages(megabytes: float, seed: int = 1) -> Iterator[bytes]:
    """One Chat message a line, of conversations told apart by `session_id`."""
    source, written = Conversations(seed), 0
    while written < megabytes * 1e6:
        session = f"session-{source.count}"
        for message in formats.format("openai-chat").write(source.make())["messages"]:
            line = orjson.dumps({"session_id": session, **message})
            yield line + b"\n"
            written += len(line) + 1


KINDS: dict[str, Callable[[float, int], Iterator[bytes]]] = {"conversations": conversations, "messages": messages}


def main(kind: str, megabytes: str, path: str) -> None:
    """Write an input of a kind and size."""
    with Path(path).open("wb") as file:
        for line in KINDS[kind](float(megabytes), 1):
            file.write(line)


if __name__ == "__main__":
    main(*sys.argv[1:4])
