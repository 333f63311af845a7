"""Arguments or results against the declared schema."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import JSON, Answer, Finding, Ledger, Pair, Tool
from toolaudit.rules import Context, rule
from toolaudit.rules._arguments import arguments_of, parse, place_of
from toolaudit.rules._declared import faults, is_named, some, tools_of
from toolaudit.rules._say import call_of, is_judged, of_call, of_result, tool


@rule(category="arguments", severity="warning", needs=("calls",), since="0.1.0")
def invalid_arguments(ledger: Ledger, context: Context) -> Iterator[Finding]:
    """The arguments of a call do not fit the schema that its tool declares.

    ## Why it matters
    The tool was run with something it does not take, or was not run at all. As training data such a call teaches the fault; under strict
    mode it cannot happen, so the call was edited or cut after the model wrote it. A result is checked likewise where its tool declares
    what it returns.

    ## Bad
    ```transcript
    tools      get_weather {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}
    user       Weather in Lima?
    assistant  -> call_w1 get_weather({"town": "Lima"})     # invalid-arguments
    tool       <- call_w1 which city?
    ```

    ## Good
    ```transcript
    tools      get_weather {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}
    user       Weather in Lima?
    assistant  -> call_w1 get_weather({"city": "Lima"})
    tool       <- call_w1 18 C
    ```

    ## How to fix
    Check arguments before the tool is run and answer the call with an error that names the field, so that the model can write it again. If
    the tool takes what the schema forbids, mend the schema.
    """
    tools = tools_of(ledger, context)
    if not tools:
        return
    for pair in ledger.pairs:
        if pair.copy_of is None and is_named(pair.call) and is_judged(ledger, pair.turn) and pair.call.name in tools:
            yield from _of_call(ledger, pair, tools[pair.call.name])


def _of_call(ledger: Ledger, pair: Pair, declared: Tool) -> Iterator[Finding]:
    read = arguments_of(ledger, pair)
    wrong = faults(declared.schema, read.value) if not read.fault and isinstance(read.value, dict) else []
    if wrong:
        strict = "; strict mode rules this out, so the call was changed after the model wrote it" if declared.strict else ""
        yield of_call(
            "invalid-arguments",
            pair,
            f"the arguments of {tool(pair.call.name)} do not fit its schema: {some(wrong)}{strict}",
            "answer such a call with an error that names the field, or mend the declared schema",
            place=place_of(pair),
        )
    if isinstance(declared.output, dict):
        yield from (finding for answer in pair.answers[:1] for finding in _of_result(answer, declared))


def _of_result(answer: Answer, declared: Tool) -> Iterator[Finding]:
    value = _output(answer.result.body)
    wrong = faults(declared.output, value) if value is not None and answer.result.flag in (None, "ok") else []
    if wrong:
        yield of_result(
            "invalid-arguments",
            answer,
            f"the result of {tool(declared.name)} does not fit its output schema: {some(wrong)}",
            "let the tool return what it declares, or mend the declared schema",
            place=answer.result.place / answer.result.body_key,
            related=call_of(answer),
        )


def _output(body: JSON) -> JSON:
    """The structured output in a result: a mapping, or the object that its text holds; None when there is none."""
    if isinstance(body, list) and len(body) == 1 and isinstance(body[0], dict):
        body = body[0].get("text")
    return parse(body).value if isinstance(body, str) and body.strip() else body if isinstance(body, dict) else None
