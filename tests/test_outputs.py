"""The reports: what each output writes, that its numbers add up, and that nothing from a transcript is obeyed."""

from __future__ import annotations

import hashlib
import io
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len
from syrupy.assertion import SnapshotAssertion

from toolaudit._version import __version__
from toolaudit.errors import UsageError
from toolaudit.model import Severity
from toolaudit.outputs import Style, names, output
from toolaudit.outputs._closing import closing
from toolaudit.outputs.json import Finding, finding
from toolaudit.report import Entry, InferredCause, Input, RelatedPlace, Row, Summary, TargetVerdict
from toolaudit.text import digest


def entry(**more: Any) -> Entry:
    given = {
        "rule": "missing-result",
        "category": "pairing",
        "severity": Severity.ERROR,
        "confidence": "high",
        "side": "unanswered",
        "message": "`get_weather` was called but never answered",
        "help": "give call_b a result before turn 6 (an error result counts), or take the call out of turn 4",
        "path": "runs/oslo.jsonl",
        "record": None,
        "line": 5,
        "pointer": "/messages/3/tool_calls/1",
        "inner": None,
        "trajectory": None,
        "turn": 4,
        "call_id": "call_b",
        "tool": "get_weather",
        "format": "openai-chat",
        "target": "openai-chat",
        "verdicts": {"openai-chat": TargetVerdict("rejected")},
        "cause": None,
        "root": None,
        "related": (RelatedPlace("call", 5, "/messages/3/tool_calls/1"),),
        "fingerprint": "3f9c1e0712ab34cd",
        "why": "strict chat APIs refuse a history that leaves a call unanswered",
        "scene": (
            Row(kind="message", turn=3, role="user", text="Weather in Lima, and flights there?"),
            Row(kind="call", turn=4, role="assistant", id="call_a", name="search_flights", text='("OSL")', rail=0),
            Row(kind="call", id="call_b", name="get_weather", text='(city="Lima")', rail=1, mark="this call", focus=True),
            Row(kind="result", turn=5, role="tool", id="call_a", text='"3 flights found"', rail=0, closes=True),
            Row(kind="gap", id="call_b", text="(nothing)", rail=1, mark="expected here"),
            Row(kind="message", turn=6, role="user", text="Thanks, book the first."),
        ),
    }
    return Entry(**(given | more))


def split() -> Entry:
    return entry(
        rule="split-results",
        category="containers",
        side="place",
        message="answers to one turn are spread over 2 messages",
        help="move the toolu_3 block into turn 5 and delete turn 6",
        path="runs/trip.jsonl",
        line=9,
        pointer="/messages/5",
        turn=6,
        call_id="toolu_3",
        tool="list_hotels",
        format="anthropic-messages",
        target="anthropic",
        verdicts={"anthropic": TargetVerdict("rejected", "messages.4: `tool_use` ids were found without `tool_result` blocks after")},
        cause=InferredCause("partial-failure", "medium"),
        fingerprint="b81d20aa12ab34cd",
        why="all answers to turn 4 must arrive together in the next message",
        scene=(
            Row(kind="call", turn=4, role="assistant", id="toolu_1", name="search_flights", text="(…)", rail=0),
            Row(kind="call", id="toolu_2", name="get_weather", text="(…)", rail=1),
            Row(kind="call", id="toolu_3", name="list_hotels", text="(…)", rail=2),
            Row(kind="result", turn=5, role="user", id="toolu_1", text='"3 flights found"', rail=0, closes=True),
            Row(kind="result", id="toolu_2", text='"14 C, rain"', rail=1, closes=True),
            Row(kind="cut", text="next message", rail=2),
            Row(
                kind="result",
                turn=6,
                role="user",
                id="toolu_3",
                text='"2 hotels"',
                rail=2,
                closes=True,
                mark="belongs to turn 5",
                focus=True,
            ),
            Row(kind="message", turn=7, role="assistant", text="Here is your plan."),
        ),
    )


def orphan() -> Entry:
    return entry(
        rule="orphan-result",
        side="unasked",
        message="a result outlived its call: the call was cut off",
        help="trim at turn boundaries: drop a call and its results together",
        path="runs/long.json",
        line=None,
        pointer="/messages/1",
        turn=2,
        call_id="call_9",
        tool=None,
        confidence="medium",
        cause=InferredCause("trimming", "medium"),
        fingerprint="09c4e6d212ab34cd",
        why="a result that answers nothing is refused by strict APIs, and tells the model of something that it never asked",
        scene=(
            Row(kind="gap", role="assistant", id="call_9", name="?", text=" (…)", rail=0, ghost=True, mark="not in this file"),
            Row(kind="cut", text="history starts here"),
            Row(kind="message", turn=1, role="system", text="You are a careful engineer."),
            Row(
                kind="result",
                turn=2,
                role="tool",
                id="call_9",
                text='"def main(): return 1"',
                rail=0,
                ghost=True,
                mark="answers nothing",
                focus=True,
            ),
            Row(kind="message", turn=3, role="assistant", text="The bug is in line 3."),
        ),
    )


