"""Which of the things that a folder or an archive holds are read: the patterns of `--include` and `--exclude`.

Loaded only where there are patterns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pathspec import GitIgnoreSpec

from toolaudit.errors import UsageError
from toolaudit.regex import regex
from toolaudit.text import quote

_BRACE = regex(r"(?<!\\)[{}]")


class Globs:
    """Patterns as in a `.gitignore`, of paths relative to the folder or archive that was named.

    One without a slash fits a name at any depth; what fits a folder fits all that is in it.
    """

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        """Raises UsageError for a text that is no pattern. With no `include`, everything is."""
        self._include = _spec(include) if include else None
        self._exclude = _spec(exclude)

    def enters(self, folder: str) -> bool:
        """Whether something in `folder`, a relative path, may be read."""
        return not self._exclude.match_file(f"{folder}/")

    def takes(self, path: str, *, included: bool = False) -> bool:
        """Whether the file at `path`, relative, is read; `included` when the archive it stands in has been included itself."""
        return (included or self._include is None or self._include.match_file(path)) and not self._exclude.match_file(path)


def _spec(patterns: Sequence[str]) -> GitIgnoreSpec:
    for pattern in patterns:
        if _BRACE.search(pattern):
            raise UsageError(
                f"{quote(pattern)}: braces are no alternatives", "give each pattern: '*.json,*.jsonl'; a brace itself is `\\{`"
            )
    try:
        return GitIgnoreSpec.from_lines([f"\\{pattern}" if pattern.startswith("#") else pattern for pattern in patterns])
    except (ValueError, re.error) as error:
        raise UsageError(
            f"{', '.join(map(quote, patterns))}: not every one of these is a pattern", "write `*.jsonl` or `runs/**`"
        ) from error
