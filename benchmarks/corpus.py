"""Makes the inputs of the benchmarks: seeded, so that a kind and a size always give the same bytes.

`python -m benchmarks.corpus conversations 100 out.jsonl` writes 100 MB of conversations, one a line, three formats in turn.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from benchmarks.conversations import FORMATS, SETS, Conversations, Shape, declared

BLOCKS = Shape(calls=(1,), said=(500, 5000), arguments=(500, 2000), results=(500, 5000))
LONG = Shape(exchanges=(20, 300), results=(100, 2500))
SMALL = Shape(exchanges=(1, 3), results=(100, 2500))
TINY = Shape(exchanges=(1, 1), calls=(1,), said=(60, 200), arguments=(40, 100), results=(100, 400), faults=0)
PAGE = Shape(exchanges=(1, 1), calls=(2,), said=(150, 200), arguments=(40, 100), results=(300, 500), faults=0)


# --------------------------------------------------------------------------------------------------------------- JSON Lines


def conversations(megabytes: float, seed: int = 1, *, checked: bool = True) -> Iterator[bytes]:
    """One conversation a line, the three formats in turn, every other line with each non-ASCII character escaped.

    Unless `checked`, the declared tools ask for nothing, and all else is the same.
    """
    source = Conversations(seed)
    return _until(megabytes, (_line(source.body(FORMATS[n % 3], checked=checked), escaped=n % 2 == 1) for n in itertools.count()))


def messages(megabytes: float, seed: int = 1) -> Iterator[bytes]:
    """One Chat message a line; up to four conversations at a time, told apart by `session_id`."""
    source = Conversations(seed)
    return _until(megabytes, _interleaved(source, lambda: _messages(source)))


def _messages(source: Conversations) -> Iterator[bytes]:
    session = _session(source)
    return (_line({"session_id": session, **message}) for message in source.make("openai-chat")["messages"])


def blocks(megabytes: float, seed: int = 1) -> Iterator[bytes]:
    """One content block of Messages a line (0.5 to 5 kB); the blocks of one assistant message share its `id`.

    The calls are made one at a time: so the conversations are whole whether or not a reader joins the results of a batch.
    """
    source = Conversations(seed, BLOCKS)
    return _until(megabytes, _interleaved(source, lambda: _blocks(source)))


def _blocks(source: Conversations) -> Iterator[bytes]:
    session = _session(source)
    for message in source.make("anthropic-messages")["messages"]:
        role, content = message["role"], message["content"]
        shared = {"id": f"msg_{source.rng.getrandbits(96):024x}"} if role == "assistant" else {}
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            yield _line({"session_id": session, **shared, "role": role, "content": [block]})


def _session(source: Conversations) -> str:
    return f"session-{source.rng.getrandbits(64):016x}"


def snapshots(megabytes: float, seed: int = 1) -> Iterator[bytes]:
    """Requests that each repeat the whole history, of conversations of up to 300 requests, up to four at a time; three formats."""
    source, number = Conversations(seed, LONG), itertools.count()
    return _until(megabytes, _interleaved(source, lambda: _requests(source, next(number))))


def _requests(source: Conversations, number: int) -> Iterator[bytes]:
    """The requests of one conversation; clients write the tools before the history, or after it."""
    body = source.body(FORMATS[number % 3])
    key = "messages" if "messages" in body else "input"
    items, tools = body.pop(key), body.pop("tools")
    encoded = [orjson.dumps(item) for item in items]
    rest, before = orjson.dumps(body)[1:-1], number % 2
    declared = b'"tools":' + orjson.dumps(tools)
    head = b"{" + rest + (b"," + declared if before else b"") + b',"%s":[' % key.encode()
    tail = b"]}\n" if before else b"]," + declared + b"}\n"
    for end in range(1, len(items)):
        if _is_of_model(items[end]) and not _is_of_model(items[end - 1]):
            yield head + b",".join(encoded[:end]) + tail


def _is_of_model(item: dict[str, Any]) -> bool:
    return item.get("role") == "assistant" or item.get("type") == "function_call"


def _interleaved(source: Conversations, make: Callable[[], Iterator[bytes]]) -> Iterator[bytes]:
    """The lines of conversations without end: for a while one after another, then two or four at a time."""
    while True:
        lanes = [make() for _ in range(source.rng.choice((1, 1, 2, 4)))]
        while lanes:
            lane = source.rng.choice(lanes)
            if (line := next(lane, None)) is None:
                lanes.remove(lane)
            else:
                yield line


def small(lines: int, shape: Shape, seed: int = 1) -> Iterator[bytes]:
    """So many small conversations of Chat, one a line, which declare no tools."""
    source = Conversations(seed, shape)
    return (_line(source.make("openai-chat")) for _ in range(lines))


# ---------------------------------------------------------------------------------------------------- documents and folders


def conversation(megabytes: float, seed: int = 1) -> Iterator[bytes]:
    """One document on one line that is one conversation of Chat."""
    source, form = Conversations(seed), "openai-chat"
    endless = (orjson.dumps(message) for _ in itertools.count() for message in source.make(form, SETS[0])["messages"])
    yield orjson.dumps({"model": "gpt-4.1-mini", "tools": declared(form, 0)})[:-1] + b',"messages":['
    yield from _separated(_until(megabytes, endless), b",")
    yield b"]}"


def listing(megabytes: float, seed: int = 1) -> Iterator[bytes]:
    """One document that is a list of conversations, the three formats in turn, indented and in ASCII as `json.dump` leaves it."""
    source = Conversations(seed)
    endless = (json.dumps(source.body(FORMATS[n % 3]), indent=2).encode() for n in itertools.count())
    yield b"[\n"
    yield from _separated(_until(megabytes, endless), b",\n")
    yield b"\n]\n"


def page(shape: Shape, seed: int = 1) -> Iterator[bytes]:
    """One request of Chat, of about 2 kB, with one declared tool."""
    form, names = "openai-chat", SETS[0][:1]
    body = Conversations(seed, shape).make(form, names)
    yield orjson.dumps({"model": body.pop("model"), "tools": declared(form, 0)[:1], **body})


def files(count: int, folder: Path, seed: int = 1) -> None:
    """So many small documents (0.5 to 20 kB) in folders two deep, a conversation each, the three formats in turn."""
    source = Conversations(seed, SMALL)
    for number in range(count):
        path = folder / f"run-{number % 20:02}" / f"day-{number // 20 % 20:02}" / f"{number:05}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(orjson.dumps(source.make(FORMATS[number % 3])))


def lists(megabytes: float, folder: Path, seed: int = 1) -> None:
    """Message lists of Chat, a file each, one in ten with a fault: what every peer says that it reads."""
    source = Conversations(seed, Shape(faults=0.1))
    endless = (orjson.dumps(source.make("openai-chat")["messages"]) for _ in itertools.count())
    for number, data in enumerate(_until(megabytes, endless)):
        (folder / f"{number:05}.json").write_bytes(data)


def _separated(values: Iterable[bytes], separator: bytes) -> Iterator[bytes]:
    for number, value in enumerate(values):
        yield separator + value if number else value


def _until(megabytes: float, values: Iterable[bytes]) -> Iterator[bytes]:
    written = 0.0
    for value in values:
        yield value
        written += len(value)
        if written >= megabytes * 1e6:
            return


def _line(value: dict[str, Any], *, escaped: bool = False) -> bytes:
    return (json.dumps(value).encode() if escaped else orjson.dumps(value)) + b"\n"


# ------------------------------------------------------------------------------------------------------------------- inputs

Stream = Callable[[float], Iterable[bytes]]
STREAMS: dict[str, tuple[str, Stream]] = {
    "conversations": (".jsonl", conversations),
    "unchecked": (".jsonl", functools.partial(conversations, checked=False)),
    "messages": (".jsonl", messages),
    "blocks": (".jsonl", blocks),
    "snapshots": (".jsonl", snapshots),
    "conversation": (".json", conversation),
    "list": (".json", listing),
    "page": (".json", lambda _: page(PAGE)),
    "broken-page": (".json", lambda _: page(replace(PAGE, faults=1))),
    "healthy": (".jsonl", lambda size: small(int(size), TINY)),
    "broken": (".jsonl", lambda size: small(int(size), replace(TINY, faults=1))),
}
"""The files by the name of their kind: how a name ends, and what writes one of a size."""
FOLDERS: dict[str, Callable[[float, Path], None]] = {"files": lambda size, folder: files(int(size), folder), "lists": lists}
COUNTED = frozenset({"files", "page", "broken-page", "healthy", "broken"})
"""The kinds whose size is a number of conversations, never fewer than one; that of all others is in megabytes."""


@dataclass(frozen=True, slots=True)
class Corpora:
    """Makes inputs, each once: `folder` may keep them for the next run. `scale` is the share of every size that is made."""

    folder: Path
    scale: float = 1.0

    def path(self, kind: str, size: float) -> Path:
        """The file or folder of a kind and size."""
        scaled = max(size * self.scale, 1.0) if kind in COUNTED else size * self.scale
        suffix = STREAMS[kind][0] if kind in STREAMS else ""
        path = self.folder / _edition() / f"{kind}-{scaled:g}{suffix}"
        if not path.exists():
            draft = path.with_name(f"draft-{path.name}")
            self._make(kind, scaled, draft)
            draft.rename(path)
        return path

    def packed(self, kind: str, size: float, name: str, pack: Callable[[Path, Path], None]) -> Path:
        """The same, compressed by `pack` into a file whose name ends in `name`."""
        plain = self.path(kind, size)
        path = plain.with_name(plain.name + name)
        if not path.exists():
            draft = path.with_name(f"draft-{path.name}")
            pack(plain, draft)
            draft.rename(path)
        return path

    def _make(self, kind: str, size: float, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind in FOLDERS:
            path.mkdir(exist_ok=True)
            FOLDERS[kind](size, path)
        else:
            with path.open("wb") as file:
                file.writelines(STREAMS[kind][1](size))


@functools.cache
def _edition() -> str:
    """A name that changes with the code that makes the inputs, so that none is kept that it would not make."""
    code = b"".join(Path(__file__).with_name(name).read_bytes() for name in ("conversations.py", "corpus.py"))
    return hashlib.sha256(code).hexdigest()[:12]


def gzipped(plain: Path, packed: Path) -> None:
    """Compress a file as `gzip` does by default."""
    with plain.open("rb") as source, gzip.open(packed, "wb", compresslevel=6) as file:
        file.writelines(iter(lambda: source.read(1 << 20), b""))


def main(kind: str, size: str, path: str) -> None:
    """Write an input of a kind and size."""
    with Path(path).open("wb") as file:
        file.writelines(STREAMS[kind][1](float(size)))


if __name__ == "__main__":
    main(*sys.argv[1:4])
