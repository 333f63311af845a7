"""Tool traffic that was written out as prose: how to tell a call or a result that lost its structure from talk about one.

Every function here is pure and looks at one text. A text is first put to a few literal tests, so that one without any notation
costs about a microsecond; only then are patterns tried, all of them linear. Of a long text only the ends are tested, unless it is
asked for whole (`deep`).

Talk about a notation is no trace of one. A notation counts only where it begins a line and carries a payload, outside code fences,
quotations and thinking, not behind a line that announces an example, and only if the line does not go on explaining it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Literal

from msgspec import Struct

from toolaudit.hints import may_hold_call, may_hold_result
from toolaudit.model import Confidence
from toolaudit.regex import regex

EDGE = 1024
"""How many characters of each end of a text are put to the first test."""

_AHEAD = 2000
_NAME = r"[A-Za-z_](?:[\w.:/-]{0,126}\w)?"
_QUOTE = "[`\"'*]{0,2}"


class Trace(Struct, frozen=True, gc=False):
    """A call or a result found in prose."""

    notation: str
    """The notation as it may be shown: fixed words, nothing of the text."""
    name: str | None = None
    """The tool, where the notation names one."""
    id: str | None = None
    """The call's id, where the notation names one that is known."""
    confidence: Confidence = "medium"
    known: bool = False
    """The tool, or the id, is one that the transcript knows."""
    opens: bool = False
    """Nothing but white space stands before it."""


class Notation(Struct, frozen=True, gc=False):
    """One way of writing tool traffic as prose."""

    shown: str
    pattern: re.Pattern[str]
    weight: Literal["token", "bracket", "words"]
    """`token`: a model's own markup, telling by itself; `bracket`: telling with a payload; `words`: only with a known tool."""


def _notation(shown: str, weight: Literal["token", "bracket", "words"], pattern: str) -> Notation:
    filled = pattern.replace("NAME", f"(?P<name>{_NAME})").replace("QUOTE", _QUOTE)
    return Notation(shown, regex(rf"^ {{0,3}}(?:{filled})", re.MULTILINE), weight)


# ---------------------------------------------------------------------------------------------------------------- vocabulary

_ARGS = r"(?:(?:Input|Args|Arguments|Parameters|Params|input|args|arguments|parameters|params)\s{0,2}[:=]\s{0,3})?"
_CALL_WORDS = (
    r"(?:(?:Assistant |assistant )?(?:Used|Called|Calling|Using|Invoked|Invoking) (?:the )?(?:tool|function)|(?:Called|Calling|Invoking)"
    r"|(?:[Tt]ool|TOOL|[Ff]unction)(?:[ _](?:[Cc]all|[Uu]se|[Ii]nvocation|CALL|USE))?)"
)

_CALLS = (
    _notation("<tool_call>", "token", r"<(?:\w{1,20}:)?(?:tool_calls?|tool_use|function_?calls?)>\s{0,4}(?:[{\[<]|NAME\s{0,4}<arg_key>)"),
    _notation("<invoke>", "token", r'<(?:\w{1,20}:)?invoke name="NAME"\s?>\s{0,4}<(?:/|\w{1,20}:)?(?:parameter|invoke)?'),
    _notation("<function=…>", "token", r"<function=NAME>\s{0,4}[{<]"),
    _notation("[TOOL_CALLS]", "token", r"\[TOOL_CALLS\]\s{0,4}(?:NAME\s{0,2}(?:\[ARGS\])?\s{0,2}\{|\[\s{0,4}\{)"),
    _notation("<|python_tag|>", "token", r"<\|python_tag\|>\s{0,4}[\w{\[]"),
    _notation("<|tool_call_begin|>", "token", r"<\|tool_calls?_(?:section_)?begin\|>\s{0,4}[<\w]"),
    _notation("<｜tool▁calls▁begin｜>", "token", r"<｜(?:tool▁calls?▁begin|DSML)｜[\w ]{0,40}>?\s{0,4}[<\w{]"),
    _notation("<|tool_call>", "token", r"<\|tool_call>\s{0,4}call:NAME\s{0,3}\{"),
    _notation("to=functions", "token", r"[^\n`]{0,80}?<\|[^\n`]{0,80}?\bto=functions\.NAME[^\n{]{0,80}\{"),
    _notation("to=functions", "words", r"[^\n`<]{0,40}?\bto=functions\.NAME[^\n{`]{0,40}\{"),
    _notation("default_api", "token", r"(?:print\()?default_api\.NAME\("),
    _notation("[Tool call: …]", "bracket", rf"\[{_CALL_WORDS}(?:\s{{0,2}}:\s{{0,3}}|\s)QUOTENAME"),
    _notation("Action: …", "words", r"Action\s{0,2}:[ \t]{0,3}QUOTENAME[^\w\n]{0,8}\n\s{0,4}Action Input\s{0,2}:[ \t]{0,3}\n?[^\s]"),
    _notation("Calling tool …", "words", r"(?:Calling|Called|Using|Used|Invoking) (?:the )?(?:tool|function)\s{0,2}:?\s{0,2}QUOTENAME"),
    _notation("tool_use: …", "words", r"tool_(?:use|call)s?\s{0,2}:\s{0,3}QUOTENAMEQUOTE\s{0,2}[({]"),
)
_HEADS = frozenset({"[Tool call: …]", "Calling tool …"})
_PAYLOAD = regex(rf"{_QUOTE}\s?(?:\([\w:.-]{{1,80}}\))?\s?\]?(?!\()[:,\s]{{0,4}}(?:with\s)?(?:the\s)?{_ARGS}\(?\s?[{{\[]")
_IN_BRACKETS = regex(rf"{_QUOTE}\s?\(")
_ALONE = regex(rf"{_QUOTE}\][ \t]*(?:\n|\Z)")
_JSON_CALL = regex(
    r'\{\s{0,20}(?:"type"\s{0,3}:\s{0,3}"function"\s{0,3},\s{0,20})?'
    rf'"name"\s{{0,3}}:\s{{0,3}}"({_NAME})"\s{{0,3}},\s{{0,20}}"(?:arguments|parameters)"\s{{0,3}}:'
)

