"""Arrow arrays made of numpy arrays, with the types the rest of the code relies on."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.base import Array, Integers, Numbers


def arrow(values: Numbers, *, null: npt.NDArray[np.bool_] | None = None) -> Array:
    """The values without copying, NULL wherever `null` is true."""
    result: Array = pa.array(values, mask=null)
    return result


def of_type(values: Numbers, kind: pa.DataType, *, null: npt.NDArray[np.bool_] | None = None) -> Array:
    """Storage values as an array of a scalar type; temporal types are their storage integers."""
    if pa.types.is_temporal(kind):
        return arrow(values.astype(np.int32 if kind.bit_width == 32 else np.int64), null=null).view(kind)
    if pa.types.is_boolean(kind):
        return arrow(values.astype(np.bool_), null=null)
    return arrow(values, null=null).cast(kind)


def tabled(**columns: Numbers) -> pa.Table:
    """A table of these columns."""
    return pa.table({name: arrow(values) for name, values in columns.items()})


def where_present(values: Array, index: Integers, present: npt.NDArray[np.bool_]) -> Array:
    """`values[index[i]]` where present, NULL elsewhere, whatever the index says there."""
    return values.take(arrow(np.where(present, index, 0), null=~present))


def lists(sizes: Integers, values: Array) -> Array:
    """Consecutive values as lists of these sizes."""
    offsets: Any = arrow(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32))
    result: Array = pa.ListArray.from_arrays(offsets, values)
    return result
