"""Streams: fragments become the calls that they stood for, whatever their order, and what is wrong with the events is told at the event."""

from __future__ import annotations

import base64
import json
import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from toolaudit import formats
from toolaudit.engine import Options, audit
from toolaudit.formats._events import of_frames, of_text
from toolaudit.model import JSON, Place, Tool
from toolaudit.report import Report

CALLS = (("call_a1", "get_weather", '{"city": "Lima"}'), ("call_b1", "get_time", '{"zone": "UTC", "of": "día"}'))
"""What each of the streams below says: id, name, arguments."""


def pieces(text: str, source: random.Random) -> list[str]:
    """A text in pieces of one to five characters."""
    found = []
    while text:
        size = source.randint(1, 5)
        found.append(text[:size])
        text = text[size:]
    return found


def woven(lists: list[list[JSON]], source: random.Random) -> list[JSON]:
    """Several lists as one, each in its own order."""
    lists, found = [list(one) for one in lists], []
    while any(lists):
        one = source.choice([one for one in lists if one])
        found.append(one.pop(0))
    return found


# ------------------------------------------------------------------------------------------ the same two calls, by each provider


def chunk(delta: JSON, finish: str | None = None) -> JSON:
    return {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def fragment(index: int | None, arguments: str, key: str | None = None, name: str | None = None) -> JSON:
    call: dict[str, JSON] = {"function": {"arguments": arguments, **({"name": name} if name else {})}}
    return chunk(
        {"tool_calls": [{**call, **({} if index is None else {"index": index}), **({"id": key, "type": "function"} if key else {})}]}
    )


def chat(source: random.Random) -> list[JSON]:
    calls = [
        [fragment(at, "", key, name), *(fragment(at, piece) for piece in pieces(args, source))]
        for at, (key, name, args) in enumerate(CALLS)
    ]
    return [chunk({"role": "assistant", "content": None}), *woven(calls, source), chunk({}, "tool_calls")]


def anthropic(source: random.Random) -> list[JSON]:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [], "stop_reason": None}
    blocks: list[list[JSON]] = []
    for at, (key, name, args) in enumerate(CALLS):
        start = {"type": "content_block_start", "index": at, "content_block": {"type": "tool_use", "id": key, "name": name, "input": {}}}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(args, source)]
        grown = [{"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas]
        blocks.append([start, *grown, {"type": "content_block_stop", "index": at}])
    ends: list[JSON] = [{"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}]
    return [{"type": "message_start", "message": message}, {"type": "ping"}, *blocks[0], *blocks[1], *ends]


def responses(source: random.Random) -> list[JSON]:
    events: list[list[JSON]] = []
    for at, (key, name, args) in enumerate(CALLS):
        item = {"type": "function_call", "id": f"fc_{at}", "call_id": key, "name": name, "arguments": "", "status": "in_progress"}
        deltas = [
            {"type": "response.function_call_arguments.delta", "item_id": f"fc_{at}", "output_index": at, "delta": piece}
            for piece in pieces(args, source)
        ]
        done = {"type": "response.output_item.done", "output_index": at, "item": {**item, "arguments": args, "status": "completed"}}
        events.append([{"type": "response.output_item.added", "output_index": at, "item": item}, *deltas, done])
    created = {
        "type": "response.created",
        "response": {"id": "r1", "object": "response", "status": "in_progress", "model": "gpt-5", "output": []},
    }
    completed = {"type": "response.completed", "response": {"id": "r1", "object": "response", "status": "completed", "model": "gpt-5"}}
    return [{**event, "sequence_number": number} for number, event in enumerate([created, *woven(events, source), completed])]


def converse(source: random.Random) -> list[JSON]:
    found: list[JSON] = [{"messageStart": {"role": "assistant"}}]
    for at, (key, name, args) in enumerate(CALLS):
        found.append({"contentBlockStart": {"contentBlockIndex": at, "start": {"toolUse": {"toolUseId": key, "name": name}}}})
        found += [
            {"contentBlockDelta": {"contentBlockIndex": at, "delta": {"toolUse": {"input": piece}}}} for piece in pieces(args, source)
        ]
        found.append({"contentBlockStop": {"contentBlockIndex": at}})
    return [*found, {"messageStop": {"stopReason": "tool_use"}}, {"metadata": {"usage": {}}}]


def cohere(source: random.Random) -> list[JSON]:
    found: list[JSON] = [{"type": "message-start", "id": "m1", "delta": {"message": {"role": "assistant"}}}]
    found.append({"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "I will look."}}})
    for at, (key, name, args) in enumerate(CALLS):
        call: JSON = {"id": key, "type": "function", "function": {"name": name, "arguments": ""}}
        found.append({"type": "tool-call-start", "index": at, "delta": {"message": {"tool_calls": call}}})
        grown = [{"function": {"arguments": piece}} for piece in pieces(args, source)]
        found += [{"type": "tool-call-delta", "index": at, "delta": {"message": {"tool_calls": one}}} for one in grown]
        found.append({"type": "tool-call-end", "index": at})
    return [*found, {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}}]


def gemini(source: random.Random) -> list[JSON]:
    del source
    parts = [{"functionCall": {"id": key, "name": name, "args": json.loads(args)}} for key, name, args in CALLS]
    chunks: list[JSON] = [
        {"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}], "responseId": "r1"} for part in parts
    ]
    return [*chunks, {"candidates": [{"index": 0, "content": {"role": "model", "parts": []}, "finishReason": "STOP"}], "responseId": "r1"}]


def ollama(source: random.Random) -> list[JSON]:
    del source
    calls = [
        {"id": key, "function": {"index": at, "name": name, "arguments": json.loads(args)}} for at, (key, name, args) in enumerate(CALLS)
    ]
    messages: list[JSON] = [{"role": "assistant", "content": "", "tool_calls": [call]} for call in calls]
    chunks: list[JSON] = [{"model": "qwen3", "created_at": "t", "message": message, "done": False} for message in messages]
    return [
        *chunks,
        {"model": "qwen3", "created_at": "t", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"},
    ]


STREAMS: dict[str, Callable[[random.Random], list[JSON]]] = {
    "openai-chat-stream": chat,
    "anthropic-stream": anthropic,
    "openai-responses-stream": responses,
    "bedrock-converse-stream": converse,
    "cohere-stream": cohere,
    "gemini-stream": gemini,
    "ollama-stream": ollama,
}
each = pytest.mark.parametrize("name", STREAMS)


def rules(report: Report) -> list[str]:
    return [entry.rule for entry in report.findings if entry.rule != "open-call"]


def tools() -> JSON:
    """Declared tools of which the calls above are whole, and nothing less."""
    string = {"type": "string"}
    schemas = {
        "get_weather": {"type": "object", "properties": {"city": {"const": "Lima"}}, "required": ["city"]},
        "get_time": {"type": "object", "properties": {"zone": string, "of": {"const": "día"}}, "required": ["zone", "of"]},
    }
    return [{"name": name, "parameters": schema} for name, schema in schemas.items()]


def written(tmp_path: Path, events: list[JSON], how: str) -> Path:
    """The events in a file, as lines, as a list or as the text of server-sent events."""
    path = tmp_path / f"stream.{how}"
    if how == "json":
        path.write_text(json.dumps(events, ensure_ascii=False))
    else:
        mark, end = ("data: ", "\n\n") if how == "sse" else ("", "\n")
        path.write_text("".join(f"{mark}{json.dumps(event, ensure_ascii=False)}{end}" for event in events))
    return path


@each
@pytest.mark.parametrize("how", ["jsonl", "json", "sse"])
def test_fragments_become_the_calls_that_they_stood_for(tmp_path: Path, name: str, how: str) -> None:
    declared = tuple(Tool(name=one["name"], schema=one["parameters"]) for one in tools())
    for seed in range(8):
        report = audit(written(tmp_path, STREAMS[name](random.Random(seed)), how), Options(tools=declared))
        assert report.inputs[0].format == name
        assert (report.summary.trajectories, report.summary.calls) == (1, 2)
        assert rules(report) == []
        assert report.findings == []


@each
def test_what_a_call_says_is_whole(name: str) -> None:
    for seed in range(8):
        (trajectory,) = formats.format(name).read(STREAMS[name](random.Random(seed)), Place(0))
        calls = [call for turn in trajectory.turns for call in turn.calls]
        said = {(call.id, call.name, json.dumps(json.loads(call.args) if isinstance(call.args, str) else call.args)) for call in calls}
        assert said == {(key, tool, json.dumps(json.loads(args))) for key, tool, args in CALLS}


@each
def test_a_stream_that_breaks_off_says_so_at_its_last_event(tmp_path: Path, name: str) -> None:
    events = STREAMS[name](random.Random(1))
    for count in range(1, len(events)):
        if any(key in events[count] for key in ("metadata",)):
            continue  # the message had ended
        report = audit(written(tmp_path, events[:count], "jsonl"))
        if report.inputs[0].format != name:
            assert count == 1 and name != "openai-chat-stream", "the first event may not say enough"
            continue
        found = [entry for entry in report.findings if entry.rule == "unfinished-stream"]
        assert [entry.line for entry in found] == [count if count > 1 else None]  # one event alone is a document
        assert not any(entry.rule in ("malformed-arguments", "missing-result", "missing-id") for entry in report.findings)


@each
def test_the_response_is_joined_to_its_request(name: str) -> None:
    requests: dict[str, tuple[str, JSON]] = {
        "openai-chat-stream": (
            "https://api.openai.com/v1/chat/completions",
            {"model": "gpt-5", "messages": [{"role": "user", "content": "q"}]},
        ),
        "anthropic-stream": (
            "https://api.anthropic.com/v1/messages",
            {"model": "c", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}]},
        ),
        "openai-responses-stream": ("https://api.openai.com/v1/responses", {"model": "gpt-5", "input": "q"}),
        "bedrock-converse-stream": (
            "https://bedrock-runtime.us-east-1.amazonaws.com/model/x/converse-stream",
            {"messages": [{"role": "user", "content": [{"text": "q"}]}]},
        ),
        "cohere-stream": ("https://api.cohere.com/v2/chat", {"model": "command-a", "messages": [{"role": "user", "content": "q"}]}),
        "gemini-stream": (
            "https://generativelanguage.googleapis.com/v1beta/models/g:streamGenerateContent",
            {"contents": [{"role": "user", "parts": [{"text": "q"}]}]},
        ),
        "ollama-stream": ("http://localhost:11434/api/chat", {"model": "qwen3", "messages": [{"role": "user", "content": "q"}]}),
    }
    address, body = requests[name]
    events = STREAMS[name](random.Random(2))
    lines = "".join(f"{'' if name == 'ollama-stream' else 'data: '}{json.dumps(event)}\n\n" for event in events)
    report = audit({"request": {"url": address, "body": body}, "response": {"status": 200, "body": lines}})
    assert report.inputs[0].status == "read"
    assert (report.summary.trajectories, report.summary.turns, report.summary.calls) in ((1, 2, 2), (1, 3, 2))
    assert report.findings == []


# ----------------------------------------------------------------------------------------------------------- what goes wrong


def test_calls_under_one_index_are_told_apart_by_their_ids() -> None:
    events = [fragment(0, args, key, name) for key, name, args in CALLS]
    report = audit([chunk({"role": "assistant"}), *events, chunk({}, "tool_calls")])
    assert report.summary.calls == 2
    assert [(entry.rule, entry.pointer, entry.call_id) for entry in report.findings if entry.rule != "open-call"] == [
        ("index-collision", "/2/choices/0/delta/tool_calls/0", "call_b1")
    ]


def test_an_id_that_is_repeated_with_each_fragment_is_one_call() -> None:
    key, name, args = CALLS[0]
    events = [fragment(0, piece, key, name) for piece in pieces(args, random.Random(3))]
    empty = [fragment(0, piece, "", "") for piece in pieces("", random.Random(3))]
    report = audit([*events, *empty, chunk({}, "tool_calls")])
    assert (report.summary.calls, rules(report)) == (1, [])


def test_calls_without_an_index_go_by_their_ids_then_by_their_order() -> None:
    events: list[JSON] = []
    for key, name, args in CALLS:
        events += [fragment(None, "", key, name), *(fragment(None, piece) for piece in pieces(args, random.Random(4)))]
    report = audit([*events, chunk({}, "tool_calls")])
    assert (report.summary.calls, rules(report)) == (2, ["missing-index", "missing-index"])


def test_two_blocks_under_one_index() -> None:
    events = anthropic(random.Random(5))
    for event in events:
        if event.get("index") == 1:
            event["index"] = 0
    report = audit(events)
    assert (report.summary.calls, rules(report)) == (2, ["index-collision"])


def test_arguments_that_are_no_json_are_malformed_at_the_event_that_began_the_call() -> None:
    report = audit([fragment(0, '{"city": }', "call_a1", "get_weather"), chunk({}, "tool_calls")])
    found = [entry for entry in report.findings if entry.rule == "malformed-arguments"]
    assert [entry.pointer for entry in found] == ["/0/choices/0/delta/tool_calls/0/function/arguments"]


def test_a_resumed_stream_repeats_events() -> None:
    events = responses(random.Random(6))
    report = audit([*events[:5], *events[2:]])
    assert (report.summary.calls, rules(report)) == (2, [])


def test_streams_that_follow_one_another_or_mix_are_told_apart(tmp_path: Path) -> None:
    first, second = chat(random.Random(7)), chat(random.Random(8))
    for event in second:
        event["id"] = "c2"
    for events in ([*first, *second], woven([first, second], random.Random(9))):
        report = audit(written(tmp_path, events, "jsonl"))
        assert (report.summary.trajectories, report.summary.calls) == (2, 4)
        assert set(rules(report)) <= {"reused-call-id"}
    report = audit([*anthropic(random.Random(1)), *anthropic(random.Random(2))])
    assert (report.summary.trajectories, report.summary.calls) == (2, 4)


def test_the_arguments_of_a_call_on_vertex_come_in_parts() -> None:
    def told(*parts: JSON, finish: str | None = None) -> JSON:
        candidate: dict[str, JSON] = {"index": 0, "content": {"role": "model", "parts": list(parts)}}
        return {"candidates": [{**candidate, **({"finishReason": finish} if finish else {})}], "responseId": "r1"}

    more = {"functionCall": {"partialArgs": [{"jsonPath": "$.city", "stringValue": "Li"}], "willContinue": True}}
    report = audit(
        [told({"functionCall": {"name": "a", "willContinue": True}}), told(more), told({"functionCall": {}}), told(finish="STOP")]
    )
    assert (report.summary.calls, rules(report)) == (1, [])


# ------------------------------------------------------------------------------------------------------------------ encodings


def frame(name: str, payload: bytes) -> bytes:
    headers = b"".join(
        bytes([len(key)]) + key + b"\x07" + struct.pack(">H", len(value)) + value
        for key, value in ((b":event-type", name.encode()), (b":message-type", b"event"))
    )
    total = 16 + len(headers) + len(payload)
    return struct.pack(">III", total, len(headers), 0) + headers + payload + b"\0\0\0\0"


def test_binary_frames_of_an_event_stream() -> None:
    events = converse(random.Random(1))
    data = b"".join(frame(next(iter(event)), json.dumps(next(iter(event.values()))).encode()) for event in events)
    assert of_frames(data) == events
    for end in range(len(data)):
        assert of_frames(data[:end]) == events[: len(of_frames(data[:end]))]
    address = "https://bedrock-runtime.us-east-1.amazonaws.com/model/x/converse-stream"
    body = {"messages": [{"role": "user", "content": [{"text": "q"}]}]}
    record = {
        "request": {"url": address, "body": body},
        "response": {"status": 200, "body": {"base64_string": base64.b64encode(data).decode()}},
    }
    report = audit(record)
    assert (report.inputs[0].status, report.summary.calls, report.findings) == ("read", 2, [])


def test_frames_that_hold_the_events_of_another_provider() -> None:
    events = anthropic(random.Random(1))
    payloads = [json.dumps({"bytes": base64.b64encode(json.dumps(event).encode()).decode()}).encode() for event in events]
    assert of_frames(b"".join(frame("chunk", payload) for payload in payloads)) == events


@pytest.mark.parametrize("data", [b"", b"\0" * 40, b"\0\0\0\x10" + b"\xff" * 40, bytes(range(200))])
def test_bytes_that_are_no_frames(data: bytes) -> None:
    assert of_frames(data) == []


def test_what_is_no_event_is_left_out_of_a_text() -> None:
    assert of_text(': hello\nevent: x\ndata: {"a": 1}\ndata: {broken\ndata: [DONE]\n\nid: 3\n{"b": 2}') == [{"a": 1}, {"b": 2}]
