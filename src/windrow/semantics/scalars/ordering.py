"""The total order of values: NaN equals itself and is the greatest number; -0.0 equals 0.0.

Spark and DuckDB order floats this way, so groups, comparisons and aggregates agree on what "equal" means.
"""

from __future__ import annotations

import math
from typing import Any


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


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
    return (True, 0.0) if is_nan(value) else (False, normal(value))


def null_last_key(value: Any) -> tuple[bool, Any]:
    """A sort key for values of one type with NULL after all others."""
    return (True, (False, 0)) if value is None else (False, order_key(value))
