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
        exact = values.astype(np.float64, copy=False)
        points = np.rint(exact / grid.step)
        points *= grid.factor
        points /= grid.divisor
        points += 0.0  # no -0.0
        found = points.astype(values.dtype, copy=False)
        near = np.abs(found.astype(np.float64, copy=False) - exact) <= bound
    return found if near.all() else np.where(near, found, values)


def _whole(values: npt.NDArray[Any], bound: int) -> npt.NDArray[Any]:
    """By how far each lies above a point, so that no sum on the way can leave 64 bits."""
    limits = np.iinfo(values.dtype)
    wide = values.astype(np.uint64 if limits.max > np.iinfo(np.int64).max else np.int64)
    step = wide.dtype.type(2 * bound + 1)
    # Dividing is faster than taking the rest. Where a difference wraps, `fits` keeps the point from being used.
    above = wide - wide // step * step
    down = above <= wide.dtype.type(bound)
    points = wide - above
    points += np.where(down, 0, step)
    fits = (points <= wide) == down
    fits &= (points >= limits.min) & (points <= limits.max)
    return np.where(fits, points, wide).astype(values.dtype)
