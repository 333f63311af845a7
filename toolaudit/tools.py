"""Tool declarations from a file of their own: a list in any provider's shape, or a body that holds one as `tools`."""

from __future__ import annotations

from toolaudit.errors import InputError
from toolaudit.formats._json import declared, mapping, sequence
from toolaudit.model import JSON, Tool
from toolaudit.sources.records import NotJSON, decode

_SCHEMAS = ("input_schema", "parameters", "inputSchema")
_HINT = "it holds a JSON list of tools as a provider takes them, or a request body with `tools`"


def declarations(data: bytes, name: str) -> tuple[Tool, ...]:
    """The tools that `data`, the content of the file `name`, declares. Raises InputError where it declares none."""
    try:
        value = decode(data.removeprefix(b"\xef\xbb\xbf"))
    except NotJSON as error:
        raise InputError(f"{name}: it is not JSON: {error.reason}", _HINT) from error
    found = [tool for one in _listed(value) for tool in _tool(one)]
    if not found:
        raise InputError(f"{name}: it declares no tools", _HINT)
    return tuple(found)


def _listed(value: JSON) -> list[JSON]:
    body = mapping(value)
    return sequence(value) or [*sequence(body.get("tools")), *sequence(body.get("functions"))]


def _tool(value: JSON) -> list[Tool]:
    outer = mapping(value)
    inner = mapping(outer.get("function")) or mapping(outer.get("custom")) or outer
    return declared([inner], next((key for key in _SCHEMAS if key in inner), "parameters"))
