"""The state of a handshake join as tables, and back: rows by arrival, and results that wait."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.operators.base import Batch
from windrow.operators.handshake.blocks import Unsigned
from windrow.operators.handshake.kept import HandshakeRows, timed
from windrow.operators.joins.encoding import Encoded, Encoder, Flags
from windrow.operators.joins.results import Picked
from windrow.operators.store.row_block import RowBlock

_TIME = ".time"
"""Not the name of a column that anyone asks for."""


def save_rows(kept: HandshakeRows, ids: Integers, columns: list[Unsigned]) -> pa.Table:
    """Some rows by id, oldest first; `columns` are what the chain compares of them."""
    rows = kept.pick(ids)
    own: dict[str, Any] = {"time": timed(rows), "done": kept.done(ids)}
    own |= {f"compared{i}": column for i, column in enumerate(columns)}
    return RowBlock(own, rows.data).table()


def load_rows(table: pa.Table, encoder: Encoder) -> tuple[Encoded, Picked, Flags]:
    """What is compared of the rows, what is kept of them, and which have met a partner."""
    rows = RowBlock.of_table(table)
    compared = [rows[name] for name in rows.columns if name.startswith("compared")]
    words = compared.pop(0) if encoder.equalities else None
    # Without anything to compare but times, these are compared.
    bands = tuple(band.view(scale.dtype) for band, scale in zip(compared, encoder.scales, strict=False))
    return Encoded(rows["time"], words, bands), Picked(len(rows), rows.data, rows["time"]), rows["done"]


def save_waiting(batches: list[Batch], schema: pa.Schema) -> pa.Table:
    table = pa.Table.from_batches([batch.data for batch in batches], schema)
    times = np.concatenate([np.empty(0, np.int64), *(batch.times for batch in batches)])
    return table.append_column(_TIME, pa.array(times))


def load_waiting(table: pa.Table) -> list[Batch]:
    if table.num_rows == 0:
        return []
    (data,) = table.combine_chunks().to_batches()
    return [Batch(data.drop_columns([_TIME]), np.array(data.column(_TIME)))]
