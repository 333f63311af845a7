"""The JSON Schemas that toolaudit publishes: of what leaves the program, and (`formats/…`) of the messages that enter it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from toolaudit.errors import UsageError
from toolaudit.text import quote

_SUFFIX = ".schema.json"


def names() -> list[str]:
    """The names of the published schemas, sorted: `formats/openai-chat`, `report-v1`, …"""
    return sorted(name for name, _ in _published(_folder()))


def schema(name: str) -> bytes:
    """The text of the schema called `name`; the folder may be left out (`openai-chat` for `formats/openai-chat`)."""
    for known, file in _published(_folder()):
        if name in (known, known.rpartition("/")[2]):
            return file.read_bytes()
    raise UsageError(f"there is no schema called {quote(name)}", f"the schemas are {', '.join(names())}")


def _folder() -> Traversable:
    """In an installed package the schemas lie inside it, in a checkout beside it."""
    inside = files("toolaudit") / "_schemas"
    return inside if inside.is_dir() else Path(__file__).parent.parent / "schemas"


def _published(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir() if folder.is_dir() else ():
        if entry.is_dir():
            yield from _published(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(_SUFFIX):
            yield prefix + entry.name.removesuffix(_SUFFIX), entry
