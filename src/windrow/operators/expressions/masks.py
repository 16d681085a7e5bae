"""One byte a row from Arrow's one bit a row, columns as numpy sees them, and the commonest predicate on them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.operators.base import Mask
from windrow.operators.expressions.values import Array, Datum, decoded, is_scalar, pc
from windrow.operators.state.keys import stored
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal
from windrow.semantics.scalars.moments import microseconds, parse_moment

_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TURNED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPPOSITE = {">": "<=", ">=": "<"}


def truths(truth: Datum, rows: int) -> Mask:
    """1 where a boolean is true, 0 where it is false or NULL."""
    truth = decoded(truth)
    if pa.types.is_null(truth.type):
        return np.zeros(rows, np.uint8)
    if is_scalar(truth):
        return np.full(rows, truth.as_py() is True, np.uint8)
    return only_valid(_unpacked(truth.buffers()[1], truth.offset, rows), truth)


def only_valid(found: Mask, array: Array) -> Mask:
    """The mask itself, cleared where the array is NULL."""
    if array.null_count:
        found &= _unpacked(array.buffers()[0], array.offset, len(array))
    return found


def _unpacked(buffer: Any, offset: int, rows: int) -> Mask:
    first, skip = divmod(offset, 8)
    packed = np.frombuffer(buffer, np.uint8, offset=first)
    return np.unpackbits(packed, count=skip + rows, bitorder="little")[skip:]


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


def threshold(expression: Expression, batch: pa.RecordBatch) -> Mask | None:
    """The mask of `column sign constant` in one pass, without Arrow's bitmaps.

    None for every other predicate, and where types must be converted.
    """
    parts = _parts(expression)
    if parts is None:
        return None
    sign, name, constant = parts
    column = batch.column(name)
    limit = _limit(constant, column.type)
    return None if limit is None else only_valid(_compared(sign, column, limit).view(np.uint8), column)


def _parts(expression: Expression) -> tuple[str, str, Any] | None:
    if not isinstance(expression, Call) or expression.function not in _SIGNS or len(expression.arguments) != 2:
        return None
    left, right = expression.arguments
    if isinstance(left, Column) and isinstance(right, Literal):
        return expression.function, left.name, right.value
    if isinstance(left, Literal) and isinstance(right, Column):
        return _TURNED[expression.function], right.name, left.value
    return None


def _limit(constant: Any, kind: Any) -> int | float | None:
    """The constant as a number of the column's type, if it is one."""
    if constant is None or isinstance(constant, bool):
        return None
    if pa.types.is_timestamp(kind) and kind.unit == "us":
        return microseconds(parse_moment(constant) if isinstance(constant, str) else constant)
    if pa.types.is_float64(kind):
        return None if math.isnan(constant) else float(constant)
    if not pa.types.is_integer(kind) or not isinstance(constant, int):
        return None
    bounds: Any = np.iinfo(kind.to_pandas_dtype())
    return constant if bounds.min <= constant <= bounds.max else None


def _compared(sign: str, column: Array, limit: int | float) -> npt.NDArray[Any]:
    opposite = _OPPOSITE.get(sign) if pa.types.is_float64(column.type) else None
    found: npt.NDArray[Any] = _SIGNS[opposite or sign](stored(column), limit)
    if opposite is not None:  # NaN is above every number: not (NaN <= limit)
        np.logical_not(found, out=found)
    return found
