"""Laws that hold for every conversation: a whole one is silent, and each way to break it yields its own rule and no other."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from conversations import FORMATS, NOWHERE, Exchange, answers, audited, conversation, exchanges, rules_of, say, turn, written
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from toolaudit.engine import Audit, Options
from toolaudit.model import Result, Turn

checked = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
Choose = Callable[[list[int]], int]


@checked
@given(all_=exchanges)
@pytest.mark.parametrize("form", FORMATS)
def test_a_whole_conversation_is_silent(form: str, all_: list[Exchange]) -> None:
    report = audited(written(conversation(all_), form))
    assert not report.findings
    calls = sum(len(batch) for one in all_ for batch in one.batches)
    assert (report.summary.calls, report.summary.results, report.summary.paired) == (calls, calls, calls)


def drop_result(turns: list[Turn], at: int) -> None:
    turns[at].parts.pop()
    if not turns[at].parts:
        del turns[at]


def double_result(turns: list[Turn], at: int) -> None:
    turns[at].parts.append(turns[at].results[0])


def invent_result(turns: list[Turn], at: int) -> None:
    turns[at].parts.append(Result(place=NOWHERE, ref="zz_never_called", body="x"))


def rename_result(turns: list[Turn], at: int) -> None:
    turns[at].results[0].ref = "zz_never_called"


def reorder_results(turns: list[Turn], at: int) -> None:
    turns[at].parts.reverse()


def cut_head(turns: list[Turn], at: int) -> None:
    del turns[:at]


def drop_turn(turns: list[Turn], at: int) -> None:
    assume(turns[at - 2].role == "user")
    del turns[at - 1]


def double_turn(turns: list[Turn], at: int) -> None:
    turns.insert(at, turn("assistant", *turns[at - 1].parts))


def repeat_pair(turns: list[Turn], at: int) -> None:
    turns[at + 1 : at + 1] = [turn("assistant", *turns[at - 1].parts), turn("tool", *turns[at].parts)]


def delay_results(turns: list[Turn], at: int) -> None:
    turns.insert(at, say("user", "are you there?"))


def split_results(turns: list[Turn], at: int) -> None:
    assume(len(turns[at].parts) > 1)
    turns.insert(at + 1, turn("user", turns[at].parts.pop()))


def flatten_results(turns: list[Turn], at: int) -> None:
    call = turns[at - 1].calls[0]
    turns[at] = say("user", f"[Result of {call.name} ({call.id})]: 14 barrels")


BREAKERS: list[tuple[Callable[[list[Turn], int], None], dict[str, set[str]]]] = [
    (drop_result, {form: {"missing-result"} for form in FORMATS}),
    (double_result, {form: {"duplicate-result"} for form in FORMATS}),
    (invent_result, {form: {"orphan-result"} for form in FORMATS}),
    (rename_result, {form: {"missing-result", "orphan-result"} for form in FORMATS}),
    (reorder_results, {form: set() for form in FORMATS}),
    (cut_head, {form: {"orphan-result"} for form in FORMATS}),
    (drop_turn, {form: {"dropped-assistant-turn"} for form in FORMATS}),
    (double_turn, {form: {"duplicated-assistant-turn"} for form in FORMATS}),
    (repeat_pair, {form: {"duplicated-assistant-turn"} for form in FORMATS}),
    (delay_results, {"anthropic-messages": {"text-before-result"}, "openai-chat": {"misplaced-result"}, "openai-responses": set()}),
    (split_results, {"anthropic-messages": {"split-results"}}),
    (flatten_results, {form: {"missing-result", "flattened-results"} for form in FORMATS}),
]


def _goes_on(all_: list[Exchange]) -> bool:
    """Behind the last calls comes more than the model's own words: items of the model at the end may be one turn with its calls."""
    return not all_[-1].batches


@checked
@given(all_=exchanges, data=st.data())
@pytest.mark.parametrize(
    ("form", "breaker", "expected"),
    [pytest.param(form, breaker, rules, id=f"{breaker.__name__}-{form}") for breaker, by in BREAKERS for form, rules in by.items()],
)
def test_each_breaker_yields_its_rule(
    form: str, breaker: Callable[[list[Turn], int], None], expected: set[str], all_: list[Exchange], data: st.DataObject
) -> None:
    turns = conversation(all_)
    assume(form != "openai-responses" or breaker is not drop_result or _goes_on(all_))
    breaker(turns, data.draw(st.sampled_from(answers(turns)), label="at"))
    assert rules_of(audited(written(turns, form))) == expected


@settings(parent=checked, max_examples=25)
@given(first=exchanges, second=exchanges, data=st.data())
def test_the_order_of_files_changes_nothing_but_their_order(first: list[Exchange], second: list[Exchange], data: st.DataObject) -> None:
    """Each file's findings are its own, whichever is read first."""
    values = []
    for all_, form in ((first, "openai-chat"), (second, "anthropic-messages")):
        turns = conversation(all_)
        drop_result(turns, data.draw(st.sampled_from(answers(turns))))
        values.append(written(turns, form))

    def audit(order: list[int]) -> dict[str, list[tuple[str, str, str]]]:
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / f"{index}.json" for index in (0, 1)]
            for path, value in zip(paths, values, strict=True):
                path.write_text(json.dumps(value), "utf-8")
            run = Audit(Options())
            run.paths([str(paths[index]) for index in order])
        found: dict[str, list[tuple[str, str, str]]] = {"0.json": [], "1.json": []}
        for entry in run.report.findings:
            found[Path(entry.path).name].append((entry.rule, entry.pointer, entry.message))
        return found

    assert audit([0, 1]) == audit([1, 0])
