"""A pair of which one half left the history between two requests."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.model import Cause, Finding, Ledger, Related, Trajectory, Turn
from toolaudit.rules import Context, rule
from toolaudit.sessions import Doors, asked, gist
from toolaudit.text import plural, quote


@rule(category="trimming", severity="warning", side="unasked", needs=("former",), since="0.2.0")
def trimmed_pair(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """Between two requests one half of a pair left the history, and the other half stayed.

    ## Why it matters
    Histories are cut to fit a window: the head, all but the last messages, old results. A cut that goes through a pair leaves a call
    without its result, or a result without its call, and the request is refused. Only two requests side by side show where the knife went.

    ## Bad
    Two requests of a capture: the second has lost the turn that called, and kept its result.

    ```json
    [
      {
        "request": {"url": "https://api.openai.com/v1/chat/completions", "body": {"model": "m", "messages": [
          {"role": "user", "content": "q"},
          {"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_k3m9x2q7", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}]},
          {"role": "tool", "tool_call_id": "call_k3m9x2q7", "content": "4 C"}]}},
        "response": {"status": 500}
      },
      {
        "request": {"url": "https://api.openai.com/v1/chat/completions", "body": {"model": "m", "messages": [
          {"role": "tool", "tool_call_id": "call_k3m9x2q7", "content": "4 C"},
          {"role": "assistant", "content": "It is 4 C."},
          {"role": "user", "content": "And tomorrow?"}]}},
        "response": {"status": 400}
      }
    ]
    ```

    ## Good
    ```json
    [
      {
        "request": {"url": "https://api.openai.com/v1/chat/completions", "body": {"model": "m", "messages": [
          {"role": "user", "content": "q"},
          {"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_k3m9x2q7", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}]},
          {"role": "tool", "tool_call_id": "call_k3m9x2q7", "content": "4 C"}]}},
        "response": {"status": 500}
      },
      {
        "request": {"url": "https://api.openai.com/v1/chat/completions", "body": {"model": "m", "messages": [
          {"role": "assistant", "content": "It is 4 C."},
          {"role": "user", "content": "And tomorrow?"}]}},
        "response": {"status": 400}
      }
    ]
    ```

    ## How to fix
    The unit of trimming is the pair: cut where no call waits for its result.
    """
    trajectory = ledger.trajectory
    if trajectory.former is not None:
        yield from _held(trajectory, trajectory.former, Doors(trajectory))


def _held(trajectory: Trajectory, former: Trajectory, doors: Doors) -> Iterator[Finding]:
    calls, results, torn = doors.calls, doors.results, doors.torn
    if not torn:
        return
    torn.sort(key=lambda key: (calls.get(key) or results[key])[1])
    place, number = calls.get(torn[0]) or results[torn[0]]
    half = "its call is still there" if torn[0] in calls else "its result is still there"
    lost = "result" if torn[0] in calls else "call"
    policy = _policy(trajectory, former)
    more = f", and {plural(len(torn) - 1, 'other pair')} with it" if len(torn) > 1 else ""
    yield Finding(
        rule="trimmed-pair",
        place=place,
        message=f"since the request before, the {lost} of {quote(torn[0])} left the history, and {half}{more}: {policy}",
        help=_remedy(former),
        cause=Cause("trimming", "medium"),
        turn=number,
        call_id=torn[0],
        related=(Related("its other half", (doors.answered if lost == "result" else doors.called)[torn[0]][0]),),
        root=place,
    )


def _policy(trajectory: Trajectory, former: Trajectory) -> str:
    """What the cut looks like."""
    now, old = set(map(_same, asked(trajectory))), set(map(_same, former.turns))
    before = [turn for turn in former.turns if turn.role != "system"]
    gone = [index for index, turn in enumerate(before) if _same(turn) not in now]
    if not gone:
        return "a half was taken out of a turn that stayed"
    if gone == list(range(len(gone))):
        first = next((turn for turn in asked(trajectory) if turn.role != "system"), None)
        summed = first is not None and first.role == "user" and bool(first.texts) and not first.results and _same(first) not in old
        what = "a summary took their place" if summed else "the head was cut"
        return f"the first {plural(len(gone), 'turn')} of it are gone, as if {what}"
    if all(before[index].results and not before[index].calls for index in gone):
        return f"{plural(len(gone), 'turn')} with results are gone, as if old results were evicted"
    return f"{plural(len(gone), 'turn')} within it are gone"


def _same(turn: Turn) -> tuple[object, ...]:
    """What a turn means, and which calls it answers."""
    return (*gist(turn), tuple(result.ref for result in turn.results))


def _remedy(former: Trajectory) -> str:
    """The cuts of the former history that go through no pair."""
    open_ids: set[str] = set()
    safe = []
    for turn in former.turns:
        if not open_ids and not turn.results:
            safe.append(turn.number)
        open_ids |= {call.id for call in turn.calls if call.id is not None and call.executor == "client"}
        open_ids -= {result.ref for result in turn.results if result.ref is not None}
    shown = ", ".join(map(str, safe[-4:]))
    return f"cut where no call waits for its result: in the request before, in front of turn {shown}" if safe else "keep pairs whole"