SUMMARY = Summary(files=3, calls=9, paired=7, missing=1, unjudged=1, errors=3, trajectories=3, turns=16, results=8, seconds=0.01)
INPUTS = [
    Input(path="runs/oslo.jsonl", format="openai-chat", target="openai-chat", trajectories=1, calls=2, results=1),
    Input(path="runs/torn.jsonl", format="openai-chat", trajectories=2, status="partly-read", reason="2 records are not JSON"),
    Input(path="runs/notes.json", status="skipped", reason="no format recognises it", named=False),
]


def report(name: str, findings: list[Entry], summary: Summary = SUMMARY, inputs: list[Input] = INPUTS, **style: Any) -> str:
    stream = io.StringIO()
    out = output(name)(stream, Style(**style))
    out.start()
    for found in findings:
        out.finding(found)
    for one in inputs:
        out.input(one)
    out.finish(summary)
    return stream.getvalue()


def parsed(name: str, text: str) -> dict[str, Any]:
    """What a machine-readable report says, in the shape of the JSON object."""
    if name == "json":
        return json.loads(text)
    records = [json.loads(line) for line in text.splitlines()]
    kinds = [record.pop("type") for record in records]
    of = lambda wanted: [record for kind, record in zip(kinds, records, strict=True) if kind == wanted]  # noqa: E731
    [summary] = of("summary")
    incomplete = summary.pop("incomplete")
    return {**of("header")[0], "findings": of("finding"), "inputs": of("input"), "summary": summary, "incomplete": incomplete}


# -------------------------------------------------------------------------------------------------------------- names


def test_names_and_aliases() -> None:
    assert {"full", "concise", "json", "json-v1", "jsonl"} <= set(names())
    assert output("json-v1") is output("json")
    assert not any(name.startswith("_") for name in names())
    with pytest.raises(UsageError, match="xml"):
        output("xml")
    assert [output(name).human for name in ("full", "concise", "json", "jsonl")] == [True, True, False, False]


# --------------------------------------------------------------------------------------------------------------- full


FOUND = {"missing-result": entry, "split-results": split, "orphan-result": orphan}


@pytest.mark.parametrize("rule", FOUND)
def test_full(rule: str, snapshot: SnapshotAssertion) -> None:
    assert report("full", [FOUND[rule]()], inputs=[]) == snapshot


@pytest.mark.parametrize("width", [60, 80, 120])
def test_full_at_every_width(width: int, snapshot: SnapshotAssertion) -> None:
    text = report("full", [make() for make in FOUND.values()], inputs=[], width=width)
    *lines, _closing, end = text.split("\n")
    assert end == ""
    assert max(map(cell_len, lines)) <= width
    assert text == snapshot


def test_full_in_ascii(snapshot: SnapshotAssertion) -> None:
    text = report("full", [entry(message="`wetter_für_köln` was called …"), split(), orphan()], inputs=[], ascii=True)
    assert text.isascii()
    assert text == snapshot


def test_full_in_colour(snapshot: SnapshotAssertion) -> None:
    text = report("full", [entry(), replace(split(), severity=Severity.WARNING)], inputs=[], color=True)
    assert text.replace("\x1b", "ESC") == snapshot


def test_full_below_sixty_columns_is_concise() -> None:
    found = [entry(), orphan()]
    assert report("full", found, width=59) == report("concise", found, width=59)


def test_findings_of_one_root_are_one_block(snapshot: SnapshotAssertion) -> None:
    follower = entry(rule="open-call", severity=Severity.NOTE, root=split().fingerprint, fingerprint="0", scene=())
    found = [split(), *[replace(follower, turn=n) for n in range(7, 17)], entry()]
    text = report("full", found, inputs=[])
    assert text.count("note[open-call]") == 8
    assert "… 2 more" in text
    assert text == snapshot


def test_a_root_that_is_not_shown_hides_nothing() -> None:
    assert report("full", [entry(root="f" * 16), entry(root="f" * 16)]).count("error[missing-result]") == 2


