"""An agent loop with one door open: the right cause, in the right request, told once. With all doors shut, nothing."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import simulator
from simulator import AT, FORMS, Loop, sessions, trimmed

from toolaudit.engine import audit
from toolaudit.report import Entry, Report

SEEDS = range(8)


def captured(exchanges: list[Any], _: Path) -> Report:
    return audit({"exchanges": exchanges})


def logged(exchanges: list[Any], folder: Path) -> Report:
    path = folder / "proxy.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in exchanges))
    return audit(path)


def bodies(exchanges: list[Any], folder: Path) -> Report:
    """The requests alone, a line each."""
    path = folder / "requests.jsonl"
    path.write_text("".join(f"{json.dumps(one['request']['body'])}\n" for one in exchanges))
    return audit(path)


def request(entry: Entry) -> int:
    """The index of the exchange that a finding is about."""
    return int(entry.pointer.split("/")[2]) if entry.pointer.startswith("/exchanges/") else (entry.line or 0) - 1


def first_after(loop: Loop, step: int) -> int:
    """The first exchange whose request has what a step left behind."""
    return loop.began[step + 1]


DOORS: dict[str, tuple[Callable[..., Any], str, set[str], int]] = {
    "the append ran twice": (simulator.appended_again, "retry", {"duplicated-assistant-turn"}, AT),
    "the results were appended twice": (simulator.results_again, "retry", {"duplicate-result"}, AT),
    "a tool failed": (simulator.one_failed, "partial-failure", {"missing-result"}, AT),
    "only the first call was run": (simulator.first_only, "first-call-only", {"missing-result"}, AT),
    "the turn was stored as text": (simulator.text_only, "persistence", {"orphan-result", "altered-assistant-turn"}, AT),
    "the turn was lost": (simulator.turn_lost, "persistence", {"orphan-result", "dropped-assistant-turn", "altered-assistant-turn"}, AT),
    "arguments were rewritten": (simulator.other_arguments, "translation", {"altered-assistant-turn"}, AT),
    "ids were rewritten": (simulator.other_ids, "translation", {"altered-assistant-turn"}, AT),
    "one call was kept": (simulator.call_dropped, "persistence", {"altered-assistant-turn"}, AT),
    "a result came twice": (simulator.delivered_twice, "retry", {"duplicate-result"}, AT + 1),
}


@pytest.mark.parametrize("store", [captured, logged])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", DOORS)
def test_what_came_through_a_door_is_named(name: str, form: str, store: Callable[..., Report], tmp_path: Path) -> None:
    door, cause, rules, step = DOORS[name]
    for seed in SEEDS:
        (loop,) = sessions(form, f"{name}{seed}", kept=door, widths=(3,) if "first" in name else (2, 3))
        entries = store(loop.exchanges, tmp_path).findings
        assert entries, seed
        assert {entry.rule for entry in entries} <= rules, seed
        assert {request(entry) for entry in entries} == {first_after(loop, step)}, "told where it began, and not again"
        assert {entry.cause.name for entry in entries if entry.cause is not None} == {cause}
        later = len(loop.exchanges) - first_after(loop, step)
        lasting = [entry for entry in entries if entry.rule != "altered-assistant-turn"]
        assert {entry.repeats for entry in lasting} <= {later}, "every later request carries it"


TRIMMED = {
    "head": "the head was cut",
    "summary": "a summary took their place",
    "evicted": "old results were evicted",
    "cleared": "",
}


@pytest.mark.parametrize("store", [captured, logged, bodies])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("policy", TRIMMED)
def test_a_cut_through_a_pair_is_named(policy: str, form: str, store: Callable[..., Report], tmp_path: Path) -> None:
    for seed in SEEDS:
        (loop,) = sessions(form, f"{policy}{seed}", sent=trimmed(policy), widths=(1, 2))
        entries = store(loop.exchanges, tmp_path).findings
        (cut,) = [entry for entry in entries if entry.rule == "trimmed-pair"]
        assert TRIMMED[policy] in cut.message
        assert request(cut) == first_after(loop, AT)
        rest = [entry for entry in entries if entry.rule != "trimmed-pair"]
        assert rest, "the halves that stayed are told of"
        assert {entry.cause.name for entry in rest if entry.cause is not None} == {"trimming"}
        assert {request(entry) for entry in rest} == {first_after(loop, AT)}


@pytest.mark.parametrize("form", FORMS)
def test_a_worker_began_again_from_a_checkpoint(form: str) -> None:
    for seed in SEEDS:
        (loop,) = sessions(form, seed, sent=simulator.restarted, widths=(2,))
        entries = captured(loop.exchanges, Path()).findings
        assert {(entry.rule, entry.cause and entry.cause.name, entry.repeats) for entry in entries} == {
            ("missing-result", "interruption", 1)
        }
        assert {request(entry) for entry in entries} == {first_after(loop, AT)}


@pytest.mark.parametrize("store", [captured, logged, bodies])
@pytest.mark.parametrize("form", FORMS)
def test_with_all_doors_shut_nothing_is_said(form: str, store: Callable[..., Report], tmp_path: Path) -> None:
    rng = random.Random(form)
    for seed in range(40):
        doors = {"sent": simulator.safe_cuts} if seed % 2 else {}
        loops = list(sessions(form, f"quiet{seed}", 4, **doors))
        report = store(simulator.interleaved([loop.exchanges for loop in loops], rng), tmp_path)
        assert report.findings == [], seed


@pytest.mark.parametrize("form", FORMS)
def test_sessions_side_by_side_are_told_apart(form: str, tmp_path: Path) -> None:
    for seed in SEEDS:
        (broken,) = sessions(form, seed, kept=simulator.other_ids, widths=(2,))
        others = [loop.exchanges for loop in sessions(form, f"{seed}others", 2)]
        expected = {(entry.rule, entry.call_id) for entry in captured(broken.exchanges, tmp_path).findings}
        mixed = simulator.interleaved([broken.exchanges, *others], random.Random(seed))
        assert {(entry.rule, entry.call_id) for entry in logged(mixed, tmp_path).findings} == expected
