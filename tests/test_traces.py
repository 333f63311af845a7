"""The vocabulary of secrets, failures and placeholders: what it knows, what it leaves alone, and that no text can slow it down."""

from __future__ import annotations

import random
import string

import pytest

from toolaudit.traces import WINDOW, failure, placeholder, secret, windows

_RANDOM = random.Random(7)


def _key(length: int, letters: str = string.ascii_letters + string.digits) -> str:
    return "7a" + "".join(_RANDOM.choice(letters) for _ in range(length - 2))


# ------------------------------------------------------------------------------------------------------------------- windows


def test_windows_of_text() -> None:
    assert windows("short") == ("short",)
    long = "a" * 1000 + "b" * 1000
    assert windows(long) == ("a" * WINDOW, "b" * WINDOW)
    assert windows(long, deep=True) == (long,)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (None, ()),
        (12, ()),
        ([], ()),
        (["one", {"type": "text", "text": "two"}], ("one", "two")),
        ([{"type": "image", "source": {"type": "base64", "data": "AKIA"}}], ()),
        ({"output": "fine"}, ("fine",)),
        ({"error": "boom"}, ("Error: boom",)),
        ({"error": {"message": "boom", "code": 7}}, ("Error: boom",)),
    ],
)
def test_windows_of_parts(body: object, expected: tuple[str, ...]) -> None:
    assert windows(body) == expected


def test_windows_of_a_deep_body() -> None:
    body: object = "far down"
    for _ in range(5000):
        body = [body]
    assert windows(body) == ()


# ------------------------------------------------------------------------------------------------------------------- secrets


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f"key AKIA{_key(16, 'ABCDEFGHJKLMNPQRSTUVWXYZ234567').upper()} found", "an AWS access key"),
        (f"ghp_{_key(36)}", "a GitHub token"),
        (f"token=ghs_{_key(36)};", "a GitHub token"),
        (f"github_pat_{_key(60)}", "a GitHub token"),
        (f'"sk-proj-{_key(40)}"', "an API key"),
        (f"sk-ant-api03-{_key(60)}", "an API key"),
        (f"xoxb-{_key(30, string.digits + 'abcdef')}", "a Slack token"),
        (f"AIza{_key(35)}", "a Google API key"),
        (f"sk_live_{_key(24)}", "a Stripe key"),
        (f"npm_{_key(36)}", "an npm token"),
        (f"eyJ{_key(20)}.eyJ{_key(40)}.{_key(43)}", "a JSON web token"),
        (f"-----BEGIN OPENSSH PRIVATE KEY-----\n{_key(64)}", "a private key"),
        (f"-----BEGIN PRIVATE KEY-----\\n{_key(64)}", "a private key"),
        ("cannot connect to postgres://ledger:hunter2@db.internal/prod", "an address with a password"),
        ("mongodb+srv://app:Zk3-pl9@cluster0.mongodb.net/x", "an address with a password"),
        ("redis://:S3cr3t9x@cache:6379/0", "an address with a password"),
    ],
)
def test_secret(text: str, what: str) -> None:
    found = secret(text)
    assert found is not None
    assert found.what == what


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AKIAIOSFODNN7EXAMPLE",
        "sk-...",
        "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "sk-your-key-goes-here-123456",
        "sk-fading-circle-of-the-loading-spinner",
        "ghp_" + "x" * 36,
        "ghp_" + "a1" * 18,
        "-----BEGIN PRIVATE KEY----- is the first line of such a file",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9",
        "https://user:pass@localhost/",
        "postgres://user:password@db/x",
        "postgres://user:***@db/x",
        "postgres://user:<password>@db/x",
        "postgres://user:${PASSWORD}@db/x",
        "postgres://user:xxxx@db/x",
        "postgres://postgres:postgres@db/x",
        "postgres://app:s3cr3t99@db.example.com/x",
        "http://localhost:8080/path@2",
        "git@github.com:owner/name.git and https://github.com",
        "scheme://host:5432@",
    ],
)
def test_no_secret(text: str) -> None:
    assert secret(text) is None


