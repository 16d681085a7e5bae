"""Arrow arrays made of numpy arrays, with the types the rest of the code relies on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Array, Integers, Numbers

_PLAIN: dict[np.dtype[Any], pa.DataType] = {np.dtype(np.int64): pa.int64(), np.dtype(np.float64): pa.float64()}
"""Types made from their buffer, which is several times quicker than asking pyarrow to look at the values."""


def arrow(values: Numbers, *, null: npt.NDArray[np.bool_] | None = None) -> Array:
    """The values without copying, NULL wherever `null` is true."""
    kind = _PLAIN.get(values.dtype)
    if kind is None or not values.flags.c_contiguous or (null is not None and null.any()):
        result: Array = pa.array(values, mask=null)
        return result
    buffer: Any = values
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(buffer)])


def of_type(values: Numbers, kind: pa.DataType, *, null: npt.NDArray[np.bool_] | None = None) -> Array:
    """Storage values as an array of a scalar type; temporal types are their storage integers."""
    if pa.types.is_temporal(kind):
        return arrow(values.astype(np.int32 if kind.bit_width == 32 else np.int64), null=null).view(kind)
    if pa.types.is_boolean(kind):
        return arrow(values.astype(np.bool_), null=null)
    array = arrow(values, null=null)
    return array if array.type == kind else array.cast(kind)


def tabled(**columns: Numbers) -> pa.Table:
    """A table of these columns."""
    return pa.table({name: arrow(values) for name, values in columns.items()})


def memory_of(array: Array) -> tuple[Any, ...]:
    """Where its values are: arrays of one type that lie in the same memory are equal, as long as one is held."""
    return len(array), array.offset, *(buffer and (buffer.address, buffer.size) for buffer in array.buffers())


def scalars(**values: int) -> pa.Table:
    """A table of one row."""
    return pa.table({name: pa.array([value], pa.int64()) for name, value in values.items()})


def scalars_of(table: pa.Table) -> list[int]:
    """What `scalars` was given, in its order."""
    return list(table.to_pylist()[0].values())


def numbers_of(table: pa.Table, name: str) -> Numbers:
    """A column of a table as an array that may be changed."""
    return np.array(table[name].combine_chunks().to_numpy(zero_copy_only=False))


def concatenated(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of several batches of one schema in one."""
    columns = zip(*(batch.columns for batch in batches), strict=True)
    arrays: list[Any] = [pa.concat_arrays(parts) for parts in columns]
    return pa.record_batch(arrays, schema=batches[0].schema)


def where_present(values: Array, index: Integers, present: npt.NDArray[np.bool_]) -> Array:
    """`values[index[i]]` where present, NULL elsewhere, whatever the index is there."""
    return values.take(arrow(np.where(present, index, 0), null=~present))


def spread(starts: Integers, sizes: Integers) -> Integers:
    """The places of stretches, one after the other."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + sizes, sizes)


def lists(sizes: Integers, values: Array) -> Array:
    """Consecutive values as lists of these sizes."""
    offsets: Any = arrow(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32))
    result: Array = pa.ListArray.from_arrays(offsets, values)
    return result
