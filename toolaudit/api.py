"""The guard to call inside an agent loop, before a request is sent."""

from __future__ import annotations

from typing import Any

from toolaudit.errors import InputError


def assert_paired(messages: Any, *, target: str | None = None) -> None:
    """Raise `FindingsError` unless `messages` (a message list or a request body) is paired and may be sent as it stands.

    The list is judged as about to be sent: a call without a result is missing even at its end. Message objects of the providers'
    libraries are taken as well as dicts. Raises `InputError` for what is no transcript, and `UsageError` for objects of other kinds.
    """
    from toolaudit.engine import Options, audit

    report = audit(messages, Options(target=target, sent=True))
    if not report.summary.trajectories:
        raise InputError(report.incomplete[0] if report.incomplete else "nothing to check", "pass a message list or a request body")
    report.raise_for_findings()
