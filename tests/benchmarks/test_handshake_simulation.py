"""Chains of workers under random schedules: the pairs that meet are those of the three-step definition, each once."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from random import Random

import pytest
from _handshake_simulation import (
    Action,
    Expiry,
    Meetings,
    Schedule,
    Settlement,
    SimulatedRows,
    Simulation,
    balance,
    by_count,
    in_time,
)

from tests.semantics.join_definitions import three_step, three_step_in_time
from windrow.errors import InternalError
from windrow.operators.handshake.protocol import Acknowledgement, Worker
from windrow.semantics.joins import LEFT, RIGHT, JoinKind, LastRows, Pairs

SOAK = bool(os.environ.get("WINDROW_SOAK"))
RUNS = 10_000 if SOAK else 300
pytestmark = [pytest.mark.soak] if SOAK else []


def drawn_blocks(random: Random, sizes: int) -> list[SimulatedRows]:
    """Blocks of both sides, in one order of time, with ties and lulls; sometimes mostly of one side."""
    blocks: list[SimulatedRows] = []
    share, time, counts = random.choice([0.5, 0.5, 0.9, 0.1]), 0, [0, 0]
    for _ in range(random.randint(0, 40)):
        side = LEFT if random.random() < share else RIGHT
        time += random.choice([0, 1, 1, 2, 30])
        blocks.append(SimulatedRows(side, counts[side], random.randint(1, sizes), time))
        counts[side] += 1
    return blocks


def drawn_script(random: Random) -> tuple[list[Action], Counter[tuple[int, int]]]:
    """What the driver does, and how many pairs of rows of each two blocks must meet."""
    blocks = drawn_blocks(random, random.choice([1, 1, 5]))
    if random.random() < 0.5:
        window = LastRows(random.randint(1, 12), random.randint(1, 12))
        script = list(by_count(blocks, window))
        pairs = three_step(((b.side, {"block": b}) for b in blocks), window, JoinKind.INNER, lambda *_: True)
    else:
        ranges = random.randint(1, 40), random.randint(1, 40)
        script = list(in_time(blocks, ranges))
        pairs = three_step_in_time(((b.side, b.time, {"block": b}) for b in blocks), ranges, lambda *_: True)
    ended = [*settled_at_times(script, random), *(outgoing(script) if random.random() < 0.5 else [Settlement()])]
    return ended, counted(pairs)


def settled_at_times(script: list[Action], random: Random) -> Iterator[Action]:
    often = random.choice([0, 0, 0.05, 0.5])
    for action in script:
        yield action
        if random.random() < often:
            yield Settlement()


def outgoing(script: list[Action]) -> Iterator[Action]:
    """At the end all blocks leave their windows: so the last ones pass each other too."""
    gone = {(action.side, action.number) for action in script if isinstance(action, Expiry)}
    for action in script:
        if isinstance(action, SimulatedRows) and (action.side, action.number) not in gone:
            yield Expiry(action.side, action.number)


def counted(pairs: Pairs) -> Counter[tuple[int, int]]:
    found: Counter[tuple[int, int]] = Counter()
    for left, right in pairs:
        assert left is not None
        assert right is not None
        one, other = left["block"], right["block"]
        found[(one.number, other.number)] += len(one) * len(other)
    return found


def drawn_schedule(random: Random, cores: int) -> Schedule:
    slow = {place: random.choice([0, 0, 0.5, 0.95]) for place in range(cores)}
    return Schedule(random, random.choice([None, 1, 2, 8]), slow.__getitem__, random.choice([1, 1, 4, 20]))


def drawn_cores(random: Random) -> int:
    return random.choice([1, 2, 3, random.randint(4, 12), random.randint(1, 64)])


def met(
    script: list[Action], schedule: Schedule, cores: int, make: type[Worker[SimulatedRows]]
) -> Counter[tuple[int, int]]:
    """The pairs of rows that met, by block."""
    locals_ = [Meetings() for _ in range(cores)]
    Simulation(locals_, script, schedule, make).run()
    return sum((one.pairs for one in locals_), Counter())


def wrong_runs(seeds: range, make: type[Worker[SimulatedRows]] = Worker) -> Iterator[int]:
    """The seeds whose run differs from the definition."""
    for seed in seeds:
        random = Random(seed)
        cores = drawn_cores(random)
        script, expected = drawn_script(random)
        try:
            found = met(script, drawn_schedule(random, cores), cores, make)
        except (InternalError, IndexError):
            found = Counter({(-1, -1): 1})
        if found != expected:
            yield seed


@pytest.mark.parametrize("part", range(10))
def test_random_schedules_meet_the_definition(part: int) -> None:
    assert list(wrong_runs(range(part * RUNS // 10, (part + 1) * RUNS // 10))) == []


class Forgetful(Worker[SimulatedRows]):
    """Removes a right block as it sends it on, without waiting for the acknowledgement."""

    def forward(self, side: int) -> bool:
        if side == LEFT or not self._can_forward(side):
            return super().forward(side)
        self.outbox[LEFT].send(self._remove(RIGHT))
        return True

    def receive(self, side: int) -> bool:
        messages = self.inbox[side].messages
        if messages and isinstance(messages[0], Acknowledgement) and self.neighbours[LEFT] is not None and side == LEFT:
            self.inbox[side].take()
            return True
        return super().receive(side)


class Silent(Worker[SimulatedRows]):
    """Acknowledges only every other block."""

    def _enter(self, side: int, block: SimulatedRows) -> None:
        super()._enter(side, block)
        if side == RIGHT and self.neighbours[RIGHT] is not None and block.number % 2:
            self.outbox[RIGHT].messages.pop()


class Unmarked(Worker[SimulatedRows]):
    """Does not mark what it sent on."""

    def forward(self, side: int) -> bool:
        done = super().forward(side)
        if done and side == RIGHT:
            self.segments[RIGHT].forwarded = self.segments[RIGHT].forwarded_rows = 0
        return done


class Hasty(Worker[SimulatedRows]):
    """Lets acknowledgements of the driver pass that find nothing to remove."""

    def receive(self, side: int) -> bool:
        messages = self.inbox[side].messages
        if messages and isinstance(messages[0], Acknowledgement) and not self.segments[1 - side].blocks:
            self.inbox[side].take()
            return True
        return super().receive(side)


class Eager(Worker[SimulatedRows]):
    """Takes acknowledgements before the blocks that came earlier."""

    def receive(self, side: int) -> bool:
        messages = self.inbox[side].messages
        if len(messages) > 1 and isinstance(messages[1], Acknowledgement):
            messages[0], messages[1] = messages[1], messages[0]
        return super().receive(side)


class Lopsided(Worker[SimulatedRows]):
    """Settles pairs of two fresh blocks on both of their workers."""

    def settle(self, lefts: Iterable[SimulatedRows], rights: Iterable[SimulatedRows], numbers: Sequence[int]) -> None:
        self.segments[LEFT].settled_rows = self.segments[LEFT].rows
        super().settle(lefts, rights, numbers)


@pytest.mark.parametrize("mutant", [Forgetful, Silent, Unmarked, Hasty, Eager, Lopsided])
def test_a_worker_that_breaks_the_protocol_is_caught(mutant: type[Worker[SimulatedRows]]) -> None:
    assert next(wrong_runs(range(200), mutant), None) is not None


def test_a_chain_that_cannot_move_says_so() -> None:
    never: list[Action] = [SimulatedRows(LEFT, 0), Expiry(RIGHT, 0), Expiry(RIGHT, 1), Expiry(RIGHT, 2)]
    with pytest.raises(InternalError, match=r"^`chain` does not move, got action 2\.$"):
        Simulation([Meetings()], never, Schedule(Random(1), limit=1)).run()


def test_a_removal_out_of_turn_is_an_error() -> None:
    local = Meetings()
    local.insert(LEFT, SimulatedRows(LEFT, 0))
    with pytest.raises(InternalError, match=r"^`block` must be the oldest of its side, got 1\.$"):
        local.remove(LEFT, SimulatedRows(LEFT, 1))


@pytest.mark.parametrize("cores", [1, 2, 24])
def test_load_is_balanced(cores: int) -> None:
    """Windows that are full spread evenly: no worker compares much more than the mean."""
    figures = balance(cores, blocks=10 * cores, window=8 * cores, seed=cores)
    assert figures.busiest_over_mean < 1.1
    assert figures.most_rows_over_mean < 1.1
    # Each block meets the window of the other side; one more or less, as the last ones lie.
    assert figures.comparisons == pytest.approx(2 * 10 * cores * 8 * cores, abs=2 * 10 * cores)
    # A worker takes a block, hands it on, and for right ones takes an acknowledgement.
    assert figures.messages < 2.5
