"""A number or time column against a constant: the commonest predicate, in one pass without Arrow's bitmaps."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.operators.base import Mask
from windrow.operators.expressions.masks import only_valid, stored
from windrow.operators.expressions.values import Array
from windrow.plan.types.expressions import column_type
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


def threshold(expression: Expression, batch: pa.RecordBatch) -> Mask | None:
    """The mask of `column sign constant`; None for every other predicate, and where types must be converted."""
    parts = _parts(expression)
    if parts is None or not batch.num_rows:
        return None
    sign, name, constant = parts
    column_type(name, batch.schema)
    column = batch.column(name)
    limit = _limit(constant, column.type)
    return None if limit is None else only_valid(_compared(sign, column, limit), column)


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
    if pa.types.is_timestamp(kind):
        return _moment(constant) if kind.unit == "us" else None
    if pa.types.is_float64(kind):
        return None if math.isnan(constant) else float(constant)
    if not pa.types.is_integer(kind) or not isinstance(constant, int):
        return None
    bounds: Any = np.iinfo(kind.to_pandas_dtype())
    return constant if bounds.min <= constant <= bounds.max else None


def _moment(constant: Any) -> int:
    return microseconds(parse_moment(constant) if isinstance(constant, str) else constant)


def _compared(sign: str, column: Array, limit: int | float) -> Mask:
    kind: Any = column.type
    if not pa.types.is_float64(kind):
        dtype = np.int64 if pa.types.is_timestamp(kind) else kind.to_pandas_dtype()
        return _SIGNS[sign](stored(column, dtype), limit).view(np.uint8)  # type: ignore[no-any-return]
    values = stored(column, np.float64)
    if sign not in _OPPOSITE:
        return _SIGNS[sign](values, limit).view(np.uint8)  # type: ignore[no-any-return]
    # NaN is above every number: not (NaN <= limit).
    below = _SIGNS[_OPPOSITE[sign]](values, limit)
    return np.logical_not(below, out=below).view(np.uint8)  # type: ignore[no-any-return]
