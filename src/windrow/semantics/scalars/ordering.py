"""The total order of values: NaN equals itself and is the greatest number; -0.0 equals 0.0.

Spark and DuckDB order floats this way, so groups, comparisons and aggregates agree on what "equal" means.

Of two values, a whole number next to a double is compared as a double; next to a timestamp it counts as microseconds.
Text next to a timestamp is read as a timestamp.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from windrow.semantics.scalars.moments import microseconds, parse_moment


def normal(value: Any) -> Any:
    """The one representative of all values equal to `value`, so that `==` and hashing by identity work.

    >>> normal(-0.0), normal(float("nan")) is normal(-float("nan"))
    (0.0, True)
    """
    if not isinstance(value, float):
        return value
    return math.nan if math.isnan(value) else value + 0.0


def order_key(value: Any) -> tuple[bool, Any]:
    """A sort key for values of one type, none of them NULL.

    >>> sorted([float("nan"), 1.0, float("inf"), -1.0], key=order_key)
    [-1.0, 1.0, inf, nan]
    """
    return (True, 0.0) if isinstance(value, float) and math.isnan(value) else (False, normal(value))


def null_last_key(value: Any) -> tuple[bool, Any]:
    """A sort key for values of one type with NULL after all others."""
    return (True, (False, 0)) if value is None else (False, order_key(value))


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
