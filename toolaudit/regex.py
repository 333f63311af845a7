"""Regular expressions that are compiled when they are first used.

A run uses few of the patterns in the modules it imports; compiling them all would take longer than auditing a small file.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Uncompiled:
    """Stands for a compiled pattern: what is asked of it is taken from that, and kept, so that the next use finds it at once."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self.pattern, self.flags), name)
        setattr(self, name, found)
        return found


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` answers, but compiled later: an error in `pattern` shows only when it is used."""
    return cast("re.Pattern[AnyStr]", _Uncompiled(pattern, flags))
