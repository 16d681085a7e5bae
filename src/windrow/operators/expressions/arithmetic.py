"""Arithmetic on columns: whole numbers exact in 64 bits, the rest as IEEE 754 has it.

Every kernel takes arguments of which one at least is an array and none is a NULL constant. It gives None, or raises
ArrowInvalid, where a row needs a closer look: the row-by-row meaning then finds the value or the error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.operators.expressions.values import (
    Datum,
    convert,
    filled,
    from_numpy,
    in_calendar,
    is_scalar,
    microseconds,
    nothing,
    pc,
)

_DOUBLE = pa.float64()


def exact(operation: str, arguments: Sequence[Datum], kind: pa.DataType) -> Datum | None:
    """Add, subtract or multiply: numbers, or times with durations."""
    if not pa.types.is_temporal(kind):
        suffix = "" if pa.types.is_floating(kind) else "_checked"
        return pc.call_function(operation + suffix, [convert(argument, kind) for argument in arguments])
    total = pc.call_function(operation + "_checked", [microseconds(argument) for argument in arguments])
    return None if pa.types.is_timestamp(kind) and not in_calendar(total) else total.cast(kind)


def in_doubles(operation: str, arguments: Sequence[Datum], _kind: pa.DataType) -> Datum:
    """A function of doubles that Arrow has as the C library has it."""
    return pc.call_function(operation, [convert(argument, _DOUBLE) for argument in arguments])


def divide(arguments: Sequence[Datum], kind: pa.DataType) -> Datum:
    left, right = (convert(argument, _DOUBLE) for argument in arguments)
    if is_scalar(right) and right.as_py() != 0:
        return pc.divide(left, right)
    return pc.divide(left, pc.if_else(pc.equal(right, 0.0), nothing(kind), right))


def remainder(arguments: Sequence[Datum], kind: pa.DataType) -> Datum:
    left, right = (convert(argument, kind) for argument in arguments)
    dividend, divisor = np.atleast_1d(filled(left, 0)), np.atleast_1d(filled(right, 1))
    zero = divisor == 0
    # The least integer divided by -1 does not fit; every remainder of -1 is that of 1.
    safe = np.where(zero | (divisor == -1), 1, divisor) if pa.types.is_integer(kind) else divisor
    with np.errstate(all="ignore"):
        rest = np.fmod(dividend, safe)
    return from_numpy(rest, left, right, null=np.broadcast_to(zero, rest.shape))


def whole_or_double(whole: str, double: str, arguments: Sequence[Datum], kind: pa.DataType) -> Datum:
    """A function with one kernel for whole numbers and one for doubles; the result has the argument's type."""
    name = double if pa.types.is_floating(kind) else whole
    return pc.call_function(name, [convert(arguments[0], kind)]).cast(kind)


def keeps_whole(double: str, arguments: Sequence[Datum], kind: pa.DataType) -> Datum:
    """Nothing to do for whole numbers; a kernel for doubles."""
    values = convert(arguments[0], kind)
    return pc.call_function(double, [values]) if pa.types.is_floating(kind) else values


def sign(arguments: Sequence[Datum], kind: pa.DataType) -> Datum:
    values = pc.sign(convert(arguments[0], kind)).cast(kind)
    return pc.add(values, 0.0) if pa.types.is_floating(kind) else values  # -0.0 has the sign 0.0


def negate(arguments: Sequence[Datum], kind: pa.DataType) -> Datum:
    if pa.types.is_duration(kind):
        return pc.negate_checked(microseconds(arguments[0])).cast(kind)
    return whole_or_double("negate_checked", "negate", arguments, kind)


_POWERS = np.array([10.0**digits for digits in range(309)])
_STEPS = np.array([10**digits for digits in range(18)])


def round_half_away(arguments: Sequence[Datum], kind: pa.DataType) -> Datum | None:
    values = convert(arguments[0], kind)
    digits = convert(arguments[1], pa.int64()) if len(arguments) > 1 else pa.scalar(0)
    numbers, places = np.atleast_1d(filled(values, 0)), np.atleast_1d(filled(digits, 0))
    rounded = (_round_doubles if pa.types.is_floating(kind) else _round_whole)(numbers, places)
    return None if rounded is None else from_numpy(rounded, values, digits)


def _round_whole(values: npt.NDArray[np.int64], digits: npt.NDArray[np.int64]) -> npt.NDArray[np.int64] | None:
    if digits.min() >= 0:
        return np.broadcast_to(values, np.broadcast_shapes(values.shape, digits.shape))
    if digits.min() <= -18 or values.min() < -(1 << 62) or values.max() > 1 << 62:
        return None  # the sum below may not fit
    steps = _STEPS[np.maximum(0, -digits)]
    rounded: npt.NDArray[np.int64] = (np.abs(values) + steps // 2) // steps * steps
    return np.where(values >= 0, rounded, -rounded)


def _round_doubles(values: npt.NDArray[np.float64], digits: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    up = digits >= 0
    powers = _POWERS[np.minimum(np.abs(np.maximum(digits, -308)), 308)]
    with np.errstate(all="ignore"):
        scaled = np.abs(np.where(up, values * powers, values / powers))
        below = np.floor(scaled)
        rounded = below + (scaled - below >= 0.5)
        result = np.copysign(np.where(up, rounded / powers, rounded * powers), values)
    # A value without a fraction at this scale is its own answer; so are NaN, infinities and what overflows.
    return np.where(np.isfinite(scaled) & (scaled != below), result, values)