def test_long_ids_and_paths_are_shown_whole() -> None:
    path = "a/rather long path/" * 8 + "run.jsonl"
    id_ = "toolu_01A09q90qw90lq917835lq9"
    lines = report("full", [entry(path=path, call_id=id_)]).splitlines()[:-1]
    whole = "".join(line[7:] for line in lines[1:6])
    assert f"{path}:5" in whole
    assert id_ in whole
    assert max(map(cell_len, lines)) <= 80


def test_error_text_and_causes() -> None:
    error = TargetVerdict("rejected", "400 Bad Request: no")
    text = report("full", [entry(verdicts={"openai-chat": error}, cause=InferredCause("retry", "low"), confidence="low")])
    assert "= error openai-chat would answer 400 Bad Request: no" in text
    assert "= cause possibly a retry (low confidence)" in text
    assert "= note  confidence low: this is inferred" in text
    assert "= error" not in report("full", [entry(verdicts={"openai-chat": TargetVerdict("degraded", "no")})])


@pytest.mark.parametrize("name", ["full", "concise"])
def test_quiet_and_verbose(name: str) -> None:
    closing_line = closing(SUMMARY, INPUTS[1:2]) + "\n"
    assert report(name, [entry()], quiet=1, verbose=1) == closing_line
    assert report(name, [entry()], quiet=2) == ""
    assert report(name, []) == closing_line
    assert report(name, [entry()], verbose=1).endswith(
        "\n\n"
        "runs/oslo.jsonl: openai-chat, 1 trajectory, 2 calls, 1 result, judged as openai-chat\n"
        "runs/torn.jsonl: openai-chat, 2 trajectories, 0 calls, 0 results; partly read, 2 records are not JSON\n"
        f"runs/notes.json: skipped, no format recognises it\n\n{closing_line}"
    )


# ------------------------------------------------------------------------------------------------------------ concise


def test_concise(snapshot: SnapshotAssertion) -> None:
    assert report("concise", [entry(), split(), orphan()]) == snapshot


@pytest.mark.parametrize(
    ("place", "start"),
    [
        ({"line": 3}, "runs/oslo.jsonl:3: "),
        ({"line": None, "pointer": "/a/0"}, "runs/oslo.jsonl:/a/0: "),
        ({"line": None, "record": 7}, "runs/oslo.jsonl:7: "),
        ({"line": None, "pointer": ""}, "runs/oslo.jsonl: "),
        ({"line": None, "pointer": "/a", "inner": "/b"}, "runs/oslo.jsonl:/a > /b: "),
    ],
)
def test_places(place: dict[str, Any], start: str) -> None:
    assert report("concise", [entry(**place)]).startswith(f"{start}error missing-result: ")


@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("path", ["::set-output name=a::b", " \t::warning::x", "##vso[task.setvariable]x", "\u3000::debug::x"])
def test_no_line_is_a_command_to_a_runner(path: str, color: bool) -> None:
    found = entry(path=path, message=f"m {path}", help=" ".join(["word ::error::x"] * 30))
    for name in ("concise", "full"):
        for line in report(name, [found], inputs=[Input(path=path, format=path, reason=path)], color=color, verbose=1).splitlines():
            assert not line.lstrip().startswith(("::", "##"))
            assert "##vso[" not in line


# --------------------------------------------------------------------------------------------------------------- json

KEYS = {
    "findings": "rule category severity confidence side message help path record line pointer inner trajectory turn call_id tool "
    "target verdicts cause root repeats related fingerprint",
    "inputs": "path format target trajectories calls results status reason",
    "summary": "files skipped failed trajectories turns calls results paired missing open unjudged errors warnings notes allowed "
    "baselined seconds",
}


@pytest.mark.parametrize("name", ["json", "jsonl"])
def test_machines_read_the_documented_shape(name: str) -> None:
    text = report(name, [entry(), orphan()])
    said = parsed(name, text)
    assert text.endswith("}\n")
    assert list(said) == ["schema", "tool", "findings", "inputs", "summary", "incomplete"]
    assert (said["schema"], said["tool"]) == ("toolaudit/report-v1", {"name": "toolaudit", "version": __version__})
    assert list(said["findings"][0]) == KEYS["findings"].split()
    assert list(said["inputs"][0]) == KEYS["inputs"].split()
    assert list(said["summary"]) == KEYS["summary"].split()
    assert said["findings"][0]["severity"] == "error"
    assert said["findings"][0]["verdicts"] == {"openai-chat": {"verdict": "rejected", "provider_error": None}}
    assert said["findings"][1]["cause"] == {"name": "trimming", "confidence": "medium"}
    assert said["findings"][0]["related"] == [{"label": "call", "line": 5, "pointer": "/messages/3/tool_calls/1"}]


