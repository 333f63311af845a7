"""Audits the transcripts that tool-calling models leave behind.

`audit` reads a file, or a decoded message list, and returns a `Report`; `assert_paired` is the guard to call before a request is
sent. Everything is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolaudit._version import __version__

if TYPE_CHECKING:
    from toolaudit.api import assert_paired
    from toolaudit.engine import Options, audit
    from toolaudit.errors import InputError, ToolauditError, UsageError
    from toolaudit.model import Severity, Trajectory
    from toolaudit.report import Entry as Finding
    from toolaudit.report import FindingsError, Report

_HOMES = {
    "assert_paired": "api",
    "audit": "engine",
    "Options": "engine",
    "Finding": "report:Entry",
    "FindingsError": "report",
    "Report": "report",
    "Severity": "model",
    "Trajectory": "model",
    "InputError": "errors",
    "ToolauditError": "errors",
    "UsageError": "errors",
}

__all__ = [
    "Finding",
    "FindingsError",
    "InputError",
    "Options",
    "Report",
    "Severity",
    "ToolauditError",
    "Trajectory",
    "UsageError",
    "__version__",
    "assert_paired",
    "audit",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home, _, other = _HOMES[name].partition(":")
    return getattr(import_module(f"{__name__}.{home}"), other or name)
