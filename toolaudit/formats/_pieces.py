"""Turns that were stored in pieces: programs that follow a stream write each block of the model, and each result, when it comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolaudit.model import Part, Result, Turn


def joined(pieces: Iterable[Turn]) -> list[Turn]:
    """The turns that pieces in their order make.

    Pieces of the model with one key are one turn, whatever stands between them. Results of the calls of a turn are its one answer, and
    stand behind it: in which order and how far apart they were written says when tools were done, not what was sent. What came with a
    result stands behind the results. A result whose call is not there stays where it is.
    """
    kept = list(pieces)
    homes = _homes(kept)
    groups: dict[str, Turn] = {}
    answers: dict[int, list[Turn]] = {}
    turns: list[Turn] = []
    for at, piece in enumerate(kept):
        if piece.role == "assistant":
            group = groups.setdefault(piece.key, piece) if piece.key is not None else piece
            if group is piece:
                turns.append(piece)
            else:
                group.parts += piece.parts
                group.stop = piece.stop or group.stop
            continue
        home = _home(piece, at, homes)
        if home is None:
            turns.append(piece)
        else:
            answers.setdefault(id(groups.get(home.key, home) if home.key is not None else home), []).append(piece)
    return [one for turn in turns for one in (turn, *_answer(answers.get(id(turn), [])))]


def _homes(pieces: list[Turn]) -> dict[str, list[tuple[int, Turn]]]:
    """The pieces that hold the calls, each with its index, by the ids of the calls."""
    found: dict[str, list[tuple[int, Turn]]] = {}
    for at, piece in enumerate(pieces):
        if piece.role == "assistant":
            for call in piece.calls:
                if call.id is not None:
                    found.setdefault(call.id, []).append((at, piece))
    return found


def _home(piece: Turn, at: int, homes: dict[str, list[tuple[int, Turn]]]) -> Turn | None:
    """The piece with the call that a result in this one answers: the nearest before it, else the first behind."""
    for result in piece.results:
        known = homes.get(result.ref or "", [])
        before = [turn for index, turn in known if index < at]
        if known:
            return before[-1] if before else known[0][1]
    return None


def _answer(pieces: list[Turn]) -> Iterator[Turn]:
    """The one turn that results make; results alone are moved, so one piece stays as it is."""
    if pieces:
        first = pieces[0]
        if len(pieces) > 1:
            first.parts = _results_first(part for piece in pieces for part in piece.parts)
        yield first


def _results_first(parts: Iterable[Part]) -> list[Part]:
    return sorted(parts, key=lambda part: not isinstance(part, Result))
