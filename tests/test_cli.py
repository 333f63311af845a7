"""The command line, in real processes."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli_helper import SCRIPT, Ran, environment, execute, on_terminal, python, run, shell
from tests.conftest import ROOT

CALL = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "secret words"}
USER = {"role": "user", "content": "Weather in Oslo?"}
GOOD = {"messages": [USER, {"role": "assistant", "content": [CALL]}, {"role": "user", "content": [RESULT]}]}
BAD = {"messages": [USER, {"role": "assistant", "content": [CALL]}, {"role": "user", "content": "and now?"}]}
OPEN = {"messages": [USER, {"role": "assistant", "content": [CALL]}]}


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """A file without fault."""
    return written(tmp_path / "good.json", GOOD)


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """A file with one missing result."""
    return written(tmp_path / "bad.json", BAD)


def written(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def report(*args: str | Path, **more: Any) -> tuple[Ran, dict[str, Any]]:
    """A run with its JSON report, which fits its schema."""
    ran = run("check", "-f", "json", *args, **more)
    found = json.loads(ran.out)
    jsonschema.validate(found, json.loads((ROOT / "schemas/report-v1.schema.json").read_text()))
    return ran, found


def rules(found: dict[str, Any]) -> list[str]:
    return [finding["rule"] for finding in found["findings"]]


# ---------------------------------------------------------------------------------------------------------------- exit codes


def test_nothing_found_is_0(good: Path) -> None:
    ran = run("check", good)
    assert ran == (0, "checked 1 file, 1 call, 1 paired: no findings\n", "")


def test_findings_are_1(bad: Path) -> None:
    ran = run("check", bad)
    assert ran.code == 1
    assert "error[missing-result]" in ran.out
    assert ran.out.endswith("checked 1 file, 1 call, 0 paired, 1 missing: 1 error\n")
    assert ran.err == ""


def test_a_missing_path_is_2_and_the_report_is_still_printed(bad: Path, tmp_path: Path) -> None:
    ran, found = report(bad, tmp_path / "no.json")
    assert ran.code == 2
    assert rules(found) == ["missing-result"]
    assert ran.err == f"error: {tmp_path}/no.json: there is no such file or folder\n"


@pytest.mark.parametrize("content", ["", "plain words", '{"a": 1}', "\x00\x01\x02"])
def test_a_named_file_that_is_no_transcript_is_2(tmp_path: Path, content: str) -> None:
    ran = run("check", written(tmp_path / "x.json", content))
    assert ran.code == 2
    assert ran.err.startswith(f"error: {tmp_path}/x.json: ")


def test_an_empty_folder_is_2(tmp_path: Path) -> None:
    ran = run("check", tmp_path)
    assert ran.code == 2
    assert f"no transcripts found in {tmp_path}" in ran.err
    assert "hint: `toolaudit formats`" in ran.err


def test_no_path_is_2_with_a_hint() -> None:
    for command in ("check", "pairs"):
        ran = run(command)
        assert (ran.code, ran.out) == (2, "")
        assert "toolaudit check runs/" in ran.err


FAULT = "import toolaudit.engine as e\ndef boom(*_, **__): raise RuntimeError('at\\x1b[2J once')\ne.Audit.paths = boom\nmain()"


def test_a_fault_of_ours_is_101_in_one_line(good: Path) -> None:
    ran = python(FAULT, "check", good, "--exit-zero")
    assert (ran.code, ran.out) == (101, "")
    assert ran.err.startswith("internal error: RuntimeError: at␛[2J once (")
    assert "report it" in ran.err
    assert "Traceback" not in ran.err


def test_a_fault_shows_its_traceback_with_vv(good: Path) -> None:
    for flags in (["-vv"], ["-v", "-v"], ["--verbose", "--verbose"]):
        ran = python(FAULT, "check", good, *flags)
        assert ran.code == 101
        assert "Traceback" in ran.err


def test_a_fault_of_the_parser_is_101() -> None:
    ran = python("import toolaudit.cli as c\nc._work = lambda _: 1 / 0\nmain()", "check", "--sent", "x")
    assert ran.code == 101
    assert "ZeroDivisionError" in ran.err


def test_a_rule_that_raises_is_101(bad: Path) -> None:
    ran = python("import toolaudit.rules as r\nr.check = lambda name: lambda *_: 1 / 0\nmain()", "check", bad)
    assert ran.code == 101


@pytest.mark.parametrize("kind", ["full", "json"])
def test_an_interruption_is_130(bad: Path, kind: str) -> None:
    command = [SCRIPT, "check", "-f", kind, bad, "-"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment()) as process:
        assert process.stdin is not None
        process.stdin.write(b"[" + b"1," * 500_000)  # more than a pipe holds: when it is through, standard input is being read
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"interrupted" in err
    assert b"Traceback" not in err
    assert (b"missing-result" in out) if kind == "full" else out == b""


# ------------------------------------------------------------------------------------------------------------------- options


def test_exit_zero_hides_findings_but_nothing_else(bad: Path, tmp_path: Path) -> None:
    assert run("check", "--exit-zero", bad).code == 0
    assert run("check", "--exit-zero", bad, tmp_path / "no.json").code == 2


@pytest.mark.parametrize(("level", "code"), [("error", 1), ("warning", 1), ("note", 1), ("never", 0)])
def test_fail_on_with_an_error(bad: Path, level: str, code: int) -> None:
    assert run("check", "--fail-on", level, bad).code == code


@pytest.mark.parametrize(("level", "code"), [("error", 0), ("warning", 0), ("note", 1)])
def test_fail_on_with_a_note(tmp_path: Path, level: str, code: int) -> None:
    ran, found = report("--fail-on", level, written(tmp_path / "open.json", OPEN))
    assert rules(found) == ["open-call"]
    assert ran.code == code


def test_sent_makes_an_open_call_missing(tmp_path: Path) -> None:
    assert rules(report("--sent", written(tmp_path / "open.json", OPEN))[1]) == ["missing-result"]


def test_selection(bad: Path) -> None:
    assert run("check", "--select", "orphan-result", bad).code == 0
    assert run("check", "--select", "orphan-result,missing-result", bad).code == 1
    assert run("check", "--select", "orphan-result", "--extend-select", "pairing", bad).code == 1
    assert run("check", "--ignore", "containers", "--ignore", "missing-result", bad).code == 0
    assert run("check", "--select", "all", "--ignore", "pairing", bad).code == 0


def test_target(bad: Path) -> None:
    _, found = report("--target", "openai-chat", bad)
    assert found["findings"][0]["target"] == "openai-chat"
    assert list(found["findings"][0]["verdicts"]) == ["openai-chat"]


def test_tools(tmp_path: Path, good: Path) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "integer"}}, "required": ["city"]}
    shapes: list[Any] = [
        [{"name": "get_weather", "input_schema": schema}],
        [{"type": "function", "function": {"name": "get_weather", "parameters": schema}}],
        [{"type": "function", "name": "get_weather", "parameters": schema}],
        {"model": "m", "tools": [{"name": "get_weather", "input_schema": schema}]},
    ]
    for shape in shapes:
        tools = written(tmp_path / "tools.json", shape)
        assert "invalid-arguments" in rules(report("--tools", tools, good)[1])
    for content in ("{", "[]", '{"tools": []}'):
        ran = run("check", "--tools", written(tmp_path / "tools.json", content), good)
        assert (ran.code, ran.out) == (2, "")
        assert "tools.json: it " in ran.err
    assert "it cannot be read" in run("check", "--tools", tmp_path / "none.json", good).err


def test_input_format_and_at(tmp_path: Path, good: Path) -> None:
    assert report("--input-format", "anthropic-messages", good)[1]["inputs"][0]["format"] == "anthropic-messages"
    hidden = written(tmp_path / "hidden.json", {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": BAD}}}}}}}, "x": BAD})
    ran, found = report("--at", "/a/b/c/d/e/f/g/h", hidden)
    assert [finding["pointer"] for finding in found["findings"]] == ["/a/b/c/d/e/f/g/h/messages/1/content/0"]
    assert len(report("--at", "/a/b/c/d/e/f/g/h", "--at", "/x", hidden)[1]["findings"]) == 2
    ran = run("check", "--at", "messages", good)
    assert ran.code == 2
    assert "no JSON pointer" in ran.err


def test_strict_makes_skipped_files_fail(tmp_path: Path, good: Path) -> None:
    written(tmp_path / "notes.txt", "nothing to see")
    assert run("check", tmp_path).code == 0
    ran = run("check", "--strict", tmp_path)
    assert ran.code == 2
    assert "notes.txt" in ran.err


def test_content_is_shown_on_request_only(tmp_path: Path) -> None:
    orphan = written(tmp_path / "orphan.json", {"messages": [{"role": "user", "content": [RESULT]}, USER]})
    for kind in ("full", "concise", "json", "jsonl"):
        assert "secret words" not in run("check", "-f", kind, orphan).out
    assert "secret words" in run("check", "--show-content", orphan).out
    assert "secret words" not in run("check", "--show-content", "-f", "json", orphan).out


def test_check_shape(tmp_path: Path) -> None:
    odd = written(tmp_path / "odd.json", {"messages": [*GOOD["messages"][:2], {"role": "user", "content": [{**RESULT, "is_error": "no"}]}]})
    assert rules(report(odd)[1]) == []
    assert rules(report("--check-shape", odd)[1]) == ["malformed-message"]


def test_the_other_options_are_accepted(good: Path) -> None:
    assert run("check", "--deep", "--jobs", "2", "--max-record-size", "64M", good).code == 0
    assert run("check", "--max-record-size", "5", good).code == 2


def test_quiet_and_verbose(tmp_path: Path, bad: Path) -> None:
    assert run("check", "-q", bad).out == "checked 1 file, 1 call, 0 paired, 1 missing: 1 error\n"
    assert run("check", "-qq", bad).out == ""
    torn = written(tmp_path / "torn.jsonl", json.dumps(GOOD) + "\n" + json.dumps(GOOD) + '\n{"mess')
    assert "warning:" not in run("check", torn).err
    ran = run("check", "-v", torn)
    assert ran.err.startswith(f"warning: {torn}: 1 of 3 records")
    assert "anthropic-messages" in ran.out


def test_standard_input(bad: Path) -> None:
    ran, found = report("-", stdin=bad.read_bytes())
    assert ran.code == 1
    assert found["findings"][0]["path"] == "-"
    _, found = report("--stdin-filename", "runs/a.json", "-", stdin=bad.read_bytes())
    assert found["findings"][0]["path"] == "runs/a.json"
    assert run("check", "-").code == 2


def test_a_closed_standard_input_or_output_is_2(good: Path) -> None:
    assert shell("toolaudit check - <&-").code == 2
    assert shell('toolaudit check "$1" >&-', good).code == 2
    assert shell('toolaudit check "$1" >/dev/full', good).code == 2
    assert shell('toolaudit check "$1" 2>&-', good).code == 0


def test_output_goes_to_a_file(bad: Path, tmp_path: Path) -> None:
    out = tmp_path / "sub.txt"
    ran = run("check", "-o", out, bad, env={"PYTHONIOENCODING": "ascii"})
    assert (ran.code, ran.out) == (1, "")
    assert "┌─►" in out.read_text("utf-8")
    ran = run("check", "-f", "json", "-o", tmp_path / "no" / "x.json", bad)
    assert ran.code == 2
    assert "it cannot be written" in ran.err


@pytest.mark.parametrize("command", ["check", "pairs"])
def test_an_input_is_never_overwritten(bad: Path, command: str) -> None:
    before = bad.read_bytes()
    ran = run(command, "-o", bad, bad)
    assert ran.code == 2
    assert "not overwritten" in ran.err
    assert bad.read_bytes() == before


@pytest.mark.parametrize("command", ["check", "pairs"])
def test_no_file_that_is_come_across_is_overwritten(bad: Path, tmp_path: Path, command: str) -> None:
    """Found, skipped, or reached by another name: none; and it is said before anything is read."""
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "a.json").write_bytes(bad.read_bytes())
    (folder / "notes.txt").write_text("no transcript")
    (tmp_path / "hard.json").hardlink_to(folder / "a.json")
    (tmp_path / "soft.json").symlink_to(folder / "notes.txt")
    for given, out in [(folder, folder / "notes.txt"), (folder, tmp_path / "hard.json"), (folder, tmp_path / "soft.json")]:
        before = out.read_bytes()
        ran = run(command, given, "-o", out)
        assert (ran.code, ran.out) == (2, "")
        assert "not overwritten" in ran.err
        assert out.read_bytes() == before
    ran = shell(f'toolaudit {command} - -o "$1" <"$1"', folder / "a.json")
    assert (ran.code, (folder / "a.json").read_bytes()) == (2, bad.read_bytes())
    assert run(command, "-o", folder / "notes.txt").code == 2
    assert (folder / "notes.txt").read_text() == "no transcript"


def test_tools_are_not_overwritten(bad: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text("[]")
    ran = run("check", bad, "--tools", tools, "-o", tools)
    assert (ran.code, tools.read_text()) == (2, "[]")
    assert "not overwritten" in ran.err


def test_pairs_are_not_read_from_where_they_are_written(bad: Path, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "a.json").write_bytes(bad.read_bytes())
    ran = run("pairs", folder, "-o", folder / "new.jsonl", "-v")
    assert (ran.code, ran.err) == (0, "")
    ran = shell('toolaudit pairs "$1"/*.json* -v >>"$1/new.jsonl"', folder)
    assert ran.code == 2
    assert "it is the file that the lines are written to" in ran.err


@pytest.mark.parametrize("text", ["##vso[task.setvariable]x", "##[error]x", "::error::x", "\n::error::x"])
def test_nothing_on_the_error_stream_is_a_command_to_a_runner(text: str) -> None:
    for args in (["check", text], ["check", "x", "--target", text], ["schema", text], [text]):
        ran = run(*args)
        assert ran.code == 2
        assert "##vso[" not in ran.err
        assert "##[" not in ran.err
        assert not any(line.lstrip().startswith("::") for line in ran.err.splitlines())


@pytest.mark.parametrize("pointer", ["messages", "/~", "/a~2", "/a/b~"])
def test_what_is_no_pointer_is_refused(bad: Path, pointer: str) -> None:
    ran = run("check", bad, "--at", pointer)
    assert (ran.code, ran.out) == (2, "")
    assert "is no JSON pointer" in ran.err


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ('{"event_type":"interaction.start"}', "must be converted"),
        ('{"a":1}', "--at POINTER"),
        ("\x04\x22\x4d\x18", "unpack it"),
    ],
)
def test_a_hint_fits_the_reason(tmp_path: Path, content: str, hint: str) -> None:
    path = tmp_path / "recognised.json"
    path.write_bytes(content.encode("latin-1"))
    for given in (path, tmp_path):
        ran = run("check", given)
        assert ran.code == 2
        assert hint in ran.err
    assert ("--at POINTER" in run("check", path).err) == (hint == "--at POINTER")


def test_what_was_read_in_part_is_said(good: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(good.read_bytes().rstrip() + b"\n" + b'{"x":1}\n' * 99)
    for output in ("full", "concise"):
        ran = run("check", path, "-f", output)
        assert ran.code == 0
        assert ran.out.endswith("; 1 file partly read: 99 of 100 records hold no transcript\n")


def test_output_format_from_the_environment(bad: Path) -> None:
    assert run("check", bad, env={"TOOLAUDIT_OUTPUT_FORMAT": "concise"}).out.startswith(f"{bad}:1: error missing-result:")
    assert run("check", "-f", "json", bad, env={"TOOLAUDIT_OUTPUT_FORMAT": "concise"}).out.startswith("{")
    assert run("check", bad, env={"TOOLAUDIT_OUTPUT_FORMAT": "nonsense"}).code == 2
    assert run("check", bad, env={"TOOLAUDIT_OUTPUT_FORMAT": ""}).code == 1


def test_json_lines(bad: Path) -> None:
    lines = [json.loads(line) for line in run("check", "-f", "jsonl", bad).out.splitlines()]
    assert [line["type"] for line in lines] == ["header", "finding", "input", "summary"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["check", "--select", "missing-resul", "x"], ["no rule is called `missing-resul`", "did you mean `missing-result`?"]),
        (["check", "--ignore", "pairin", "x"], ["did you mean `pairing`?"]),
        (["check", "--extend-select", "missing", "x"], ["no rule is called `missing`"]),
        (["check", "--target", "antropic", "x"], ["no target is called `antropic`", "did you mean `anthropic`?"]),
        (["check", "--input-format", "openai-chad", "x"], ["did you mean `openai-chat`?"]),
        (["check", "-f", "jsn", "x"], ["no output is called `jsn`", "did you mean `json`?"]),
        (["check", "--fail-on", "warnings", "x"], ["did you mean `warning`?"]),
        (["check", "--color", "alway", "x"], ["did you mean `always`?"]),
        (["check", "--color", "\x1b[2J", "x"], ["␛[2J", "choose one of"]),
        (["check", "--jobs", "0", "x"], ["--jobs"]),
        (["check", "--max-record-size", "big", "x"], ["`big` is no size"]),
        (["check", "--exit-zer", "x"], ["--exit-zero"]),
        (["check", "--nonsense", "x"], ["--nonsense", "`toolaudit check --help`"]),
        (["check", "x", "-f"], ["-f"]),
        (["chekc", "x"], ["chekc", "check"]),
        (["rule", "missing-resul"], ["did you mean `missing-result`?"]),
        (["rule", "-f", "jso"], ["did you mean `json`?"]),
        (["targets", "antropic"], ["did you mean `anthropic`?"]),
        (["schema", "report"], ["did you mean `report-v1`?"]),
        (["pairs", "--target", "antropic", "x"], ["did you mean `anthropic`?"]),
        ([], ["no command is given"]),
    ],
)
def test_wrong_usage_is_2_and_says_what_was_meant(args: list[str], words: list[str], tmp_path: Path) -> None:
    ran = run(*args, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert "\x1b" not in ran.err
    for word in words:
        assert word in ran.err


# ------------------------------------------------------------------------------------------------------------------ terminal


def test_colour_on_a_terminal(bad: Path) -> None:
    assert "\x1b[" in on_terminal("check", bad)
    assert "\x1b[" not in on_terminal("check", "--color", "never", bad)
    assert "\x1b[" not in on_terminal("check", bad, env={"NO_COLOR": "1"})
    assert "\x1b[" not in on_terminal("check", bad, env={"NO_COLOR": "1", "FORCE_COLOR": "1"})
    assert "\x1b[" not in on_terminal("check", bad, env={"FORCE_COLOR": "0"})
    assert "\x1b[" in on_terminal("check", "--color", "always", bad, env={"NO_COLOR": "1"})
    assert "\x1b[" in on_terminal("rule", "missing-result")


def test_colour_in_a_pipe(bad: Path) -> None:
    assert "\x1b[" not in run("check", bad).out
    assert "\x1b[" in run("check", "--color", "always", bad).out
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        assert "\x1b[" in run("check", bad, env={name: "1"}).out
    assert "\x1b[" not in run("check", "-f", "json", "--color", "always", bad).out
    assert "\x1b[" not in run("check", "-f", "json", bad, env={"FORCE_COLOR": "1"}).out


def test_width(bad: Path) -> None:
    narrow = run("check", bad, env={"COLUMNS": "40"}).out
    assert "┌" not in narrow  # too narrow for a picture
    assert "┌" in run("check", bad, env={"COLUMNS": "no"}).out


@pytest.mark.parametrize("command", [["check"], ["rule", "missing-result"], ["targets", "anthropic"], ["pairs"]])
def test_an_ascii_stream_gets_ascii(bad: Path, command: list[str]) -> None:
    args = [*command, bad] if len(command) == 1 else command
    ran = run(*args, env={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    assert ran.code in (0, 1)
    assert ran.out
    assert ran.out.isascii()
    assert run(*args, env={"LC_ALL": "C"}).code == ran.code


def test_nothing_of_a_transcript_acts_on_the_terminal(tmp_path: Path) -> None:
    nasty = "\x1b]52;c;eA==\x07\x1b[2J\u202e[bold]::set-output"
    file = written(tmp_path / "nasty.json", json.loads(json.dumps(BAD).replace("get_weather", "TOOL").replace("toolu_1", "ID")))
    text = file.read_text().replace("TOOL", json.dumps(nasty)[1:-1]).replace("ID", json.dumps(nasty)[1:-1])
    named = written(tmp_path / f"x{nasty.replace('/', '')}.json", text)
    torn = written(tmp_path / f"y{nasty}.jsonl", text + "\n{\x1b[2J\n")
    for kind in ("full", "concise", "json", "jsonl"):
        ran = run("check", "-v", "--show-content", "-f", kind, named, torn, tmp_path / f"z{nasty}")
        assert ran.code == 2
        for stream in (ran.out, ran.err):
            assert not set(stream) & {"\x1b", "\x07", "\u202e"}
            assert not re.search(r"^\s*::", stream, re.MULTILINE)


def test_a_closed_pipe_is_quiet_and_keeps_the_verdict(tmp_path: Path, good: Path) -> None:
    many = written(tmp_path / "many.jsonl", "".join(json.dumps({**BAD, "id": f"{n}"}) + "\n" for n in range(3000)))
    assert shell('toolaudit check -f concise "$1" | head -1 >/dev/null; exit ${PIPESTATUS[0]}', many) == (1, "", "")
    assert shell('toolaudit check -f concise --exit-zero "$1" | head -1 >/dev/null; exit ${PIPESTATUS[0]}', many) == (0, "", "")
    assert shell('toolaudit pairs "$1" | head -1 >/dev/null; exit ${PIPESTATUS[0]}', many) == (0, "", "")
    assert shell('toolaudit check "$1" | true; exit ${PIPESTATUS[0]}', good).code == 0
    for command in ("schema report-v1", "--help", "rule", "rule missing-result", "--version"):
        assert shell(f"toolaudit {command} | true; exit ${{PIPESTATUS[0]}}") == (0, "", "")


# ------------------------------------------------------------------------------------------------------------ other commands


def test_version() -> None:
    from toolaudit import __version__

    for args in (["--version"], ["-V"]):
        assert run(*args) == (0, f"toolaudit {__version__}\n", "")


def test_python_m(good: Path) -> None:
    assert execute([sys.executable, "-m", "toolaudit", "check", str(good)]).code == 0


def test_pairs(tmp_path: Path, bad: Path) -> None:
    two = written(tmp_path / "two.jsonl", json.dumps(GOOD) + "\n" + json.dumps(BAD) + "\n")
    ran = run("pairs", two, bad)
    assert (ran.code, ran.err) == (0, "")
    lines = [json.loads(line) for line in ran.out.splitlines()]
    schema = json.loads((ROOT / "schemas/pairs-v1.schema.json").read_text())
    for line in lines:
        jsonschema.validate(line, schema)
    assert [(line["state"], line["place"]["line"]) for line in lines] == [("paired", 1), ("missing", 2), ("missing", 1)]
    assert lines[0]["results"][0]["place"] == {"line": 1, "pointer": "/messages/2/content/0"}
    assert lines[0]["arguments"] == {"form": "object", "bytes": len('{"city":"Oslo"}')}
    assert "Oslo" not in ran.out
    assert "secret" not in ran.out


def test_pairs_counts_the_lines_of_a_document(tmp_path: Path) -> None:
    file = tmp_path / "pretty.json"
    file.write_text(json.dumps(GOOD, indent=1))
    line = json.loads(run("pairs", file).out)
    text = file.read_text().splitlines()
    assert '"type": "tool_use"' in text[line["place"]["line"]]
    assert '"type": "tool_result"' in text[line["results"][0]["place"]["line"]]


def test_pairs_says_what_it_could_not_read(tmp_path: Path, good: Path) -> None:
    torn = written(tmp_path / "torn.jsonl", json.dumps(GOOD) + "\n" + json.dumps(GOOD) + '\n{"mess')
    ran = run("pairs", torn)
    assert ran.code == 0
    assert len(ran.out.splitlines()) == 2
    assert ran.err.startswith(f"warning: {torn}: 1 of 3 records")
    ran = run("pairs", good, tmp_path / "no.json")
    assert ran.code == 2
    assert len(ran.out.splitlines()) == 1
    assert run("pairs", "-o", tmp_path / "out.jsonl", good).out == ""
    assert json.loads((tmp_path / "out.jsonl").read_text())["call_id"] == "toolu_1"


def test_pairs_measures_values_that_no_encoder_takes(tmp_path: Path) -> None:
    odd = json.dumps(GOOD).replace('"Oslo"', '["\\ud800", 1e999, ' + "9" * 5000 + ", " + "[" * 300 + "]" * 300 + "]")
    ran = run("pairs", written(tmp_path / "odd.json", odd))
    assert ran.code == 0
    assert json.loads(ran.out)["arguments"]["bytes"] > 600


def test_rule_lists_all() -> None:
    from toolaudit import rules as known

    out = run("rule").out
    for name in [*known.catalogue(), *known.categories()]:
        assert re.search(rf"^ *{name}$|^ *{name} ", out, re.MULTILINE)


def test_rule_draws_its_bad_example() -> None:
    ran = run("rule", "missing-result")
    assert ran.code == 0
    for words in ("Why it matters", "# missing-result", "error[missing-result]", "┌─►", "How to fix"):
        assert words in ran.out


def test_an_example_that_is_stored_json_is_drawn_too() -> None:
    assert "[malformed-message]" in run("rule", "malformed-message").out


def test_every_rule_has_a_page() -> None:
    from toolaudit import rules as known
    from toolaudit.example import drawing
    from toolaudit.outputs import Style

    for name in known.catalogue():
        drawn = drawing(name, Style())
        assert f"[{name}]" in drawn or not _expressible(name), name


def _expressible(name: str) -> bool:
    """Whether some format has a place for everything in the first bad example of a rule."""
    from toolaudit import formats, notation
    from toolaudit import rules as known
    from toolaudit.example import written

    block = next((text for kind, text in notation.blocks(known.manual(name)) if kind == "Bad"), None)
    return block is not None and any(written(notation.parse(block)[:1], form) is not None for form in formats.formats())


def test_rule_as_json() -> None:
    found = json.loads(run("rule", "-f", "json", "missing-result").out)
    assert (found["name"], found["category"], found["severity"]) == ("missing-result", "pairing", "error")
    assert len(json.loads(run("rule", "-f", "json").out)) > 1


def test_formats_and_targets() -> None:
    from toolaudit import formats, targets

    out = run("formats").out
    for form in formats.formats():
        assert f"{form.NAME}  {form.TITLE}; judged as {form.TARGET}" in out
    for name in targets.names():
        assert targets.law(name).title in run("targets").out
        assert "missing-result" in run("targets", name).out


def test_schemas() -> None:
    names = run("schema").out.split()
    assert {"report-v1", "pairs-v1", "formats/openai-chat"} <= set(names)
    for name in names:
        json.loads(run("schema", name).out)
    assert run("schema", "openai-chat").out == run("schema", "formats/openai-chat").out


def test_help_names_every_option() -> None:
    checked = run("check", "--help").out
    for option in (
        *("--select", "--ignore", "--extend-select", "--fail-on", "--exit-zero", "--target", "--sent", "--deep", "--jobs", "--tools"),
        *(
            "--input-format",
            "--at",
            "--strict",
            "--show-content",
            "--check-shape",
            "--color",
            "--no-progress",
            "-q",
            "-v",
            "--stdin-filename",
            "-o",
            "-f",
        ),
        *("--output-format", "--max-record-size", "TOOLAUDIT_OUTPUT_FORMAT"),
    ):
        assert option in checked
    for command in ("check", "pairs", "rule", "formats", "targets", "schema"):
        assert command in run("--help").out
        assert run(command, "-h").code == 0
    assert "\x1b" not in run("--help", env={"GITHUB_ACTIONS": "true", "NO_COLOR": "1"}).out


def test_completion_offers_names() -> None:
    env = {"_TOOLAUDIT_COMPLETE": "complete_bash", "COMP_WORDS": "toolaudit check --target anth", "COMP_CWORD": "3"}
    assert "anthropic" in run(env=env).out


# ------------------------------------------------------------------------------------------------------------------ start-up


def imported(*args: str | Path) -> set[str]:
    """The modules that a run imports."""
    ran = python("import atexit\natexit.register(lambda: sys.stderr.write(' '.join(sys.modules)))\nmain()", *args)
    return set(ran.err.split())


def test_a_healthy_file_is_checked_without_the_heavy_libraries(good: Path) -> None:
    modules = imported("check", "-f", "json", good)
    assert "toolaudit.engine" in modules
    assert not modules & {"rich", "jsonschema", "jsonschema_rs", "typer", "importlib.metadata", "asyncio"}
    assert not {name for name in modules if name.startswith("toolaudit.rules.") and "._" not in name}
    assert not imported("check", "-f", "json", "--sent", good) & {"rich", "jsonschema", "jsonschema_rs"}


def test_a_faulty_file_is_checked_without_what_one_file_never_needs(bad: Path) -> None:
    """Among it the validator of arguments, and whatever reads rules and laws from their own files."""
    modules = imported("check", "-f", "concise", bad)
    assert "toolaudit.rules.missing_result" in modules
    assert not modules & {"rich", "jsonschema", "jsonschema_rs", "typer", "tomllib", "hashlib", "pkgutil", "pathlib", "urllib.parse"}
    assert not modules & {"toolaudit.rules._headers", "toolaudit.cli._progress", "toolaudit.rails"}


def test_the_version_needs_nothing() -> None:
    assert not imported("--version") & {"typer", "msgspec", "orjson", "rich"}


PLAIN = [
    ["check", "a"],
    ["check", "a", "-", "b"],
    ["check", "-f", "json", "a"],
    ["check", "a", "--output-format", "jsonl", "--exit-zero"],
    ["check", "a", "--no-progress"],
    ["check", "--jobs", "3", "a"],
    ["check", "-f", "json", "-f", "full", "a"],
    ["check", ""],
]
NOT_PLAIN = [
    [],
    ["check"],
    ["check", "-f"],
    ["check", "a", "-f", "-"],
    ["check", "-f", "", "a"],
    ["check", "--", "a"],
    ["check", "-fjson", "a"],
    ["check", "a", "--sent"],
    ["check", "a", "--jobs", "0"],
    ["check", "a", "--jobs", "x"],
    ["check", "a", "--jobs"],
    ["check", "-h"],
    ["pairs", "a"],
]


@pytest.mark.parametrize("args", PLAIN)
def test_plain_command_lines_are_read_as_the_parser_reads_them(args: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from toolaudit.cli import _app, _audit, _plain

    seen = []
    monkeypatch.setattr(_audit, "audit", seen.append)
    _app.parse(args)()
    assert _plain.read(args) == seen[0]


@pytest.mark.parametrize("args", NOT_PLAIN)
def test_the_rest_is_left_to_the_parser(args: list[str]) -> None:
    from toolaudit.cli import _plain

    assert _plain.read(args) is None


def test_a_socket_is_named(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(tmp_path / "s"))
        ran = run("check", tmp_path / "s")
    assert ran.code == 2
    assert "it is a socket" in ran.err


def test_include_and_exclude(tmp_path: Path) -> None:
    for name in ("a.jsonl", "a.json", "old/b.jsonl", "old/deep/c.jsonl", "notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('[{"role": "user", "content": "hi"}]')

    def checked(*args: str) -> list[str]:
        ran = run("check", "-v", "-f", "jsonl", ".", *args, cwd=tmp_path)
        return [line["path"] for line in map(json.loads, ran.out.splitlines()) if line.get("record") == "input" or "status" in line]

    assert checked("--include", "*.jsonl, *.txt") == ["a.jsonl", "notes.txt", "old/b.jsonl", "old/deep/c.jsonl"]
    assert checked("--include", "*.jsonl", "--include", "*.json", "--exclude", "old") == ["a.json", "a.jsonl"]
    assert checked("--exclude=old/**/c.jsonl,*.txt") == ["a.json", "a.jsonl", "old/b.jsonl"]
    ran = run("check", ".", "--include", "*.{json,jsonl}", cwd=tmp_path)
    assert ran.code == 2
    assert "braces are no alternatives" in ran.err
    ran = run("check", ".", "--include", "*.none", cwd=tmp_path)
    assert (ran.code, ran.err.splitlines()[0]) == (2, "error: no transcripts found in .")
