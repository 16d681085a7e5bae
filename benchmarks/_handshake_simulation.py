"""A chain of any length under a seeded schedule: which worker acts next, and how far, is drawn at random.

A *script* is what the driver does: blocks enter, leave their window, and now and then the chain is settled. The
schedule decides how far each part has come with it, so one script has very many runs, and all must come to the same.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

from windrow.errors import InternalError
from windrow.operators.handshake.protocol import Acknowledgement, Channel, Worker, linked
from windrow.semantics.joins import LEFT, RIGHT, LastRows


@dataclass(frozen=True)
class SimulatedRows:
    """A block of so many rows, that came in at a time."""

    side: int
    number: int
    size: int = 1
    time: int = 0

    def __len__(self) -> int:
        return self.size


@dataclass(frozen=True)
class Expiry:
    """A block has left its window."""

    side: int
    number: int


@dataclass(frozen=True)
class Settlement:
    """The chain comes to rest, and the pairs that have yet to meet are compared."""


Action: TypeAlias = SimulatedRows | Expiry | Settlement


def by_count(blocks: Sequence[SimulatedRows], window: LastRows) -> Iterator[Action]:
    """Windows of the last blocks: one that enters pushes out the oldest of its own side."""
    sizes = window.left, window.right
    for block in blocks:
        yield block
        if block.number >= sizes[block.side]:
            yield Expiry(block.side, block.number - sizes[block.side])


def in_time(blocks: Sequence[SimulatedRows], ranges: tuple[int, int]) -> Iterator[Action]:
    """Windows in time, for blocks that come in one order of time: each is there for the range of its side."""
    held: tuple[deque[SimulatedRows], deque[SimulatedRows]] = deque(), deque()
    for block in blocks:
        for side in (LEFT, RIGHT):
            while held[side] and held[side][0].time + ranges[side] <= block.time:
                yield Expiry(side, held[side].popleft().number)
        yield block
        held[block.side].append(block)


@dataclass
class Figures:
    """What one worker did."""

    comparisons: int = 0
    messages: int = 0
    longest_queue: int = 0
    most_rows: int = 0


class Tally:
    """Counts comparisons, without making them."""

    def __init__(self) -> None:
        self.figures = Figures()
        self.rows = 0

    def compare(self, side: int, block: SimulatedRows, start: int, end: int) -> None:
        self.figures.comparisons += len(block) * (end - start)

    def insert(self, side: int, block: SimulatedRows) -> None:
        self.rows += len(block)
        self.figures.most_rows = max(self.figures.most_rows, self.rows)

    def remove(self, side: int, block: SimulatedRows) -> None:
        self.rows -= len(block)


class Meetings(Tally):
    """Notes each pair of blocks that meet, as numbers of the left and the right one, with the pairs of their rows."""

    def __init__(self) -> None:
        super().__init__()
        self.held: tuple[deque[SimulatedRows], deque[SimulatedRows]] = deque(), deque()
        self.pairs: Counter[tuple[int, int]] = Counter()

    def compare(self, side: int, block: SimulatedRows, start: int, end: int) -> None:
        super().compare(side, block, start, end)
        place = 0
        for other in self.held[1 - side]:
            met = min(end, place + len(other)) - max(start, place)
            place += len(other)
            if met > 0:
                numbers = (block.number, other.number) if side == LEFT else (other.number, block.number)
                self.pairs[numbers] += met * len(block)

    def insert(self, side: int, block: SimulatedRows) -> None:
        super().insert(side, block)
        self.held[side].append(block)

    def remove(self, side: int, block: SimulatedRows) -> None:
        super().remove(side, block)
        if self.held[side].popleft() != block:
            raise InternalError("must be the oldest of its side", parameter="block", value=block.number)


@dataclass
class Schedule:
    """How a run goes: how much of the time each worker does nothing, and how many messages a channel holds."""

    random: Random
    limit: int | None = None
    slowness: Callable[[int], float] = field(default=lambda _: 0.0)
    burst: int = 1
    """A worker that is chosen takes up to so many actions."""
    pace: float = 0.3
    """How often it is the driver's turn while workers have something to do."""


