"""`toolaudit compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolaudit.cli import Work
from toolaudit.cli._options import InputFormat, Target

if TYPE_CHECKING:
    from toolaudit.cli._page import Page
    from toolaudit.compare import Comparison, Difference, Run, Spot


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="The transcript as it was.")],
    second: Annotated[str, typer.Argument(metavar="B", help="The transcript as it is now: ported, stored, trimmed, or run again.")],
    target: Target = None,
    input_format: InputFormat = None,
    output_format: Annotated[str, typer.Option("-f", "--output-format", metavar="NAME", help="Write a page (full) or json.")] = "full",
) -> Work:
    """Compare two transcripts: pairs kept, lost, torn and made up, results and arguments altered, turns lost and doubled.

    Pairs are compared by meaning, whatever their format and ids. Of a file with several trajectories the longest is compared. Exits 1
    when a pair of A is no pair in B, else 0; 2 when a file cannot be read.
    """
    return lambda: _compare(first, second, target, input_format, output_format)


def _compare(first: str, second: str, target: str | None, input_format: str | None, output_format: str) -> int:
    from toolaudit import compare as comparing
    from toolaudit import formats, targets
    from toolaudit.cli._choices import chosen
    from toolaudit.engine import Options

    kind = chosen("output", output_format, ("full", "json"))
    options = Options(
        target=chosen("target", target, targets.names()) if target is not None else None,
        input_format=chosen("format", input_format, formats.names()) if input_format is not None else None,
    )
    found = comparing.compare(first, second, options)
    if kind == "json":
        _write(found)
    else:
        _show(found)
    return int(found.lost > 0)


def _show(found: Comparison) -> None:
    from toolaudit.cli._page import Page

    page = Page()
    page.head("A", _title(found.first))
    page.head("B", _title(found.second))
    page.blank()
    page.table(("", "A", "B"), _rows(found))
    page.blank()
    page.paragraph(_sentence(found))
    _list(page, found)
    page.show()


def _title(run: Run) -> str:
    more = f", the longest of {run.trajectories} trajectories" if run.trajectories > 1 else ""
    return f"{run.path}  {run.format}{more}"


def _rows(found: Comparison) -> list[tuple[str, str, str]]:
    runs = (found.first, found.second)

    def row(name: str, *cells: object) -> tuple[str, str, str]:
        return name, str(cells[0]), str(cells[1])

    rows = [
        row("turns", *(run.count for run in runs)),
        row("calls", *(len(run.calls) for run in runs)),
        row("pairs", *(sum(half.state == "paired" for half in run.calls) for run in runs)),
        row("turns that call", *(len(run.widths) for run in runs)),
        row("calls at once, mean", *(f"{sum(run.widths) / len(run.widths):.2f}" if run.widths else "-" for run in runs)),
        row("calls at once, most", *(max(run.widths, default=0) for run in runs)),
    ]
    return [*rows, row("tokens recorded", *(run.tokens for run in runs))] if any(run.tokens for run in runs) else rows


def _sentence(found: Comparison) -> str:
    lost = f"{found.lost} of them no pair in B" if found.lost else "none lost"
    counts: dict[str, int] = {}
    for one in found.differences:
        counts[one.change] = counts.get(one.change, 0) + 1
    said = ", ".join(f"{count} {change}" for change, count in counts.items())
    return f"{found.kept + found.lost} pairs in A, {found.kept} kept, {lost}" + (f"; {said}" if said else "")


def _list(page: Page, found: Comparison) -> None:
    for one in found.differences:
        if one.change != "re-identified":
            page.item(one.change, f"{one.message}{_where(one)}")
    renamed = [one for one in found.differences if one.change == "re-identified"]
    for one in renamed[:5]:
        page.item(one.change, f"{one.message}{_where(one)}")
    if len(renamed) > 5:
        page.item("re-identified", f"and {len(renamed) - 5} more")
    for turn in found.turns:
        times = f", {turn.times} times" if turn.times > 1 else ""
        page.item(f"turn {turn.change}", f"{turn.role} turn {turn.turn} of {'B' if turn.change == 'added' else 'A'}{times}")


def _where(one: Difference) -> str:
    places = [f"{side} {_place(spot)}" for side, spot in (("A", one.first), ("B", one.second)) if spot is not None]
    return f" [{'; '.join(places)}]" if places else ""


def _place(spot: Spot) -> str:
    return (f"line {spot.line} " if spot.line else "") + (spot.pointer or "/")


def _write(found: Comparison) -> None:
    from toolaudit.cli._terminal import stdout, style
    from toolaudit.outputs.json import encoded

    def side(run: Run) -> dict[str, Any]:
        paired = sum(half.state == "paired" for half in run.calls)
        return {
            "path": run.path,
            "format": run.format,
            "trajectories": run.trajectories,
            "turns": run.count,
            "calls": len(run.calls),
            "pairs": paired,
            "widths": run.widths,
            "tokens": run.tokens or None,
        }

    def spot(one: Spot | None) -> dict[str, Any] | None:
        return None if one is None else {"line": one.line, "pointer": one.pointer, "turn": one.turn}

    value = {
        "schema": "toolaudit/compare-v1",
        "a": side(found.first),
        "b": side(found.second),
        "kept": found.kept,
        "lost": found.lost,
        "differences": [
            {
                "change": one.change,
                "message": one.message,
                "tool": one.tool,
                "a": spot(one.first),
                "b": spot(one.second),
                "a_id": one.first_id,
                "b_id": one.second_id,
            }
            for one in found.differences
        ],
        "turns": [{"change": one.change, "role": one.role, "turn": one.turn, "times": one.times} for one in found.turns],
    }
    stream = stdout()
    stream.write(encoded(value, ascii_only=style(stream).ascii) + "\n")
