"""Bad input and hostile text, in real processes: no traceback, no wrong "clean", the other files are still audited, the right exit code."""

from __future__ import annotations

import json
import os
import re
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_helper import Ran, python, run

DEEP = 100_000
CANARY = "CNRY"


def call(key: str, arguments: str = "{}", name: str = "look") -> dict[str, Any]:
    return {"id": key, "type": "function", "function": {"name": name, "arguments": arguments}}


def chat(key: str, *, answered: bool, arguments: str = "{}") -> dict[str, Any]:
    answer = [{"role": "tool", "tool_call_id": key, "content": "seen"}] if answered else []
    messages = [{"role": "user", "content": "look"}, {"role": "assistant", "content": None, "tool_calls": [call(key, arguments)]}]
    return {"messages": [*messages, *answer, {"role": "user", "content": "and now?"}]}


def dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


WHOLE = chat("call_whole1", answered=True)
FAULTY = chat("call_faulty1", answered=False)
GOOD, BAD = dumped(WHOLE), dumped(FAULTY)
PRETTY = json.dumps(FAULTY, indent=1).encode()


def with_content(content: bytes) -> bytes:
    """A conversation whose one result is `content`."""
    return GOOD.replace(b'"seen"', content)


def with_arguments(arguments: bytes) -> bytes:
    return GOOD.replace(b'"{}"', arguments, 1)


def with_schema(schema: bytes) -> bytes:
    return GOOD[:-1] + b',"tools":[{"type":"function","function":{"name":"look","parameters":' + schema + b"}}]}"


def report(*args: str | Path, stdin: bytes = b"") -> tuple[int, dict[str, Any], str]:
    """The exit code, the JSON report, and the error stream of a check."""
    return parsed(run("check", "-f", "json", *args, stdin=stdin))


def parsed(ran: Ran) -> tuple[int, dict[str, Any], str]:
    assert "Traceback" not in ran.err
    assert "internal error" not in ran.err, ran.err
    return ran.code, json.loads(ran.out), ran.err


def rules(found: dict[str, Any], name: str = "") -> list[str]:
    return [finding["rule"] for finding in found["findings"] if finding["path"].endswith(name)]


def fate(found: dict[str, Any], name: str) -> dict[str, Any]:
    [one] = [given for given in found["inputs"] if given["path"].endswith(name)]
    return dict(one)


def planted(folder: Path, **files: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / name.replace("__", ".")).write_bytes(data)
    return folder


# ------------------------------------------------------------------------------------------------------------------ bad files

NO_TRANSCRIPT = {
    "prose.json": b"hello, this is no JSON",
    "prose.jsonl": b"hello\nthere\n",
    "binary.json": bytes(range(256)) * 20,
    "binary.jsonl": b"\x89\0\x01\x02" * 500,
    "empty.json": b"",
    "blank.jsonl": b"\r\n  \n\t\n",
    "number.json": b"1e999",
    "nan.json": b"NaN",
    "numbers.json": b"[1e999, NaN, -Infinity]",
    "scalar.json": b'"text"',
    "object.json": b"{}",
    "list.json": b"[]",
    "hollow.json": b'{"messages":[' + b",".join([b"{}"] * 20_000) + b"]}",
    "wrapped.json": b'{"a":' * 60 + BAD + b"}" * 60,
}
"""Named they are 2; found in a folder they are counted as skipped."""

TORN = {
    "torn.json": BAD[:-40],
    "pretty.json": PRETTY[:-40],
    "not-utf-8.json": BAD.replace(b"and now?", b"\xed\xa0\x80"),
    "lists.json": b"[" * DEEP + b"]" * DEEP,
    "objects.json": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "open.json": b"[" * DEEP,
    "deep-content.json": with_content(b"[" * DEEP + b"]" * DEEP),
    "deep-arguments.json": with_arguments(b'{"a":' * DEEP + b"1" + b"}" * DEEP),
}
"""No record of them can be read: 2, wherever they were found."""

