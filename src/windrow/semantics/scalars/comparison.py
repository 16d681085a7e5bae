"""Comparing two values that are not NULL: NaN is the greatest number and equals itself, -0.0 equals 0.0.

A whole number next to a double is compared as a double; next to a timestamp it counts as microseconds. Text next to
a timestamp is read as a timestamp.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from windrow.semantics.scalars.moments import microseconds, parse_moment
from windrow.semantics.scalars.ordering import order_key


def _comparable(value: Any, other: Any) -> Any:
    """`value` in the type in which it is compared with `other`."""
    if isinstance(value, int) and isinstance(other, float):
        return float(value)
    if isinstance(value, (datetime, timedelta)):
        return microseconds(value)
    if isinstance(value, str) and isinstance(other, datetime):
        return microseconds(parse_moment(value))
    return value


def compare(left: Any, right: Any) -> int:
    """-1, 0 or 1 as `left` is below, equal to or above `right`.

    >>> compare(1, 2.5), compare(float("nan"), float("nan")), compare(float("nan"), float("inf"))
    (-1, 0, 1)
    """
    a, b = order_key(_comparable(left, right)), order_key(_comparable(right, left))
    return (a > b) - (a < b)


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda left, right: compare(left, right) == 0,
    "<>": lambda left, right: compare(left, right) != 0,
    "<": lambda left, right: compare(left, right) < 0,
    "<=": lambda left, right: compare(left, right) <= 0,
    ">": lambda left, right: compare(left, right) > 0,
    ">=": lambda left, right: compare(left, right) >= 0,
}
