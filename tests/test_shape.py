"""The published shapes: what is legal passes, what is not is named with its place; and the schemas are schemas."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path

import orjson
import pytest
from jsonschema import Draft202012Validator

from toolaudit import schemas
from toolaudit.errors import UsageError
from toolaudit.shape import faults

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared"

A, C, R = "anthropic-messages", "openai-chat", "openai-responses"

# ------------------------------------------------------------------------------------------------------------ what is legal

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "one line"}, "title": None}
SEARCH = {"type": "search_result", "source": "kb:1", "title": "Oslo", "content": [{"type": "text", "text": "capital"}]}
USE = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}
RUN = {"return_code": 0, "stderr": "", "stdout": "4\n", "content": [{"type": "code_execution_output", "file_id": "file_1"}]}

ANTHROPIC_USER = [
    {"type": "text", "text": "hi", "citations": None, "cache_control": {"type": "ephemeral"}},
    IMAGE,
    {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
    DOCUMENT,
    {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "x"}, IMAGE]}},
    SEARCH,
    {"type": "container_upload", "file_id": "file_1"},
    {"type": "tool_result", "tool_use_id": "toolu_1"},
    {"type": "tool_result", "tool_use_id": "toolu_1", "content": None, "is_error": None, "cache_control": None, "toolset_name": None},
    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "", "is_error": False},
    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "boom", "is_error": True},
    {"type": "tool_result", "tool_use_id": "toolu_1", "content": []},
    {"type": "tool_result", "tool_use_id": "call_1", "content": [{"type": "text", "text": "4 C"}, IMAGE, DOCUMENT, SEARCH]},
    {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "tool_reference", "tool_name": "read"}]},
    {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "toolset_name": "browser",
        "content": [{"type": "browser_state", "tabs": [{"tab_id": "1", "title": "a", "url": "b", "active": True}]}],
    },
    {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "connector_text", "whatever": 1}]},
    {"type": "compaction", "content": "so far"},
    {"type": "a_block_of_tomorrow", "x": 1},
]
ANTHROPIC_ASSISTANT = [
    {"type": "text", "text": "", "citations": None},
    {"type": "thinking", "thinking": "", "signature": "s"},
    {"type": "redacted_thinking", "data": "AAAA"},
    USE,
    {**USE, "caller": None, "toolset_name": None, "cache_control": None},
    {**USE, "caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}, "input": {"deep": {"er": [1, None]}}},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}, "caller": {"type": "direct"}},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "a_tool_of_tomorrow", "input": {}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [{"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "e", "page_age": None}],
    },
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {"type": "web_search_tool_result_error", "error_code": "unavailable"},
    },
    {
        "type": "web_fetch_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {"type": "web_fetch_result", "url": "u", "retrieved_at": None, "content": DOCUMENT},
    },
    {"type": "web_fetch_tool_result", "tool_use_id": "s", "content": {"type": "web_fetch_tool_result_error", "error_code": "url_too_long"}},
    {"type": "code_execution_tool_result", "tool_use_id": "s", "content": {"type": "code_execution_result", **RUN}},
    {
        "type": "code_execution_tool_result",
        "tool_use_id": "s",
        "content": {"type": "encrypted_code_execution_result", "content": [], "encrypted_stdout": "e", "return_code": 1, "stderr": "x"},
    },
    {"type": "bash_code_execution_tool_result", "tool_use_id": "s", "content": {"type": "bash_code_execution_result", **RUN}},
    {
        "type": "text_editor_code_execution_tool_result",
        "tool_use_id": "s",
        "content": {"type": "text_editor_code_execution_view_result", "content": "x", "file_type": "text", "num_lines": None},
    },
    {
        "type": "text_editor_code_execution_tool_result",
        "tool_use_id": "s",
        "content": {"type": "text_editor_code_execution_create_result", "is_file_update": False},
    },
    {
        "type": "text_editor_code_execution_tool_result",
        "tool_use_id": "s",
        "content": {"type": "text_editor_code_execution_str_replace_result", "lines": ["- a"], "new_lines": 1},
    },
    {
        "type": "tool_search_tool_result",
        "tool_use_id": "s",
        "content": {"type": "tool_search_tool_search_result", "tool_references": [{"type": "tool_reference", "tool_name": "read"}]},
    },
    {"type": "advisor_tool_result", "tool_use_id": "s", "content": {"type": "advisor_result", "text": "wait"}},
    {"type": "advisor_tool_result", "tool_use_id": "s", "content": {"type": "a_result_of_tomorrow", "z": 1}},
    {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "q", "server_name": "db", "input": {}},
    {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False, "content": [{"type": "text", "text": "1"}]},
    {"type": "container_upload", "file_id": "file_1"},
    {"type": "compaction", "content": None, "encrypted_content": None, "signature": None, "tool_changes": None},
    {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}, "trigger": {"type": "refusal", "category": None}},
    {"type": "fallback", "from_": {"model": "a"}, "to": {"model": "b"}},
    {"type": "mcp_tool_listing", "mcp_server_name": "db", "tools": [{"name": "q", "input_schema": {}}]},
    {"type": "a_block_of_tomorrow"},
]
ANTHROPIC = [
    {"role": "user", "content": "hi"},
    {"role": "user", "content": ANTHROPIC_USER},
    {"role": "assistant", "content": ANTHROPIC_ASSISTANT},
    {"role": "assistant", "content": []},
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [USE],
        "model": "claude-x",
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1},
        "container": None,
        "stop_details": None,
    },
    {"role": "system", "content": "from now on, briefly"},
    {"role": "system", "content": [{"type": "text", "text": "x"}], "clear_at": "never"},
    {"role": "system", "content": [{"type": "tool_addition", "tool": {"type": "tool_reference", "name": "read"}}]},
    {"role": "system", "content": [{"type": "tool_removal", "tool": {"type": "mcp_toolset_reference", "server_name": "db"}}]},
    {"role": "system", "output_config": {"effort": "low"}},
]

FUNCTION = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
CHAT = [
    {"role": "system", "content": "be brief"},
    {"role": "developer", "content": [{"type": "text", "text": "be brief"}], "name": None},
    {"role": "user", "content": "hi", "name": "ada"},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "hi"},
            {"type": "image_url", "image_url": {"url": "u", "detail": "low"}},
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            {"type": "file", "file": {"file_id": "file_1"}},
            {"type": "a_part_of_tomorrow", "x": 1},
        ],
    },
    {"role": "assistant", "content": "hello"},
    {"role": "assistant", "content": [{"type": "text", "text": "hello"}, {"type": "refusal", "refusal": "no"}]},
    {"role": "assistant", "content": None, "tool_calls": [FUNCTION]},
    {"role": "assistant", "tool_calls": [FUNCTION, {"id": "call_2", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}]},
    {"role": "assistant", "content": "", "tool_calls": [{**FUNCTION, "index": 0, "function": {"name": "read", "arguments": {"p": 1}}}]},
    {"role": "assistant", "content": None, "function_call": {"name": "now", "arguments": "{}"}},
    {
        "role": "assistant",
        "content": "hello",
        "refusal": None,
        "tool_calls": None,
        "function_call": None,
        "audio": None,
        "annotations": [],
        "parsed": None,
    },
    {"role": "assistant", "content": None, "refusal": "no", "function_call": None, "tool_calls": None},
    {"role": "assistant", "content": None, "audio": {"id": "audio_1", "data": "AAAA", "expires_at": 1, "transcript": "hello"}},
    {"role": "assistant", "content": "hello", "weight": 0},
    {"role": "assistant", "content": "hello", "weight": 1},
    {"role": "tool", "tool_call_id": "call_1", "content": ""},
    {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "4 C"}], "name": "read"},
    {"role": "function", "name": "now", "content": "12:00"},
    {"role": "function", "name": "now", "content": None},
]

CALLER = {"type": "program", "caller_id": "call_p"}
OUTPUT = [{"type": "input_text", "text": "4 C"}, {"type": "input_image", "image_url": "u"}, {"type": "input_file", "file_id": "f"}]
RESPONSES = [
    {"role": "user", "content": "hi"},
    {"type": None, "role": "developer", "content": [{"type": "input_text", "text": "be brief"}]},
    {"type": "message", "role": "user", "content": [*OUTPUT, {"type": "a_part_of_tomorrow"}], "status": None, "id": None},
    {"role": "assistant", "content": "hello", "phase": "final_answer"},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "phase": None,
        "content": [{"type": "output_text", "text": "hi", "annotations": [], "logprobs": None}, {"type": "refusal", "refusal": "no"}],
    },
    {"type": "message", "id": "msg_1", "role": "tool", "status": "completed", "content": [{"type": "text", "text": "x"}]},
    {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{}"},
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "read",
        "arguments": "{}",
        "status": "incomplete",
        "async": True,
        "namespace": None,
        "caller": CALLER,
    },
    {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": {"p": 1}, "async_": None, "caller": None},
    {"type": "function_call_output", "call_id": "call_1", "output": "4 C"},
    {"type": "function_call_output", "call_id": "call_1", "output": OUTPUT, "id": None, "status": None, "name": None, "caller": CALLER},
    {"type": "custom_tool_call", "call_id": "call_1", "name": "sql", "input": "select 1"},
    {"type": "custom_tool_call_output", "call_id": "call_1", "output": OUTPUT},
    {
        "type": "computer_call",
        "id": "cu_1",
        "call_id": "call_1",
        "action": None,
        "actions": [{"type": "wait"}],
        "pending_safety_checks": [{"id": "sc_1", "code": None}],
        "status": "completed",
    },
    {
        "type": "computer_call_output",
        "call_id": "call_1",
        "output": {"type": "computer_screenshot", "image_url": "u"},
        "acknowledged_safety_checks": None,
    },
    {"type": "shell_call", "call_id": "call_1", "action": {"commands": ["ls"], "timeout_ms": None}, "environment": None},
    {
        "type": "shell_call_output",
        "call_id": "call_1",
        "output": [
            {"stdout": "", "stderr": "", "outcome": {"type": "timeout"}},
            {"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
        ],
    },
    {"type": "apply_patch_call", "call_id": "c", "status": "completed", "operation": {"type": "delete_file", "path": "a"}},
    {"type": "apply_patch_call", "call_id": "c", "operation": {"type": "create_file", "path": "a", "diff": "+x"}},
    {"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": None},
    {
        "type": "local_shell_call",
        "id": "ls_1",
        "call_id": None,
        "action": {"type": "exec", "command": ["ls"], "env": {}},
        "status": "completed",
    },
    {"type": "local_shell_call", "call_id": "call_1", "action": {"type": "exec", "command": ["ls"], "timeout_ms": None}},
    {"type": "local_shell_call_output", "id": "call_1", "output": "a"},
    {"type": "local_shell_call_output", "call_id": "call_1", "output": "a"},
    {"type": "tool_search_call", "arguments": {"q": "x"}, "execution": "server", "call_id": None},
    {"type": "tool_search_output", "tools": [{"type": "function", "name": "read"}], "execution": "client", "call_id": "call_1"},
    {"type": "program", "id": "p", "call_id": "call_p", "code": "1", "fingerprint": "f"},
    {"type": "program_output", "id": "p", "call_id": "call_p", "result": "1", "status": "completed"},
    {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "db", "name": "drop", "arguments": "{}"},
    {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": False, "reason": None},
    {"type": "mcp_call", "id": "mcp_1", "server_label": "db", "name": "q", "arguments": "{}", "output": None, "error": "boom"},
    {
        "type": "mcp_call",
        "server_label": "db",
        "name": "q",
        "arguments": "{}",
        "error": {"type": "http_error", "code": 500},
        "status": "calling",
    },
    {"type": "mcp_list_tools", "server_label": "db", "tools": [{"name": "q", "input_schema": {}}], "error": None},
    {"type": "web_search_call", "id": "ws_1", "status": "searching", "action": {"type": "search", "query": "x"}},
    {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["x"], "results": None},
    {"type": "code_interpreter_call", "id": "ci_1", "code": None, "container_id": "c", "outputs": None, "status": "interpreting"},
    {"type": "image_generation_call", "id": "ig_1", "status": "generating", "result": None},
    {"type": "multi_agent_call", "call_id": "c", "action": "spawn_agent", "arguments": "{}", "agent": {"agent_name": "a"}},
    {"type": "multi_agent_call_output", "call_id": "c", "action": "spawn_agent", "output": [{"type": "output_text", "text": "x"}]},
    {"type": "agent_message", "author": "a", "recipient": "b", "content": [{"type": "input_text", "text": "x"}]},
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "x"}], "content": None, "encrypted_content": "AAAA"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "x"}], "status": None},
    {"type": "compaction", "encrypted_content": "AAAA"},
    {"type": "compaction_trigger"},
    {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "read"}]},
    {"type": "configuration_update", "reasoning": {"effort": "low"}},
    {"type": "item_reference", "id": "rs_1"},
    {"id": "rs_1", "type": None},
    {"id": "rs_1"},
    {"type": "an_item_of_tomorrow", "output": 5},
]
LEGAL = [*product([A], ANTHROPIC), *product([C], CHAT), *product([R], RESPONSES)]


@pytest.mark.parametrize(("form", "message"), LEGAL)
def test_a_legal_message_has_no_fault(form, message):
    assert list(faults(form, message)) == []


@pytest.mark.parametrize(("form", "message"), LEGAL)
def test_keys_that_nobody_knows_are_allowed(form, message):
    assert list(faults(form, {**message, "x_seen_at": "now", "x_meta": {"a": [1]}, "x_null": None})) == []


@pytest.mark.parametrize("name", ["anthropic", "openai-chat", "openai-responses"])
@pytest.mark.skipif(not SHARED.is_dir(), reason="the corpus is not here")
def test_what_providers_took_has_no_fault(name):
    form = A if name == "anthropic" else name
    checked = 0
    for line in (SHARED / "corpus" / "wire" / f"{name}.jsonl").read_bytes().splitlines():
        request = orjson.loads(line)["request"]
        messages = request.get("messages", request.get("input"))
        for message in messages if isinstance(messages, list) else []:
            assert list(faults(form, message)) == []
            checked += 1
    assert checked > 200


# -------------------------------------------------------------------------------------------------------- what is not legal


def said(form, *parts, role="user"):
    return form, {"role": role, "content": list(parts)}


TEXT = {"type": "text", "text": "x"}
BROKEN_MESSAGES = [
    # the message itself
    (A, [], (), "the message is a list; an object belongs there"),
    (C, "hi", (), "the message is a string; an object belongs there"),
    (R, None, (), "the message is null; an object belongs there"),
    (A, {}, (), "`role` is missing"),
    (C, {"content": "x"}, (), "`role` is missing"),
    (R, {}, (), "`type` is missing"),
    (R, {"content": "x"}, (), "`type` is missing"),
    (R, {"type": 5}, ("type",), "`type` is a number; a string or null belongs there"),
    (R, {"type": None}, ("type",), "`type` is null; an item has a type, a role or an id"),
    (R, {"type": "message", "content": "x"}, (), "`role` is missing"),
    # roles
    (A, {"role": "tool", "content": "x"}, ("role",), "`role` is `tool`; allowed are user, assistant, system"),
    (C, {"role": "toool"}, ("role",), "`role` is `toool`; allowed are system, developer, user, assistant, tool, function"),
    (C, {"role": 5}, ("role",), "`role` is a number; allowed are"),
    (R, {"role": "tool", "content": "x"}, ("role",), "`role` is `tool`; allowed are user, assistant, system, developer"),
    # content
    (A, {"role": "user"}, (), "`content` is missing"),
    (A, {"role": "system"}, (), "`content` is missing"),
    (A, {"role": "user", "content": None}, ("content",), "`content` is null; a string or a list of parts belongs there"),
    (A, {"role": "assistant", "content": {"type": "text"}}, ("content",), "`content` is an object; a string or a list of parts"),
    (*said(A, "x"), ("content", 0), "`content[0]` is a string; an object belongs there"),
    (*said(A, {"text": "x"}), ("content", 0), "`type` is missing in `content[0]`"),
    (*said(A, TEXT, {"type": "text"}), ("content", 1), "`text` is missing in `content[1]`"),
    (*said(A, {"type": 5}), ("content", 0, "type"), "`type` is a number; a string belongs there"),
    (*said(A, {"type": "text", "text": None}), ("content", 0, "text"), "`text` is null; a string belongs there"),
    (C, {"role": "user", "content": 5}, ("content",), "`content` is a number; a string or a list of parts belongs there"),
    (C, {"role": "assistant", "content": None}, ("content",), "`content` is null; a string or a list of parts belongs there"),
    (C, {"role": "assistant", "content": None, "tool_calls": None}, ("content",), "`content` is null"),
    (C, {"role": "assistant"}, (), "`content` is missing"),
    (C, {"role": "assistant", "content": True, "tool_calls": [FUNCTION]}, ("content",), "is a boolean; a string, a list of parts or null"),
    (C, {"role": "system"}, (), "`content` is missing"),
    (R, {"role": "user", "content": None}, ("content",), "`content` is null; a string or a list of parts belongs there"),
    (R, {"role": "user"}, (), "`content` is missing"),
    # calls
    (*said(A, {**USE, "input": "{}"}, role="assistant"), ("content", 0, "input"), "`input` is a string; an object belongs there"),
    (*said(A, {"type": "tool_use", "id": "a", "input": {}}, role="assistant"), ("content", 0), "`name` is missing in `content[0]`"),
    (*said(A, {**USE, "id": None}, role="assistant"), ("content", 0, "id"), "`id` is null; a string belongs there"),
    (*said(A, {**USE, "caller": {}}, role="assistant"), ("content", 0, "caller"), "`type` is missing in `caller`"),
    (*said(A, {"type": "mcp_tool_use", "id": "a", "name": "b", "input": {}}, role="assistant"), ("content", 0), "`server_name` is missing"),
    (*said(A, {"type": "fallback", "to": {"model": "b"}}, role="assistant"), ("content", 0), "`from` is missing in `content[0]`"),
    (C, {"role": "assistant", "tool_calls": {}}, ("tool_calls",), "`tool_calls` is an object; a list or null belongs there"),
    (C, {"role": "assistant", "tool_calls": [5]}, ("tool_calls", 0), "`tool_calls[0]` is a number; an object belongs there"),
    (
        C,
        {"role": "assistant", "tool_calls": [{**FUNCTION, "type": "fun"}]},
        ("tool_calls", 0, "type"),
        "`type` is `fun`; allowed are function, custom",
    ),
    (C, {"role": "assistant", "tool_calls": [{"id": "a", "type": "custom"}]}, ("tool_calls", 0), "`custom` is missing in `tool_calls[0]`"),
    (
        C,
        {"role": "assistant", "tool_calls": [{**FUNCTION, "function": {"name": "a", "arguments": None}}]},
        ("tool_calls", 0, "function", "arguments"),
        "`arguments` is null; a string of JSON belongs there",
    ),
    (C, {"role": "assistant", "function_call": {"name": "a"}}, ("function_call",), "`arguments` is missing in `function_call`"),
    (C, {"role": "assistant", "content": "x", "weight": 2}, ("weight",), "`weight` is a number; allowed are 0, 1"),
    (R, {"type": "function_call", "name": "a", "arguments": "{}"}, (), "`call_id` is missing"),
    (R, {"type": "function_call", "call_id": "a", "name": "a", "arguments": []}, ("arguments",), "`arguments` is a list; a string of JSON"),
    (R, {"type": "custom_tool_call", "call_id": "a", "name": "a", "input": {}}, ("input",), "`input` is an object; a string belongs there"),
    (R, {"type": "shell_call", "call_id": "a", "action": {"commands": "ls"}}, ("action", "commands"), "`commands` is a string; a list"),
    (R, {"type": "local_shell_call", "action": {"command": ["ls"]}}, (), "`call_id` is missing"),
    (
        R,
        {"type": "apply_patch_call", "call_id": "a", "operation": {"type": "create_file", "path": "a"}},
        ("operation",),
        "`diff` is missing",
    ),
    (
        R,
        {"type": "function_call", "call_id": "a", "name": "a", "arguments": "", "caller": {"type": "program"}},
        ("caller",),
        "`caller_id` is missing in `caller`",
    ),
    (
        R,
        {"type": "function_call", "call_id": "a", "name": "a", "arguments": "", "status": "done"},
        ("status",),
        "`status` is `done`; allowed are in_progress, completed, incomplete",
    ),
    # results
    (*said(A, {"type": "tool_result", "content": "x"}), ("content", 0), "`tool_use_id` is missing in `content[0]`"),
    (
        *said(A, {"type": "tool_result", "tool_use_id": "a", "content": {}}),
        ("content", 0, "content"),
        "is an object; a string, a list of parts or null",
    ),
    (
        *said(A, {"type": "tool_result", "tool_use_id": "a", "is_error": "no"}),
        ("content", 0, "is_error"),
        "is a string; a boolean or null belongs",
    ),
    (
        *said(
            A, {"type": "code_execution_tool_result", "tool_use_id": "a", "content": {"type": "code_execution_result"}}, role="assistant"
        ),
        ("content", 0, "content"),
        "`stdout` is missing in `content`",
    ),
    (C, {"role": "tool", "content": "x"}, (), "`tool_call_id` is missing"),
    (C, {"role": "tool", "tool_call_id": 1, "content": "x"}, ("tool_call_id",), "`tool_call_id` is a number; a string belongs there"),
    (C, {"role": "tool", "tool_call_id": "a", "content": None}, ("content",), "`content` is null; a string or a list of text parts"),
    (C, {"role": "function", "content": "x"}, (), "`name` is missing"),
    (R, {"type": "function_call_output", "call_id": "a"}, (), "`output` is missing"),
    (R, {"type": "function_call_output", "call_id": "a", "output": {}}, ("output",), "`output` is an object; a string or a list of parts"),
    (R, {"type": "custom_tool_call_output", "output": "x"}, (), "`call_id` is missing"),
    (R, {"type": "local_shell_call_output", "output": "x"}, (), "`id` is missing"),
    (
        R,
        {"type": "mcp_approval_response", "approval_request_id": "a", "approve": "yes"},
        ("approve",),
        "is a string; a boolean belongs there",
    ),
    (
        R,
        {"type": "apply_patch_call_output", "call_id": "a", "status": "open"},
        ("status",),
        "`status` is `open`; allowed are completed, failed",
    ),
    # known parts in the wrong place
    (*said(A, USE), ("content", 0, "type"), "`type` is `tool_use`; a user message holds"),
    (*said(A, {"type": "thinking"}), ("content", 0, "type"), "`type` is `thinking`; a user message holds"),
    (
        *said(A, {"type": "tool_result", "tool_use_id": "a"}, role="assistant"),
        ("content", 0, "type"),
        "`type` is `tool_result`; an assistant",
    ),
    (*said(A, IMAGE, role="assistant"), ("content", 0, "type"), "`type` is `image`; an assistant message holds"),
    (*said(A, USE, role="system"), ("content", 0, "type"), "`type` is `tool_use`; a system message holds"),
    (
        *said(A, {"type": "tool_result", "tool_use_id": "a", "content": [USE]}),
        ("content", 0, "content", 0, "type"),
        "`type` is `tool_use`; a tool result holds",
    ),
    (*said(C, {"type": "refusal", "refusal": "no"}), ("content", 0, "type"), "`type` is `refusal`; a user message holds"),
    (*said(C, {"type": "image_url", "image_url": {"url": "u"}}, role="assistant"), ("content", 0, "type"), "`image_url`; an assistant"),
    (*said(C, {"type": "image_url", "image_url": "u"}), ("content", 0, "image_url"), "`image_url` is a string; an object belongs there"),
    (
        C,
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "image_url", "image_url": {"url": "u"}}]},
        ("content", 0, "type"),
        "`type` is `image_url`; a tool message holds text only",
    ),
    (*said(R, {"type": "output_text", "text": "x"}), ("content", 0, "type"), "`type` is `output_text`; such a message holds input_text"),
    (*said(R, {"type": "input_text", "text": "x"}, role="assistant"), ("content", 0, "type"), "`type` is `input_text`; an assistant"),
    (
        R,
        {"type": "function_call_output", "call_id": "a", "output": [{"type": "output_text", "text": "x"}]},
        ("output", 0, "type"),
        "`type` is `output_text`; an output holds",
    ),
]


@pytest.mark.parametrize(("form", "message", "path", "words"), BROKEN_MESSAGES)
def test_a_fault_is_named_with_its_place(form, message, path, words):
    found = list(faults(form, message))
    assert any(fault.path == path and words in fault.message for fault in found), found
    assert {len(fault.path) >= len(path) or fault.path == () for fault in found} == {True}


def test_one_fault_for_one_field():
    for form, message, path, words in BROKEN_MESSAGES:
        if "stdout" not in words:
            assert [fault.path for fault in faults(form, message)].count(path) == 1 or "missing" in words


def test_faults_come_in_order_of_place():
    message = {"role": "user", "content": [{"type": "text"} for _ in range(12)]}
    assert [fault.path for fault in faults(C, message)] == [("content", number) for number in range(12)]


def test_a_fault_says_nothing_of_the_content():
    secret = "sk-live-0123456789abcdefghijklmnopqrstuvwxyz"
    message = {"role": secret, "content": [{"type": "text", "text": [secret]}], "tool_calls": secret}
    found = [*faults(C, message), *faults(C, {**message, "role": "assistant"}), *faults(A, {**message, "role": "user"})]
    assert found
    assert not any(secret in fault.message or len(fault.message) > 160 for fault in found)


def test_what_a_fault_quotes_is_safe():
    (fault,) = faults(C, {"role": "to\x1b[31mol`"})
    assert fault.message.startswith("`role` is `to\u241b[31mol’`;")


def test_half_a_surrogate_pair_is_no_obstacle():
    message = json.loads('{"role": "user", "content": "\\ud83d"}')
    assert list(faults(C, message)) == []
    assert [fault.path for fault in faults(C, {**message, "name": 5})] == [("name",)]


def test_what_is_nested_too_deeply_is_said():
    deep: list[object] = []
    for _ in range(600):
        deep = [deep]
    assert [fault.message for fault in faults(C, {"role": "user", "content": deep})] == ["the message is nested too deeply to be checked"]


def test_a_format_without_a_published_shape_has_no_faults():
    assert list(faults("gemini", {"role": 5})) == []


# --------------------------------------------------------------------------------------------------------------- the schemas


@pytest.mark.parametrize("name", schemas.names())
def test_a_published_schema_is_one_and_says_what_it_is(name):
    document = orjson.loads(schemas.schema(name))
    Draft202012Validator.check_schema(document)
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert document["$id"] == f"toolaudit/{name}"
    assert document["title"]
    assert document["description"]


@pytest.mark.parametrize("name", ["formats/anthropic-messages", "formats/openai-chat", "formats/openai-responses", "report-v1", "pairs-v1"])
def test_every_reference_resolves_and_every_definition_is_used(name):
    text = schemas.schema(name).decode()
    used = set(re.findall(r'"\$ref": "#/\$defs/(\w+)"', text))
    assert used == set(orjson.loads(text)["$defs"])


def test_a_schema_is_found_by_its_name_and_without_its_folder():
    assert {"report-v1", "pairs-v1", f"formats/{A}", f"formats/{C}", f"formats/{R}"} <= set(schemas.names())
    assert schemas.schema(A) == schemas.schema(f"formats/{A}")
    assert schemas.names() == sorted(schemas.names())


@pytest.mark.parametrize("name", ["", "report-v9", "../pyproject", "formats", "formats/"])
def test_an_unknown_schema_is_refused_with_the_names_that_are_known(name):
    with pytest.raises(UsageError, match="no schema called") as caught:
        schemas.schema(name)
    assert "report-v1" in caught.value.hint


REPORT = {
    "schema": "toolaudit/report-v1",
    "tool": {"name": "toolaudit", "version": "0.1.0"},
    "findings": [
        {
            "rule": "split-results",
            "category": "containers",
            "severity": "warning",
            "confidence": "high",
            "side": "place",
            "message": "m",
            "help": "h",
            "path": "runs/a.jsonl",
            "record": None,
            "line": 1,
            "pointer": "/messages/3",
            "inner": None,
            "trajectory": None,
            "turn": 4,
            "call_id": "toolu_3",
            "tool": "list_hotels",
            "target": "anthropic",
            "verdicts": {"anthropic": {"verdict": "degraded", "provider_error": None}},
            "cause": {"name": "partial-failure", "confidence": "medium"},
            "root": None,
            "repeats": 1,
            "related": [{"label": "call", "line": 1, "pointer": "/messages/1/content/2"}],
            "fingerprint": "f",
        }
    ],
    "inputs": [
        {
            "path": "runs/a.jsonl",
            "format": "anthropic-messages",
            "target": "anthropic",
            "trajectories": 1,
            "calls": 3,
            "results": 3,
            "status": "read",
            "reason": None,
        }
    ],
    "summary": {
        **dict.fromkeys(["files", "trajectories", "warnings"], 1),
        **dict.fromkeys(["skipped", "failed", "missing", "open", "unjudged", "errors", "notes", "allowed", "baselined"], 0),
        **dict.fromkeys(["turns", "calls", "results", "paired"], 3),
        "seconds": 0.01,
    },
}
PAIR = {
    "path": "runs/a.jsonl",
    "trajectory": None,
    "format": "anthropic-messages",
    "batch": 1,
    "turn": 2,
    "call_id": "toolu_1",
    "tool": "read",
    "kind": "tool_use",
    "executor": "client",
    "arguments": {"form": "object", "bytes": 12},
    "state": "paired",
    "reason": None,
    "link": "id",
    "place": {"line": 1, "pointer": "/messages/1/content/0"},
    "results": [
        {
            "turn": 3,
            "result_id": "toolu_1",
            "where": "in",
            "state": "first",
            "outcome": None,
            "bytes": 4,
            "place": {"line": None, "pointer": ""},
        }
    ],
}


def validator(name):
    return Draft202012Validator(orjson.loads(schemas.schema(name)))


@pytest.mark.parametrize(
    ("name", "document"), [("report-v1", REPORT), ("pairs-v1", PAIR), ("pairs-v1", {"schema": "toolaudit/pairs-v1", **PAIR})]
)
def test_our_own_documents_fit_and_hold_nothing_else(name, document):
    assert list(validator(name).iter_errors(document)) == []
    assert not validator(name).is_valid({**document, "content": "x"})
    for key in document.keys() - {"schema"}:
        assert not validator(name).is_valid({other: value for other, value in document.items() if other != key})


def test_nothing_within_a_report_is_open():
    for key in ("tool", "summary"):
        assert not validator("report-v1").is_valid({**REPORT, key: {**REPORT[key], "extra": 1}})
    for key in ("findings", "inputs"):
        assert not validator("report-v1").is_valid({**REPORT, key: [{**REPORT[key][0], "extra": 1}]})
    assert not validator("report-v1").is_valid({**REPORT, "findings": [{**REPORT["findings"][0], "severity": "WARNING"}]})


def test_the_schema_of_the_report_names_the_fields_of_the_report():
    from toolaudit.report import Entry, Input, RelatedPlace, Summary, TargetVerdict

    defs = orjson.loads(schemas.schema("report-v1"))["$defs"]
    hidden = {"why", "scene", "format"}
    assert set(defs["finding"]["properties"]) == set(Entry.__struct_fields__) - hidden
    assert set(defs["input"]["properties"]) == set(Input.__struct_fields__) - {"named"}
    assert set(defs["summary"]["properties"]) == set(Summary.__struct_fields__)
    assert set(defs["related"]["properties"]) == set(RelatedPlace.__struct_fields__)
    assert set(defs["verdict"]["properties"]) == set(TargetVerdict.__struct_fields__)
