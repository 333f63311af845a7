"""Captured traffic: how bodies are stored, what an address proves, and YAML that means harm."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

import orjson
import pytest
import yaml

from tests.cli_helper import run
from toolaudit.formats._exchange import exchange
from toolaudit.model import JSON, Place
from toolaudit.sources.records import NotJSON
from toolaudit.sources.yaml import as_json

ADDRESS = "https://api.openai.com/v1/chat/completions"
CALL = {"id": "call_a1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
OPEN: JSON = {"model": "m", "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": [CALL]}]}
"""A request that was sent with a call unanswered."""
REFUSED = {"status": {"code": 400}, "body": {"string": '{"error": {"message": "no"}}'}}


def cassette(*sides: JSON, **options: object) -> str:
    return yaml.safe_dump({"version": 1, "interactions": list(sides)}, sort_keys=False, **options)


def report(tmp_path: Path, text: str | bytes, name: str = "cassette.yaml", *options: str) -> dict[str, JSON]:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    done: dict[str, JSON] = json.loads(run("check", str(path), "-f", "json", "--fail-on", "never", *options).out)
    return done


def sent(**body: JSON) -> JSON:
    return {"request": {"uri": ADDRESS, **body}, "response": REFUSED}


ZIPPED = gzip.compress(orjson.dumps(OPEN), mtime=0)
BODIES = {
    "text": {"body": json.dumps(OPEN)},
    "parsed": {"parsed_body": OPEN},
    "bytes": {"body": json.dumps(OPEN).encode()},
    "zipped": {"body": ZIPPED},
    "string": {"body": {"string": json.dumps(OPEN)}},
    "base64": {"body": {"encoding": "base64", "text": base64.b64encode(orjson.dumps(OPEN)).decode()}},
    "har": {"postData": {"mimeType": "application/json", "text": json.dumps(OPEN)}},
    "harness": {"body": {"value": OPEN}},
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_request_is_judged_as_it_was_sent_however_its_body_is_stored(tmp_path: Path, body: dict[str, JSON]) -> None:
    found = report(tmp_path, cassette(sent(**body)))
    assert [(finding["rule"], finding["severity"]) for finding in found["findings"]] == [("missing-result", "error")]
    assert found["inputs"][0]["format"] == "openai-chat"


def test_what_a_provider_took_is_no_error_but_is_told(tmp_path: Path) -> None:
    taken = {"status": {"code": 200}, "body": {"string": "data: {}\n\n"}}
    text = cassette({"request": {"uri": ADDRESS, "body": json.dumps(OPEN)}, "response": taken})
    found = report(tmp_path, text)
    assert [(finding["rule"], finding["severity"]) for finding in found["findings"]] == [("missing-result", "warning")]
    assert found["inputs"][0]["reason"] == "1 of its responses is a stream, not read yet"
    strict = report(tmp_path, text, "cassette.yaml", "--target", "openai-chat")
    assert [(finding["rule"], finding["severity"]) for finding in strict["findings"]] == [("missing-result", "error")]


def test_a_finding_in_a_cassette_stands_on_its_line_and_at_its_place(tmp_path: Path) -> None:
    text = cassette(sent(parsed_body=OPEN), indent=4)
    finding = report(tmp_path, text)["findings"][0]
    lines = text.splitlines()
    assert finding["pointer"] == "/interactions/0/request/parsed_body/messages/1/tool_calls/0"
    assert "call_a1" in lines[finding["line"] - 1]


def test_the_address_decides_between_formats_that_fit_alike() -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}]}
    for address, form in ((ADDRESS, "openai-chat"), ("https://api.anthropic.com/v1/messages", "anthropic-messages")):
        record = {"request": {"url": address, "body": body}, "response": {"status": 200}}
        done = run("check", "-", "-f", "json", stdin=orjson.dumps(record))
        assert json.loads(done.out)["inputs"][0]["format"] == form


def test_traffic_without_a_transcript_is_named(tmp_path: Path) -> None:
    found = report(tmp_path, cassette({"request": {"uri": "https://example.com/health", "body": None}, "response": REFUSED}))
    assert found["inputs"][0]["status"] in ("skipped", "failed")
    assert found["inputs"][0]["reason"]


@pytest.mark.parametrize("data", [b"\x1f\x8bnothing", base64.b64encode(b"\x1f\x8b" + bytes(99)), b"H4sI!!", b"data: x\n"])
def test_a_body_that_cannot_be_unpacked_is_no_request(data: bytes) -> None:
    found = exchange({"request": {"uri": ADDRESS, "body": data.decode("latin-1")}, "response": None}, Place(1))
    assert found is not None
    assert found.request is None or found.request.value is None


def test_a_body_that_unfolds_without_end_is_cut() -> None:
    bomb = base64.b64encode(gzip.compress(bytes(1 << 27), mtime=0)).decode()
    found = exchange({"request": {"uri": ADDRESS, "body": bomb}, "response": None}, Place(1))
    assert found is not None and (found.request is None or found.request.value is None)


# ---------------------------------------------------------------------------------------------------------------------- YAML


def test_yaml_becomes_json_of_which_every_value_stands_on_its_line() -> None:
    text = b"a: 1\nb:\n  - x\n  - [true, null]\n  - |\n    two\n    lines\nc: {d: 1.5, 'e': '1'}\n"
    assert orjson.loads(as_json(text)) == {"a": 1, "b": ["x", [True, None], "two\nlines\n"], "c": {"d": 1.5, "e": "1"}}
    for word in (b'"a"', b'"x"', b"true", b'"two', b'"c"'):
        line = next(i for i, got in enumerate(as_json(text).split(b"\n")) if word in got)
        assert word.strip(b'"')[:1] in text.split(b"\n")[line] or word == b'"two'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"a: [1, 2", "it is not YAML either"),
        (b"a: &a [*a]", "nested too deeply"),
        (b"[" * 3000 + b"]" * 3000, "nest"),
        (b"a: &a [" + b"x, " * 200 + b"]\nb: &b [" + b"*a, " * 200 + b"]\nc: [" + b"*b, " * 200 + b"]", "unfold"),
        (b"a: \x00", "it is not YAML either"),
    ],
)
def test_yaml_that_means_harm_is_refused(text: bytes, reason: str) -> None:
    with pytest.raises(NotJSON, match=reason):
        as_json(text)


def test_tags_make_nothing_but_data() -> None:
    text = (
        b"a: !!python/object/apply:os.system ['true']\n"
        b"b: !!binary aGk=\nc: !!binary /wA=\nd: !unknown {x: 2026-01-01}\ne: !!int x\nf: .nan\n"
    )
    assert orjson.loads(as_json(text)) == {"a": ["true"], "b": "hi", "c": "/wA=", "d": {"x": "2026-01-01"}, "e": "x", "f": None}


def test_a_cassette_cut_anywhere_is_read_or_refused_in_a_sentence(tmp_path: Path) -> None:
    whole = cassette(sent(body=json.dumps(OPEN)), sent(parsed_body=OPEN)).encode()
    for end in range(0, len(whole), 37):
        found = report(tmp_path, whole[:end])
        given = found["inputs"][0]
        assert given["status"] == "read" or given["reason"]


# ------------------------------------------------------------------------------------------------------------------- batches

LINES: dict[str, JSON] = {
    "OpenAI": {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": OPEN},
    "Mistral": {"custom_id": "1", "body": OPEN},
    "Anthropic": {
        "custom_id": "1",
        "params": {
            "model": "claude-sonnet-4-5",
            "max_tokens": 9,
            "messages": [
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "a", "input": {}}]},
            ],
        },
    },
    "Gemini": {
        "key": "1",
        "request": {
            "contents": [
                {"role": "user", "parts": [{"text": "q"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "a", "args": {}}}]},
            ]
        },
    },
    "Bedrock": {
        "recordId": "1",
        "modelInput": {
            "schemaVersion": "messages-v1",
            "messages": [
                {"role": "user", "content": [{"text": "q"}]},
                {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "a", "input": {}}}]},
            ],
        },
    },
    "a log": {"type": "request", "data": OPEN},
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_line_of_a_batch_is_judged_as_sent(tmp_path: Path, line: JSON) -> None:
    found = report(tmp_path, json.dumps(line) + "\n", "batch.jsonl")
    assert "missing-result" in [finding["rule"] for finding in found["findings"]]


@pytest.mark.parametrize("status", [200, 400])
def test_the_status_of_a_line_says_whether_it_was_taken(tmp_path: Path, status: int) -> None:
    found = report(tmp_path, json.dumps({"status": status, "request": OPEN}), "log.jsonl")
    assert [finding["severity"] for finding in found["findings"]] == ["warning" if status == 200 else "error"]
