"""OPIB-Join: a join that gives its results in order by holding back its input; a baseline for the join that does not.

A left row is joined only once all rows that it can meet are there. Left rows are then taken in order of time, so pairs
leave in that order and none waits. What it costs: every left row waits a whole window, and pairs come as late.
Ordering the output instead (ORDERED OUTPUT over the order-agnostic join) is the other baseline, OPOB-Join.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow, concatenated, tabled
from windrow.operators.base import Batch, Element
from windrow.operators.joins.operator import JoinOperator
from windrow.operators.joins.progress import first_met
from windrow.operators.state.changes import Saved, nested, under
from windrow.operators.store.row_block import RowBlock, no_rows, value_order
from windrow.operators.store.waiting_rows import WaitingRows
from windrow.plan.conditions import Conditions
from windrow.plan.nodes import Join
from windrow.plan.types.kinds import Shape
from windrow.semantics.joins import LEFT, RIGHT, LastRows
from windrow.semantics.progress.policies import START, Punctuation, check_advance

PIECE = 4096
"""Left rows that are joined together: their pairs are what is sorted."""


class InOrderJoinOperator(JoinOperator):
    """Holds left rows back from an order-agnostic join, which then keeps none of them."""

    def __init__(self, node: Join, shapes: tuple[Shape, Shape], output: Shape, conditions: Conditions, **options: Any):
        super().__init__(node, shapes, output, conditions, **options)
        self.waiting = WaitingRows(RowBlock({"place": np.empty(0, np.int64)}, no_rows(shapes[LEFT].schema)))
        self.sides = [START, START]
        """What each side has promised; of the left one, `bounds` has what is joined."""

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        if port == RIGHT:
            yield from super().process(batch, port)
            return
        batch, late = self.in_time(batch, port, self.sides[LEFT])
        yield from late
        self.waiting.append(RowBlock({"place": batch.times}, batch.data))

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        self.sides[port] = check_advance(self.sides[port], punctuation.value)
        if port == RIGHT:
            yield from super().punctuate(punctuation, RIGHT)
        assert not isinstance(self.window, LastRows)
        bound = min(self.sides[LEFT], first_met(self.window, RIGHT, self.sides[RIGHT]))
        if bound > self.bounds[LEFT]:
            yield from self._in_order(self.waiting.take_below(bound))
            yield from super().punctuate(Punctuation(bound), LEFT)

    def _in_order(self, rows: RowBlock) -> Iterator[Element]:
        """The pairs of left rows that have all of their partners, in order of their times."""
        for start in range(0, len(rows), PIECE):
            piece = rows.take(slice(start, start + PIECE))
            found = [e for e in self.admit(Batch(piece.rows, piece["place"]), LEFT) if isinstance(e, Batch)]
            if found:
                yield _sorted(found)

    @property
    def state_bytes(self) -> int:
        return super().state_bytes + self.waiting.nbytes

    @property
    def stored_rows(self) -> int:
        return super().stored_rows + len(self.waiting)

    def state(self) -> dict[str, Saved]:
        return {
            **nested({"inner.": super().state()}),
            "bounds": tabled(value=np.array([*self.sides, self.bounds[LEFT]])),
            "waiting": self.waiting.saved_whole(),
        }

    def restore(self, tables: dict[str, pa.Table]) -> None:
        super().restore(under("inner.", tables))
        self.sides = np.asarray(tables["bounds"]["value"]).tolist()[:2]
        self.waiting.fill(tables["waiting"])


def _sorted(batches: list[Batch]) -> Batch:
    times = np.concatenate([batch.times for batch in batches])
    order = value_order(times)
    return Batch(concatenated([batch.data for batch in batches]).take(arrow(order)), times[order])
