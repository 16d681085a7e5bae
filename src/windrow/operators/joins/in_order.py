"""OPIB-Join: a join that gives its results in order by holding back its input; a baseline for the join that does not.

A left row is joined only once all rows that it can meet are there. Left rows are then taken in order of time, so pairs
leave in that order and none waits. What it costs: every left row waits a whole window, and pairs come as late.
Ordering the output instead (ORDERED OUTPUT over the order-agnostic join) is the other baseline, OPOB-Join.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow, tabled
from windrow.operators.aggregate.saving import nested, under
from windrow.operators.base import Batch, Counters, EarlyRows, Element, GroupPunctuations
from windrow.operators.joins.late import Gated
from windrow.operators.joins.operator import JoinOperator
from windrow.operators.joins.reach import first_met
from windrow.operators.state.changes import Saved
from windrow.operators.store.row_block import RowBlock, no_rows, value_order
from windrow.operators.store.waiting_rows import WaitingRows
from windrow.semantics.joins import LEFT, RIGHT, AsOf, LastRows
from windrow.semantics.progress.policies import START, Punctuation, check_advance

PIECE = 4096
"""Left rows that are joined together: their pairs are what is sorted."""


class InOrderJoinOperator(Gated):
    """Holds left rows back from an order-agnostic join, which then keeps none of them."""

    def __init__(self, inner: JoinOperator) -> None:
        assert not isinstance(inner.window, (AsOf, LastRows))
        self.inner = inner
        self.gate = inner.gate
        self.window = inner.window
        self.schema = inner.schemas[LEFT]
        self.waiting = WaitingRows(RowBlock({"place": np.empty(0, np.int64)}, no_rows(self.schema)))
        self.bounds = [START, START]
        self.released = START

    @property
    def counters(self) -> Counters:
        return self.inner.counters

    @counters.setter
    def counters(self, counters: Counters) -> None:
        self.inner.counters = counters

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        if port == RIGHT:
            yield from self.inner.process(batch, port)
            return
        batch, late = self.gate.divide(batch, port, self.bounds[LEFT], self.counters)
        yield from late
        self.waiting.append(RowBlock({"place": batch.times}, batch.data))

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        self.bounds[port] = check_advance(self.bounds[port], punctuation.value)
        if port == RIGHT:
            yield from self.inner.punctuate(punctuation, RIGHT)
        bound = min(self.bounds[LEFT], first_met(self.window, RIGHT, self.bounds[RIGHT]))
        if bound > self.released:
            self.released = bound
            yield from self._joined(self.waiting.take_below(bound))
            yield from self.inner.punctuate(Punctuation(bound), LEFT)

    def _joined(self, rows: RowBlock) -> Iterator[Element]:
        """The pairs of left rows that have all of their partners, in order of their times."""
        for start in range(0, len(rows), PIECE):
            piece = rows.take(slice(start, start + PIECE))
            found = [e for e in self.inner.admit(Batch(piece.rows, piece["place"]), LEFT) if isinstance(e, Batch)]
            if found:
                yield _sorted(found)

    def set_aside(self, early: EarlyRows, port: int = 0) -> Iterable[Element]:
        return self.gate.set_aside(early, port, self.counters)

    def punctuate_groups(self, punctuations: GroupPunctuations, port: int = 0) -> Iterable[Element]:
        return ()

    @property
    def state_bytes(self) -> int:
        return self.inner.state_bytes + self.waiting.nbytes

    @property
    def stored_rows(self) -> int:
        return self.inner.stored_rows + len(self.waiting)

    def state(self) -> dict[str, Saved]:
        return {
            **nested(inner=self.inner),
            "bounds": tabled(value=np.array([*self.bounds, self.released])),
            "waiting": self.waiting.table(),
        }

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self.inner.restore(under("inner", tables))
        *self.bounds, self.released = np.asarray(tables["bounds"]["value"]).tolist()
        self.waiting.fill(tables["waiting"])


def _sorted(batches: list[Batch]) -> Batch:
    times = np.concatenate([batch.times for batch in batches])
    order = value_order(times)
    table = pa.Table.from_batches([batch.data for batch in batches]).combine_chunks().take(arrow(order))
    (data,) = table.combine_chunks().to_batches()
    return Batch(data, times[order])