READ = {
    "utf-16-le.json": b"\xff\xfe" + BAD.decode().encode("utf-16-le"),
    "utf-16-be.json": b"\xfe\xff" + BAD.decode().encode("utf-16-be"),
    "unmarked-le.json": BAD.decode().encode("utf-16-le"),
    "unmarked-be.json": BAD.decode().encode("utf-16-be"),
    "utf-16.jsonl": b"\xff\xfe" + (GOOD + b"\n" + BAD + b"\n").decode().encode("utf-16-le"),
    "mark.jsonl": b"\xef\xbb\xbf" + GOOD + b"\r\n" + BAD + b"\r\n",
    "mark.json": b"\xef\xbb\xbf" + PRETTY.replace(b"\n", b"\r\n"),
    "number-beside.json": b'{"n":1e999,"m":[NaN,-Infinity],' + BAD[1:],
    "surrogate-text.json": BAD.replace(b"and now?", b"\\ud800"),
    "surrogate-id.json": BAD.replace(b"call_faulty1", b"\\udfffx"),
    "surrogate-name.json": BAD.replace(b'"look", "arg', b'"\\ud800", "arg'),
    "surrogate-key.json": b'{"\\ud800":1,' + BAD[1:],
    "surrogate-role.json": BAD.replace(b'"user"', b'"\\ud800"', 1),
    "id-number.json": BAD.replace(b'"call_faulty1"', b"5"),
    "id-huge-number.json": BAD.replace(b'"call_faulty1"', b"9" * 5000),
    "id-infinite.json": BAD.replace(b'"call_faulty1"', b"1e999"),
    "id-boolean.json": BAD.replace(b'"call_faulty1"', b"true"),
    "id-list.json": BAD.replace(b'"call_faulty1"', b"[[1]]"),
    "id-object.json": BAD.replace(b'"call_faulty1"', b'{"a":1}'),
    "id-long.json": BAD.replace(b"call_faulty1", b"x" * 1_000_000),
    "twice.json": b'{"messages":[],' + BAD[1:],
    "nul-end.jsonl": GOOD + b"\n" + BAD + b"\n" + b"\0" * 64,
    "nul-line.jsonl": GOOD + b"\n\0\0\0\n" + BAD + b"\n",
    "deep-line.jsonl": GOOD + b"\n" + b"[" * DEEP + b"\n" + BAD + b"\n",
    "mixed.jsonl": b"\n".join([GOOD, b"5", b'"x"', b"null", b"[]", BAD, b"{}"]) + b"\n",
    "tools-number.json": BAD[:-1] + b',"tools":5}',
    "tools-list.json": BAD[:-1] + b',"tools":[5,null,{"name":[]},{"name":"look","input_schema":"x"}]}',
}
"""They hold a fault, and it is found: 1."""