_RESULT_WORDS = r"(?:(?:[Tt]ool|TOOL|[Ff]unction)[ _](?:[Cc]all )?(?:[Rr]esult|[Oo]utput|[Rr]esponse|RESULT|OUTPUT)s?)"
_OF = r"(?:Results?|Output|Response) (?:of|from|for)"
_RESULTS = (
    _notation("<tool_response>", "token", r"<(?:\w{1,20}:)?(?P<tag>(?:tool|function)_(?:response|result|output)s?)>\s{0,4}[^\s]"),
    _notation("[… for '…'] Result:", "token", r"\[NAME for '[^'\n]{0,400}'\] Result:\s{0,4}[^\s]"),
    _notation("EXECUTION RESULT of […]", "bracket", r"EXECUTION RESULT of \[NAME\]:\s{0,4}[^\s]"),
    _notation("[Result of …]", "bracket", rf"\[(?:{_OF}|{_RESULT_WORDS}(?: (?:of|from|for)\b)?(?:\s?:)?) (?:tool |function )?QUOTENAME"),
    _notation("[Tool result]", "bracket", rf"\[{_RESULT_WORDS}\](?!\()\s?:?\s{{0,4}}[^\s]"),
    _notation("[… result]", "words", r"\[NAME (?:[Rr]esult|[Oo]utput)\](?!\()\s?:?\s{0,4}[^\s]"),
    _notation("Tool result for …", "words", rf"{_RESULT_WORDS} (?:(?:of|from|for) )?\(?(?:tool |function )?QUOTENAME"),
    _notation("Result of …", "words", rf"{_OF} (?:the )?(?:tool |function )?(?:call )?QUOTENAME"),
    _notation("Tool … returned", "words", r"(?:The )?(?:[Tt]ool|[Ff]unction) QUOTENAMEQUOTE(?:\([^\n()]{0,200}\))? returned\s{0,2}:"),
    _notation("Return of …", "words", r"## Return of NAME"),
)
_OBSERVED = _notation("Observation: …", "words", r"Observation\s{0,2}:\s{0,4}[^\s]")
_VALUE = regex(rf"{_QUOTE}(?:\s?\([^\n()]{{0,120}}\))?\)?\]?{_QUOTE}\s?(?:(?:returned|result|output)\s?)?[:\]\n]\s{{0,4}}[^\s]")
_VALUED = frozenset({"[Result of …]", "Tool result for …", "Result of …", "Return of …"})

_NAMED = regex(
    rf"""["'](?:name|tool_name|tool)["']\s{{0,3}}:\s{{0,3}}["']({_NAME})["']|<function=({_NAME})>|invoke name="({_NAME})\""""
    rf"""|functions\.({_NAME})|tool▁sep｜>({_NAME})|<(?:tool_)?name>({_NAME})<|python_tag\|>({_NAME})\("""
)
_EXAMPLE = regex(r"\b(?:example|format|syntax|notation|looks? like|template|for instance|e\.g\.|such as)\b", re.IGNORECASE)


