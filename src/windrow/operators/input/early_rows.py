"""Where early rows end: at the first operator that remembers rows. It counts them, and gives them out as it does late
rows: `late_by` is below zero, and they missed no window.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.operators.base import Batch, LateRows
from windrow.operators.late.judging import Missed, late_batch

_FURTHEST = 1 << 62
"""Times above this are told as if they were this: how far they are ahead must fit into 64 bits."""


def told_early(batch: Batch, schema: pa.Schema, data: pa.RecordBatch | None = None) -> LateRows:
    """Early rows, or other columns of them, as late rows are given."""
    assert batch.bounds is not None
    by = batch.bounds - np.minimum(batch.times, _FURTHEST)
    missed = Missed(by, np.zeros(len(batch), np.int64), None, None)
    return LateRows(late_batch(batch.data if data is None else data, missed, batch.source, schema))
