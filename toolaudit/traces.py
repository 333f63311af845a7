"""What the text of a result gives away: a secret, a failure, a repairer's placeholder. The one place for that vocabulary.

Pure functions over short windows of text, cheap enough for every result of gigabytes of logs: each first looks for a few literals and
only then uses a regular expression. Every expression takes linear time on hostile text: what could start inside its own match is kept
from doing so by a look-behind, and every other repetition is bounded.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from toolaudit.hints import LONGEST_PLACEHOLDER, SENTENCE, WINDOW, may_report_failure
from toolaudit.model import JSON, Confidence
from toolaudit.regex import regex

Failure = Literal["timeout", "cancelled", "interrupted", "unknown", "error"]


class Secret(Struct, frozen=True, gc=False):
    """A credential that was found. The credential itself is not kept."""

    what: str
    """What it is, with its article: `a GitHub token`."""
    masked: str
    """Its first four characters and its length."""
    confidence: Confidence


# ------------------------------------------------------------------------------------------------------------------- windows


def windows(body: JSON, deep: bool = False) -> tuple[str, ...]:
    """Head and tail of every text in a result's body; the whole of a short one, and of every one when `deep`."""
    if isinstance(body, str):
        return _ends(body, deep)
    return tuple(window for text in _texts(body) for window in _ends(text, deep))


def _ends(text: str, deep: bool) -> tuple[str, ...]:
    return (text,) if deep or len(text) <= 2 * WINDOW else (text[:WINDOW], text[-WINDOW:])


def _texts(body: JSON, depth: int = 3) -> Iterator[str]:
    """Strings, the texts of parts, and the strings of a structured output; what stands under `error` begins with that word."""
    if isinstance(body, str):
        yield body
    elif isinstance(body, list) and depth:
        for part in body:
            yield from _texts(part, depth - 1)
    elif isinstance(body, dict) and depth:
        for key, value in body.items():
            if key not in _NO_PROSE:
                yield from (f"Error: {text}" if key == "error" else text for text in _texts(value, depth - 1))


_NO_PROSE = frozenset({"type", "source", "image_url", "data", "id", "cache_control"})
"""Keys of a part that hold no text of the tool; pictures among them."""


# ------------------------------------------------------------------------------------------------------------------- secrets


def secret(text: str) -> Secret | None:
    """The first credential in `text` that is no placeholder and no example."""
    if "@" in text and "://" in text and (found := _address(text)):
        return found
    for sign, keys in _KEYS.items():
        if sign in text and (found := _key(text, keys)):
            return found
    if "-----B" in text and (block := _BLOCK.search(text)):
        return Secret("a private key", _masked(block[0]), "high")
    if "eyJ" in text and (token := _JWT.search(text)) and _JOHN_DOE not in token[0]:
        return Secret("a JSON web token", _masked(token[0]), "medium")
    return None


def _key(text: str, keys: tuple[Known, ...]) -> Secret | None:
    for marker, what, pattern in keys:
        if marker in text:
            for match in pattern.finditer(text):
                if confidence := _sureness(match[0], match[1]):
                    return Secret(what, _masked(match[0]), confidence)
    return None


_FREE = r"(?<![A-Za-z0-9_-])"
Known: TypeAlias = tuple[str, str, re.Pattern[str]]


def _known(marker: str, what: str, pattern: str) -> Known:
    return marker, what, regex(_FREE + pattern + r"(?![A-Za-z0-9])")