def _ends(text: str, deep: bool) -> str:
    return text if deep or len(text) <= 2 * EDGE else f"{text[:EDGE]}\n{text[-EDGE:]}"


# ---------------------------------------------------------------------------------------------------------------- what is said


def call_in_prose(text: str, known: Collection[str], *, deep: bool = False) -> Trace | None:
    """The first call that is written out in `text`; `known` are the tools that the transcript declares or calls elsewhere."""
    if not may_hold_call(_ends(text, deep)):
        return None
    said = _said(text)
    for notation, match in _matches(_CALLS, said):
        if notation.shown in _HEADS and not _has_payload(said, match.end(), known, match["name"]):
            continue
        name = _name(said, match)
        trace = _trace(notation, name, _is_known(name, known), opens=not said[: match.start()].strip())
        if trace is not None:
            return trace
    return _json_call(said, known)


def result_in_prose(
    text: str, known_tools: Collection[str], known_ids: Collection[str], *, after_call: bool = False, deep: bool = False
) -> Trace | None:
    """The first result that is written out in `text`; `after_call`: the turn before holds a call, in prose or of a known tool."""
    if not may_hold_result(_ends(text, deep)):
        return None
    said = _said(text)
    for notation, match in _matches((*_RESULTS, _OBSERVED) if after_call else _RESULTS, said):
        if notation.shown in _VALUED and not _VALUE.match(said, match.end()):
            continue
        if notation.shown == "<tool_response>" and not _is_tag_in_use(said, match):
            continue
        trace = _result_trace(notation, said, match, known_tools, known_ids)
        if trace is not None:
            return trace
    return None


def _result_trace(notation: Notation, said: str, match: re.Match[str], tools: Collection[str], ids: Collection[str]) -> Trace | None:
    name = _name(said, match)
    key = _id(said, match, ids)
    tool = name if _is_known(name, tools) else None
    opens = not said[: match.start()].strip()
    if notation is _OBSERVED:
        return Trace(notation.shown, id=key, known=key is not None, opens=opens)
    if notation.shown == "[Tool result]" and not (opens or key):
        return None  # without a name it proves little: somebody may have pasted it below a question
    trace = _trace(notation, tool or (None if key else name), tool is not None or key is not None, opens=opens)
    return None if trace is None else Trace(trace.notation, trace.name, key, trace.confidence, trace.known, opens)


_IMITATION = regex(
    r"(?:\*\*|#{1,4} )?(?:(?:[Tt]ool |[Ff]unction )?(?:[Rr]esult|[Oo]utput|[Rr]esponse)s?|[Oo]bservation|Returned)(?:\*\*)?"
    r"\s{0,2}:(?:\*\*)?\s{0,4}[^\s]"
)
_IMITATED_BRACKET = regex(r"\[(?:[Tt]ool|[Ff]unction) (?:[Rr]esult|[Oo]utput|[Rr]esponse)\b")
_IMITATED_TAG = regex(r"^ {0,3}</?(?:\w{1,20}:)?(?:tool|function)_(?:response|result|output)s?>", re.MULTILINE)
_CONSOLE = regex(
    r"\b[0-9a-f]{6,40}\.\.\.?[0-9a-f]{6,40} {1,9}\S{1,200} -> \S|^(?:exit (?:code|status)|Process exited with)\b.{0,20}\d", re.MULTILINE
)


def imitates_result(text: str) -> str:
    """What a text behind an open call pretends to be: `a result`, `the output of a program`, `the user`; empty for honest text."""
    head = text[:EDGE]
    if ":" in head:
        bare = head.lstrip()
        if bare.startswith(("Human:", "User:")) or "\n\nHuman:" in head or "\n\nUser:" in head:
            return "the user"
        if ":" in bare[:40] and _IMITATION.match(bare):
            return "a result"
    if ("_re" in head or "_out" in head) and _IMITATED_TAG.search(_said(head)):
        return "a result"
    if "[" in head and _IMITATED_BRACKET.match(head.lstrip()):
        return "a result"
    if (".." in head or "xit" in head) and _CONSOLE.search(_said(head)):
        return "the output of a program"
    return ""


# --------------------------------------------------------------------------------------------------------------- the evidence


