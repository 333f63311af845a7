"""Arguments or results against the declared schema."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from toolaudit.model import JSON, Answer, Finding, Ledger, Pair, Severity, Tool
from toolaudit.rules import Context, rule
from toolaudit.rules._arguments import Arguments, parse, place_of, read_arguments
from toolaudit.rules._declared import Schema, is_named, some, tools_of
from toolaudit.rules._say import call_of, of_call, of_result, tool


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
    the tool takes what the schema forbids, mend the schema. A schema that cannot be used (it refers to another document, its pattern is
    broken) is noted once for each tool that is called: nothing is checked against it.
    """
    tools = tools_of(ledger, context)
    if not tools:
        return
    known: dict[str, _Declared] = {}
    for pair, read in read_arguments(ledger):
        name = pair.call.name
        if name is None or name not in tools or not is_named(pair.call):
            continue
        if name not in known:
            known[name] = _Declared(tools[name], Schema(tools[name].schema), Schema(tools[name].output))
            yield from _unusable(pair, known[name])
        yield from _of_call(pair, read, known[name])


class _Declared(Struct):
    """A tool with its schemas, made ready once."""

    tool: Tool
    takes: Schema
    gives: Schema


def _unusable(pair: Pair, declared: _Declared) -> Iterator[Finding]:
    """What goes unchecked for the tool of a call, at the first of its calls."""
    for word, schema, what in (("schema", declared.takes, "arguments"), ("output schema", declared.gives, "results")):
        if schema.unusable:
            yield of_call(
                "invalid-arguments",
                pair,
                f"the declared {word} of {tool(declared.tool.name)} cannot be used ({schema.unusable}), so its {what} are not checked",
                f"mend the declared {word}: it stands alone, and is JSON Schema",
                variant="schema",
                severity=Severity.NOTE,
            )


def _of_call(pair: Pair, read: Arguments, declared: _Declared) -> Iterator[Finding]:
    wrong = declared.takes.faults(read.value) if not read.fault and isinstance(read.value, dict) else []
    if wrong:
        strict = "; strict mode rules this out, so the call was changed after the model wrote it" if declared.tool.strict else ""
        yield of_call(
            "invalid-arguments",
            pair,
            f"the arguments of {tool(pair.call.name)} do not fit its schema: {some(wrong)}{strict}",
            "answer such a call with an error that names the field, or mend the declared schema",
            place=place_of(pair),
        )
    if isinstance(declared.gives.declared, dict):
        yield from (finding for answer in pair.answers[:1] for finding in _of_result(answer, declared))


def _of_result(answer: Answer, declared: _Declared) -> Iterator[Finding]:
    value = _output(answer.result.body)
    wrong = declared.gives.faults(value) if value is not None and answer.result.flag in (None, "ok") else []
    if wrong:
        yield of_result(
            "invalid-arguments",
            answer,
            f"the result of {tool(declared.tool.name)} does not fit its output schema: {some(wrong)}",
            "let the tool return what it declares, or mend the declared schema",
            place=answer.result.place.within(answer.result.body_key),
            related=call_of(answer),
        )


def _output(body: JSON) -> JSON:
    """The structured output in a result: a mapping, or the object that its text holds; None when there is none."""
    if isinstance(body, list) and len(body) == 1 and isinstance(body[0], dict):
        body = body[0].get("text")
    return parse(body).value if isinstance(body, str) and body.strip() else body if isinstance(body, dict) else None
