"""The guard to call inside an agent loop, before a request is sent."""

from __future__ import annotations

from toolaudit.model import JSON


def assert_paired(messages: JSON, *, target: str | None = None) -> None:
    """Raise `FindingsError` unless `messages` (a message list or a request body) is paired and may be sent as it stands.

    The list is judged as about to be sent: a call without a result is missing even at its end.
    """
    from toolaudit.engine import Options, audit

    audit(messages, Options(target=target, sent=True)).raise_for_findings()