MANY = """
import contextlib, io, json
from toolaudit.cli import run
for path in sys.stdin.read().splitlines():
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(["check", "-f", "json", path])
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""
"""Checks of many paths, each a command of its own, in one process: starting one for each would take a minute."""


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Ran, Ran]]:
    """The audits of every bad file: named, and in a folder beside a good one."""
    cases = {**NO_TRANSCRIPT, **TORN, **READ}
    root = tmp_path_factory.mktemp("bad")
    paths: list[Path] = []
    for name, data in cases.items():
        folder = planted(root / name.replace(".", "-"), aa_good__json=GOOD)
        (folder / name).write_bytes(data)
        paths += [folder / name, folder]
    ran = python(MANY, stdin="\n".join(map(str, paths)).encode())
    assert "Traceback" not in ran.err
    found = [Ran(*json.loads(line)) for line in ran.out.splitlines()]
    return dict(zip(cases, zip(found[::2], found[1::2], strict=True), strict=True))


def alone_and_beside(both: tuple[Ran, Ran]) -> tuple[tuple[int, dict[str, Any]], tuple[int, dict[str, Any]]]:
    """The two audits of a bad file; the good one beside it is audited in any case."""
    code, found, err = parsed(both[0])
    assert code < 2 or err.startswith("error: ")
    code_beside, beside, _ = parsed(both[1])
    good = fate(beside, "aa_good.json")
    assert (good["status"], good["calls"], good["results"]) == ("read", 1, 1)
    return (code, found), (code_beside, beside)


@pytest.mark.parametrize("name", NO_TRANSCRIPT)
def test_what_is_no_transcript(audits: dict[str, tuple[Ran, Ran]], name: str) -> None:
    (code, found), (code_beside, beside) = alone_and_beside(audits[name])
    assert (code, fate(found, name)["status"]) == (2, "failed")
    assert (code_beside, fate(beside, name)["status"], beside["summary"]["skipped"]) == (0, "skipped", 1)


@pytest.mark.parametrize("name", TORN)
def test_what_cannot_be_read_at_all(audits: dict[str, tuple[Ran, Ran]], name: str) -> None:
    (code, found), (code_beside, beside) = alone_and_beside(audits[name])
    assert (code, code_beside) == (2, 2)
    assert rules(found) == rules(beside) == ["unreadable-record"]
    assert fate(found, name)["status"] == fate(beside, name)["status"] == "failed"


@pytest.mark.parametrize("name", READ)
def test_what_is_odd_but_can_be_read(audits: dict[str, tuple[Ran, Ran]], name: str) -> None:
    (code, found), (code_beside, beside) = alone_and_beside(audits[name])
    assert (code, code_beside) == (1, 1)
    assert "missing-result" in rules(found)
    assert sorted(rules(beside)) == sorted(rules(found))


@pytest.mark.parametrize(
    "tools",
    [
        b"5",
        b"true",
        b'"x"',
        b"{}",
        b"[null]",
        b'[{"function":{"name":"look","parameters":1e999}}]',
        b'[{"name":"look","parameters":{"maximum":1e999}}]',
        b'[{"name":"look","parameters":{"const":NaN}}]',
        b'[{"name":"look","parameters":{"\\ud800":1}}]',
        b'[{"name":"look","parameters":' + b'{"not":' * 300 + b"{}" + b"}" * 300 + b"}]",
        b'[{"name":"look","parameters":{"$ref":"http://127.0.0.1:9/x"}}]',
        b'[{"name":"look","parameters":{"type":"zzz","required":5,"pattern":"("}}]',
        b'[{"name":"look","parameters":{"$ref":"#","properties":{"a":{"pattern":"(a+)+$"}}}}]',
    ],
)
def test_garbage_for_tools_beside_a_healthy_conversation(tmp_path: Path, tools: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(with_arguments(dumped('{"a": "%s!"}' % ("a" * 64)))[:-1] + b',"tools":' + tools + b"}")
    code, found, _ = report(path)
    assert code in (0, 1)
    assert found["summary"]["paired"] == 1


def test_a_schema_that_multiplies_comes_to_an_end(tmp_path: Path) -> None:
    """Twenty-six definitions, each of which asks for the next twice."""
    chain: dict[str, Any] = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    schema = {"$defs": {**chain, "d40": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/d0"}}}
    path = tmp_path / "a.json"
    path.write_bytes(with_arguments(dumped('{"a": "x"}'))[:-1] + b',"tools":[{"name":"look","parameters":' + dumped(schema) + b"}]}")
    code = python(f"import signal; signal.setitimer(signal.ITIMER_PROF, 4)\nsys.argv[1:] = ['check', {str(path)!r}]\nmain()").code
    assert code in (0, 1)


@pytest.mark.parametrize("where", ["content", "id", "role", "key"])
def test_a_string_of_10_megabytes(tmp_path: Path, where: str) -> None:
    long = b"x" * 10_000_000
    old, new = {
        "content": (b"and now?", long),
        "id": (b"call_faulty1", long),
        "role": (b'"user"', b'"' + long + b'"'),
        "key": (b'{"messages"', b'{"' + long + b'":1,"messages"'),
    }[where]
    path = tmp_path / "long.json"
    path.write_bytes(BAD.replace(old, new, 1))
    ran = run("check", path, "-f", "concise")
    assert (ran.code, ran.err) == (1, "")
    assert "missing-result" in ran.out
    assert len(ran.out) < 2000


def test_a_long_id_is_drawn_quickly(tmp_path: Path) -> None:
    (tmp_path / "long.json").write_bytes(BAD.replace(b"call_faulty1", b"x" * 5_000_000))
    ran = python(
        f"import signal; signal.setitimer(signal.ITIMER_PROF, 4)\nsys.argv[1:] = ['check', {str(tmp_path / 'long.json')!r}]\nmain()"
    )
    assert ran.code == 1


# ------------------------------------------------------------------------------------------------------------------ cut, torn


def test_a_document_cut_at_any_byte_is_never_clean(tmp_path: Path) -> None:
    for end in range(1, len(BAD)):
        (tmp_path / f"{end:04}.json").write_bytes(BAD[:end])
    code, found, _ = report(tmp_path)
    assert code == 2
    assert {given["status"] for given in found["inputs"]} == {"failed"}
    assert len(found["inputs"]) == len({finding["path"] for finding in found["findings"]}) == len(BAD) - 1


def test_lines_cut_at_any_byte(tmp_path: Path) -> None:
    """A cut within a line is found; one between lines leaves a whole, shorter log."""
    text = b"\n".join(map(dumped, WHOLE["messages"])) + b"\n"
    for end in range(text.index(b"\n") + 2, len(text)):
        (tmp_path / f"{end:04}.jsonl").write_bytes(text[:end])
    code, found, _ = report(tmp_path)
    assert code == 1
    torn = {finding["path"] for finding in found["findings"] if finding["rule"] == "unreadable-record"}
    assert {given["path"] for given in found["inputs"] if given["status"] == "partly-read"} == torn
    whole = {given["path"] for given in found["inputs"]} - torn
    assert {int(Path(path).stem) for path in whole} == {
        end for end in range(text.index(b"\n") + 2, len(text)) if text[end - 1 : end] == b"\n" or text[end : end + 1] == b"\n"
    }
    pairing = [finding for finding in found["findings"] if finding["rule"] != "unreadable-record" and finding["path"] in torn]
    assert all(finding["confidence"] == "low" and finding["severity"] != "error" for finding in pairing)


LINES = [dumped(message) for message in FAULTY["messages"]]
TORN_RESULT = b'{"role":"tool","tool_call_id":"call_faulty1","content":oops}'


def test_a_result_in_a_bad_line_is_not_called_missing(tmp_path: Path) -> None:
    path = planted(tmp_path, a__jsonl=b"\n".join([*LINES[:2], TORN_RESULT, *LINES[2:]])) / "a.jsonl"
    code, found, _ = report(path)
    assert (code, rules(found)) == (1, ["unreadable-record"])
    assert (found["summary"]["unjudged"], fate(found, "a.jsonl")["status"]) == (1, "partly-read")


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("loose", [True, False])
def test_pair_findings_beside_a_bad_line_are_uncertain(tmp_path: Path, before: bool, loose: bool) -> None:
    """Wherever it stands, and whether lines are messages or conversations."""
    records = LINES if loose else [BAD]
    bad = b'{"what": oops}'
    path = planted(tmp_path, a__jsonl=b"\n".join([bad, *records] if before else [*records, bad, GOOD])) / "a.jsonl"
    if loose and not before:
        path.write_bytes(b"\n".join([*records, bad]))
    code, found, _ = report(path)
    missing = [finding for finding in found["findings"] if finding["rule"] == "missing-result"]
    assert code == 1
    assert [(one["severity"], one["confidence"]) for one in missing] == [("warning", "low")]


def test_one_bad_first_line_does_not_hide_the_rest(tmp_path: Path) -> None:
    path = planted(tmp_path, a__jsonl=b'{"a":"\0"}\n' + (BAD + b"\n") * 3) / "a.jsonl"
    code, found, _ = report(path)
    assert code == 1
    assert [one["repeats"] for one in found["findings"] if one["rule"] == "missing-result"] == [3], "one request, three times"


def test_records_that_hold_no_transcript_are_said(tmp_path: Path) -> None:
    path = planted(tmp_path, a__jsonl=GOOD + b"\n" + b'{"x":1}\n' * 99) / "a.jsonl"
    code, found, _ = report(path)
    assert (code, fate(found, "a.jsonl")["status"]) == (0, "partly-read")
    ran = run("check", path)
    assert "99" in ran.out + ran.err


@pytest.mark.parametrize("opening", ['{"a":', "["])
def test_arguments_that_break_off_very_deep_are_no_whole_ones(tmp_path: Path, opening: str) -> None:
    path = planted(tmp_path, a__json=with_arguments(dumped(opening * DEEP))) / "a.json"
    code, found, _ = report(path)
    assert code == 1
    assert {"malformed-arguments", "truncated-call"} & set(rules(found))


# --------------------------------------------------------------------------------------------------------------------- places


def test_a_missing_path_beside_others(tmp_path: Path) -> None:
    planted(tmp_path, a__json=BAD)
    code, found, err = report(tmp_path / "gone.json", tmp_path / "a.json")
    assert (code, rules(found)) == (2, ["missing-result"])
    assert "there is no such file or folder" in err


AS_NOBODY = """
import contextlib, io, os
from toolaudit.cli import run
with contextlib.redirect_stderr(io.StringIO()):
    run(["check", "-f", "json", "-o", os.devnull, *sys.argv[1:]])  # loads what will be needed, while it still may be read
