"""The guard to call inside an agent loop, before a request is sent."""

from __future__ import annotations

from typing import Any

from toolaudit.errors import InputError, UsageError
from toolaudit.model import JSON


def assert_paired(messages: Any, *, target: str | None = None) -> None:
    """Raise `FindingsError` unless `messages` (a message list or a request body) is paired and may be sent as it stands.

    The list is judged as about to be sent: a call without a result is missing even at its end. Message objects of the providers'
    libraries are taken as well as dicts. Raises `InputError` for what is no transcript, and `UsageError` for objects of other kinds.
    """
    from toolaudit.engine import Options, audit

    report = audit(plain(messages), Options(target=target, sent=True))
    if not report.summary.trajectories:
        raise InputError(report.incomplete[0] if report.incomplete else "nothing to check", "pass a message list or a request body")
    report.raise_for_findings()


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
