"""A turn of the model that was sent back other than it was received."""

from __future__ import annotations

from collections.abc import Iterator

from toolaudit.identifiers import recurring
from toolaudit.model import Call, Cause, Finding, Ledger, Place, Related, Trajectory
from toolaudit.rules import Context, rule
from toolaudit.rules._say import tool
from toolaudit.sessions import asked, goes_on, meaning, received
from toolaudit.text import plural, quote


@rule(category="turns", severity="warning", needs=("former",), since="0.2.0")
def altered_assistant_turn(ledger: Ledger, _: Context) -> Iterator[Finding]:
    """A turn of the model is sent back other than it was received: calls dropped, ids or arguments rewritten.

    ## Why it matters
    The model reads its own turn again to know what it did. A call that was dropped was never made, for all it knows; arguments that were
    rewritten are what it believes to have asked for; and an id that was rewritten is found by nobody who kept the old one.

    ## Bad
    Two exchanges of a capture: the first brings two calls, the second sends one of them back.

    ```json
    [
      {
        "request": {"url": "https://api.openai.com/v1/chat/completions", "body": {"model": "m", "messages": [
          {"role": "user", "content": "q"}]}},
        "response": {"status": 200, "body": {"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "tool_calls", "message":
          {"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_a1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}},
            {"id": "call_b1", "type": "function", "function": {"name": "get_time", "arguments": "{}"}}]}}]}}
      },
      {
        "request": {"url": "https://api.openai.com/v1/chat/completions", "body": {"model": "m", "messages": [
          {"role": "user", "content": "q"},
          {"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_a1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}]},
          {"role": "tool", "tool_call_id": "call_a1", "content": "4 C"}]}},
        "response": {"status": 200, "body": {"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop", "message":
          {"role": "assistant", "content": "4 C."}}]}}
      }
    ]
    ```

    ## Good
    ```json
    [
      {
        "request": {"url": "https://api.openai.com/v1/chat/completions", "body": {"model": "m", "messages": [
          {"role": "user", "content": "q"}]}},
        "response": {"status": 200, "body": {"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "tool_calls", "message":
          {"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_a1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}]}}]}}
      },
      {
        "request": {"url": "https://api.openai.com/v1/chat/completions", "body": {"model": "m", "messages": [
          {"role": "user", "content": "q"},
          {"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_a1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}]},
          {"role": "tool", "tool_call_id": "call_a1", "content": "4 C"}]}},
        "response": {"status": 200, "body": {"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop", "message":
          {"role": "assistant", "content": "4 C."}}]}}
      }
    ]
    ```

    ## How to fix
    Store the turn as it came, before anything is done with it, and send back what was stored. Answer each of its calls, also those that
    were not run.
    """
    trajectory = ledger.trajectory
    if trajectory.former is not None:
        yield from _held(trajectory, trajectory.former)


def _held(trajectory: Trajectory, former: Trajectory) -> Iterator[Finding]:
    came = [call for turn in received(former) for call in turn.calls if call.id is not None and call.executor == "client"]
    if not came or len({call.id for call in came}) < len(came):
        return
    known = {call.id for turn in asked(former) for call in turn.calls}
    now = [(turn.number, call) for turn in asked(trajectory) for call in turn.calls if call.id is not None]
    by_id = {call.id: (number, call) for number, call in now}
    fresh = [(number, call) for number, call in now if call.id not in known and all(call.id != one.id for one in came)]
    gone = [call for call in came if call.id not in by_id]
    for call in came:
        if call.id in by_id and not _is_alike(call, by_id[call.id][1]):
            yield _rewritten(call, *by_id[call.id], "its arguments, or its tool, are not those that were received", "args")
    for call in list(gone):
        renamed = next((one for one in fresh if meaning(one[1]) == meaning(call)), None)
        if renamed is not None:
            fresh.remove(renamed)
            gone.remove(call)
        if renamed is not None and not recurring(call.id or ""):  # to give such an id a unique name is no harm
            yield _rewritten(call, *renamed, f"it was received under the id {quote(call.id or '')}", "id")
    results = {result.ref: result.place for turn in asked(trajectory) for result in turn.results}
    certain = len(gone) < len(came) or any(call.id in results for call in gone)
    if gone and trajectory.hidden is None and (certain or _stands(trajectory, former)):
        yield _dropped(trajectory, former, gone, next((results[call.id] for call in gone if call.id in results), None))


def _is_alike(call: Call, other: Call) -> bool:
    """The same, but for members that are null: dumps are padded with them."""
    if meaning(call) == meaning(other):
        return True
    values = [_values(one) for one in (call, other)]
    return call.name == other.name and None not in values and values[0] == values[1]


def _values(call: Call) -> dict[str, object] | None:
    import orjson

    value = call.args
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            return None
    return {name: one for name, one in value.items() if one is not None} if isinstance(value, dict) else None


def _stands(trajectory: Trajectory, former: Trajectory) -> bool:
    """Whether the turn that was received stands in its place, with the same words and without its calls."""
    if not goes_on(former, trajectory):
        return False
    turn = trajectory.turns[len(asked(former))]
    words = [part.text.strip() for came in received(former) for part in came.texts if part.text.strip()]
    return turn.role == "assistant" and bool(words) and words == [part.text.strip() for part in turn.texts if part.text.strip()]


def _dropped(trajectory: Trajectory, former: Trajectory, gone: list[Call], result: Place | None) -> Finding:
    at = min(len(asked(former)), len(asked(trajectory)) - 1)
    turn = trajectory.turns[at] if goes_on(former, trajectory) else trajectory.turns[0]
    call, more = gone[0], f" and {plural(len(gone) - 1, 'other call')} were" if len(gone) > 1 else " was"
    return Finding(
        rule="altered-assistant-turn",
        place=turn.place,
        message=f"{tool(call.name)} ({quote(call.id or '')}){more} received in this turn, and not sent back with it",
        help="send the turn back as it was received, and answer each of its calls",
        cause=Cause("persistence", "medium"),
        turn=turn.number,
        call_id=call.id,
        tool=call.name,
        related=tuple(Related("received", one.place) for one in gone[:8]),
        root=result,  # what is found there comes of it
    )


def _rewritten(call: Call, number: int, other: Call, what: str, key: str) -> Finding:
    return Finding(
        rule="altered-assistant-turn",
        place=other.place.within(other.args_key if key == "args" else other.id_key),
        message=f"{tool(other.name)} ({quote(other.id or '')}) is sent back other than it was received: {what}",
        help="send the turn back as it was received",
        cause=Cause("translation", "medium"),
        turn=number,
        call_id=other.id,
        tool=other.name,
        related=(Related("received", call.place),),
    )