os.setgroups([]), os.setegid(65534), os.seteuid(65534)
code = run(["check", "-f", "json", *sys.argv[1:]])
sys.stdout.flush()
os._exit(code)
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter, which one of pytest's is not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_no_permission(open_folder: Path) -> None:
    planted(open_folder, locked__json=BAD, open__json=BAD)
    planted(open_folder / "shut", a__json=BAD)
    (open_folder / "locked.json").chmod(0)
    (open_folder / "shut").chmod(0)
    code, found, err = parsed(python(AS_NOBODY, open_folder / "locked.json", open_folder / "open.json"))
    assert (code, rules(found)) == (2, ["missing-result"])
    assert fate(found, "locked.json")["status"] == "failed"
    assert "permission is denied" in err
    code, found, err = parsed(python(AS_NOBODY, open_folder / "shut"))
    assert code == 2
    assert "permission is denied" in err
    code, found, _ = parsed(python(AS_NOBODY, open_folder))
    assert (code, rules(found)) == (1, ["missing-result"])
    assert [given["status"] for given in found["inputs"]] == ["skipped", "read", "skipped"]
    (open_folder / "shut").chmod(0o755)


def test_what_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    planted(tmp_path, b__json=BAD)
    os.mkfifo("pipe.json")
    Path("loop.json").symlink_to("loop.json")
    Path("up").symlink_to("..")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.json")
    for name in ("pipe.json", "socket.json", "loop.json", "/dev/zero"):
        code, found, err = report(name, "b.json")
        assert (code, rules(found)) == (2, ["missing-result"])
        assert err.startswith(f"error: {name}: it is a ")
    code, found, _ = report(".")
    assert (code, rules(found), found["summary"]["skipped"]) == (1, ["missing-result"], 2)