class Simulation:
    """Workers, the driver's script, and a schedule."""

    def __init__(
        self,
        locals_: Sequence[Tally],
        script: Sequence[Action],
        schedule: Schedule,
        make: type[Worker[SimulatedRows]] = Worker,
    ) -> None:
        self.locals = locals_
        self.workers = linked(locals_, schedule.limit, make)
        self.script = script
        self.schedule = schedule
        self.done = 0
        """Actions of the script."""
        self.entered = [0, 0]
        self.busy = list(range(len(locals_)))
        self.is_busy = [True] * len(locals_)
        self.ends: tuple[Channel[SimulatedRows], Channel[SimulatedRows]] = (
            self.workers[0].inbox[LEFT],
            self.workers[-1].inbox[RIGHT],
        )

    def run(self) -> None:
        """Until the script is done and nobody has anything left to do."""
        while self.busy or self.done < len(self.script):
            if self.schedule.random.random() < self.schedule.pace or not self.busy:
                self._drive()
            if self.busy:
                self._work()

    def _drive(self) -> None:
        """The driver's next action, unless a queue has no room or the chain must come to rest first."""
        if self.done == len(self.script):
            return
        action = self.script[self.done]
        if isinstance(action, Settlement):
            if not self.busy:
                self._settle()
                self.done += 1
            return
        # What expires is acknowledged where it comes out: at the other end.
        end = action.side if isinstance(action, SimulatedRows) else 1 - action.side
        if not self.ends[end].has_room():
            if not self.busy:
                raise InternalError("does not move", parameter="chain", value=f"action {self.done}")
            return
        self.ends[end].send(action if isinstance(action, SimulatedRows) else Acknowledgement(action.number))
        if isinstance(action, SimulatedRows):
            self.entered[action.side] += 1
        self.done += 1
        self._wake(0 if end == LEFT else len(self.workers) - 1)

    def _settle(self) -> None:
        fresh = [(worker.fresh(LEFT), worker.fresh(RIGHT)) for worker in self.workers]
        for place, worker in enumerate(self.workers):
            lefts = [block for one, _ in fresh[:place] for block in one]
            rights = [block for _, one in fresh[place + 1 :] for block in one]
            worker.settle(lefts, rights, self.entered)

    def _work(self) -> None:
        """One worker, drawn from those that may have something to do, acts a few times."""
        random, chosen = self.schedule.random, self.schedule.random.randrange(len(self.busy))
        place = self.busy[chosen]
        if random.random() < self.schedule.slowness(place):
            return
        acted = sum(self._act(place) for _ in range(random.randint(1, self.schedule.burst)))
        if not acted and not self.workers[place].can_step():
            self.busy[chosen] = self.busy[-1]
            self.busy.pop()
            self.is_busy[place] = False

    def _act(self, place: int) -> bool:
        worker, random = self.workers[place], self.schedule.random
        act = worker.receive if random.random() < 0.5 else worker.forward
        if not act(random.randint(LEFT, RIGHT)):
            return False
        figures = self.locals[place].figures
        figures.messages += 1
        figures.longest_queue = max(figures.longest_queue, *(len(channel.messages) for channel in worker.inbox))
        for near in (place - 1, place + 1):
            self._wake(near)
        return True

    def _wake(self, place: int) -> None:
        if 0 <= place < len(self.workers) and not self.is_busy[place]:
            self.is_busy[place] = True
            self.busy.append(place)


@dataclass(frozen=True)
class Balance:
    """How evenly a chain works, and what its parts send each other."""

    comparisons: int
    busiest_over_mean: float
    messages: float
    """A worker and block."""
    longest_queue: int
    most_rows_over_mean: float


def balance(cores: int, *, blocks: int, window: int, seed: int) -> Balance:
    """So many blocks of either side in turn through windows of the last `window` blocks, which are full before.

    They come about half as fast as the chain could take them.
    """
    rows = [SimulatedRows(side, number) for number in range(window + blocks) for side in (LEFT, RIGHT)]
    script = list(by_count(rows, LastRows(window, window)))
    filling = next((place for place, action in enumerate(script) if isinstance(action, Expiry)), len(script))
    locals_ = [Tally() for _ in range(cores)]
    simulation = Simulation(locals_, script[:filling], Schedule(Random(seed), burst=4, pace=0.25 / cores))
    simulation.run()
    for one in locals_:
        one.figures = Figures()
    simulation.script = script
    simulation.run()
    return _balance([one.figures for one in locals_], 2 * blocks)


def _balance(figures: Sequence[Figures], blocks: int) -> Balance:
    cores = len(figures)
    comparisons = [one.comparisons for one in figures]
    return Balance(
        sum(comparisons),
        max(comparisons) * cores / sum(comparisons),
        sum(one.messages for one in figures) / (cores * blocks),
        max(one.longest_queue for one in figures),
        max(one.most_rows for one in figures) * cores / sum(one.most_rows for one in figures),
    )
