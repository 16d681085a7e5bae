"""Columns of rows in saved state: under names of their own, so that none is taken for what a join adds."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

_BEFORE = "."


def saved_columns(data: pa.RecordBatch | None) -> dict[str, Any]:
    """The columns by the names that they are saved under."""
    return {} if data is None else {_BEFORE + name: data.column(name) for name in data.schema.names}


def is_saved_column(name: str) -> bool:
    return name.startswith(_BEFORE)


def loaded_columns(table: pa.Table) -> pa.RecordBatch | None:
    """The columns of rows in a saved table; None when there are none."""
    names = [name for name in table.column_names if is_saved_column(name)]
    columns: list[Any] = [table[name].combine_chunks() for name in names]
    return pa.record_batch(columns, names=[name.removeprefix(_BEFORE) for name in names]) if names else None