def test_a_folder_without_transcripts(tmp_path: Path) -> None:
    code, _, err = report(tmp_path)
    assert (code, "no transcripts found" in err) == (2, True)
    planted(tmp_path, readme__txt=b"hello")
    code, found, err = report(tmp_path)
    assert (code, found["summary"]["skipped"], "no transcripts found" in err) == (2, 1, True)


# ------------------------------------------------------------------------------------------------------------------- outputs


@pytest.mark.parametrize("command", ["check", "pairs"])
@pytest.mark.parametrize("how", ["file", "folder", "pattern"])
def test_a_transcript_is_never_overwritten(tmp_path: Path, command: str, how: str) -> None:
    path = planted(tmp_path, a__json=BAD) / "a.json"
    named = {"file": path, "folder": tmp_path, "pattern": tmp_path / "*.json"}[how]
    ran = run(command, named, "-o", path)
    assert path.read_bytes() == BAD
    assert ran.code == 2


def test_a_skipped_file_and_the_tools_are_not_overwritten(tmp_path: Path) -> None:
    tools = dumped([{"name": "look"}])
    planted(tmp_path / "runs", a__json=GOOD, b__json=BAD[:20] + b"\0" + BAD[20:])
    planted(tmp_path, tools__json=tools)
    run("check", tmp_path / "runs", "-o", tmp_path / "runs" / "b.json")
    assert (tmp_path / "runs" / "b.json").read_bytes().startswith(BAD[:20])
    run("check", tmp_path / "runs", "--tools", tmp_path / "tools.json", "-o", tmp_path / "tools.json")
    assert (tmp_path / "tools.json").read_bytes() == tools


