"""The ways a run can fail that are the user's to mend. Only `cli/` turns them into text and exit codes."""

from __future__ import annotations


class ToolauditError(Exception):
    """Something the user can mend; `hint` says how, in one sentence."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(ToolauditError):
    """The command line or an argument of the library is wrong."""


class InputError(ToolauditError):
    """A named input cannot be opened, or holds nothing that can be read."""