_KEYS: dict[str, tuple[Known, ...]] = {
    "_": (
        _known("ghp_", "a GitHub token", r"ghp_([A-Za-z0-9]{36,255})"),
        _known("gho_", "a GitHub token", r"gho_([A-Za-z0-9]{36,255})"),
        _known("ghs_", "a GitHub token", r"ghs_([A-Za-z0-9]{36,255})"),
        _known("github_pat_", "a GitHub token", r"github_pat_([A-Za-z0-9_]{50,255})"),
        _known("_live_", "a Stripe key", r"[sr]k_live_([A-Za-z0-9]{16,255})"),
        _known("npm_", "an npm token", r"npm_([A-Za-z0-9]{36})"),
    ),
    "k-": (_known("sk-", "an API key", r"sk-(?:ant-[a-z0-9]{2,12}-|proj-|svcacct-|admin-|or-v1-)?([A-Za-z0-9_-]{20,255})"),),
    "xox": (_known("xox", "a Slack token", r"xox[baprs]-([A-Za-z0-9-]{20,255})"),),
    "IA": (
        _known("AKIA", "an AWS access key", r"AKIA([A-Z0-9]{16})"),
        _known("ASIA", "an AWS session key", r"ASIA([A-Z0-9]{16})"),
    ),
    "AIz": (_known("AIza", "a Google API key", r"AIza([A-Za-z0-9_-]{35})"),),
}
"""Keys by two or three characters that are rare in prose and cheap to look for: marker, what it is, what it looks like."""
_BLOCK = regex(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY-----(?:\s|\\[nr]){1,4}[A-Za-z0-9+/=]{20}")
_JWT = regex(_FREE + r"eyJ[A-Za-z0-9_-]{8,4096}\.eyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{16,1024}")
_JOHN_DOE = "IkpvaG4gRG9lI"
"""The example that every page about such tokens shows."""
_ADDRESS = regex(
    r"""(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}://([^\s:/@"'<>`]{0,64}):([^\s:/@"'<>`]{1,128})@(\[|[A-Za-z0-9.-]{1,253})"""
)


def _address(text: str) -> Secret | None:
    """The first address with a user's real password in it."""
    for match in _ADDRESS.finditer(text):
        user, password, host = match[1], match[2], match[3].casefold()
        if not _is_stand_in(user, password) and not _is_example(host, password):
            return Secret("an address with a password", _masked(match[0]), "medium")
    return None


_STAND_INS = frozenset(
    re.findall(
        r"\S+",
        """password passwd passwort pass passphrase pwd pw secret token key apikey api_key changeme change_me changeit example sample
    dummy fake foo bar baz user username admin root guest test testing postgres mysql mongo mongodb redis rabbitmq minio default
    redacted masked hidden removed none null undefined mypassword mypass my_password yourpassword your_password your-password
    my-secret-pw supersecret x-oauth-basic""",
    )
)
_NO_PASSWORD = regex(r"[${}<>*\[\]()…]|%[({sv]|\.\.\.|redacted|example|x{3}|\A\d{1,5}\Z", re.IGNORECASE)


def _is_stand_in(user: str, password: str) -> bool:
    """A word that stands where a password would, a variable, a mask, or a port."""
    plain = password.casefold()
    return plain in _STAND_INS or plain == user.casefold() or len(set(plain)) == 1 or _NO_PASSWORD.search(password) is not None


def _is_example(host: str, password: str) -> bool:
    if host in ("host", "hostname", "localhost", "127.0.0.1"):
        return len(password) < 8 or password.isalpha()
    return host.endswith((".example", ".test", ".invalid")) or host.startswith("example.") or ".example." in host


_MADE_UP = regex(r"example|placeholder|redacted|your|dummy|fake|test|x{4}|0{6}|1234567|abcdef|\.\.\.", re.IGNORECASE)


def _sureness(whole: str, body: str) -> Confidence | None:
    """How surely a well-formed key is a real one; None for examples, masks and words."""
    if _MADE_UP.search(whole) or not any(c.isdigit() for c in body) or not any(c.isalpha() for c in body):
        return None
    bits = _entropy(body)
    return None if bits < 2.7 else "high" if bits >= 3.2 else "medium"


def _entropy(text: str) -> float:
    """Bits per character, by how often each occurs."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


def _masked(text: str) -> str:
    return f"{text[:4]}… ({len(text)} characters)"


# ------------------------------------------------------------------------------------------------------------------ failures


def failure(text: str) -> Failure | None:
    """What went wrong, when the head of a result unmistakably reports that something did; None otherwise.

    `timeout`, `cancelled`, `interrupted` and `unknown` leave open whether the tool did its work; `error` does not.
    """
    if may_report_failure(text[:SENTENCE].lower()):
        return _failure(text[:WINDOW].strip().lower())
    return None


def _failure(head: str) -> Failure | None:
    return _outcome(head) if _REPORT.match(head) else _outcome_of_sentence(head)


_REPORT = regex(
    r"""(?:[\s\[(*<#!>-]{0,3}(?:fatal\s)?error[\])*>!\s]{0,2}(?::|\sexecuting|\scalling|\srunning|\soccurred)
    |\{\s*"(?:error|errors|exception)"\s*:(?!\s*(?:null|false|""|\[\]|\{\}|0))
    |traceback\s\(most\srecent
    |[a-z][\w.]{0,60}(?:error|exception)\s?(?::|\(['"])                                           # TimeoutError: …
    |exception\b\W{0,2}[:(]
    |(?:the\s)?(?:command|tool|request|call|execution)\s(?:execution\s|call\s)?failed
    |failed\sto\s
    |(?:[a-z]{1,20}\s){0,3}(?:timed\sout|timeout(?!\s?=|:\s?\d))
    |(?:the\s)?(?:command|tool|request|call|execution|operation)\s(?:was\s)?(?:cancell?ed|aborted|interrupted))""",
    re.VERBOSE,
)
_TIMEOUT = regex(r"time[d ]?-?\s?out(?!\s?[=\"']|:\s?\d)|timeout(?:error|exception)|deadline.{0,3}exceeded")
_UNKNOWN = regex(
    r"connection.{0,12}(?:reset|closed|lost|aborted|dropped|terminated)|econnreset|epipe|broken pipe|socket hang up|hung up"
    r"|(?:outcome|status|result) (?:is )?(?:unknown|uncertain)|remote end closed|bad gateway|gateway timeout|no response"
)
_CANCELLED = regex(r"cancell?ed|\baborted|abort(?:error|ed)")
_INTERRUPTED = regex(r"\binterrupted|interrupt(?:error|ed)")


def _outcome(head: str) -> Failure:
    if _TIMEOUT.search(head):
        return "timeout"
    if _UNKNOWN.search(head):
        return "unknown"
    if _CANCELLED.search(head):
        return "cancelled"
    return "interrupted" if _INTERRUPTED.search(head) else "error"


_DENIAL = regex(r"\b(?:no|not|never|without|none|0|if|when|before|until)\b|[{}=|]")


def _outcome_of_sentence(head: str) -> Failure | None:
    """A short result that says in other words that the outcome is open."""
    if len(head) > SENTENCE or "\n" in head.rstrip() or _DENIAL.search(head):
        return None
    outcome = _outcome(head)
    told = outcome in ("timeout", "unknown") or (outcome != "error" and _OF_A_CALL.search(head))
    return outcome if told else None


_OF_A_CALL = regex(r"tool|command|request|call\b|execution|operation|process|by (?:the )?user|^\W{0,2}[a-z]{1,12}\W{0,2}$")
"""What was cancelled is the call, not (say) an order."""


# -------------------------------------------------------------------------------------------------------------- placeholders


_PLACEHOLDERS = (
    "result was lost due to context management",  # gemini-cli
    "synthetic error result for transcript repair",  # OpenClaw
    "tool execution was interrupted before completion",  # Roo and its kin
    "tool call interrupted before completion",  # OpenHands
    "tool result missing due to internal error",  # coding agents, when a log is resumed
    "tool result unavailable",  # llumiverse
    "tool result not available",
    "tool result not found in history",
    "no result provided",  # pi
    "no tool result available",
    "tool execution was cancelled.",  # turnstone
)


def placeholder(text: str) -> bool:
    """Whether `text` is what repairers of transcripts put in place of a result.

    `aborted` is none (agents write it when a call really was), nor are the fixed texts for skipped actions of a toolset.
    """
    if len(text) > LONGEST_PLACEHOLDER or ("esult" not in text and "ool" not in text):
        return False
    plain = text.casefold()
    return any(mark in plain for mark in _PLACEHOLDERS)
