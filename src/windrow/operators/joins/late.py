"""Late rows of a join: rows of either side, with NULL in the columns of the other, and how late they were."""

from __future__ import annotations

import pyarrow as pa

from windrow.aggregates.base import Integers
from windrow.operators.base import Batch
from windrow.operators.lateness import Missed, late_batch
from windrow.plan.nodes import Join


def late_of_join(node: Join, side: int, batch: Batch, bounds: Integers, schema: pa.Schema) -> pa.RecordBatch:
    """Late rows of one side; `bounds` are what they were below."""
    columns = [
        batch.data.column(c.source) if c.side == side else pa.nulls(len(batch), schema.field(c.name).type)
        for c in node.names
    ]
    data = pa.record_batch(columns, names=[c.name for c in node.names])
    return late_batch(data, Missed(bounds - batch.times, None, None, None), batch.source, schema)
