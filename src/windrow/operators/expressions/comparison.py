"""Comparisons of columns: NaN is the greatest number and equals itself, -0.0 equals 0.0.

Arrow compares floats as IEEE 754 does. Where one side is a number that is not NaN, choosing the right one of two
opposite comparisons is enough; only where both sides may hold NaN is it looked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyarrow as pa

from windrow.operators.expressions.values import Datum, convert, is_scalar, microseconds, pc, row_by_row
from windrow.plan.types.kinds import NUMBERS, TIMESTAMP, Family, family_of

_ARROW = {
    "=": "equal",
    "<>": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
_PLAIN: dict[Family, pa.DataType] = {
    Family.BOOLEAN: pa.bool_(),
    Family.STRING: pa.string(),
    Family.DATE: pa.date32(),
}


def compare(operator: str, arguments: Sequence[Datum], _kind: pa.DataType) -> Datum:
    """`arguments[0] operator arguments[1]`: at least one an array, neither of type null."""
    left, right = _comparable(*arguments)
    if pa.types.is_floating(left.type):
        return _compare_floats(operator, left, right)
    return pc.call_function(_ARROW[operator], [left, right])


def _comparable(left: Datum, right: Datum) -> tuple[Datum, Datum]:
    """Both sides in the one type in which they are compared."""
    families = {family_of(left.type), family_of(right.type)}
    if families & {Family.TIMESTAMP, Family.DURATION} or families == {Family.DATE, Family.STRING}:
        return _moments(left), _moments(right)
    if families == {Family.INTEGER}:
        return _integers(left, right)
    if families == {Family.DECIMAL}:
        return left, right
    kind = pa.float64() if families <= NUMBERS else _PLAIN[families.pop()]
    return convert(left, kind), convert(right, kind)


def _moments(datum: Datum) -> Datum:
    if family_of(datum.type) is Family.STRING:
        datum = row_by_row("cast", (datum, pa.scalar("timestamp")), TIMESTAMP)
    return microseconds(datum)


def _integers(left: Datum, right: Datum) -> tuple[Datum, Datum]:
    """A constant takes the type of a narrow column where it fits, so that the column is not copied."""
    if is_scalar(left) != is_scalar(right):
        kind = right.type if is_scalar(left) else left.type
        try:
            return convert(left, kind), convert(right, kind)
        except pa.ArrowInvalid:
            pass
    return convert(left, pa.int64()), convert(right, pa.int64())


def _compare_floats(operator: str, left: Datum, right: Datum) -> Datum:
    if operator in ("=", "<>"):
        equal = _equal(left, right)
        return equal if operator == "=" else pc.invert(equal)
    less = _less(left, right) if operator in ("<", ">=") else _less(right, left)
    return less if operator in ("<", ">") else pc.invert(less)


def _less(left: Datum, right: Datum) -> Datum:
    if is_scalar(left) and not _holds_nan(left):
        return pc.invert(pc.greater_equal(left, right))
    below = pc.less(left, right)
    if not _holds_nan(right):
        return below
    return pc.or_(below, pc.and_not(pc.is_nan(right), pc.is_nan(left)))


def _equal(left: Datum, right: Datum) -> Datum:
    equal = pc.equal(left, right)
    if not (_holds_nan(left) and _holds_nan(right)):
        return equal
    return pc.or_(equal, pc.and_(pc.is_nan(left), pc.is_nan(right)))


def _holds_nan(datum: Datum) -> bool:
    if is_scalar(datum):
        return math.isnan(datum.as_py())
    return pc.any(pc.is_nan(datum)).as_py() is True
