"""The one place that links calls to results.

For every assistant turn the set of call ids equals the set of result ids in the answer that follows: `pair` walks a trajectory in
order, links each result to the call it answers, and says where the equation fails. What it decides is final: each call and each
result gets at most one fault, by the precedence of the table in the design, and the rules only put it into words.

Ids are scoped to what is open: a result answers the newest call with its id, in the newest batch first, and an id that was
answered long ago proves nothing. Only where a result has no usable id does its tool's name, then its position, stand in for it, and
only when that leaves one candidate.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator

from msgspec import Struct, field

from toolaudit.identifiers import recurring, relation
from toolaudit.model import (
    JSON,
    Answer,
    AnswerState,
    Batch,
    Call,
    Ledger,
    Link,
    Other,
    Pair,
    PairState,
    Part,
    Result,
    Text,
    Trajectory,
    Turn,
    Where,
)
from toolaudit.signs import signs_of
from toolaudit.targets import Law

CUT_OFF = frozenset(
    {"max_tokens", "length", "refusal", "content_filter", "model_context_window_exceeded", "incomplete", "max_output_tokens"}
)
"""Stop reasons after which the last call of a turn may be cut: it is normally dropped, not answered."""

_SIDES = {"assistant": "a", "user": "u", "tool": "t", "system": "y", "unknown": "u"}


NEAR = 64
"""How many open calls, and batches, are searched for the one that an unusual identifier may mean."""


class Block(Struct, gc=False):
    """Neighbouring turns that are read as one: `side` is `a`ssistant, `u`ser, `t`ool or s`y`stem."""

    side: str
    turns: list[Turn] = field(default_factory=list)
    batch: Batch | None = None

    def parts(self) -> Iterator[tuple[Turn, Part]]:
        return ((turn, part) for turn in self.turns for part in turn.parts)

    def position(self, part: Part) -> int:
        """Index of a part among all parts of the block."""
        return next(index for index, (_, other) in enumerate(self.parts()) if other is part)

    def answers(self) -> bool:
        """Holds results of tools."""
        return any("r" in turn.order for turn in self.turns)


def pair(trajectory: Trajectory, law: Law) -> Ledger:
    """Link the calls and results of `trajectory` as `law` reads it, and judge each."""
    return _Pairing(trajectory, law).run()


def blocks_of(trajectory: Trajectory, law: Law) -> list[Block]:
    """The turns joined as the target joins them. Tool messages always form one run; items of a model always one turn."""
    joined = {"t"}
    if law.joins:
        joined |= {"a", "u"}
    if trajectory.unit == "item":
        joined |= {"a"}
    blocks: list[Block] = []
    for turn in trajectory.turns:
        side = _SIDES[turn.role]
        if blocks and blocks[-1].side == side and side in joined:
            blocks[-1].turns.append(turn)
        else:
            blocks.append(Block(side, [turn]))
    return blocks


class _Pairing:
    """The walk. One instance pairs one trajectory."""

    def __init__(self, trajectory: Trajectory, law: Law) -> None:
        self.trajectory = trajectory
        self.law = law
        self.ledger = Ledger(trajectory=trajectory, law=law)
        self.blocks = blocks_of(trajectory, law)
        self.by_id: dict[str, list[Pair]] = {}
        self.open: dict[str, list[deque[Pair]]] = {}  # id -> its open calls, one queue a batch, the newest batch last
        self.shared: set[int] = set()  # calls whose id another call bears as well
        self.leads: dict[int, Part | None] = {}  # answer -> what stands before it in its block
        self.first_results: dict[int, int] = {}  # block -> number of its first turn with results
        self.last_batch: list[int] = []  # block -> index of the nearest block before it with a batch
        self.spoken: Turn | None = None
        self.block_of: dict[int, int] = {}  # number of a pair's turn -> index of its block
        self.answers_in: dict[int, list[Answer]] = {}  # index of a block -> the answers it holds
        others = _others(trajectory)
        self.cut = _last_compaction(others)
        self.claimed: set[int] = set()  # blocks in which a result was found to answer a call
        self.unseen: set[str] = set()  # ids of calls that are out of sight, but were answered
        self.references = any(part.kind == "reference" for _, _, part in others)
        self.switched = {turn.number for turn, _, part in others if part.kind == "fallback"}

    def run(self) -> Ledger:
        batch = -1
        for index, block in enumerate(self.blocks):
            self.last_batch.append(batch)
            self._calls(index, block)
            self._results(index, block)
            batch = index if block.batch is not None else batch
        self._early_results()
        self.waiting = self._by_block()
        for index in range(len(self.blocks)):
            self._unclaimed(index)
        self._states()
        self.ledger.live = [turn for turn in self.trajectory.turns if self.cut is None or turn.number >= self.cut[0]]
        self.ledger.signs = signs_of(self.ledger, side_by_side=self._side_by_side())
        return self.ledger

    def _side_by_side(self) -> bool:
        """Batches stand side by side, with nothing between."""
        return any(first.batch is not None and second.batch is not None for first, second in itertools.pairwise(self.blocks))

    # ---------------------------------------------------------------------------------------------------------- calls

    def _calls(self, index: int, block: Block) -> None:
        for turn in block.turns:
            self.block_of[turn.number] = index
            calls = turn.calls
            if not calls:
                continue
            if block.batch is None:
                block.batch = Batch(number=len(self.ledger.batches) + 1, turns=[])
                self.ledger.batches.append(block.batch)
            block.batch.turns.append(turn)
            copied = self._copied_turn(index, turn, calls)
            for call in calls:
                pair = Pair(call=call, turn=turn, batch=block.batch)
                block.batch.pairs.append(pair)
                self.ledger.pairs.append(pair)
                self._relate(pair, copied)

    def _relate(self, pair: Pair, copied: dict[str, Pair]) -> None:
        """Say what an earlier call with the same id is to this one, and enter it."""
        key = pair.call.id
        if key is None:
            return
        known = self.by_id.setdefault(key, [])
        if key in copied:
            pair.copy_of = copied[key].copy_of or copied[key]
            pair.why = "copy"
            self.shared.add(id(pair.copy_of))
        elif known:
            pair.same_id = known[-1]
            self.shared.add(id(known[-1]))
            if known[-1].turn is pair.turn and _same_call(known[-1].call, pair.call):
                pair.why = "block"
        known.append(pair)
        queues = self.open.setdefault(key, [])
        if not queues or queues[-1][0].batch is not pair.batch:
            queues.append(deque())
        queues[-1].append(pair)

    def _copied_turn(self, index: int, turn: Turn, calls: list[Call]) -> dict[str, Pair]:
        """The pairs of an earlier turn that this one repeats, by id; empty when it repeats none.

        A copy has the same calls, and between it and its original stand only results and other copies. Where ids recur by
        design (`call_0`, `name:1`) an equal call may be a new one: it then has an answer of its own that differs.
        """
        if snapshot := self._snapshot(turn, calls):
            return snapshot
        known = [self.by_id[call.id][-1] for call in calls if call.id in self.by_id]
        if len(known) != len(calls) or len({call.id for call in calls}) != len(calls) or any(other.turn is turn for other in known):
            return {}
        if not all(_same_call(other.call, call) for other, call in zip(known, calls, strict=True)):
            return {}
        if self.trajectory.unit == "message" and not self._same_turn(known[0].turn, turn):
            return {}
        if not self._only_results_between(known[0].turn, turn) or self._is_reuse(index, known):
            return {}
        return {str(other.call.id): other for other in known}

    def _snapshot(self, turn: Turn, calls: list[Call]) -> dict[str, Pair]:
        """The pairs of the turn right before, when this one holds all its calls and more: a stream stored as it grew."""
        if len(calls) < 2 or not turn.index or self.trajectory.unit == "item":
            return {}
        before = self.trajectory.turns[turn.index - 1]
        if not 0 < len(before.calls) < len(calls):
            return {}
        by_id = {call.id: call for call in calls}
        if not all(call.id in by_id and _same_call(call, by_id[call.id]) for call in before.calls):
            return {}
        return {str(call.id): self.by_id[call.id][-1] for call in before.calls if call.id in self.by_id}

    def _same_turn(self, first: Turn, second: Turn) -> bool:
        texts = [[part.text.strip() for part in turn.texts if part.text.strip()] for turn in (first, second)]
        return len(first.calls) == len(second.calls) and (texts[0] == texts[1] or not all(texts))

    def _only_results_between(self, first: Turn, second: Turn) -> bool:
        """Nothing but results, or turns that repeat `first`, stands between the two."""
        ids, said = {call.id for call in first.calls}, self._said_with(first)
        for turn in self.trajectory.turns[first.index + 1 : second.index]:
            if turn.calls and ({call.id for call in turn.calls} <= ids or self.trajectory.unit == "item"):
                continue
            if turn.role == "assistant" and set(turn.order) == {"t"} and {part.text for part in turn.texts} <= said:
                continue
            if set(turn.order) - {"r", "h"} or (not turn.parts and turn.role != "assistant"):
                return False
        return True

    def _said_with(self, first: Turn) -> set[str]:
        """The texts of the items right before an item that calls: they belong to its turn, and come again with it."""
        texts: set[str] = set()
        if self.trajectory.unit == "item":
            index = first.index - 1
            while index >= 0 and (turn := self.trajectory.turns[index]).role == "assistant":
                texts.update(part.text for part in turn.texts)
                index -= 1
        return texts

    def _is_reuse(self, index: int, known: list[Pair]) -> bool:
        """A call that looks repeated, but was answered and gets an answer of its own, under an id of a kind that recurs."""
        if not all(other.answered for other in known) or not all(recurring(str(other.call.id)) for other in known):
            return False
        ahead = self._answers_ahead(index)
        return any(str(p.call.id) in ahead and ahead[str(p.call.id)] != p.answers[0].result.body for p in known)

    def _answers_ahead(self, index: int) -> dict[str, JSON]:
        following = self.blocks[index + 1 : index + 2]
        return {part.ref: part.body for block in following for _, part in block.parts() if isinstance(part, Result) and part.ref}

    # -------------------------------------------------------------------------------------------------------- results

    def _results(self, index: int, block: Block) -> None:
        lead: Part | None = None
        for turn in block.turns:
            before, self.spoken = self.spoken, turn if turn.role == "assistant" or said(turn) else self.spoken
            for part in turn.parts:
                if not isinstance(part, Result):
                    if lead is None and not (isinstance(part, Text) and not part.text):
                        lead = part
                else:
                    answer = Answer(result=part, turn=turn, before=before)
                    self.leads[id(answer)] = lead
                    self.first_results.setdefault(index, turn.number)
                    self.ledger.answers.append(answer)
                    self.answers_in.setdefault(index, []).append(answer)
                    if part.ref is not None:
                        self._link(index, answer, part.ref)
                    elif part.executor == "server":
                        self._in_order(index, answer)

    def _link(self, index: int, answer: Answer, ref: str) -> None:
        """Link a result by its id: the newest batch first, within a batch the first call that is still open."""
        known = self.by_id.get(ref)
        if not known:
            return
        queues = self.open.get(ref)
        if queues and _of_one_executor(queues[-1][0].call, answer.result):
            self._attach(index, answer, queues[-1].popleft(), "id")
            if not queues[-1]:
                queues.pop()
            return
        last = known[-1]
        answer.pair, answer.link = last, "id"
        if last.call.executor == "server" and answer.result.executor == "client":
            answer.state = "duplicate" if last.answered or last.call.expects == "none" else "server"
            if answer.state == "server":
                return
        elif last.copy_of is not None or any(p.copy_of is last for p in known):
            answer.state = "copy"
        else:
            answer.state = "duplicate"
        last.answers.append(answer)
        where, _ = self._where(index, answer, last)
        answer.where = where if where == "split" else "in"

    def _in_order(self, index: int, answer: Answer) -> None:
        """A provider that gives its own calls no ids lists their results in the order of the calls."""
        waiting = (p for p in self.ledger.pairs if p.call.executor == "server" and p.call.id is None and not p.answered)
        found = next(waiting, None)
        if found is not None:
            self._attach(index, answer, found, "position")

    def _attach(self, index: int, answer: Answer, pair: Pair, link: Link, note: str = "") -> None:
        answer.pair, answer.link, answer.note = pair, link, note
        answer.state = "first"
        pair.answers.append(answer)
        answer.where, answer.behind = self._where(index, answer, pair)
        if pair.same_id is not None and pair.copy_of is None and _is_stale(answer, pair, pair.same_id):
            answer.state = "stale"

    def _where(self, index: int, answer: Answer, pair: Pair) -> tuple[Where, Part | None]:
        """Where a result stands, seen from its call; with the part that stands in the way."""
        result, block, home = answer.result, self.blocks[index], self.block_of[pair.turn.number]
        carrier = self.trajectory.carrier
        if carrier is not None and answer.turn.role != ("assistant" if result.executor == "server" else carrier):
            return "role", None
        if result.executor == "server":
            if index == home and block.position(result) < block.position(pair.call):
                return "early", None
            return ("late", self._intruder(home, index)) if self._resumed_with_prose(home, index) else ("in", None)
        if pair.call.expects == "later" or self.law.answers == "anywhere" or pair.call.kind == "mcp_approval_request":
            return "in", None
        first = self._answer_block(home)
        if index != first or block.side == "y":
            intruder = self._intruder(home, index)
            only_split = intruder is None and index > first and self.law.container == "one-message"
            return "split" if only_split else "late", intruder
        if (lead := self.leads[id(answer)]) is not None:
            return "behind", lead
        return ("split", None) if self._is_split(index, answer.turn) else ("in", None)

    def _answer_block(self, home: int) -> int:
        """Index of the block that answers a batch; assistant turns with calls side by side are one batch that was split up."""
        following = home + 1
        while following < len(self.blocks) and self.blocks[following].side == "a" and self.blocks[following].batch is not None:
            following += 1
        return following

    def _is_split(self, index: int, turn: Turn) -> bool:
        """Another message of the block brought results before this one, where they belong in one message."""
        if self.law.container != "one-message" or self.blocks[index].side == "t" or self.trajectory.unit == "item":
            return False
        return self.first_results[index] < turn.number

    def _resumed_with_prose(self, home: int, index: int) -> bool:
        """Between a provider's call and its result stands a user turn that answers nothing; one that answers calls may come there."""
        return any(block.side == "u" and not block.answers() for block in self.blocks[home + 1 : index])

    def _intruder(self, home: int, index: int) -> Part | None:
        for block in self.blocks[home + 1 : index + 1]:
            for _, part in block.parts():
                if not isinstance(part, Result):
                    return part
        return None

    def _early_results(self) -> None:
        """Link results that stand before their call."""
        for answer in self.ledger.answers:
            if answer.pair is None and answer.result.ref is not None:
                later = [p for p in self.by_id.get(answer.result.ref, ()) if not p.answered and p.turn.number >= answer.turn.number]
                if later:
                    answer.pair, answer.link, answer.state, answer.where = later[0], "id", "first", "early"
                    later[0].answers.append(answer)

    # ------------------------------------------------------------------------------------------------------ unclaimed

    def _unclaimed(self, index: int) -> None:
        """Results of a block that no id claimed: a recognisable variant, else name, else position, else orphans."""
        answers = self.answers_in.get(index, ())
        loose = [answer for answer in answers if answer.pair is None]
        if not loose:
            return
        for answer in loose:
            self._by_variant(index, answer)
        if self.trajectory.named:
            self._by_name(index, [answer for answer in loose if answer.pair is None])
        else:
            self._without_id(index, [answer for answer in loose if answer.pair is None and answer.result.ref is None])
        if any(answer.pair is not None for answer in answers):
            self.claimed.add(index)
        for answer in loose:
            if answer.pair is None and answer.result.ref is not None and answer.state == "orphan":
                answer.state = self._orphan_state(index, answer)

    def _by_block(self) -> dict[int, list[Pair]]:
        """Calls of the client that no id answered, by the block they stand in."""
        waiting: dict[int, list[Pair]] = {}
        for pair in self.ledger.pairs:
            if not pair.answered and pair.copy_of is None and pair.call.executor == "client" and pair.call.expects != "none":
                waiting.setdefault(self.block_of[pair.turn.number], []).append(pair)
        return waiting

    def _open_before(self, index: int) -> list[Pair]:
        """The nearest unanswered calls of the client before a block, those of the newest batch first."""
        found: list[Pair] = []
        at = self.last_batch[index]
        for _ in range(NEAR):
            if at < 0 or len(found) >= NEAR:
                break
            found += [pair for pair in self.waiting.get(at, [])[: 4 * NEAR] if not pair.answered][:NEAR]
            at = self.last_batch[at]
        return found

    def _by_variant(self, index: int, answer: Answer) -> None:
        ref = answer.result.ref
        if ref is None or answer.result.executor == "server":
            return
        related = [(p, note) for p in self._open_before(index) if (note := relation(ref, p.call))]
        if len({id(p.batch) for p, _ in related}) > 1:
            related = [(p, note) for p, note in related if p.batch is related[0][0].batch]
        if len(related) == 1:
            pair, note = related[0]
            self._attach(index, answer, pair, "variant", note)
            answer.state = "mismatched" if pair.call.id is not None else "first"
        elif ref == answer.result.item_id and len(waiting := self._open_before(index)) == 1:
            self._attach(index, answer, waiting[0], "variant", "the id of the output's own item")
            answer.state = "mismatched"

    def _without_id(self, index: int, nameless: list[Answer]) -> None:
        waiting = [p for p in self.waiting.get(self.last_batch[index], []) if not p.answered]
        named: dict[str | None, list[Pair]] = {}
        for pair in waiting:
            named.setdefault(pair.call.name, []).append(pair)
        for answer in nameless:
            answer.state = "nameless"
            if answer.result.name and len(found := named.get(answer.result.name, [])) == 1 and not found[0].answered:
                self._attach(index, answer, found[0], "name")
                answer.state = "nameless"
        rest = [answer for answer in nameless if answer.pair is None]
        waiting = [p for p in waiting if not p.answered]
        if len(rest) == len(waiting) == 1 or (rest and len(rest) == len(waiting) and all(p.call.id is None for p in waiting)):
            for answer, pair in zip(rest, waiting, strict=True):
                self._attach(index, answer, pair, "position")
                answer.state = "nameless"
        elif rest:
            for answer in rest:
                answer.state = "orphan" if answer.result.kind == "function" and not waiting else "nameless"
            for pair in waiting:
                pair.state, pair.why = "unjudged", "ambiguous"

    def _by_name(self, index: int, loose: list[Answer]) -> None:
        """Where ids are optional, a result answers the first open call of its name. Those whose names fit no call take the places of the
        calls that are left, if there are as many of both. Two ids that differ are no pair, whatever the names say.
        """
        batch = index if self.blocks[index].batch is not None else self.last_batch[index]
        waiting = [p for p in self.waiting.get(batch, []) if not p.answered]
        rest = []
        for answer in loose:
            ref, name = answer.result.ref, answer.result.name
            found = next((p for p in waiting if p.call.name == name and (ref is None or p.call.id is None)), None)
            if found is None:
                rest.append(answer)
            else:
                waiting.remove(found)
                self._attach(index, answer, found, "name")
        rest = [answer for answer in rest if answer.result.ref is None or all(p.call.id is None for p in waiting)]
        if len(rest) == len(waiting) or all(answer.result.name is None for answer in rest):  # without names the order alone links
            for answer, pair in zip(rest, waiting, strict=False):
                self._attach(index, answer, pair, "position")
        elif waiting and rest:
            for pair in waiting:
                pair.state, pair.why = "unjudged", "ambiguous"
        for answer in loose:
            if answer.pair is None and answer.result.ref is None:
                answer.state = self._orphan_state(index, answer)

    def _unjudged(self, answer: Answer) -> AnswerState:
        """A result whose call is out of sight; a second one for it is still one too many."""
        self.unseen.add(answer.result.ref or "")
        return "unjudged"

    def _follows_prose(self, index: int, answer: Answer) -> bool:
        """The user's words stand right before a result, and no call is open that they may have come between."""
        waiting = any(not pair.answered for pair in self.waiting.get(self.last_batch[index], ()))
        return answer.before is not None and answer.before.role == "user" and not waiting

    def _orphan_state(self, index: int, answer: Answer) -> AnswerState:
        place = (answer.turn.number, 0)
        if self.trajectory.hidden or self.references or self.trajectory.kind == "response":
            return "duplicate" if answer.result.ref in self.unseen else self._unjudged(answer)
        if (self.cut is not None and (place < self.cut or not self._called_since(index))) or self._before_the_log(index):
            return "unjudged"
        lost = index not in self.claimed and answer.result.executor == "client" and self._follows_prose(index, answer)
        return "dropped" if lost else "orphan"

    def _called_since(self, index: int) -> bool:
        """A batch stands between the last compaction and a block: its results could be told."""
        return any(block.batch is not None and block.turns[-1].number >= (self.cut or (0, 0))[0] for block in self.blocks[:index])

    def _before_the_log(self, index: int) -> bool:
        """The log begins in the middle, and the call may have been made before."""
        return self.trajectory.fragment and not any(block.side == "a" for block in self.blocks[:index])

    # --------------------------------------------------------------------------------------------------------- states

    def _states(self) -> None:
        self.answered_copies = {id(pair.copy_of) for pair in self.ledger.pairs if pair.copy_of is not None and pair.answered}
        for batch in self.ledger.batches:
            home = self.block_of[batch.turns[0].number]
            batch.next_turn = self._spoke_again(batch, home) or self._too_late(batch, home)
            batch.last = batch.next_turn is None
            for pair in batch.pairs:
                if pair.why != "ambiguous":
                    pair.state, pair.why = self._state(pair, home)

    def _spoke_again(self, batch: Batch, home: int) -> Turn | None:
        """A further message of the model, without calls, behind one whose calls are not answered: the conversation went on."""
        if self.trajectory.unit == "item" or all(p.answered or p.call.executor == "server" for p in batch.pairs):
            return None
        last = batch.turns[-1]
        after = self.blocks[home].turns[self.blocks[home].turns.index(last) + 1 :]
        return next((turn for turn in after if turn.texts and (turn.key is None or turn.key != last.key)), None)

    def _too_late(self, batch: Batch, home: int) -> Turn | None:
        """The first turn after a batch that is not its answer: a result that follows from there on is too late."""
        own = {answer.turn.number for pair in batch.pairs for answer in pair.answers}
        for index in range(home + 1, len(self.blocks)):
            block = self.blocks[index]
            for turn in block.turns:
                if not turn.results or block.side == "a" or (turn.number not in own and not self._nameless(turn)):
                    return turn
        return None

    def _nameless(self, turn: Turn) -> bool:
        return any(result.ref is None for result in turn.results)

    def _state(self, pair: Pair, home: int) -> tuple[PairState, str]:
        call = pair.call
        if pair.answered or call.expects == "none":
            return "paired", pair.why
        if pair.copy_of is not None or pair.why == "block":
            original = pair.copy_of or pair.same_id
            return ("paired", pair.why) if original is not None and (original.answered or pair.why == "block") else ("open", pair.why)
        if id(pair) in self.answered_copies:
            return "paired", "copy"
        if why := self._hidden(pair):
            return "unjudged", why
        return self._unanswered(pair, home)

    def _hidden(self, pair: Pair) -> str:
        """Why an unanswered call cannot be judged; empty when it can."""
        if self.cut is not None and (pair.turn.number, pair.turn.parts.index(pair.call)) < self.cut:
            return "compaction"
        if pair.turn.number in self.switched and _abandoned(pair):
            return "fallback"
        if self.references:
            return "reference"
        return "cancelled" if pair.call.state == "cancelled" else ""

    def _unanswered(self, pair: Pair, home: int) -> tuple[PairState, str]:
        call, batch = pair.call, pair.batch
        if call.executor == "server":
            resumed = self._resumed_with_prose(home, len(self.blocks)) and call.kind not in _MAY_STAY_OPEN
            return ("missing", "server") if resumed else ("open", "server")
        if call.expects == "later":
            return "open", "async"
        if pair.turn.failed:
            return "open", "errored"
        if call.state == "partial" or (pair.turn.stop in CUT_OFF and pair is batch.pairs[-1]):
            return "open", "truncated"
        if call.state == "waiting" and batch.last:
            return "open", "waiting"
        if self._shares_id(pair):
            return "unjudged", "shared-id"
        if batch.last and not self._known_late(batch, pair.turn):
            answer = 0 < self.trajectory.sent_turns < pair.turn.number  # the next request is where its results are
            return "open", "answer" if answer or self.trajectory.streamed else "pending"
        return "missing", ""

    def _shares_id(self, pair: Pair) -> bool:
        """Another call bears the id while this one is open: which of them a result answers cannot be told."""
        former = pair.same_id
        return id(pair) in self.shared or (former is not None and not former.copy_of and self._overlap(pair, former))

    def _overlap(self, pair: Pair, former: Pair) -> bool:
        return former.batch is pair.batch or not any(answer.turn.number < pair.turn.number for answer in former.answers)

    def _known_late(self, batch: Batch, turn: Turn) -> bool:
        """A turn of the last batch is known to have been sent, or the batch was closed by a message that answers only part of it."""
        sent = self.trajectory.sent and (not self.trajectory.sent_turns or turn.number <= self.trajectory.sent_turns)
        partly = any(a.state == "first" for p in batch.pairs if p.call.executor == "client" for a in p.answers)
        return sent or (partly and self.law.closes and self.trajectory.kind != "log")


