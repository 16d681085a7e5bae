"""Where early rows end: at the first operator that remembers rows. It counts them, and gives them out as it does late
rows: `late_by` is below zero, and they missed no window.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from windrow.operators.base import Accounted, Batch, Counters, EarlyRows, Element, LateRows
from windrow.operators.late.judging import Missed, late_batch
from windrow.plan.nodes import Late, WindowAggregate

_FURTHEST = 1 << 62
"""Times above this are told as if they were this: how far they are ahead must fit into 64 bits."""


def told_early(batch: Batch, schema: pa.Schema, data: pa.RecordBatch | None = None) -> LateRows:
    """Early rows, or other columns of them, as late rows are given."""
    assert batch.bounds is not None
    by = batch.bounds - np.minimum(batch.times, _FURTHEST)
    missed = Missed(by, np.zeros(len(batch), np.int64), None, None)
    return LateRows(late_batch(batch.data if data is None else data, missed, batch.source, schema))


class SetsAside(Accounted):
    """What window operators do with early rows."""

    node: WindowAggregate
    counters: Counters
    late_schema: pa.Schema
    makes_results = True

    def set_aside(self, early: EarlyRows, port: int = 0) -> Iterable[Element]:
        batch = early.batch.compact()
        self.counters.early += len(batch)
        if len(batch) and self.node.late is not Late.DROP:
            yield told_early(batch, self.late_schema)
