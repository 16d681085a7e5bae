"""One byte a row from Arrow's one bit a row, and columns as numpy sees them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.operators.base import Mask
from windrow.operators.expressions.values import Array, Datum, decoded, is_scalar, pc


def truths(truth: Datum, rows: int) -> Mask:
    """1 where a boolean is true, 0 where it is false or NULL."""
    truth = decoded(truth)
    if pa.types.is_null(truth.type):
        return np.zeros(rows, np.uint8)
    if is_scalar(truth):
        return np.full(rows, truth.as_py() is True, np.uint8)
    found = _unpacked(truth.buffers()[1], truth.offset, rows)
    return only_valid(found, truth)


def only_valid(found: Mask, array: Array) -> Mask:
    """The mask itself, cleared where the array is NULL."""
    if array.null_count:
        found &= _unpacked(array.buffers()[0], array.offset, len(array))
    return found


def _unpacked(buffer: Any, offset: int, rows: int) -> Mask:
    first, skip = divmod(offset, 8)
    packed = np.frombuffer(buffer, np.uint8, offset=first)
    return np.unpackbits(packed, count=skip + rows, bitorder="little")[skip:]


def stored(array: Array, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """The column's values without copying; NULL slots hold anything."""
    data: Any = array.buffers()[1]
    values: npt.NDArray[Any] = np.frombuffer(data, dtype, count=array.offset + len(array))
    return values[array.offset :]


def places(column: Any) -> npt.NDArray[Any]:
    """The indices of a dictionary-encoded column, NULL after the last entry.

    Unsigned, so that a loop over them need not look for negative ones.
    """
    indices, null = column.indices, len(column.dictionary)
    if column.null_count:
        wide = null > np.iinfo(indices.type.to_pandas_dtype()).max
        indices = pc.fill_null(indices.cast(pa.int64()) if wide else indices, null)
    numbers: npt.NDArray[Any] = indices.to_numpy()
    return numbers.view(f"u{numbers.itemsize}")