def _matches(notations: tuple[Notation, ...], said: str) -> Iterator[tuple[Notation, re.Match[str]]]:
    """The first place of each notation where it is used, not explained."""
    for notation in notations:
        for match in notation.pattern.finditer(said):
            if not _is_example(said, match.start()) and not _is_explained(said, match.end()):
                yield notation, match
                break


def _trace(notation: Notation, name: str | None, known: bool, *, opens: bool) -> Trace | None:
    if notation.weight == "words" and not known:
        return None
    confidence: Confidence = "high" if known and notation.weight != "words" else "medium"
    return Trace(notation.shown, name, None, confidence, known, opens)


def _has_payload(said: str, end: int, known: Collection[str], name: str) -> bool:
    """Arguments follow: JSON, or whatever a known tool has in brackets, which may be nothing."""
    if _PAYLOAD.match(said, end) is not None:
        return True
    return _is_known(name, known) and (_IN_BRACKETS.match(said, end) or _ALONE.match(said, end)) is not None


def _json_call(said: str, known: Collection[str]) -> Trace | None:
    """The whole text is the JSON of a call, as some models write it when no parser takes it from them."""
    bare = said.strip()
    match = _JSON_CALL.match(bare)
    if match is None or not bare.endswith(("}", "]")) or not _is_known(match[1], known):
        return None
    return Trace("JSON", match[1], None, "medium", known=True, opens=True)


def _is_tag_in_use(said: str, match: re.Match[str]) -> bool:
    """The tag is closed again, or its payload begins on the next line; one that is merely named does neither."""
    return f"{match['tag']}>" in said[match.end() :] or "\n" in match[0]


def _name(said: str, match: re.Match[str]) -> str | None:
    name: str | None = match.groupdict().get("name")
    if name is None:
        found = _NAMED.search(said, match.start(), match.start() + _AHEAD)
        name = next((group for group in found.groups() if group), None) if found else None
    return None if name is None else _plain(name)


def _plain(name: str) -> str:
    """A name without what some notations put round it: `functions.f:0` is `f`."""
    stem, _, count = name.rpartition(":")
    return (stem if stem and count.isdigit() else name).removeprefix("functions.").rstrip(".:/-")


def _is_known(name: str | None, known: Collection[str]) -> bool:
    return name is not None and (name in known or _plain(name) in known)


def _id(said: str, match: re.Match[str], ids: Collection[str]) -> str | None:
    """A known call id on the line of the notation."""
    end = said.find("\n", match.end())
    line = said[match.start() : min(end if end >= 0 else len(said), match.start() + 400)]
    return next((word for word in re.findall(r"[\w.:-]+", line) for word in (word, word.rstrip(".:-")) if word in ids), None)


def _is_example(said: str, start: int) -> bool:
    """The line before announces an example."""
    before = said[max(0, start - 400) : start].rstrip()
    return _EXAMPLE.search(before.rpartition("\n")[2]) is not None


def _is_explained(said: str, end: int) -> bool:
    """The line goes on in words after the notation has closed."""
    newline = said.find("\n", end)
    rest = said[end - 1 : newline if newline >= 0 else len(said)]
    opened, closed = (max(rest.rfind(bracket) for bracket in brackets) for brackets in ("{[(<", "}])>"))
    after = rest[closed + 1 :].strip() if closed > opened else ""
    return after[:1].isalpha() and " " in after and rest[closed] != "]"


def _said(text: str) -> str:
    """`text` without thinking, code fences and quotations: what it says in its own voice."""
    if "<think>" in text:
        text = _without_thinking(text)
    if "```" not in text and "~~~" not in text and not text.startswith(">") and "\n>" not in text:
        return text
    return "\n".join(_own_lines(text))


def _without_thinking(text: str) -> str:
    kept, start = [], 0
    while (begin := text.find("<think>", start)) >= 0:
        kept.append(text[start:begin])
        end = text.find("</think>", begin)
        if end < 0:
            return "".join(kept)
        start = end + len("</think>")
    return "".join([*kept, text[start:]])


_TOOL_FENCES = frozenset({"tool_code", "tool_call", "tool_use"})
"""Info words with which a model fences a call of its own: what is in such a fence is no quotation."""


def _own_lines(text: str) -> Iterator[str]:
    fence = ""
    for line in text.split("\n"):
        bare = line.strip()
        if fence:
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
        elif bare.startswith(("```", "~~~")):
            info = bare.lstrip(bare[0])
            fence = "" if info in _TOOL_FENCES else bare[: len(bare) - len(info)]
        elif not bare.startswith(">"):
            yield line
