"""What the rules say of themselves, read from the text of their files: none is imported for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_HEADER = re.compile(r"^@rule\((.*?)\)\ndef (\w+)", re.MULTILINE | re.DOTALL)


def read(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The arguments of `@rule(…)` of each rule, by its name. Raises AssertionError for a file that holds no rule of its own name."""
    return {name: _arguments(Path(__file__).parent / f"{name.replace('-', '_')}.py") for name in names}


def _arguments(file: Path) -> dict[str, Any]:
    found = _HEADER.search(file.read_text("utf-8"))
    if found is None or found[2] != file.stem:
        raise AssertionError(f"{file} holds no rule of its own name")
    call = ast.parse(f"rule({found[1]})", mode="eval").body
    assert isinstance(call, ast.Call)
    return {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
