"""The guard to call inside an agent loop, before a request is sent."""

from __future__ import annotations

from typing import Any

from toolaudit.errors import InputError, UsageError
from toolaudit.model import Severity


def assert_paired(messages: Any, *, target: str | None = None, severity: Severity = Severity.ERROR) -> None:
    """Raise `FindingsError` unless `messages` (a message list or a request body) is paired and may be sent as it stands.

    The list is judged as about to be sent: a call without a result is missing even at its end. Only what the target refuses counts,
    unless a lower `severity` is asked for. Message objects of the providers' libraries and tuples are taken as well as dicts and lists.
    Raises `InputError` for what is no transcript, and `UsageError` for what JSON cannot hold.
    """
    from toolaudit.engine import Options, audit

    if isinstance(messages, (str, bytes)):
        raise UsageError("a text is no message list", "decode it first: `json.loads`; to audit a file, call `audit`")
    report = audit(messages, Options(target=target, sent=True))
    if not report.summary.trajectories:
        raise InputError("no transcript is recognised in what was given", "pass a message list or a request body")
    report.raise_for_findings(severity)
