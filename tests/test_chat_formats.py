"""Ollama and Cohere: what links a result to its call there, and what is no fault."""

from __future__ import annotations

import pytest

from toolaudit.engine import Options, audit
from toolaudit.model import JSON, Severity

ASK: JSON = {"role": "user", "content": "q"}
SAY: JSON = {"role": "assistant", "content": "Cold."}


def found(value: JSON, form: str, **options: bool) -> list[tuple[str, str]]:
    """The rules that find something worse than a note, each with its place, in what is read as `form`."""
    report = audit(value, Options(**options))
    assert {one.format for one in report.inputs} == {form}
    return [(entry.rule, entry.pointer) for entry in report.findings if entry.severity > Severity.NOTE]


# ------------------------------------------------------------------------------------------------------------------- Ollama


def called(*cities: str, ids: tuple[str, ...] = ()) -> JSON:
    calls: list[JSON] = [{"function": {"name": "get_weather", "arguments": {"city": city}}} for city in cities]
    for call, key in zip(calls, ids, strict=False):
        call["id"] = key
        call["function"]["index"] = 0
    return {"role": "assistant", "content": "", "tool_calls": calls}


def told(text: str, name: str | None = "get_weather", key: str | None = None) -> JSON:
    return {"role": "tool", "content": text, **({"tool_name": name} if name else {}), **({"tool_call_id": key} if key else {})}


HEALTHY = {
    "no ids": [ASK, called("Lima", "Oslo"), told("19 C"), told("4 C"), SAY],
    "ids on one side": [ASK, called("Lima", ids=("call_1",)), told("19 C"), SAY],
    "ids, permuted": [ASK, called("Lima", "Oslo", ids=("call_1", "call_2")), told("4 C", key="call_2"), told("19 C", key="call_1"), SAY],
    "the name of the tool as id": [
        ASK,
        called("Lima", "Oslo", ids=("get_weather", "get_weather")),
        told("19 C", key="get_weather"),
        told("4 C", key="get_weather"),
        SAY,
    ],
    "its own compaction": [
        ASK,
        called("Lima", ids=("ollama_compaction",)),
        told("19 C", key="ollama_compaction"),
        called("Oslo", ids=("ollama_compaction",)),
        told("4 C", key="ollama_compaction"),
        SAY,
    ],
}


@pytest.mark.parametrize("messages", HEALTHY.values(), ids=HEALTHY)
def test_what_ollama_takes_is_no_fault(messages: list[JSON]) -> None:
    report = audit({"model": "qwen3", "messages": messages})
    assert (report.inputs[0].format, report.findings) == ("ollama", [])
    assert report.summary.calls == report.summary.paired


def test_a_call_that_nobody_answered_is_a_degradation() -> None:
    assert found([ASK, called("Lima", "Oslo"), told("19 C"), ASK, SAY], "ollama") == [("missing-result", "/1/tool_calls/1")]
    assert found([ASK, called("Lima"), ASK, SAY], "ollama") == [("missing-result", "/1/tool_calls/0")]
    assert found([ASK, called("Lima"), told("19 C"), told("20 C"), SAY], "ollama") == [("orphan-result", "/3")]


def test_ids_of_two_calls_are_told_apart() -> None:
    messages = [ASK, called("Lima", "Oslo", ids=("call_1", "call_2")), told("19 C", key="call_1"), told("19 C", key="call_1"), SAY]
    assert {rule for rule, _ in found(messages, "ollama")} == {"missing-result", "duplicate-result"}


def test_a_chunk_holds_whole_calls() -> None:
    chunk = {"model": "qwen3", "created_at": "t", "message": called("Lima"), "done": False}
    report = audit(chunk)
    assert (report.inputs[0].format, report.summary.calls) == ("ollama", 1)


# ------------------------------------------------------------------------------------------------------------------- Cohere


def planned(*ids: str) -> JSON:
    calls = [{"id": key, "type": "function", "function": {"name": "get_weather", "arguments": f'{{"n": "{key}"}}'}} for key in ids]
    return {"role": "assistant", "tool_plan": "I will look it up.", "tool_calls": calls}


def documents(key: str | None, *texts: str) -> JSON:
    content = [{"type": "document", "document": {"data": text}} for text in texts]
    return {"role": "tool", "content": content, **({"tool_call_id": key} if key else {})}


def test_documents_of_a_result_are_one_result() -> None:
    report = audit([ASK, planned("a1", "b1"), documents("a1", "19 C", "sea"), documents("b1", "4 C"), SAY])
    assert (report.inputs[0].format, report.findings, report.summary.results) == ("cohere", [], 2)


def test_pairs_of_cohere_that_do_not_fit_are_warnings_for_what_comes_of_them_is_not_known() -> None:
    assert found([ASK, planned("a1", "b1"), documents("a1", "19 C"), SAY], "cohere") == [("missing-result", "/1/tool_calls/1")]
    assert found([ASK, planned("a1"), documents("a1", "19 C"), documents("z9", "4 C"), SAY], "cohere") == [("orphan-result", "/3")]
    entry = audit([ASK, planned("a1"), SAY]).findings[0]
    assert (entry.severity, entry.verdicts["cohere"].verdict) == (Severity.WARNING, "unknown")
    assert ("missing-id", "/2") in found([ASK, planned("a1"), documents(None, "19 C"), SAY], "cohere")


def call_v1(city: str) -> JSON:
    return {"name": "get_weather", "parameters": {"city": city}}


def history(*messages: JSON, results: tuple[str, ...] = (), message: str = "") -> JSON:
    body: dict[str, JSON] = {"model": "command-r", "message": message, "chat_history": list(messages)}
    if results:
        body["tool_results"] = [{"call": call_v1(city), "outputs": [{"degrees": 4}]} for city in results]
    return body


USER: JSON = {"role": "USER", "message": "q"}


def test_results_of_cohere_v1_repeat_their_calls() -> None:
    bot = {"role": "CHATBOT", "message": "", "tool_calls": [call_v1("Lima"), call_v1("Oslo")]}
    whole = audit(history(USER, bot, results=("Oslo", "Lima")))
    assert (whole.inputs[0].format, whole.findings, whole.summary.paired) == ("cohere-v1", [], 2)
    assert found(history(USER, bot, message="Never mind."), "cohere-v1") == [
        ("missing-result", "/chat_history/1/tool_calls/0"),
        ("missing-result", "/chat_history/1/tool_calls/1"),
    ]
    torn = found(history(USER, {"role": "CHATBOT", "message": "Hm."}, results=("Oslo",)), "cohere-v1")
    assert torn == [("orphan-result", "/tool_results/0")]


def test_plain_messages_stay_with_the_formats_that_hold_them() -> None:
    for messages in ([ASK, SAY], [ASK]):
        assert audit({"model": "m", "messages": messages}).inputs[0].format not in ("ollama", "cohere", "cohere-v1")
    assert (
        audit({"request": {"url": "http://localhost:11434/api/chat", "body": {"messages": [ASK]}}, "response": {}}).inputs[0].format
        == "ollama"
    )