_MAY_STAY_OPEN = frozenset({"shell_call", "program", "multi_agent_call", "tool_search_call"})
"""Provider's calls that may be left without a result of their own."""


def said(turn: Turn) -> bool:
    """A turn that says something beside results; one without any part, or with results only, says nothing."""
    return turn.role != "system" and any(part.letter != "r" for part in turn.parts)


def _others(trajectory: Trajectory) -> list[tuple[Turn, int, Other]]:
    """The parts that are neither prose, call nor result, each with its turn and its index in it."""
    return [(turn, index, part) for turn in trajectory.turns for index, part in enumerate(turn.parts) if isinstance(part, Other)]


def _last_compaction(others: list[tuple[Turn, int, Other]]) -> tuple[int, int] | None:
    """Turn number and index of the last compaction that took effect; what stands before it is not read any more."""
    return next(((turn.number, index) for turn, index, part in reversed(others) if part.kind == "compaction"), None)


def _abandoned(pair: Pair) -> bool:
    """The call stands before a switch to another model: it must not be answered."""
    parts = pair.turn.parts
    after = parts[parts.index(pair.call) :]
    return any(isinstance(part, Other) and part.kind == "fallback" for part in after)


def _of_one_executor(call: Call, result: Result) -> bool:
    return call.executor == result.executor or result.kind in {"shell_call_output", "tool_search_output"}


def _same_call(first: Call, second: Call) -> bool:
    return first.name == second.name and first.args == second.args


def _is_stale(answer: Answer, pair: Pair, former: Pair) -> bool:
    """The very bytes that answered a former call of this id, though it asked for something else."""
    if not former.answered or former.call.args == pair.call.args or answer.result.body is None:
        return False
    return answer.result.body == former.answers[0].result.body and len(str(answer.result.body)) >= 16