@pytest.mark.parametrize("name", ["json", "jsonl"])
def test_why_an_audit_is_incomplete(name: str) -> None:
    stream = io.StringIO()
    out = output(name)(stream, Style())
    out.start()
    out.finish(Summary(), ["gone.json: there is no such file or folder"])
    assert parsed(name, stream.getvalue())["incomplete"] == ["gone.json: there is no such file or folder"]
    assert parsed(name, report(name, []))["incomplete"] == []


@pytest.mark.parametrize("name", ["json", "jsonl"])
def test_long_ids_are_cut_and_stay_distinct(name: str) -> None:
    ids = ["x" * 256, "x" * 257, "x" * 258, "x" * 10_000_000]
    rejected = {"strict": TargetVerdict("rejected", "x" * 10_000_000)}
    found = [entry(call_id=id_, tool=id_, trajectory=id_, message=id_, help=id_, verdicts=rejected) for id_ in ids]
    text = report(name, found)
    said = parsed(name, text)["findings"]
    assert len(text) < 30_000
    assert said[0]["call_id"] == ids[0]
    assert len({one["call_id"] for one in said}) == 4
    assert all(len(one[key]) == 256 for one in said for key in ("call_id", "tool", "trajectory"))


@pytest.mark.parametrize("name", ["full", "concise"])
def test_strings_without_end_are_cut_before_they_are_measured(name: str) -> None:
    long = "x\u0301界" * 3_000_000
    row = Row(kind="message", turn=1, role="user", text="x")
    more = {"call_id": long, "message": long, "help": long, "pointer": f"/{long}", "line": None, "scene": (row,)}
    start = time.perf_counter()
    text = report(name, [entry(**more, verdicts={"openai-chat": TargetVerdict("rejected", long)})] * 2)
    assert time.perf_counter() - start < 1
    assert len(text) < 20_000


@pytest.mark.parametrize("name", ["json", "jsonl"])
def test_an_empty_report_is_a_report(name: str) -> None:
    said = parsed(name, report(name, [], Summary(), []))
    assert (said["findings"], said["inputs"], said["summary"]["calls"]) == ([], [], 0)


@pytest.mark.parametrize("name", ["json", "jsonl"])
def test_findings_are_written_as_they_come(name: str) -> None:
    stream = io.StringIO()
    out = output(name)(stream, Style())
    out.start()
    before = stream.tell()
    out.finding(entry())
    assert "3f9c1e0712ab34cd" in stream.getvalue()[before:]


def test_machine_output_heeds_no_verbosity() -> None:
    plain = report("json", [entry()])
    assert plain == report("json", [entry()], quiet=2, verbose=2, color=True, width=20)


@given(st.text(), st.booleans())
def test_any_text_comes_back_from_json(text: str, plain: bool) -> None:
    written = report("jsonl", [entry(message=text, path=text, verdicts={text: TargetVerdict("unknown", text)})], ascii=plain)
    found = parsed("jsonl", written)["findings"][0]
    assert found["message"] == found["path"] == text
    assert found["verdicts"] == {text: {"verdict": "unknown", "provider_error": text}}
    assert written.isascii() or not plain


# ------------------------------------------------------------------------------------------------------------- hostile

HOSTILE = "\x1b]52;c;aGk=\x07\x1b[2J\u009b2J\u202egnp.exe[/bold][red]\r\n::set-output name=a::b\n\ud800##vso[task.setvariable]x\u2028\u200b"


@pytest.mark.parametrize("name", ["full", "concise", "json", "jsonl"])
@pytest.mark.parametrize("field", ["path", "message", "help", "pointer", "call_id", "tool", "why", "format", "trajectory"])
def test_hostile_text_is_shown_not_obeyed(name: str, field: str) -> None:
    text = report(name, [entry(**{field: HOSTILE})], inputs=[Input(path=HOSTILE, reason=HOSTILE, status="failed")], verbose=1)
    assert not set("\x1b\x07\r\u009b\u202e\u2028\u200b\ud800") & set(text)
    assert "##vso[" not in text
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())
    text.encode()
    if name in {"json", "jsonl"}:
        shown = parsed(name, text)["findings"][0].get(field)
        assert shown in {None, HOSTILE.replace("\ud800", "<U+D800>")}


def test_hostile_rows_are_drawn_harmless() -> None:
    row = Row(kind="call", turn=4, role=HOSTILE, id=HOSTILE, name=HOSTILE, text=HOSTILE, rail=0, mark=HOSTILE, focus=True)
    for line in report("full", [entry(scene=(row,))]).splitlines()[:-1]:
        assert line.isprintable()
        assert cell_len(line) <= 80


