"""Times as int64."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.base import Array, Integers
from windrow.errors import DataError
from windrow.operators.kernels import input as kernels
from windrow.operators.state.keys import as_int64
from windrow.semantics.progress.policies import LIMIT
from windrow.semantics.scalars.moments import too_fine, with_nanoseconds


def to_units(column: Array, name: str = "time", first: int | None = None, *, capped: bool = False) -> Integers:
    """A time or integer column as int64: microseconds for timestamps of any unit, and no time finer than that.

    Where `first` is given, it is the number of the column's first row, for messages. With `capped`, what is far above
    the limit is as good as the limit; else it is refused.
    """
    values = as_int64(column)
    if not pa.types.is_timestamp(column.type) or column.type.unit == "us":
        return values
    if column.type.unit == "ns":
        return _from_nanoseconds(values, name, first)
    factor = 1_000_000 if column.type.unit == "s" else 1_000
    if capped:
        values = np.minimum(values, LIMIT // factor + 1)
    if len(values):
        least, most = kernels.span(values)
        for extreme in (least,) if capped else (least, most):
            if abs(int(extreme)) >= LIMIT // factor:
                refuse_time(name, int(extreme))
    return values * factor


def _from_nanoseconds(values: Integers, name: str, first: int | None) -> Integers:
    whole = values // 1000
    finer = whole * 1000 != values
    if finer.any():
        row = int(np.argmax(finer))
        where = "" if first is None else f" in row {first + row}, counted from 0"
        raise too_fine(with_nanoseconds(int(values[row])) + where, name)
    return whole


def refuse_time(name: str, value: int) -> None:
    raise DataError(
        "must lie within 2^61 units of zero", parameter=name, value=value, hint="check the unit of the column"
    )
