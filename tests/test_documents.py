"""A large document is told of as if it had been read as a whole, and takes no memory that grows with it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest
from conversations import FORMATS
from test_excerpts import CASES, KEYS, _broken, healthy, long_one

from toolaudit import documents
from toolaudit.engine import Audit, Options
from toolaudit.reading import Reading

SHARED = Path(__file__).parent / "cases"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every document is a large one, of many windows."""
    monkeypatch.setattr("toolaudit.reading.LARGE", 1)
    monkeypatch.setattr("toolaudit.sources.records.LARGE", 1)
    monkeypatch.setattr("toolaudit.sources.pieces.WINDOW", 700)


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each document, whether it was taken piece by piece."""
    found: list[bool] = []

    def watched(reading: Reading, text: Any, taken: Any = documents.taken) -> Any:
        group = taken(reading, text)
        found.append(group is not None)
        return group

    monkeypatch.setattr("toolaudit.documents.taken", watched)
    return found


def told(path: Path, *, quick: bool, options: Options | None = None) -> Any:
    audit = Audit(options or Options(scenes=True))
    audit.__dict__["quick"] = quick
    audit.paths([str(path)])
    return msgspec.to_builtins(audit.report)


def same(path: Path, data: bytes) -> Any:
    """The report on a document, which must be the same to the last word as that on the whole of it."""
    path.write_bytes(data)
    short = told(path, quick=True)
    assert short == told(path, quick=False)
    return short


STYLES: dict[str, Callable[[Any], bytes]] = {
    "compact": orjson.dumps,
    "spaced": lambda value: json.dumps(value).encode(),
    "indented": lambda value: b"\n \n" + json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n\n",
    "tabs": lambda value: json.dumps(value, indent="\t").replace("\n", "\r\n").encode(),
    "flat": lambda value: json.dumps(value, indent=0).encode(),
    "marked": lambda value: b"\xef\xbb\xbf" + orjson.dumps(value),
}
each_style = pytest.mark.parametrize("style", STYLES)
each_form = pytest.mark.parametrize("form", FORMATS)


def wrapped(form: str, messages: list[Any], rng: random.Random) -> Any:
    """A document with one conversation, in one of the shapes that there are."""
    key, tools = KEYS[form], [{"type": "function", "name": "f", "function": {"name": "f"}}]
    body = {"model": "x", key: messages}
    return rng.choice(
        [
            body,
            messages,
            {key: messages, "model": "x", "temperature": 0.5},
            {"meta": {"a": [1, {"b": "é"}]}, "request": body, "n": 1},
            {"a": {"b": {"request": body}}},
            {key: messages, "tools": tools if rng.random() < 0.2 else None},
        ]
    )


@each_style
@pytest.mark.parametrize("seed", range(12))
@each_form
def test_one_conversation(form: str, seed: int, style: str, tmp_path: Path) -> None:
    rng = random.Random(f"{form}{seed}{style}")
    same(tmp_path / "x.json", STYLES[style](wrapped(form, long_one(form, seed), rng)))


def anything(rng: random.Random) -> Any:
    """An element of a list: a conversation in order or not, bare or in a body, or something else."""
    form = rng.choice(FORMATS)
    key = KEYS[form]
    kind = rng.random()
    if kind < 0.5:
        messages = healthy(rng.choice((1, 2, 9)), form, f"p{rng.randrange(30)}_")
        return wrapped(form, messages, rng)
    if kind < 0.75:
        messages = healthy(rng.choice((0, 3)), form, f"q{rng.randrange(30)}_") + list(rng.choice(_broken(key)))
        return wrapped(form, messages, rng)
    if kind < 0.8:
        return wrapped(form, long_one(form, rng.randrange(60)), rng)
    if kind < 0.97:
        case = rng.choice(CASES)
        return case["transcript"] if isinstance(case["transcript"], dict | list) else {}
    return rng.choice([{}, [], 1, None, "text", {"error": {"message": "no"}}, {"contents": [{"parts": []}]}, {"messages": "é"}])


@each_style
@pytest.mark.parametrize("seed", range(40))
def test_a_list_of_conversations(seed: int, style: str, tmp_path: Path) -> None:
    rng = random.Random(f"{seed}{style}")
    same(tmp_path / "x.json", STYLES[style]([anything(rng) for _ in range(rng.choice((2, 12, 30)))]))