def test_one_finding_is_one_line() -> None:
    text = report("concise", [entry(path=HOSTILE, message=HOSTILE)] * 3)
    assert len(text.splitlines()) == 3 + 2


# ------------------------------------------------------------------------------------------------------------- closing


@pytest.mark.parametrize(
    ("summary", "line"),
    [
        (
            Summary(files=312, calls=18402, paired=18399, missing=3, errors=3, warnings=1, allowed=2, baselined=14, skipped=5),
            "checked 312 files, 18,402 calls, 18,399 paired, 3 missing: 3 errors, 1 warning (2 allowed, 14 baselined); "
            "5 files skipped, not transcripts",
        ),
        (
            Summary(files=2, calls=5, paired=3, missing=1, open=1, errors=1, notes=1),
            "checked 2 files, 5 calls, 3 paired, 1 missing, 1 open: 1 error, 1 note",
        ),
        (Summary(files=312, calls=18402, paired=18402), "checked 312 files, 18,402 calls, 18,402 paired: no findings"),
        (
            Summary(files=1, calls=1, paired=1, skipped=1, failed=1),
            "checked 1 file, 1 call, 1 paired: no findings; 1 file skipped, not a transcript; 1 file failed",
        ),
        (Summary(baselined=1), "checked 0 files, 0 calls, 0 paired: no findings (1 baselined)"),
    ],
)
def test_closing(summary: Summary, line: str) -> None:
    assert closing(summary) == line


def test_what_was_read_in_part_is_said_without_being_asked() -> None:
    one, two = (Input(path=path, status="partly-read", reason="99 of 100 records hold no transcript") for path in ("a.jsonl", "b.jsonl"))
    summary = Summary(files=2, skipped=1)
    said = "checked 2 files, 0 calls, 0 paired: no findings; "
    assert closing(summary, [one]) == f"{said}1 file partly read: 99 of 100 records hold no transcript; 1 file skipped, not a transcript"
    several = "2 files partly read, the first of them a.jsonl: 99 of 100 records hold no transcript (-v names all)"
    assert closing(summary, [one, two]) == f"{said}{several}; 1 file skipped, not a transcript"


counts = st.integers(0, 10**7)


@given(st.tuples(*[counts] * 10))
def test_the_closing_line_adds_up(numbers: tuple[int, ...]) -> None:
    files, paired, missing, open_, unjudged, errors, warnings, notes, skipped, failed = numbers
    summary = Summary(
        files=files,
        calls=paired + missing + open_ + unjudged,
        paired=paired,
        missing=missing,
        open=open_,
        unjudged=unjudged,
        errors=errors,
        warnings=warnings,
        notes=notes,
        skipped=skipped,
        failed=failed,
    )
    line = closing(summary)
    checked, found = line.replace(",", "").split(";")[0].split(": ")
    said = dict(zip(checked.split()[2::2], map(int, checked.split()[1::2]), strict=True))
    parts = [number for word, number in said.items() if not word.startswith(("file", "call"))]
    assert sum(parts) == summary.calls == said.get("calls", said.get("call"))
    assert sum(int(word) for word in found.split() if word.isdigit()) == errors + warnings + notes
    assert line.isascii() and line.isprintable()


# --------------------------------------------------------------------------------------------------------------- speed


@pytest.mark.parametrize("name", ["concise", "jsonl"])
def test_ten_thousand_findings_cost_little(name: str) -> None:
    found = [entry(line=number) for number in range(10_000)]

    def plain() -> None:
        write = io.StringIO().write
        for one in found:
            write(f"{one.path}:{one.line}: {one.severity} {one.rule}: {one.message}\n")

    assert _best(lambda: report(name, found)) < 15 * _best(plain)  # four to five times where the machine is quiet


def _best(work: Any) -> float:
    times = []
    for _ in range(5):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def test_each_field_of_a_finding_holds_what_its_name_says() -> None:
    numbers = {"turn": 4, "line": 5, "record": 6, "repeats": 7}
    names = {name: name for name in Finding.__struct_fields__ if isinstance(getattr(entry(), name), str | None) and name not in numbers}
    more = numbers | names | {"severity": Severity.NOTE, "cause": InferredCause("retry", "low")}
    given = entry(**more)
    said = finding(given)
    assert {name: getattr(said, name) for name in said.__struct_fields__} == {
        name: getattr(given, name) for name in said.__struct_fields__
    } | {"severity": "note"}


@pytest.mark.parametrize("text", ["", "call_1", "\ud800", "é" * 100_000])
def test_a_digest_is_that_of_the_standard(text: str) -> None:
    assert digest(text) == hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
