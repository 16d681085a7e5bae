"""Arithmetic on numbers and times, none of them NULL: whole numbers are exact in 64 bits, the rest is IEEE 754.

A result of None is SQL's NULL: dividing by zero gives it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from windrow.errors import DataError
from windrow.semantics.scalars.moments import in_utc, microseconds

INT64 = range(-(1 << 63), 1 << 63)


def whole(value: Any, function: str) -> Any:
    """The value itself, or an error when it is a whole number beyond 64 bits."""
    if type(value) is int and value not in INT64:
        raise DataError(
            "must give a whole number that fits into 64 bits",
            parameter=function,
            value=value,
            hint="cast one side to DOUBLE first",
        )
    return value


def _aligned(left: Any, right: Any) -> tuple[Any, Any]:
    """Both sides in one unit: a time next to a whole number counts in microseconds, moments are in UTC."""
    times = (datetime, timedelta)
    if isinstance(left, times) and isinstance(right, int):
        return microseconds(left), right
    if isinstance(left, int) and isinstance(right, times):
        return left, microseconds(right)
    return tuple(in_utc(side) if isinstance(side, datetime) else side for side in (left, right))  # type: ignore[return-value]


def _exact(function: str, operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(left: Any, right: Any) -> Any:
        try:
            return whole(operation(*_aligned(left, right)), function)
        except OverflowError:
            raise DataError(
                "must give a timestamp in the years 1 to 9999",
                parameter=function,
                value=f"{left} {function} {right}",
                hint="check the unit of the interval",
            ) from None

    return apply


add = _exact("+", lambda left, right: left + right)
subtract = _exact("-", lambda left, right: left - right)
multiply = _exact("*", lambda left, right: left * right)


def divide(left: Any, right: Any) -> float | None:
    """Float division, also of whole numbers; by zero it is NULL."""
    return None if right == 0 else float(left) / float(right)


def remainder(left: Any, right: Any) -> Any:
    """The remainder with the sign of the dividend; by zero it is NULL.

    >>> remainder(-7, 3), remainder(7, -3), remainder(7, 0), remainder(-7.5, 2)
    (-1, 1, None, -1.5)
    """
    if right == 0:
        return None
    if isinstance(left, int) and isinstance(right, int):
        return abs(left) % abs(right) * (-1 if left < 0 else 1)
    return math.nan if math.isinf(left) else math.fmod(left, right)


def negate(value: Any) -> Any:
    return whole(-value, "-")


def absolute(value: Any) -> Any:
    return whole(abs(value), "abs")


def sign(value: Any) -> Any:
    """-1, 0 or 1 in the type of the value; NaN stays NaN."""
    if isinstance(value, float):
        return value if math.isnan(value) else float((value > 0) - (value < 0))
    return (value > 0) - (value < 0)


def round_half_away(value: Any, digits: int = 0) -> Any:
    """Rounded to `digits` decimals, halves away from zero; a whole number stays whole.

    >>> round_half_away(2.5), round_half_away(-2.5), round_half_away(2.675, 2), round_half_away(-150, -2)
    (3.0, -3.0, 2.68, -200)
    """
    if isinstance(value, int):
        step = 10 ** max(0, -digits)
        rounded = (abs(value) + step // 2) // step * step
        return whole(rounded if value >= 0 else -rounded, "round")
    return _round_float(value, digits)


def _round_float(value: float, digits: int) -> float:
    power = 10.0 ** min(abs(digits), 308)
    scaled = abs(value * power if digits >= 0 else value / power)
    # A value without a fraction at this scale is its own answer; so are NaN, infinities and what overflows.
    if not math.isfinite(scaled) or scaled == math.floor(scaled):
        return value
    rounded = float(math.floor(scaled) + (scaled - math.floor(scaled) >= 0.5))
    return math.copysign(rounded / power if digits >= 0 else rounded * power, value)


def _rounded(rounding: Callable[[float], int], value: Any) -> Any:
    """In the type of the value."""
    if isinstance(value, int) or not math.isfinite(value):
        return value
    return math.copysign(float(rounding(value)), value)


floor = partial(_rounded, math.floor)
ceil = partial(_rounded, math.ceil)


def square_root(value: Any) -> float:
    return math.nan if value < 0 else math.sqrt(value)


def exponential(value: Any) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def natural_logarithm(value: Any) -> float:
    """The logarithm; of zero it is minus infinity, below zero NaN."""
    if value == 0:
        return -math.inf
    return math.nan if value < 0 else math.log(float(value))


def power(base: Any, exponent: Any) -> float:
    """`base` to the `exponent` as IEEE 754 has it: infinite when it overflows, NaN where no real number fits.

    >>> power(2, 10), power(0, -1), power(-8, 0.5), power(-10, 999)
    (1024.0, inf, nan, -inf)
    """
    base, exponent = float(base), float(exponent)
    negative = math.copysign(1.0, base) < 0 and exponent % 2 == 1
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if negative else math.inf
    except ValueError:
        if base == 0:
            return -math.inf if negative else math.inf
        return math.nan
