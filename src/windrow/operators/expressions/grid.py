"""Rounding within a bound, a column at a time; what it means is `semantics.scalars.grid`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.operators.expressions.values import Datum, filled, from_numpy
from windrow.semantics.scalars.grid import ValueGrid, whole_bound


def round_within(arguments: Sequence[Datum], kind: pa.DataType) -> Datum:
    """The values of a column on the grid of a bound, in their own type."""
    values, bound = arguments[0], float(arguments[1].as_py())
    numbers = np.atleast_1d(filled(values, 0))
    made = _doubles(numbers, bound) if pa.types.is_floating(kind) else _whole(numbers, whole_bound(bound))
    return from_numpy(made, values)


def _doubles(values: npt.NDArray[Any], bound: float) -> npt.NDArray[Any]:
    grid = ValueGrid.of(bound)
    with np.errstate(all="ignore"):
        exact = values.astype(np.float64)
        points = np.rint(exact / grid.step)
        points *= grid.factor
        points /= grid.divisor
        points += 0.0  # no -0.0
        found = points.astype(values.dtype)
        near = np.abs(found.astype(np.float64) - exact) <= bound
    return np.where(near, found, values)


def _whole(values: npt.NDArray[Any], bound: int) -> npt.NDArray[Any]:
    """By how far each lies above a point, so that no sum on the way can leave 64 bits."""
    limits = np.iinfo(values.dtype)
    wide = values.astype(np.uint64 if limits.max > np.iinfo(np.int64).max else np.int64)
    step = wide.dtype.type(2 * bound + 1)
    above = wide % step
    below = step - above
    down = above <= wide.dtype.type(bound)
    # Where these differences wrap, `down` or `fits` keeps them from being used.
    with np.errstate(over="ignore"):
        points = np.where(down, wide - above, wide + below)
        fits = np.where(down, points <= wide, points > wide)
    fits &= (points >= limits.min) & (points <= limits.max)
    return np.where(fits, points, wide).astype(values.dtype)
