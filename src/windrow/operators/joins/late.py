"""Late rows of a join: those below what their own side had promised as they came. They join nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.operators.base import Accounted, Batch, Counters, EarlyRows, LateRows
from windrow.operators.input.early_rows import told_early
from windrow.operators.joins.encoding import Flags
from windrow.operators.late.judging import Missed, below, late_batch, late_schema_of_join
from windrow.plan.nodes import Join, Late
from windrow.plan.types.schema import Shape


class Gated(Accounted):
    """What joins tell of their rows: each side has its own late ones."""

    gate: Gate
    makes_results = True

    def late_rows(self, port: int) -> int:
        return self.gate.late[port]


class Gate:
    """Lets the rows pass that are in time; late ones are counted by side, and given where that was asked for."""

    def __init__(self, node: Join, shapes: tuple[Shape, Shape]) -> None:
        self.node = node
        self.schema = late_schema_of_join(node, shapes)
        self.late = [0, 0]

    def divide(self, batch: Batch, port: int, bound: int, counters: Counters) -> tuple[Batch, list[LateRows]]:
        """The rows that are in time, and what is told of the others; all of them are counted."""
        batch = batch.compact()
        counters.rows_in += len(batch)
        bounds = np.broadcast_to(bound if batch.bounds is None else np.maximum(batch.bounds, bound), len(batch))
        late = below(batch.times, bounds)
        if not late.any():
            return batch, []
        missed = _chosen(batch, late)
        counters.late += len(missed)
        self.late[port] += len(missed)
        return _chosen(batch, ~late), list(self._told(missed, bounds[late], port))

    def _told(self, batch: Batch, bounds: Integers, port: int) -> Iterator[LateRows]:
        """Rows of either side, with NULL in the columns of the other, and how late they were."""
        if self.node.late is Late.SIDE:
            missed = Missed(bounds - batch.times, None, None, None)
            yield LateRows(late_batch(self._widened(batch, port), missed, batch.source, self.schema))

    def _widened(self, batch: Batch, port: int) -> pa.RecordBatch:
        columns = [
            batch.data.column(c.source) if c.side == port else pa.nulls(len(batch), self.schema.field(c.name).type)
            for c in self.node.names
        ]
        return pa.record_batch(columns, names=[c.name for c in self.node.names])

    def set_aside(self, early: EarlyRows, port: int, counters: Counters) -> Iterator[LateRows]:
        """Rows that are too far ahead join nothing; they are told like late ones."""
        batch = early.batch.compact()
        counters.early += len(batch)
        if len(batch) and self.node.late is Late.SIDE:
            yield told_early(batch, self.schema, self._widened(batch, port))


def _chosen(batch: Batch, chosen: Flags) -> Batch:
    return Batch(batch.data, batch.times, chosen.view(np.uint8), batch.source).compact()
