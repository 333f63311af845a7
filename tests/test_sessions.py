"""Two requests of one conversation: what was altered, and where a cut went through a pair."""

from __future__ import annotations

import copy
import json
import random

import pytest

from toolaudit.engine import audit
from toolaudit.model import JSON
from toolaudit.report import Entry

ADDRESS = "https://api.openai.com/v1/chat/completions"


def call(key: str, **arguments: JSON) -> JSON:
    return {"id": key, "type": "function", "function": {"name": "tide", "arguments": json.dumps(arguments or {"at": key})}}


def turn(*calls: JSON, text: str | None = None) -> JSON:
    return {"role": "assistant", "content": text, "tool_calls": list(calls)}


def result(key: str) -> JSON:
    return {"role": "tool", "tool_call_id": key, "content": f"5 m at {key}"}


def said(role: str, text: str) -> JSON:
    return {"role": role, "content": text}


def exchange(messages: list[JSON], answer: JSON | None = None, status: int = 200) -> JSON:
    response: dict[str, JSON] = {"status": status}
    if answer is not None:
        response["body"] = {"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop", "message": answer}]}
    return {"request": {"url": ADDRESS, "body": {"model": "m", "messages": messages}}, "response": response}


def found(*exchanges: JSON) -> list[Entry]:
    return [entry for entry in audit({"exchanges": list(exchanges)}).findings if entry.rule in ("altered-assistant-turn", "trimmed-pair")]


ASK = said("user", "q")
A, B = "call_k3m9x2q7", "call_p8w4z1v5"
CAME = turn(call(A), call(B))
DONE = [result(A), result(B)]


def test_a_turn_that_is_sent_back_as_it_came_is_silent() -> None:
    padded = copy.deepcopy(CAME)
    padded["name"], padded["content"] = None, ""
    padded["tool_calls"][0]["function"]["arguments"] = '{ "at" : "' + A + '", "unit": null}'
    for again in (CAME, padded):
        assert found(exchange([ASK], CAME), exchange([ASK, again, *DONE], said("assistant", "So."))) == []


ALTERED = {
    "a call was dropped": (turn(call(A)), [result(A)], "not sent back with it", B),
    "arguments were rewritten": (turn(call(A, at="elsewhere"), call(B)), DONE, "its arguments, or its tool", A),
    "an id was rewritten": (
        turn({**call(A), "id": "call_n0t0t8w1"}, call(B)),
        [result("call_n0t0t8w1"), result(B)],
        f"received under the id `{A}`",
        "call_n0t0t8w1",
    ),
}


@pytest.mark.parametrize("name", ALTERED)
def test_a_turn_that_is_sent_back_otherwise(name: str) -> None:
    again, results, words, key = ALTERED[name]
    (entry,) = found(exchange([ASK], CAME), exchange([ASK, again, *results], said("assistant", "So.")))
    assert (entry.rule, entry.call_id) == ("altered-assistant-turn", key)
    assert words in entry.message
    assert entry.pointer.startswith("/exchanges/1/request/body/messages/1")


def test_all_calls_of_a_turn_were_dropped_and_its_words_stayed() -> None:
    came = turn(call(A), text="I will look.")
    (entry,) = found(
        exchange([ASK], came), exchange([ASK, said("assistant", "I will look."), said("user", "Well?")], said("assistant", "So."))
    )
    assert (entry.rule, entry.call_id) == ("altered-assistant-turn", A)


def test_another_attempt_is_no_alteration() -> None:
    """The same request again brought other calls, and those were sent back."""
    other = turn(call("call_f7g2h5j9"))
    assert (
        found(exchange([ASK], CAME), exchange([ASK], other), exchange([ASK, other, result("call_f7g2h5j9")], said("assistant", "So.")))
        == []
    )


def history(count: int) -> list[JSON]:
    """A long conversation: a question, a call and its result, an answer, again and again."""
    messages: list[JSON] = []
    for number in range(count):
        key = f"call_q{number:03}x9z7k"
        messages += [said("user", f"q {number}"), turn(call(key)), result(key), said("assistant", f"a {number}")]
    return messages


def is_torn(messages: list[JSON]) -> bool:
    calls = {one["id"] for message in messages for one in message.get("tool_calls", ())}
    return calls != {message["tool_call_id"] for message in messages if message["role"] == "tool"}


def test_every_cut_of_the_head_is_told_exactly_when_it_goes_through_a_pair() -> None:
    whole = history(6)
    for cut in range(1, len(whole) - 1):
        rest = [*whole[cut:], said("user", "And now?")]
        entries = found(exchange(whole), exchange(rest, status=400))
        assert [entry.rule for entry in entries] == (["trimmed-pair"] if is_torn(rest) else [])
        if entries:
            assert "the head was cut" in entries[0].message
            assert entries[0].root is not None, "it explains the orphan"


def test_what_the_cut_looks_like() -> None:
    whole = history(4)
    evicted = [message for index, message in enumerate(whole) if index not in (2, 6)]
    summed = [said("user", "So far: tides were asked for."), *whole[6:], said("user", "And now?")]
    for messages, words in ((evicted, "old results were evicted"), (summed, "a summary took their place")):
        (entry,) = found(exchange(whole), exchange([*messages, said("user", "p")], status=400))
        assert words in entry.message
        assert "in front of turn" in entry.help


def test_whole_pairs_may_go() -> None:
    source = random.Random(5)
    whole = history(8)
    for _ in range(30):
        kept = sorted(source.sample(range(8), source.randint(1, 8)))
        rest = [message for number in kept for message in whole[4 * number : 4 * number + 4]]
        assert found(exchange(whole), exchange([*rest, said("user", "And now?")], status=400)) == []


def test_conversations_side_by_side_are_told_apart() -> None:
    first, second = history(3), json.loads(json.dumps(history(3)).replace("call_q", "call_r").replace("q ", "other "))
    exchanges = [exchange(first[:4]), exchange(second[:4]), exchange(first), exchange(second)]
    assert found(*exchanges) == []
    exchanges += [exchange(first[2:], status=400), exchange(second, said("assistant", "So."))]
    assert [(entry.rule, entry.pointer.split("/")[2]) for entry in found(*exchanges)] == [("trimmed-pair", "4")]


def test_a_request_that_leaves_its_history_to_the_provider_has_dropped_nothing() -> None:
    url = "https://api.openai.com/v1/responses"
    asked = {"type": "function_call", "call_id": A, "name": "tide", "arguments": "{}"}
    came = {"object": "response", "id": "resp_1", "status": "completed", "output": [asked]}
    first = {"url": url, "body": {"model": "m", "input": [{"role": "user", "content": "q"}]}}
    items = [{"type": "function_call_output", "call_id": A, "output": "5 m"}]
    second = {"url": url, "body": {"model": "m", "input": items, "previous_response_id": "resp_1"}}
    assert found({"request": first, "response": {"status": 200, "body": came}}, {"request": second, "response": {"status": 200}}) == []


def test_what_goes_on_is_told_once_with_how_many_requests_have_it() -> None:
    torn = [ASK, CAME, DONE[0]]
    exchanges = [exchange(torn + [said("user", f"p {index}") for index in range(count)], status=400) for count in range(1, 4)]
    (entry,) = audit({"exchanges": exchanges}).findings
    assert (entry.rule, entry.repeats, entry.pointer.split("/")[2]) == ("missing-result", 3, "0")