@pytest.mark.parametrize("command", [["check"], ["check", "-f", "json"], ["pairs"]])
def test_a_full_device(tmp_path: Path, command: list[str]) -> None:
    planted(tmp_path, a__json=BAD)
    ran = run(*command, tmp_path / "a.json", "-o", "/dev/full")
    assert (ran.code, "no space left" in ran.err) == (2, True)


@pytest.mark.parametrize("pointer", ["/messages/" + "9" * 5000, "/messages/-1", "/messages/²", "/~", "//", "/\x1b[2J"])
def test_odd_pointers_lead_nowhere(tmp_path: Path, pointer: str) -> None:
    ran = run("check", planted(tmp_path, a__json=BAD) / "a.json", "--at", pointer)
    assert ran.code == 2
    assert "internal error" not in ran.err


@pytest.mark.parametrize("tools", [b"", b"5", b"no", b'{"tools":5}', b"[" * DEEP, b"\xff\xfe\0"])
def test_garbage_for_a_file_of_tools(tmp_path: Path, tools: bytes) -> None:
    planted(tmp_path, a__json=GOOD, tools__json=tools)
    ran = run("check", tmp_path / "a.json", "--tools", tmp_path / "tools.json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")


# ---------------------------------------------------------------------------------------------------------------- server kinds


def test_results_of_a_kind_that_only_a_server_gives(tmp_path: Path) -> None:
    """They answer a client's call by id: found, not a fault of ours."""
    turns = [
        {"role": "user", "content": "pay"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "pay", "input": {}}]},
        {"role": "user", "content": [{"type": "code_execution_tool_result", "tool_use_id": "toolu_1", "content": "paid"}]},
        {"role": "assistant", "content": "Paid."},
    ]
    code, found, _ = report(planted(tmp_path, a__json=dumped({"messages": turns})) / "a.json")
    assert code == 1
    assert found["findings"]


# --------------------------------------------------------------------------------------------------------------- hostile text

ACTS = [
    "\x1b]52;c;aGk=\x07\x1b[2J\x1b]0;t\x07\x9b2J",
    "\u202egnp.exe\u2066\u2069\u061c\u200b\ufeff",
    "[bold]x[/bold][/]`y`",
    "\n::error::a\r::set-output name=a::b\x0b::c::\x0c::d::\x85::e::\u2028::f::\u2029::g::\x1c::h::",
    "::set-output name=a::b",
    "##vso[task.setvariable]x\n##[error]y",
    "\x00\x7f\ud800\U000e0041",
]
_FORBIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
_COLOUR = re.compile("\x1b\\[[0-9;]*m")


