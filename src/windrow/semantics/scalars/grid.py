"""Rounding within a bound: a value becomes the nearest point of a grid, and never moves by more than the bound.

Where a value goes depends on the value, the bound and the type alone: not on what came before it, nor in which order.
"""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

MOST_WHOLE = (1 << 62) - 1
"""Whole numbers move by no more than this, so that a step of their grid fits into 64 bits."""
_DIGITS = 22
"""Powers of ten up to this one are doubles."""
_NARROW = {"halffloat": "e", "float": "f"}


class ValueGrid(NamedTuple):
    """The points of doubles: `k * factor / divisor` for whole k, and `step`, the double nearest to their distance.

    With factor and divisor whole, a point is the double nearest to a short decimal, as users write them.
    """

    step: float
    factor: float
    divisor: float

    @staticmethod
    @lru_cache(maxsize=256)
    def of(bound: float) -> ValueGrid:
        """
        >>> ValueGrid.of(0.01), ValueGrid.of(5.0)
        (ValueGrid(step=0.02, factor=2.0, divisor=100.0), ValueGrid(step=10.0, factor=10.0, divisor=1.0))
        """
        step = 2 * bound
        exact = (2 * Decimal(repr(bound))).normalize()
        places = max(0, -int(exact.as_tuple().exponent))
        factor = exact.scaleb(places)
        if places > _DIGITS or factor > 1 << 53:
            return ValueGrid(step, step, 1.0)
        return ValueGrid(step, float(factor), float(10**places))


def whole_bound(bound: float) -> int:
    """How far whole numbers may move."""
    return MOST_WHOLE if bound > MOST_WHOLE else math.floor(bound)


def rounded(value: float, bound: float, kind: str = "") -> float:
    """The nearest point of the grid that the type has; the value itself where that is further away than the bound.

    `kind` is the name of the type in Arrow where it is not `int64` or `double`.

    >>> rounded(10.013, 0.01), rounded(17, 5.0), rounded(127, 5.0, "int8"), rounded(math.inf, 0.01)
    (10.02, 22, 127, inf)
    """
    return _whole(value, whole_bound(bound), kind) if isinstance(value, int) else _double(value, bound, kind)


def limits(kind: str) -> tuple[int, int]:
    """The least and the greatest number of a whole type; of 64 bits with a sign where it has no name.

    >>> limits("uint8"), limits("") == (-(2**63), 2**63 - 1)
    ((0, 255), True)
    """
    bits = int(kind.rpartition("int")[2] or 64)
    return (0, (1 << bits) - 1) if kind.startswith("u") else (-(1 << bits - 1), (1 << bits - 1) - 1)


def _whole(value: int, bound: int, kind: str) -> int:
    step = 2 * bound + 1
    point = (value + bound) // step * step
    least, greatest = limits(kind)
    return point if least <= point <= greatest else value


def _double(value: float, bound: float, kind: str) -> float:
    grid = ValueGrid.of(bound)
    place = value / grid.step
    if not math.isfinite(place):
        return value
    point = _narrowed(float(round(place)) * grid.factor / grid.divisor, kind)
    return point if abs(point - value) <= bound else value


def _narrowed(point: float, kind: str) -> float:
    """The nearest number of the type."""
    if kind not in _NARROW:
        return point
    try:
        return float(struct.unpack(_NARROW[kind], struct.pack(_NARROW[kind], point))[0])
    except OverflowError:
        return math.inf
