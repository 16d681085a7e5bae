"""Rows put into panes by every thread for itself, before the panes are divided among the shards.

Threads share the rows of a batch as they lie, whatever their groups are, so nothing is sorted or copied; what goes to
the shards are cells, as many as there are panes and groups. Where that is hardly fewer than rows, rows are sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from windrow.errors import InternalError
from windrow.operators.aggregate.frame import WindowAggregateOperator
from windrow.operators.aggregate.partials import PaneAggregate, Partials
from windrow.operators.base import Batch, Element, Operator
from windrow.operators.divided.operator import DividedOperator, each
from windrow.operators.divided.routing import Shards
from windrow.operators.state.changes import Saved
from windrow.operators.windows.panes import PanedWid
from windrow.plan.nodes import WindowAggregate
from windrow.plan.types.kinds import Shape
from windrow.semantics.progress.policies import Punctuation
from windrow.semantics.scalars.expressions import Column, Expression

MOST_BYTES = 64 << 20
"""Of cells that wait in one thread."""
LEAST_ROWS = 1 << 14
"""Rows that are worth another thread."""
PAYS_BELOW = 0.25
"""Cells for each row: above this, rows are sent as they are."""


class PreAggregatedOperator(DividedOperator):
    """A window aggregate over panes, divided by groups."""

    def __init__(
        self,
        node: WindowAggregate,
        shape: Shape,
        make: Callable[[], Operator],
        route: tuple[Expression, ...],
        *,
        shards: int,
        threads: int,
    ) -> None:
        super().__init__(make, [route], shards=shards, threads=threads)
        self.names = [name for name, _ in node.keys]
        self.key_route = tuple(Column(name) for name, key in node.keys if key in route)
        """The same in terms of the keys of cells."""
        self.lows = [PaneAggregate(node, shape) for _ in range(threads)]
        self.pays = True
        self.waiting = 0
        """Rows in the cells of `lows`."""

    @property
    def windows(self) -> list[WindowAggregateOperator]:
        return [shard for shard in self.shards if isinstance(shard, WindowAggregateOperator)]

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        if not self.pays:
            yield from super().process(batch, port)
            return
        if len(batch) == 0:
            return
        count = min(len(self.lows), max(1, len(batch) // LEAST_ROWS))
        cuts = [len(batch) * i // count for i in range(count + 1)]
        parts = list(zip(self.lows, (batch.slice(*ends) for ends in pairwise(cuts)), strict=False))
        each(lambda part: part[0].add(part[1]), parts, self.threads)
        self.waiting += len(batch)
        # What comes of late rows leaves at once, so that cells that wait never hold a result back.
        has_late = int(batch.times.min()) < self.windows[0].bounds.closed
        if has_late or max(low.nbytes for low in self.lows) > MOST_BYTES:
            yield from self._merge()

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        yield from self._merge()
        yield from super().punctuate(punctuation, port)

    def _merge(self) -> Iterator[Element]:
        """Cells of all threads to the shards of their groups."""
        if not self.waiting:
            return
        taken = [one for one in each(PaneAggregate.take, self.lows, self.threads) if one is not None]
        self.pays = sum(map(len, taken)) < PAYS_BELOW * self.waiting
        self.waiting = 0
        parts = list(zip(taken, each(self._owners_of, taken, self.threads), strict=True))
        windower = self.windows[0].windower
        assert isinstance(windower, PanedWid)
        if windower.forever and taken:
            self._witness(windower.starts_of(np.sort(np.concatenate([one.panes for one in taken]))))
        yield from self._all(lambda shard: self._merged(shard, parts))

    def _owners_of(self, partials: Partials) -> Shards:
        if not self.names:
            return np.zeros(len(partials), np.int32)
        return self._routed(pa.RecordBatch.from_arrays(partials.keys, names=self.names), self.key_route)

    def _merged(self, shard: int, parts: Sequence[tuple[Partials, Shards]]) -> Iterator[Element]:
        window = self.windows[shard]
        for partials, owners in parts:
            yield from window.merge(partials.take(owners == shard))

    def state(self) -> dict[str, Saved]:
        """Cells that wait are none of late rows, so nothing comes of merging them now."""
        for element in self._merge():
            raise InternalError("must not give anything before it is asked", parameter=type(element).__name__)
        return super().state()