def test_a_secret_is_masked() -> None:
    token = f"ghp_{_key(36)}"
    found = secret(f"your token is {token}.")
    assert found is not None
    assert found.masked == "ghp_… (40 characters)"
    assert token[4:] not in repr(found)
    assert found.confidence == "high"


def test_an_example_does_not_hide_a_secret_behind_it() -> None:
    found = secret(f"AKIAIOSFODNN7EXAMPLE ghp_{'x' * 36} ghp_{_key(36)}")
    assert found is not None
    assert found.what == "a GitHub token"


# ------------------------------------------------------------------------------------------------------------------ failures


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("error: read timeout after 30s", "timeout"),
        ("The email tool timed out after 30 seconds.", "timeout"),
        ("Command timed out after 2m 0s", "timeout"),
        ("TimeoutError", "timeout"),
        ("asyncio.exceptions.TimeoutError: ", "timeout"),
        ("Error: 504 Gateway Timeout", "timeout"),
        ("context deadline exceeded", "timeout"),
        ("[Request interrupted by user for tool use]", "interrupted"),
        ("aborted", "cancelled"),
        ("The operation was cancelled", "cancelled"),
        ("ConnectionResetError: [Errno 104] Connection reset by peer", "unknown"),
        ("socket hang up", "unknown"),
        ("Error: no such file", "error"),
        ("  [ERROR]: boom", "error"),
        ("**Error:** boom", "error"),
        ('{"error": "boom"}', "error"),
        ('{"error": {"message": "boom"}}', "error"),
        ("Traceback (most recent call last):\n  File", "error"),
        ("ValueError: not a number", "error"),
        ("Command failed with exit code 1", "error"),
        ("Failed to open the gate", "error"),
    ],
)
def test_failure(text: str, outcome: str) -> None:
    assert failure(text) == outcome


@pytest.mark.parametrize(
    "text",
    [
        "",
        "4 C, rain",
        '{"error": null, "city": "Oslo"}',
        '{"error": "", "city": "Oslo"}',
        '{"errors": []}',
        "errors: 0",
        "12 passed, 0 timed out",
        "timeout = 30",
        "timeout: 30",
        "error_count: 3",
        "Error handling in Python: a guide",
        "this.showError(`failed`)",
        "def on_error(self): pass",
        "Your order was cancelled",
        "The shop closed at five",
        "it was said that no request timed out",
        "A page about what to do when a connection is lost, with many words so that it is no report any more " * 3,
    ],
)
def test_no_failure(text: str) -> None:
    assert failure(text) is None


# -------------------------------------------------------------------------------------------------------------- placeholders


@pytest.mark.parametrize(
    "text",
    [
        "No result provided",
        "[openclaw] missing tool result in session history; inserted synthetic error result for transcript repair.",
        "The tool execution result was lost due to context management truncation.",
        "Tool execution was interrupted before completion.",
        "[Tool result missing due to internal error]",
    ],
)
def test_placeholder(text: str) -> None:
    assert placeholder(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "aborted",
        "Not executed: an earlier action in this turn failed.",
        "no results found",
        "a long report in which somebody says: no result provided" + " and more" * 40,
    ],
)
def test_no_placeholder(text: str) -> None:
    assert not placeholder(text)


# ------------------------------------------------------------------------------------------------------------------- hostile


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "://",
        "a://b:c@",
        "a://",
        "eyJ",
        "eyJaaaaaaaa.eyJaaaaaaaa.",
        "sk-",
        "sk-a1 ",
        "xoxb-",
        "-----BEGIN A ",
        "AKIA",
        "ghp_ _live_ ",
        "://@",
        *("error ", "a+.-@://", " ", "timed out a ", "\ud800", "{", '{"error":'),
    ],
)
def test_no_text_is_slow(unit: str) -> None:
    """A megabyte: an expression that is not linear would not come back."""
    text = unit * (1_000_000 // len(unit))
    for part in (text, text + "error", "a://" + text + ":@", "-----BEGIN " + text):
        secret(part)
        failure(part)
        placeholder(part)
        placeholder(part[:200])
