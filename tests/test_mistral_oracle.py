"""The vendor's own validator as an oracle: the same accept or refuse, for each generation of its tokenizer.

What it looks at beside pairs is left out, for no rule is about it: text beside calls (refused up to v3), a last message of the model, roles
in an order that breaks no pair.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import pytest

from toolaudit.engine import Options, audit
from toolaudit.model import JSON

Messages: TypeAlias = list[dict[str, JSON]]
VERSIONS = {"v2": "mistral-v2", "v3": "mistral-v3", "v7": "mistral-v3", "v11": "mistral-v11", "v13": "mistral", "v15": "mistral"}
"""The target that stands for each version."""
each = pytest.mark.parametrize("version", VERSIONS)


@cache
def _validator(version: str) -> Any:
    validator = pytest.importorskip("mistral_common.protocol.instruct.validator", reason="mistral-common is not installed")
    versions = pytest.importorskip("mistral_common.tokens.tokenizers.base")
    return validator.get_validator(versions.TokenizerVersion(version), validator.ValidationMode.serving)


def theirs(messages: Messages, version: str) -> bool:
    """Whether the validator takes the messages."""
    own = _validator(version)
    errors = pytest.importorskip("mistral_common.exceptions")
    request = pytest.importorskip("mistral_common.protocol.instruct.request")
    found = request.ChatCompletionRequest(model="m", messages=copy.deepcopy(messages))
    try:
        own.validate_messages(found.messages)
    except errors.MistralCommonException:
        return False
    return True


def ours(messages: Messages, version: str) -> bool:
    """Whether the target has no refusal for them, sent as they stand."""
    target = VERSIONS[version]
    found = audit({"model": "m", "messages": messages}, Options(target=target, sent=True)).findings
    return not any(entry.verdicts[target].verdict == "rejected" for entry in found)


def key(source: random.Random) -> str:
    return "".join(source.choices("abcdefXYZ0123456789", k=9))


def conversation(source: random.Random) -> Messages:
    """A whole conversation: turns of one to three calls, their results in any order behind them."""
    messages: Messages = [{"role": "user", "content": "q"}]
    for _ in range(source.randint(1, 3)):
        ids = [key(source) for _ in range(source.randint(1, 3))]
        messages.append(turn(*ids))
        results = [result(one) for one in ids]
        source.shuffle(results)
        messages += results
        if source.random() < 0.5:
            messages.append({"role": "assistant", "content": "So it is."})
            messages.append({"role": "user", "content": "And now?"})
    return messages


def turn(*ids: str) -> dict[str, JSON]:
    calls = [{"id": one, "type": "function", "function": {"name": "tide", "arguments": f'{{"at": "{one}"}}'}} for one in ids]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def result(one: str, text: str = "") -> dict[str, JSON]:
    return {"role": "tool", "tool_call_id": one, "content": text or f"5 m at {one}"}


def places(messages: Messages, role: str) -> list[int]:
    wanted = [at for at, message in enumerate(messages) if message["role"] == role]
    return [at for at in wanted if role != "assistant" or messages[at].get("tool_calls")]


def missing(messages: Messages, source: random.Random) -> None:
    del messages[source.choice(places(messages, "tool"))]


def doubled(messages: Messages, source: random.Random) -> None:
    at = source.choice(places(messages, "tool"))
    messages.insert(at + 1, copy.deepcopy(messages[at]))


def invented(messages: Messages, source: random.Random) -> None:
    messages[source.choice(places(messages, "tool"))]["tool_call_id"] = key(source)


def surplus(messages: Messages, source: random.Random) -> None:
    messages.insert(source.choice(places(messages, "tool")) + 1, result(key(source), "Nobody asked."))


def same_ids(messages: Messages, source: random.Random) -> None:
    """Two calls of one turn have one id, and so have their results."""
    at = source.choice(places(messages, "assistant"))
    ids = [key(source), key(source)]
    messages[at:at] = [turn(*ids), result(ids[0]), result(ids[1])]
    messages[at]["tool_calls"][1]["id"] = ids[0]
    messages[at + 2]["tool_call_id"] = ids[0]


def between(messages: Messages, source: random.Random) -> None:
    messages.insert(source.choice(places(messages, "tool")), {"role": "user", "content": "Hurry."})


def reused(messages: Messages, source: random.Random) -> None:
    one = messages[places(messages, "assistant")[0]]["tool_calls"][0]["id"]
    again = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": one, "type": "function", "function": {"name": "tide", "arguments": "{}"}}],
    }
    messages += [again, result(one, "6 m")]


def long_id(messages: Messages, source: random.Random) -> None:
    at = source.choice(places(messages, "assistant"))
    messages[at:at] = [turn("call_0123_abcd"), result("call_0123_abcd")]


def ends_with_calls(messages: Messages, source: random.Random) -> None:
    messages.append(turn(key(source)))


def called_twice(messages: Messages, source: random.Random) -> None:
    """The next turn calls before the last one is answered."""
    at = source.choice(places(messages, "assistant"))
    messages.insert(at, turn(key(source)))


def permuted(messages: Messages, source: random.Random) -> None:
    ids = [key(source) for _ in range(3)]
    messages += [turn(*ids), result(ids[2]), result(ids[0]), result(ids[1])]


CHANGES: dict[str, Callable[[Messages, random.Random], None]] = {
    change.__name__: change
    for change in (missing, doubled, invented, surplus, same_ids, between, reused, long_id, ends_with_calls, called_twice, permuted)
}


@each
def test_whole_conversations_are_taken_by_both(version: str) -> None:
    for seed in range(25):
        messages = conversation(random.Random(seed))
        assert theirs(messages, version)
        assert ours(messages, version), messages


@each
@pytest.mark.parametrize("name", CHANGES)
def test_one_fault_has_one_verdict(version: str, name: str) -> None:
    for seed in range(12):
        source = random.Random(seed)
        messages = conversation(source)
        CHANGES[name](messages, source)
        assert ours(messages, version) == theirs(messages, version), messages


@each
def test_several_faults_have_one_verdict(version: str) -> None:
    verdicts = set()
    for seed in range(60):
        source = random.Random(seed)
        messages = conversation(source)
        for name in source.sample(sorted(CHANGES), source.randint(1, 3)):
            if places(messages, "tool") and places(messages, "assistant"):
                CHANGES[name](messages, source)
        verdicts.add(theirs(messages, version))
        assert ours(messages, version) == theirs(messages, version), messages
    assert verdicts == {True, False}


@each
def test_the_validator_skips_the_first_message_and_we_do_not(version: str) -> None:
    """Its loop begins behind the first message, so that a result there is never looked at."""
    messages = [result("aB3dE6gH9"), {"role": "user", "content": "q"}]
    assert theirs(messages, version)
    assert not ours(messages, version)
