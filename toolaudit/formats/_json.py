"""What every reader needs at the border, where a value may be of any type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from toolaudit.errors import UsageError
from toolaudit.formats import MEDIUM, STRONG, Evidence
from toolaudit.model import JSON, Tool, Turn

SENTINELS = frozenset({"", "null", "None", "none", "undefined", "nil", "NULL"})
"""Strings that stand for an id that is not there."""


def tokens_of(usage: JSON) -> int:
    """How many tokens a message is said to have, beside those of reasoning; 0 when nothing says so."""
    if not isinstance(usage, dict):
        return 0
    count = usage.get("completion_tokens", usage.get("output_tokens"))
    details = mapping(usage.get("completion_tokens_details")) or mapping(usage.get("output_tokens_details"))
    thought = details.get("reasoning_tokens")
    return count - (thought if isinstance(thought, int) else 0) if isinstance(count, int) else 0


def key_of(value: JSON) -> str | None:
    """An id as a string; None for one that is absent, empty or a sentinel. Numbers are ids too."""
    if isinstance(value, str):
        return None if value.strip() in SENTINELS else value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def text_or_none(value: JSON) -> str | None:
    """`value` if it is a string."""
    return value if isinstance(value, str) else None


def mapping(value: JSON) -> dict[str, JSON]:
    """`value` if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: JSON) -> list[JSON]:
    """`value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def kind_of(value: JSON) -> str | None:
    """The `type` of a part or an item, where it is a string."""
    return text_or_none(value.get("type")) if isinstance(value, dict) else None


def kinds_of(content: JSON) -> set[str | None]:
    """The types of the parts of a content list; empty for content that is no list."""
    return {kind_of(part) for part in content} if isinstance(content, list) else set()


def flag_of(value: JSON) -> bool | None:
    """`value` if it is a boolean."""
    return value if isinstance(value, bool) else None


def has(value: dict[str, JSON], *keys: str) -> bool:
    """Any of `keys` is there and not null: SDK dumps pad with nulls."""
    for key in keys:  # noqa: SIM110 - asked of every message, and a loop answers in half the time
        if value.get(key) is not None:
            return True
    return False


def text_of(body: JSON) -> str:
    """The prose of a result's or message's content: a string, or the texts of its parts joined by newlines."""
    if isinstance(body, str):
        return body
    if isinstance(body, list):
        return "\n".join(text for part in body if (text := _part_text(part)))
    return _part_text(body)


def _part_text(part: JSON) -> str:
    if isinstance(part, str):
        return part
    text = mapping(part).get("text")
    return text if isinstance(text, str) else ""


def number(turns: Iterable[Turn]) -> list[Turn]:
    """The turns, numbered from 1 in their order."""
    numbered = list(turns)
    for index, turn in enumerate(numbered):
        turn.index, turn.number = index, index + 1
    return numbered


class Excerpt(list[JSON]):
    """Some of the messages of a list, which keep the indexes that they have there."""

    def __init__(self, messages: Iterable[JSON], indexes: Sequence[int]) -> None:
        super().__init__(messages)
        self.indexes = indexes


def indexed(messages: list[JSON]) -> Iterable[tuple[int, JSON]]:
    """The messages of a list, or of an excerpt of one, with their indexes in that list."""
    return zip(messages.indexes, messages, strict=True) if isinstance(messages, Excerpt) else enumerate(messages)


def declared(tools: JSON, schema_key: str) -> list[Tool]:
    """Tools given as a flat list of `{name, SCHEMA_KEY}` mappings; others are passed over."""
    found = []
    for tool in sequence(tools):
        name = mapping(tool).get("name")
        if isinstance(name, str):
            found.append(Tool(name=name, schema=tool.get(schema_key), output=tool.get("output_schema"), strict=tool.get("strict") is True))
    return found


def strongest(values: list[JSON], recognise: Callable[[JSON], Evidence | None]) -> Evidence | None:
    """The strongest evidence in a list, and of equal ones the first. An element that is not recognised is borne where others prove what
    the list is. No message proves more than `STRONG`: where one does, the others are not asked.
    """
    best, strange = None, False
    for value in values:
        found = recognise(value)
        if found is None:
            strange = True
        elif best is None or found.strength > best.strength:
            best = found
            if found.strength >= STRONG:
                return best
    return None if best is None or (strange and best.strength < MEDIUM) else best


def session_key(value: dict[str, JSON]) -> str | None:
    """The conversation a record says it belongs to, by the names that logs give it."""
    for key in ("session_id", "sessionId", "conversation_id", "conversationId", "thread_id", "threadId", "trace_id", "traceId"):
        found = value.get(key)
        if isinstance(found, (str, int)) and not isinstance(found, bool) and found != "":
            return str(found)
    return None


def name_of(value: dict[str, JSON]) -> str | None:
    """What a record calls itself: its batch id, session or id."""
    for key in ("custom_id", "id", "run_id", "request_id", "uuid"):
        found = value.get(key)
        if isinstance(found, (str, int)) and not isinstance(found, bool) and found != "":
            return str(found)
    return None


def plain(value: Any, depth: int = 64) -> JSON:
    """`value` with message objects and tuples turned into dicts and lists. Raises `UsageError` for anything that JSON has not."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if depth == 0:
        raise UsageError("the messages are nested too deeply")
    if isinstance(value, dict):
        return {str(key): plain(child, depth - 1) for key, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(child, depth - 1) for child in value]
    dump = getattr(value, "model_dump", None) or getattr(value, "to_dict", None)
    if dump is None:
        raise UsageError(f"a {type(value).__name__} is no message", "pass dicts, lists, or the message objects of a provider's library")
    return plain(dump(), depth - 1)
