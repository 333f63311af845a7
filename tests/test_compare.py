"""Two transcripts by meaning: a port that touches nothing is silent, and whatever is lost is named with its place."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path

import jsonschema
import pytest

from tests.cli_helper import run
from toolaudit import formats, schemas
from toolaudit.compare import Comparison, compare
from toolaudit.formats import CannotExpress
from toolaudit.model import JSON, Place

ASK: JSON = {"role": "user", "content": "q"}
SAY: JSON = {"role": "assistant", "content": "So it is."}


def turn(*ids: str, **arguments: JSON) -> JSON:
    calls = [
        {"id": key, "type": "function", "function": {"name": "tide", "arguments": json.dumps({"at": key[-1], **arguments})}} for key in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(key: str, text: str = "") -> JSON:
    return {"role": "tool", "tool_call_id": key, "content": text or f"{key[-1]} m"}


WHOLE: list[JSON] = [
    ASK,
    turn("c1", "c2"),
    result("c1"),
    result("c2"),
    SAY,
    {"role": "user", "content": "p"},
    turn("c3"),
    result("c3"),
    SAY,
]


def held(tmp_path: Path, first: JSON, second: JSON) -> Comparison:
    paths = []
    for name, value in (("a", first), ("b", second)):
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(json.dumps(value))
    return compare(*map(str, paths))


def changes(found: Comparison) -> list[tuple[str, str | None]]:
    return [(one.change, one.first_id or one.second_id) for one in found.differences]


def test_a_transcript_is_like_itself(tmp_path: Path) -> None:
    found = held(tmp_path, WHOLE, WHOLE)
    assert (found.kept, found.lost, found.differences, found.turns) == (3, 0, [], [])


def test_what_does_not_count(tmp_path: Path) -> None:
    other = copy.deepcopy(WHOLE)
    other[1]["tool_calls"][0]["function"]["arguments"] = '{ "at" : "1" }'
    other[2:4] = [other[3], other[2]]
    other[0]["name"] = None
    found = held(tmp_path, WHOLE, other)
    assert (found.kept, found.differences, found.turns) == (3, [], [])


@pytest.mark.parametrize("name", [name for name in formats.names() if not name.endswith("-stream")])
def test_a_port_to_another_format_keeps_all_pairs(tmp_path: Path, name: str) -> None:
    (trajectory,) = formats.format("openai-chat").read({"model": "m", "messages": WHOLE, "tools": []}, Place(0))
    for call in [call for one in trajectory.turns for call in one.calls]:
        call.args, call.args_form = json.loads(call.args), "object"
    try:
        ported = formats.format(name).write(trajectory)
    except CannotExpress:
        pytest.skip("this format is not written")
    found = held(tmp_path, WHOLE, ported)
    assert (found.kept, found.lost, found.differences) == (3, 0, [])


def without(at: int) -> list[JSON]:
    return WHOLE[:at] + WHOLE[at + 1 :]


def changed(at: int, **keys: JSON) -> list[JSON]:
    other = copy.deepcopy(WHOLE)
    other[at].update(keys)
    return other


CASES: dict[str, tuple[list[JSON], int, list[tuple[str, str | None]]]] = {
    "a result is gone": (without(3), 1, [("torn", "c2")]),
    "a call is gone": (without(6), 1, [("torn", "c3")]),
    "a pair is gone": (WHOLE[:6] + WHOLE[8:], 1, [("cut", "c3")]),
    "a result came twice": (WHOLE[:3] + WHOLE[2:], 0, [("doubled", "c1")]),
    "a result says something else": (changed(3, content="9 m"), 0, [("altered-result", "c2")]),
    "a call asks for something else": (changed(6, tool_calls=turn("c3", more=1)["tool_calls"]), 0, [("altered-arguments", "c3")]),
    "a call is made up": ([*WHOLE, turn("c9"), result("c9"), SAY], 0, [("invented", "c9")]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_lost_torn_doubled_or_made_up(tmp_path: Path, name: str) -> None:
    other, lost, expected = CASES[name]
    found = held(tmp_path, WHOLE, other)
    assert found.lost == lost
    assert [one for one in changes(found) if one[0] != "re-identified"] == expected


def test_ids_may_be_mapped_one_to_one(tmp_path: Path) -> None:
    other = json.loads(json.dumps(WHOLE).replace('"c1"', '"toolu_1"').replace('"c2"', '"toolu_2"').replace('"c3"', '"toolu_3"'))
    found = held(tmp_path, WHOLE, other)
    assert (found.kept, found.lost, changes(found)) == (3, 0, [("re-identified", "c1"), ("re-identified", "c2"), ("re-identified", "c3")])


def test_turns_that_are_lost_doubled_and_added(tmp_path: Path) -> None:
    said = {"role": "user", "content": "p"}
    found = held(tmp_path, WHOLE, [ASK, ASK, *WHOLE[1:5], *WHOLE[6:], {"role": "user", "content": "Well?"}])
    assert [(one.change, one.role, one.times) for one in found.turns] == [("doubled", "user", 1), ("lost", "user", 1), ("added", "user", 1)]
    assert said in WHOLE


def test_any_set_of_pairs_that_is_taken_out_is_found(tmp_path: Path) -> None:
    for seed in range(25):
        source = random.Random(seed)
        ids = [f"c{number}" for number in range(8)]
        whole: list[JSON] = [ASK, *(one for key in ids for one in (turn(key), result(key))), SAY]
        gone = set(source.sample(ids, source.randint(0, 8)))
        other: list[JSON] = [ASK, *(one for key in ids if key not in gone for one in (turn(key), result(key))), SAY]
        found = held(tmp_path, whole, other)
        assert found.lost == len(gone)
        assert {one.first_id for one in found.differences if one.change == "cut"} == gone


def test_the_command_exits_1_when_a_pair_was_lost(tmp_path: Path) -> None:
    for name, value in (("a", WHOLE), ("b", without(3))):
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    assert run("compare", a, a).code == 0
    ran = run("compare", a, b)
    assert ran.code == 1
    assert "the result of `tide` (`c2`) is gone, and its call is still there" in " ".join(ran.out.split())
    ran = run("compare", a, b, "-f", "json")
    value = json.loads(ran.out)
    jsonschema.validate(value, json.loads(schemas.schema("compare-v1")))
    assert (value["kept"], value["lost"], value["differences"][0]["a"]["pointer"]) == (2, 1, "/1/tool_calls/1")
    (tmp_path / "c.txt").write_text("nothing")
    assert run("compare", a, tmp_path / "c.txt").code == 2
    assert run("compare", a, b, "-f", "fulll").code == 2


def test_nothing_that_was_said_is_shown(tmp_path: Path) -> None:
    secret: list[JSON] = [
        {"role": "user", "content": "SECRET"},
        turn("c1", key="SECRET"),
        result("c1", "SECRET"),
        {"role": "user", "content": "SECRET2"},
    ]
    for name, value in (("a", secret), ("b", WHOLE)):
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    for form in ("full", "json"):
        assert "SECRET" not in run("compare", tmp_path / "a.json", tmp_path / "b.json", "-f", form).out
