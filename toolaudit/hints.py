"""The first tests of text, by a few literals: whether it may hold tool traffic, a secret, a failure or a placeholder at all.

They are put to every text of gigabytes of logs, so they are cheap and know nothing more: whoever hears yes asks `prose` or `traces`,
which are imported only then.
"""

from __future__ import annotations

import re

from toolaudit.regex import regex

WINDOW = 256
"""How many characters of the beginning and of the end of a result are looked at."""
SENTENCE = 120
"""Within so many characters a report of a failure says so; a result of at most this length that is one line says one thing."""
LONGEST_PLACEHOLDER = 240


def may_report_failure(head: str) -> bool:
    """Whether the head of a result, in lower case, may report that something went wrong."""
    return (
        "rror" in head
        or "fail" in head
        or "time" in head
        or "cancel" in head
        or "xcept" in head
        or "trace" in head
        or "abort" in head
        or "rrupt" in head
        or "socket" in head
        or "connection" in head
        or "deadline" in head
    )


def quiet(text: str) -> bool:
    """Nothing in the ends of `text` hints at a secret, a failure or a placeholder: the shortest way past the questions of `traces`."""
    return is_plain(text) and not may_report_failure(text[:SENTENCE].lower())


def is_plain(text: str) -> bool:
    """Nothing in the ends of `text` hints at a secret or a placeholder.

    Single characters are looked for first: that is several times faster than looking for two.
    """
    size = len(text)
    if size <= LONGEST_PLACEHOLDER and ("esult" in text or "ool" in text):
        return False
    return not _may_hold_secret(text if size <= 2 * WINDOW else f"{text[:WINDOW]} {text[-WINDOW:]}")


def _may_hold_secret(ends: str) -> bool:
    return (
        ("-" in ends and ("k-" in ends or "-----B" in ends or "xox" in ends))
        or ("I" in ends and ("IA" in ends or "AIz" in ends))
        or (":" in ends and "://" in ends)
        or ("J" in ends and "eyJ" in ends)
        or ("_" in ends and ("_live_" in ends or "npm_" in ends or ("gh" in ends and _names_github(ends))))
    )


def _names_github(ends: str) -> bool:
    return "ghp_" in ends or "gho_" in ends or "ghs_" in ends or "github_pat_" in ends


def may_hold_traffic(text: str) -> bool:
    """Whether any notation of a call or of a result may stand in `text`: the shortest way past the questions of `prose`."""
    if _BEGINS.match(text) is None and _BEGINS_LINE.search(text) is None and not _opens_json_call(text):
        return "=" in text and "to=functions." in text
    return may_hold_call(text) or may_hold_result(text)


_OPENINGS = (
    r" {0,3}(?:[<\[]|Action|Call|Us|Invok|tool|Tool|TOOL|print|default|The|[Ff]unction|Result|Output|Response|Observation|## Return|EXEC)"
)
"""What every mark of a call or a result begins with. Few lines do, and to look at what lines begin with is quicker than to look for
words: a search that begins with the line end goes from one to the next."""
_BEGINS = regex(_OPENINGS)
_BEGINS_LINE = regex(r"\n" + _OPENINGS)

_CALL_MARK = regex(
    r"^ {0,3}(?:<(?:[|｜]|tool|function|invoke|\w{1,20}:(?:tool|function|invoke))"
    r"|\[(?:[Tt]ool|TOOL|Us|Call|Invok|[Aa]ssistant |[Ff]unction)"
    r"|Action|(?:Call|Us|Invok)(?:ed|ing) (?:the )?(?:tool|function)|tool_(?:use|call)|(?:print\()?default_api\.)",
    re.MULTILINE,
)


def may_hold_call(text: str) -> bool:
    """Whether any notation of a call may stand in `text`: one of its pieces is there, and one begins a line."""
    said = (
        "ool" in text
        or "unction" in text
        or ("<" in text and ("invoke name" in text or "<|" in text or "<｜" in text))
        or ("[" in text and ("[Call" in text or "[Invok" in text or "TOOL" in text))
        or "default_api." in text
        or (":" in text and "Action Input" in text)
    )
    return (said and (_CALL_MARK.search(text) is not None or "to=functions." in text)) or _opens_json_call(text)


def _opens_json_call(text: str) -> bool:
    return text[:1] in ("{", " ", "\n") and '"name"' in text


_RESULT_MARK = regex(
    r"^ {0,3}(?:<(?:\w{1,20}:)?(?:tool|function)_(?:re|out)"
    r"|\[(?:Result|Output|Response|[Tt]ool|TOOL|[Ff]unction|[\w.:/-]{1,128} (?:for '|[Rr]esult\]|[Oo]utput\]))"
    r"|(?:The )?(?:[Tt]ool|TOOL|[Ff]unction)[ _]|(?:Results?|Output|Response) (?:of|from|for) |Observation|## Return|EXECUTION RESULT)",
    re.MULTILINE,
)


def may_hold_result(text: str) -> bool:
    """Whether any notation of a result may stand in `text`: one of its words is there, and one begins a line."""
    said = "esult" in text or "utput" in text or "esponse" in text or "eturn" in text or "Observation" in text or "RESULT" in text
    return said and _RESULT_MARK.search(text) is not None
