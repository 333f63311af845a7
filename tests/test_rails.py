"""The pictures: which turns of a conversation they show, and how they are drawn."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from syrupy.assertion import SnapshotAssertion

from toolaudit.model import (
    JSON,
    Answer,
    Batch,
    Call,
    Finding,
    Ledger,
    Pair,
    Part,
    Place,
    Related,
    Result,
    Role,
    Severity,
    Text,
    Trajectory,
    Turn,
)
from toolaudit.outputs import Style
from toolaudit.rails import Stage, draw
from toolaudit.report import Row
from toolaudit.text import safe

HERE = Place(0)


def call(id_: str | None, name: str, args: JSON = None) -> Call:
    return Call(place=HERE, id=id_, name=name, args=args, args_form="object")


def result(ref: str | None, body: JSON, **more: JSON) -> Result:
    return Result(place=HERE, ref=ref, body=body, **more)


def ledger(*turns: tuple[Role, list[Part | str]], first: int = 1) -> Ledger:
    """A ledger as the pairing of `turns` makes it: adjacent turns of the user or of tools are one answer."""
    made = [_turn(number, role, parts) for number, (role, parts) in enumerate(turns, first)]
    found = Ledger(trajectory=Trajectory(place=HERE, format="openai-chat", turns=made), law=None, live=made)
    for turn in made:
        _calls(found, turn)
    for turn in made:
        for part in turn.results:
            _answer(found, turn, part)
    for batch in found.batches:
        after = [turn for turn in made if turn.number > batch.turns[0].number and not turn.results]
        batch.next_turn = after[0] if after else None
        for pair in batch.pairs:
            pair.state = "paired" if pair.answers else "missing" if batch.next_turn else "open"
    return found


def _turn(number: int, role: Role, parts: list[Part | str]) -> Turn:
    place = Place(0, ("messages", number - 1))
    made: list[Part] = []
    for index, part in enumerate(parts):
        at = place.down("content", index)
        if isinstance(part, str):
            made.append(Text(place=at, text=part))
        else:
            part.place = at
            made.append(part)
    return Turn(place=place, number=number, role=role, parts=made)


def _calls(found: Ledger, turn: Turn) -> None:
    if turn.calls:
        batch = Batch(number=len(found.batches) + 1, turns=[turn])
        batch.pairs = [Pair(call=call, turn=turn, batch=batch) for call in turn.calls]
        found.batches.append(batch)
        found.pairs += batch.pairs


def _answer(found: Ledger, turn: Turn, part: Result) -> None:
    answer = Answer(result=part, turn=turn)
    pair = next((pair for pair in reversed(found.pairs) if pair.call.id == part.ref), None)
    found.answers.append(answer)
    if pair is None:
        return
    answer.pair, answer.link, answer.state = pair, "id", "duplicate" if pair.answers else "first"
    if turn.number < pair.turn.number:
        answer.where = "early"
    elif any(other.turn is not turn and turn.role == "user" for mate in pair.batch.pairs for other in mate.answers):
        answer.where = "split"
    pair.answers.append(answer)


def finding(rule: str, subject: Call | Result | Turn | None, **more: JSON) -> Finding:
    place = more.pop("place", subject.place if subject is not None else HERE)
    return Finding(rule=rule, place=place, message="m", help="h", subject=subject, **more)


# ---------------------------------------------------------------------------------------------------------------- the pictures


def oslo() -> tuple[Ledger, Finding]:
    missing = call("call_b", "get_weather", {"city": "Lima"})
    found = ledger(
        ("user", ["Weather in Lima, and flights there?"]),
        ("assistant", [call("call_a", "search_flights", "OSL"), missing]),
        ("tool", [result("call_a", "3 flights found")]),
        ("user", ["Thanks, book the first."]),
        ("assistant", ["Booked."]),
        first=3,
    )
    return found, finding("missing-result", missing, gap=6)


def trip() -> tuple[Ledger, Finding]:
    late = result("toolu_3", "2 hotels")
    calls = [call(f"toolu_{n}", name, {"city": "Lima"}) for n, name in enumerate(("search_flights", "get_weather", "list_hotels"), 1)]
    found = ledger(
        ("assistant", [*calls]),
        ("user", [result("toolu_1", "3 flights found"), result("toolu_2", "14 C, rain")]),
        ("user", [late]),
        ("assistant", ["Here is your plan."]),
        first=4,
    )
    return found, finding("split-results", found.trajectory.turns[2])


def long() -> tuple[Ledger, Finding]:
    orphan = result("call_9", "def main(): return 1")
    found = ledger(
        ("system", ["You are a careful engineer."]),
        ("tool", [orphan]),
        ("assistant", ["The bug is in line 3."]),
    )
    return found, finding("orphan-result", orphan, confidence="medium")


PICTURES = {"missing-result": oslo, "split-results": trip, "orphan-result": long}


def picture(found: Ledger, about: Finding, *, content: bool = True, style: Style = Style(), severity: Severity = Severity.ERROR) -> str:  # noqa: B008
    return "\n".join(draw(Stage(found, content=content).scene(about), style, severity))


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("content", [True, False], ids=["content", "sizes"])
def test_pictures(name: str, content: bool, snapshot: SnapshotAssertion) -> None:
    assert picture(*PICTURES[name](), content=content) == snapshot


@pytest.mark.parametrize("name", PICTURES)
def test_ascii(name: str, snapshot: SnapshotAssertion) -> None:
    drawn = picture(*PICTURES[name](), style=Style(ascii=True))
    assert drawn.isascii()
    assert drawn == snapshot


# ------------------------------------------------------------------------------------------------------------- other faults


def duplicate() -> tuple[Ledger, Finding]:
    second = result("call_a", "14 C")
    found = ledger(
        ("user", ["Weather in Lima?"]),
        ("assistant", ["Let me see.", call("call_a", "get_weather", {"city": "Lima"})]),
        ("tool", [result("call_a", "13 C")]),
        ("tool", [second]),
        ("assistant", ["It is 13 C."]),
    )
    return found, finding("duplicate-result", second, related=(Related("first result", found.answers[0].result.place),))


def early() -> tuple[Ledger, Finding]:
    answer = result("call_a", "13 C")
    found = ledger(
        ("user", ["Weather?"]),
        ("tool", [answer]),
        ("assistant", [call("call_a", "get_weather"), call("call_b", "get_time")]),
        ("tool", [result("call_b", "noon")]),
        ("user", ["Thanks."]),
    )
    return found, finding("misplaced-result", answer)


def late() -> tuple[Ledger, Finding]:
    answer = result("toolu_01A09q90qw90lq917835lq9", "13 C", flag="error")
    found = ledger(
        ("user", ["Weather?"]),
        ("assistant", [call("toolu_01A09q90qw90lq917835lq9", "get_weather_of_the_whole_world_please")]),
        *[("user", [f"Hello {n}?"]) for n in range(9)],
        ("tool", [answer]),
        ("assistant", ["Cold."]),
        first=1200,
    )
    found.answers[0].where = "late"
    return found, finding("misplaced-result", answer)


def crowd() -> tuple[Ledger, Finding]:
    calls = [call(f"call_{n}", "look_up", {"n": n}) for n in range(15)]
    found = ledger(
        ("user", ["Look all of these up."]),
        ("assistant", [*calls]),
        *[("tool", [result(f"call_{n}", f"found {n}")]) for n in range(15) if n != 7],
        ("user", ["And?"]),
    )
    return found, finding("missing-result", calls[7], gap=17)


def open_call() -> tuple[Ledger, Finding]:
    last = call("call_a", "approve")
    return ledger(("user", ["Go on."]), ("assistant", [last])), finding("open-call", last)


def flattened() -> tuple[Ledger, Finding]:
    lost = call("call_a", "get_weather", {"city": "Lima"})
    found = ledger(("assistant", [lost]), ("user", ["Observation: 14 C, rain"]), ("assistant", ["Rain in Lima."]))
    prose = found.trajectory.turns[1]
    return found, finding("flattened-results", prose, related=(Related("call", lost.place),), gap=2)


def stray() -> tuple[Ledger, Finding]:
    orphan = result("call_z", None)
    found = ledger(
        ("assistant", [call("call_a", "get_weather")]),
        ("tool", [result("call_a", {"degrees": 4}), orphan]),
        ("assistant", ["Four."]),
    )
    return found, finding("orphan-result", orphan)


def foreign() -> tuple[Ledger, Finding]:
    found = ledger(
        ("assistant", [call("call_a", "get_weather")]), ("user", ["By the way:", result("call_a", "4 C")]), ("assistant", ["Four."])
    )
    answer = found.answers[0]
    answer.where, answer.behind = "behind", found.trajectory.turns[1].parts[0]
    return found, finding("text-before-result", answer.result)


def unheard() -> tuple[Ledger, Finding]:
    found = ledger(("user", ["Hi"]), ("assistant", ["Ho"]), ("user", ["Hm"]))
    return found, finding("a-rule-of-tomorrow", None, place=found.trajectory.turns[1].parts[0].place)


def copied() -> tuple[Ledger, Finding]:
    found = ledger(
        ("user", ["Weather in Lima?"]),
        ("assistant", ["Looking.", call("call_a", "get_weather", {"city": "Lima"})]),
        ("assistant", ["Looking.", call("call_a", "get_weather", {"city": "Lima"})]),
        ("tool", [result("call_a", "13 C")]),
        ("user", ["Thanks."]),
    )
    original, copy = found.pairs
    copy.copy_of, original.state = original, "paired"
    first, second = found.trajectory.turns[1:3]
    return found, finding("duplicated-assistant-turn", second, related=(Related("original", first.place),))


FAULTS = {f.__name__: f for f in (duplicate, early, late, crowd, open_call, flattened, stray, foreign, copied, unheard)}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name: str, snapshot: SnapshotAssertion) -> None:
    assert picture(*FAULTS[name]()) == snapshot


@pytest.mark.parametrize("severity", Severity)
def test_colour_repeats_what_the_shapes_say(severity: Severity, snapshot: SnapshotAssertion) -> None:
    assert picture(*oslo(), style=Style(color=True), severity=severity).replace("\x1b", "ESC") == snapshot


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("plain", [False, True], ids=["unicode", "ascii"])
def test_no_line_is_wider_than_the_terminal(width: int, plain: bool) -> None:
    for make in (*PICTURES.values(), *FAULTS.values()):
        for line in picture(*make(), style=Style(width=width, ascii=plain)).splitlines():
            assert cell_len(line) <= width


def test_nothing_to_draw_where_no_turn_is_concerned() -> None:
    found, _ = oslo()
    assert Stage(found, content=True).scene(finding("undeclared-tools", None, place=HERE)) == ()


def test_no_content_unless_asked_for() -> None:
    for make in (*PICTURES.values(), *FAULTS.values()):
        text = picture(*make(), content=False)
        assert not any(word in text for word in ("Lima", "14 C", "def main", "engineer", "degrees", "Observation", "Hello"))


HOSTILE = "\x1b]52;c;aGk=\x07\x1b[2J\u202e[/bold]\n::set-output name=a::b\ud800##vso[task.setvariable]x"


def test_hostile_text_is_shown_not_obeyed() -> None:
    victim = call(HOSTILE, HOSTILE, {HOSTILE: HOSTILE})
    found = ledger(("user", [HOSTILE]), ("assistant", [victim]), ("tool", [result(HOSTILE, HOSTILE)]), ("user", [HOSTILE]))
    found.trajectory.turns[0].role, found.trajectory.turns[0].raw_role = "unknown", HOSTILE
    about = finding("unknown-tool", victim, related=(Related(HOSTILE, found.trajectory.turns[2].place),))
    for line in draw(Stage(found, content=True).scene(about), Style(width=120)):
        assert line.isprintable()
        assert "##vso[" not in line
        assert not line.lstrip().startswith("::")
    assert all((row.text + (row.name or "") + (row.id or "") + row.mark).isprintable() for row in Stage(found, content=True).scene(about))


words = st.text(max_size=50)
rows = st.builds(
    Row,
    kind=st.sampled_from(["message", "call", "result", "gap", "fold", "cut"]),
    turn=st.none() | st.integers(1, 99_999),
    role=st.sampled_from(["", "user", "assistant", "a role of somebody"]),
    id=st.none() | words,
    name=st.none() | words,
    text=words,
    rail=st.none() | st.integers(0, 5),
    closes=st.booleans(),
    ghost=st.booleans(),
    mark=st.just("") | words,
    focus=st.booleans(),
)


@given(st.lists(rows, max_size=8), st.integers(60, 130), st.booleans())
def test_any_rows_can_be_drawn(scene: list[Row], width: int, plain: bool) -> None:
    lines = draw(scene, Style(width=width, ascii=plain))
    assert len(lines) == len(scene)
    for line in lines:
        assert cell_len(line) <= width
        assert safe(line) == line
        assert line.isascii() or not plain


@given(st.lists(rows, max_size=8))
def test_colour_changes_no_letter(scene: list[Row]) -> None:
    colored = draw(scene, Style(color=True))
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip(" ") for line in colored] == draw(scene, Style())


def test_equal_turns_are_told_apart() -> None:
    """Copies are equal values; the picture is of the one that is meant."""
    first, second = (Turn(place=HERE, number=n, role="assistant", parts=[Text(place=HERE, text="same")]) for n in (1, 2))
    found = Ledger(trajectory=Trajectory(place=HERE, format="f", turns=[first, second]), law=None)
    drawn = Stage(found, content=False).scene(finding("duplicated-assistant-turn", second))
    assert [row.focus for row in drawn] == [False, True]


def test_a_long_conversation_is_drawn_quickly() -> None:
    turns: list[tuple[Role, list[Part | str]]] = []
    for n in range(2000):
        turns += [("assistant", [call(f"c{n}", "get")]), ("tool", [result(f"c{n}", "x")] if n != 1000 else [])]
    found = ledger(*turns)
    about = finding("missing-result", found.pairs[1000].call)
    start = time.perf_counter()
    Stage(found, content=True).scene(about)
    assert time.perf_counter() - start < 0.5


@pytest.mark.parametrize("batched", [True, False])
def test_many_findings_of_one_conversation_are_drawn_in_linear_time(batched: bool) -> None:
    calls: list[Part | str] = [call(f"c{n}", "f") for n in range(5000)]
    turns: list[tuple[Role, list[Part | str]]] = [("user", ["go"])]
    turns += [("assistant", calls), ("user", ["go"])] if batched else [t for c in calls for t in (("assistant", [c]), ("user", ["go"]))]
    found = ledger(*turns)
    start = time.perf_counter()
    stage = Stage(found, content=False)
    for pair in found.pairs:
        assert len(stage.scene(finding("missing-result", pair.call))) < 25
    assert time.perf_counter() - start < 8  # a second and a half where the machine is quiet; a minute when each looks at all


def test_of_many_results_of_one_call_some_are_drawn_and_all_are_counted() -> None:
    found = ledger(("assistant", [call("a", "f")]), ("tool", [result("a", "x") for _ in range(100)]), ("user", ["so?"]))
    last = found.trajectory.turns[1].parts[-1]
    rows = Stage(found, content=False).scene(finding("duplicate-result", last))
    assert sum(row.kind == "result" for row in rows) == 7
    assert [row.text for row in rows if row.kind == "fold"] == ["… 93 more results"]
    assert [row.mark for row in rows if row.focus] == ["second answer"]


def test_names_without_end_are_cut_before_they_are_measured() -> None:
    long = "界\u0301" * 2_000_000
    found = ledger((long, [call(long, long, {long: long})]), ("tool", [result(long, long)]), ("user", [long]))
    about = finding("missing-result", found.pairs[0].call, related=(Related(long, found.trajectory.turns[1].place),))
    start = time.perf_counter()
    lines = draw(Stage(found, content=True).scene(about), Style())
    assert time.perf_counter() - start < 1
    assert max(map(cell_len, lines)) <= 80