def harmless(ran: Ran, *, colour: bool = False) -> None:
    for text in (_COLOUR.sub("", ran.out) if colour else ran.out, ran.err):
        assert not _FORBIDDEN.search(text)
        assert not re.search(r"^\s*::", text, re.MULTILINE)
        assert not re.search(r"##vso\[|^\s*##\[", text, re.MULTILINE)


def acting(text: str) -> list[bytes]:
    """Transcripts, each full of faults, in which `text` stands wherever something is shown."""
    arguments = json.dumps({text: text})
    tools = [
        {"type": "function", "function": {"name": text, "parameters": {"properties": {text: {"enum": [text]}}, "required": [text, "z"]}}}
    ]
    turns: list[Any] = [
        {"role": "user", "content": text},
        {"role": "assistant", "content": text, "tool_calls": [call(text, arguments, text), call(text + "2", '{"' + text, text)]},
        {"role": "tool", "tool_call_id": text + "-3", "name": text, "content": [{"type": text, "text": text}]},
        {"role": text, "content": [{"type": text}]},
        {"role": "assistant", "content": text, "finish_reason": text},
        {"role": "user", "content": text},
    ]
    blocks: list[Any] = [
        {"role": "user", "content": text},
        {"role": "assistant", "content": [{"type": "tool_use", "id": text, "name": text, "input": {text: text}}], "stop_reason": text},
        {"role": "user", "content": [{"type": text}, {"type": "tool_result", "tool_use_id": text + "x", "content": text}]},
        {"role": "assistant", "content": text},
    ]
    items: list[Any] = [
        {"role": "user", "content": text},
        {"type": "function_call", "id": text, "call_id": text, "name": text, "arguments": text, "status": text},
        {"type": text, "id": text},
        {"type": "item_reference", "id": text},
        {"role": text, "content": text},
    ]
    body = {"model": text, "session_id": text, "messages": turns, "tools": tools}
    return [dumped(body), dumped({"model": text, "messages": blocks}), dumped({"model": text, "input": items})]


