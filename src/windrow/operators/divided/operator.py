"""An operator whose groups are divided among several like it, each of which works on a thread of its own.

Every promise comes to all of them, every row to the one that has its group. The answers are those of one operator,
because groups know nothing of each other; what holds of all of them together, the least of what each promises, is
promised here. None runs ahead: an element is done with when all are done with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import lru_cache
from typing import TypeVar

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow, tabled
from windrow.aggregates.kinds.base import Integers
from windrow.operators.aggregate.frame import WindowAggregateOperator
from windrow.operators.base import Batch, Counters, EarlyRows, Element, GroupPunctuations, Operator
from windrow.operators.divided.routing import Shards, shards_of
from windrow.operators.expressions.tree import evaluate
from windrow.operators.state.changes import Saved, nested, under
from windrow.operators.store.budget import Budget
from windrow.semantics.progress.policies import START, Punctuation
from windrow.semantics.scalars.expressions import Expression
from windrow.semantics.windows.kinds import Landmark

Item = TypeVar("Item")
Made = TypeVar("Made")
_PREFIX = "shard "


@lru_cache(maxsize=8)
def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads are made when they are first needed and wait for the next run when one is over."""
    return ThreadPoolExecutor(threads, thread_name_prefix="windrow-worker")


def each(function: Callable[[Item], Made], items: Sequence[Item], threads: int) -> list[Made]:
    """What a function makes of each item, in order, on so many threads; none is still running when this returns.

    >>> each(abs, [-1, 2, -3], threads=2)
    [1, 2, 3]
    """
    if threads == 1 or len(items) < 2:
        return [function(item) for item in items]
    running = [_pool(threads).submit(function, item) for item in items]
    failures = [error for error in (future.exception() for future in running) if error is not None]
    if failures:
        raise failures[0]
    return [future.result() for future in running]


class DividedOperator(Operator):
    """Routes rows, by what they are routed by on each port, to as many operators as there are shards."""

    def __init__(
        self, make: Callable[[], Operator], routes: Sequence[tuple[Expression, ...]], *, shards: int, threads: int
    ) -> None:
        self.make = make
        self.routes = routes
        self.threads = threads
        self.shards = [make() for _ in range(shards)]
        self.makes_results = self.shards[0].makes_results
        self.promises = [START] * shards
        """What each has promised of its results."""
        self.promised = START

    # Rows in

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        batch = batch.compact()
        if len(batch):
            self._witness(batch.times)
            owners = self._routed(batch.data, self.routes[port])
            yield from self._all(lambda shard: self.shards[shard].process(_part(batch, owners, shard), port))

    def _witness(self, times: Integers) -> None:
        """Landmark windows go on to the last row of any group, in whichever shard it lives."""
        for shard in self.shards:
            if isinstance(shard, WindowAggregateOperator) and isinstance(shard.node.window, Landmark):
                shard.refuse_leap(times)
                shard.witness(int(times.max()))

    def _routed(self, data: pa.RecordBatch, route: tuple[Expression, ...]) -> Shards:
        return shards_of([evaluate(e, data) for e in route], len(data), len(self.shards))

    def set_aside(self, early: EarlyRows, port: int = 0) -> Iterable[Element]:
        """Early rows belong to no group yet."""
        return self.shards[0].set_aside(early, port)

    # Punctuations in

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        yield from self._all(lambda shard: self.shards[shard].punctuate(punctuation, port))
        if (promise := min(self.promises)) > self.promised:
            self.promised = promise
            yield Punctuation(promise)

    def punctuate_groups(self, punctuations: GroupPunctuations, port: int = 0) -> Iterable[Element]:
        yield from self._all(lambda shard: self.shards[shard].punctuate_groups(punctuations, port))

    def _all(self, work: Callable[[int], Iterable[Element]]) -> Iterator[Element]:
        """What all shards give, those of the first first; their promises are kept."""
        given = each(lambda shard: list(work(shard)), range(len(self.shards)), self.threads)
        for shard, elements in enumerate(given):
            for element in elements:
                if isinstance(element, Punctuation):
                    self.promises[shard] = element.value
                else:
                    yield element

    # What it has done, and state

    @property
    def counters(self) -> Counters:
        found = [asdict(shard.counters) for shard in self.shards]
        return Counters(**{name: sum(one[name] for one in found) for name in found[0]})

    @counters.setter
    def counters(self, known: Counters) -> None:
        """What was counted before a restore; whose it was does not matter."""
        for number, shard in enumerate(self.shards):
            vars(shard.counters).update(vars(Counters() if number else known))

    def late_rows(self, port: int) -> int:
        return sum(shard.late_rows(port) for shard in self.shards)

    def lost_rows(self, port: int) -> int:
        return sum(shard.lost_rows(port) for shard in self.shards)

    @property
    def open_windows(self) -> int:
        """A window is open where one of its groups is: in the shard that has most."""
        return max(shard.open_windows for shard in self.shards)

    @property
    def stored_rows(self) -> int:
        return sum(shard.stored_rows for shard in self.shards)

    @property
    def budgets(self) -> tuple[Budget, ...]:
        return tuple(budget for shard in self.shards for budget in shard.budgets)

    @property
    def state_bytes(self) -> int:
        return sum(shard.state_bytes for shard in self.shards)

    @property
    def settled(self) -> list[str] | None:
        return self.shards[0].settled

    @property
    def waiting_and_evicted(self) -> tuple[int, int]:
        waiting = [shard.waiting_and_evicted for shard in self.shards]
        return sum(cells for cells, _ in waiting), sum(driven_out for _, driven_out in waiting)

    def state(self) -> dict[str, Saved]:
        tables = each(lambda shard: shard.state(), self.shards, self.threads)
        mine: dict[str, Saved] = {"promises": tabled(value=np.array([self.promised, *self.promises]))}
        return mine | nested({f"{_PREFIX}{number}/": own for number, own in enumerate(tables)})

    def restore(self, tables: dict[str, pa.Table]) -> None:
        """With as many shards as there were: on how many threads they work does not matter."""
        self.promised, *self.promises = tables["promises"]["value"].to_numpy().tolist()
        self.shards = [self.make() for _ in self.promises]
        for number, shard in enumerate(self.shards):
            shard.restore(under(f"{_PREFIX}{number}/", tables))


def _part(batch: Batch, owners: Shards, shard: int) -> Batch:
    mine = np.flatnonzero(owners == shard)
    if len(mine) == len(batch):
        return batch
    bounds = None if batch.bounds is None else batch.bounds[mine]
    return replace(batch, data=batch.data.take(arrow(mine)), times=batch.times[mine], bounds=bounds)
