"""A content type that a result cannot have."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import JSON, Answer, Finding, Ledger
from toolaudit.rules import Context, rule
from toolaudit.rules._say import call_of, is_judged, of_result, tool
from toolaudit.text import quote, word_for


@rule(category="results", severity="warning", needs=("results",), since="0.1.0")
def wrong_result_type(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A result holds what results of its format cannot hold, or is of another kind than its call.

    ## Why it matters
    The provider refuses the request, or reads something else than was meant. Null instead of an empty text, a picture where only text
    is taken and an object that was not turned into text are the common cases; all of them come of translations between providers.

    ## Bad
    ```jsonl
    {"role": "user", "content": "Close the gate."}
    {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "gate", "arguments": ""}}]}
    {"role": "tool", "tool_call_id": "c1", "content": null}
    {"role": "assistant", "content": "Closed."}
    ```

    ## Good
    ```jsonl
    {"role": "user", "content": "Close the gate."}
    {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "gate", "arguments": ""}}]}
    {"role": "tool", "tool_call_id": "c1", "content": ""}
    {"role": "assistant", "content": "Closed."}
    ```

    ## How to fix
    Turn the output into text (an object into JSON), give an empty text for a tool that returns nothing, and send pictures in a message of
    the user where results cannot hold them. Answer a call by the kind of result that belongs to it.
    """
    judge = _JUDGES.get(ledger.trajectory.format)
    if judge is None:
        return
    for answer in ledger.answers:
        if answer.state in ("first", "stale", "nameless", "mismatched") and is_judged(ledger, answer.turn) and (what := judge(answer)):
            yield _finding(answer, what)


def _finding(answer: Answer, what: str) -> Finding:
    result = answer.result
    return of_result(
        "wrong-result-type",
        answer,
        f"the result of {tool(answer.pair.call.name if answer.pair else result.name)} {what}",
        "give the result the form that its format has for it: text, unless it says otherwise",
        place=result.place,
        related=call_of(answer),
        # an object is what a log keeps of a text that was sent
        variant="object" if isinstance(result.body, dict) and result.executor == "client" else "",
    )


def _chat(answer: Answer) -> str:
    """Text, or a list of text parts."""
    result = answer.result
    if isinstance(result.body, str) or (result.body is None and result.kind == "function"):
        return ""
    if not isinstance(result.body, list):
        return f"is {word_for(result.body)} where text belongs"
    if any(isinstance(part, str) for part in result.body):
        return "holds bare strings where parts belong"
    other = next((kind for part in result.body if (kind := _kind(part)) != "text"), None)
    return f"holds a part of type {quote(other)}; only text parts are taken" if other else ""


def _kind(part: JSON) -> str:
    """The type of a part."""
    found = part.get("type") if isinstance(part, dict) else None
    return found if isinstance(found, str) else word_for(part).split()[-1]


_OF_MESSAGES = frozenset({"tool_use", "tool_result", "server_tool_use", "mcp_tool_use", "thinking", "redacted_thinking"})
"""Blocks that belong in a message, never in a result; types nobody knows yet are taken."""


_OF_OPENAI = frozenset({"image_url", "input_text", "output_text", "input_image", "input_file", "input_audio"})
"""Parts that other providers have for the same purpose."""


def _anthropic(answer: Answer) -> str:
    result = answer.result
    if result.executor == "server":
        return _of_other_kind(answer)
    if isinstance(result.body, list):
        kinds = [_kind(part) for part in result.body]
        wrong = next((kind for kind in kinds if kind in _OF_MESSAGES or kind in _OF_OPENAI), None)
        if any(isinstance(part, str) for part in result.body):
            return "holds bare strings where blocks belong"
        if wrong is None and (group := result.group or (answer.pair.call.group if answer.pair else None)) in _TOOLSETS:
            wrong = next((kind for kind in kinds if kind not in _TOOLSETS[str(group)]), None)
        return f"holds a block of type {quote(wrong)}, which results cannot hold" if wrong else ""
    return "" if result.body is None or isinstance(result.body, str) else f"is {word_for(result.body)} where text or blocks belong"


_TOOLSETS = {"browser": ("text", "image", "browser_state"), "computer": ("text", "image")}
_FAMILIES = ("web_search", "web_fetch", "code_execution", "tool_search", "advisor", "mcp")


def _of_other_kind(answer: Answer) -> str:
    """A provider's result that belongs to another of its tools, by its type and by what it holds."""
    if answer.pair is None or answer.pair.call.executor != "server":
        return ""
    call, result = answer.pair.call, answer.result
    asked, given = _family("mcp" if call.kind == "mcp_tool_use" else call.name or ""), _family(result.kind)
    held = {_family(_kind(part)) for part in (result.body if isinstance(result.body, list) else [result.body])}
    other = asked and given and asked != given and given in held
    return f"is a {quote(result.kind)}, which answers another tool" if other else ""


def _family(name: str) -> str:
    return next((family for family in _FAMILIES if family in name), "")


_FITTING = {
    ("local_shell_call", "function_call_output"),  # some clients do it on purpose
    ("tool_search_call", "tool_search_output"),
    ("tool_search_call", "function_call_output"),  # accepted by the provider in recorded requests
    ("mcp_approval_request", "mcp_approval_response"),
}


_OF_TEXT = frozenset({"function_call_output", "custom_tool_call_output"})


def _responses(answer: Answer) -> str:
    """The kind of an output is that of its call."""
    body = answer.result.body
    if answer.result.kind in _OF_TEXT and not isinstance(body, (str, list)):
        return f"is {word_for(body)} where text or a list of parts belongs"
    if answer.pair is None or answer.link != "id":
        return ""
    asked, given = answer.pair.call.kind, answer.result.kind
    fits = given == f"{asked}_output" or (asked, given) in _FITTING or asked == "program"
    return "" if fits else f"is a {quote(given)}, but its call is a {quote(asked)}"


_JUDGES = {"openai-chat": _chat, "anthropic-messages": _anthropic, "openai-responses": _responses}