@pytest.fixture(scope="module")
def acts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files whose content and whose names try to act."""
    folder = tmp_path_factory.mktemp("acts")
    for number, text in enumerate(ACTS):
        name = text.encode("utf-8", "surrogatepass").replace(b"\0", b"").replace(b"/", b"_")
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name + b".json")).write_bytes(BAD)
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name + b"x.json")).write_bytes(BAD[:50])
        for count, data in enumerate(acting(text)):
            (folder / f"{number}-{count}.json").write_bytes(data)
    return folder


@pytest.mark.parametrize("output", ["full", "concise", "json", "jsonl"])
@pytest.mark.parametrize("options", [[], ["--show-content", "--extend-select", "all", "--color", "always", "-vv", "--strict"]])
def test_text_that_tries_to_act_is_shown_not_obeyed(acts: Path, output: str, options: list[str]) -> None:
    ran = run("check", ".", "-f", output, *options, cwd=acts)
    assert ran.code == 2
    harmless(ran, colour=bool(options))


def test_pairs_and_arguments_that_try_to_act(acts: Path) -> None:
    harmless(run("pairs", ".", "-vv", cwd=acts))
    for text in ACTS[:4]:
        for command in (["rule", text], ["check", text], ["check", ".", "--target", text], ["schema", text], [text]):
            ran = run(*command, cwd=acts)
            assert ran.code == 2
            harmless(ran)


# -------------------------------------------------------------------------------------------------------------------- privacy


def test_no_content_leaves_unless_asked_for(tmp_path: Path) -> None:
    secret = f"postgres://app:{CANARY}9x@db.internal.net/x"
    schema = {"type": "object", "required": ["city"], "properties": {"city": {"type": "integer"}}, "additionalProperties": False}
    turns = [
        {"role": "system", "content": CANARY},
        {"role": "user", "content": CANARY},
        {
            "role": "assistant",
            "content": CANARY,
            "tool_calls": [call("call_1", dumped({"city": CANARY}).decode()), call("call_2", '{"' + CANARY)],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": f"Error: {CANARY}"},
        {"role": "tool", "tool_call_id": "call_1", "content": secret},
        {"role": "tool", "tool_call_id": "call_9", "content": {CANARY: CANARY}},
        {"role": "user", "content": f'[Result of look]: {{"a": "{CANARY}"}}'},
        {"role": "assistant", "content": f'<tool_call>{{"name": "look", "arguments": {{"x": "{CANARY}"}}}}</tool_call>'},
    ]
    tools = [{"type": "function", "function": {"name": "look", "description": CANARY, "parameters": schema}}]
    body = dumped({"messages": turns, "tools": tools, "metadata": {"a": CANARY}})
    planted(tmp_path, a__json=body, b__json=body[:-50], c__jsonl=b"\n".join(map(dumped, turns)) + b'\n{"content":"' + CANARY.encode())
    for output in ("full", "concise", "json", "jsonl"):
        ran = run("check", tmp_path, "-f", output, "--extend-select", "all", "--deep", "-vv")
        assert ran.code == 2
        assert CANARY not in ran.out + ran.err
    pairs = run("pairs", tmp_path, "-vv")
    assert CANARY not in pairs.out + pairs.err


def test_a_value_that_stands_for_an_id_and_an_invented_argument_are_content(tmp_path: Path) -> None:
    """What the model made up where the developer declared nothing is not named."""
    value = json.loads(BAD)
    value["messages"][1]["tool_calls"][0]["id"] = {"a": CANARY}
    value["messages"][1]["tool_calls"][0]["function"]["arguments"] = json.dumps({f"{CANARY} as a key": 1})
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    value["tools"] = [{"type": "function", "function": {"name": "look", "parameters": schema}}]
    ran = run("check", planted(tmp_path, a__json=dumped(value)) / "a.json", "-f", "json")
    assert ran.code == 1
    assert CANARY not in ran.out


# ---------------------------------------------------------------------------------------------------------------------- growth


def many_turns(count: int) -> list[Any]:
    return [
        turn for n in range(count) for turn in ({"role": "assistant", "tool_calls": [call(f"call_{n}")]}, {"role": "user", "content": "go"})
    ]


def one_batch(count: int) -> list[Any]:
    calls = [call(f"call_{n}") for n in range(count)]
    return [
        {"role": "assistant", "tool_calls": calls},
        *({"role": "tool", "tool_call_id": f"call_{n}", "content": f"r{n}"} for n in range(count)),
    ]


def one_id(count: int) -> list[Any]:
    turns = ({"role": "assistant", "tool_calls": [call("call_x")]}, {"role": "tool", "tool_call_id": "call_x", "content": "r"})
    return [turn for n in range(count) for turn in (*turns, {"role": "user", "content": f"and {n}"})]


def no_ids(count: int) -> list[Any]:
    return [
        turn for n in range(count) for turn in ({"role": "assistant", "tool_calls": [call(f"call_{n}")]}, {"role": "tool", "content": "r"})
    ]


def unanswered_batch(count: int) -> list[Any]:
    return [{"role": "assistant", "tool_calls": [call(f"call_{n}") for n in range(count)]}]


@pytest.mark.parametrize("make", [many_turns, one_batch, one_id, no_ids, unanswered_batch])
def test_work_grows_with_the_conversation_not_with_its_square(tmp_path: Path, make: Any) -> None:
    messages = [{"role": "user", "content": "hi"}, *make(16_000), {"role": "user", "content": "so?"}]
    path = planted(tmp_path, a__json=dumped({"messages": messages})) / "a.json"
    ran = python(f"import signal; signal.setitimer(signal.ITIMER_PROF, 12)\nsys.argv[1:] = ['check', '-f', 'json', {str(path)!r}]\nmain()")
    assert ran.code in (0, 1)
