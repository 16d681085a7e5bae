"""Times as int64, and where in them windows may end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.base import Array, Integers
from windrow.errors import DataError
from windrow.operators.kernels import input as kernels
from windrow.operators.state.keys import as_int64
from windrow.semantics.progress.policies import END, LIMIT, START
from windrow.semantics.scalars.moments import too_fine, with_nanoseconds


@dataclass(frozen=True)
class Grid:
    """Where windows above may end: origin + k * step. Punctuations in between say nothing to them."""

    origin: int = 0
    step: int = 1
    pace: int = 1
    """How far one source may be read ahead of another; at least a step."""
    rows: int = 1
    """How many rows of one source are read at least before it is another's turn: where order decides nothing."""
    by_arrival: bool = False
    """Rows are counted as they come, so that it matters which source is read first."""
    together: bool = False
    """Rows that came under different bounds may come in one batch, which tells the bound of each."""
    keys: frozenset[str] = frozenset()
    """The columns that windows above group by: promises for groups of other columns say nothing to them."""

    @property
    def paced(self) -> Grid:
        return Grid(self.origin, max(self.step, self.pace))

    def refined(self, other: Grid) -> Grid:
        """Where windows of either may end."""
        step = gcd(self.step, other.step, self.origin - other.origin)
        return replace(self, step=step, together=self.together and other.together)

    def round_down(self, bound: int) -> int:
        if bound in (START, END):
            return bound
        return self.origin + (bound - self.origin) // self.step * self.step

    def rounded_down(self, bounds: Integers) -> Integers:
        """The same for many; whatever lies beyond all times is as good as the limit."""
        return self.origin + (np.clip(bounds, -LIMIT, LIMIT) - self.origin) // self.step * self.step


def to_units(column: Array, name: str = "time", first: int | None = None, *, capped: bool = False) -> Integers:
    """A time or integer column as int64: microseconds for timestamps of any unit, and no time finer than that.

    Where `first` is given, it is the number of the column's first row, for messages. With `capped`, what is far above
    the limit is as good as the limit; else it is refused.
    """
    values = as_int64(column)
    if not pa.types.is_timestamp(column.type) or column.type.unit == "us":
        return values
    if column.type.unit == "ns":
        return _from_nanoseconds(values, name, first)
    factor = 1_000_000 if column.type.unit == "s" else 1_000
    if capped:
        values = np.minimum(values, LIMIT // factor + 1)
    if len(values):
        least, most = kernels.span(values)
        for extreme in (least,) if capped else (least, most):
            if abs(int(extreme)) >= LIMIT // factor:
                refuse_time(name, int(extreme))
    return values * factor


def _from_nanoseconds(values: Integers, name: str, first: int | None) -> Integers:
    whole = values // 1000
    finer = whole * 1000 != values
    if finer.any():
        row = int(np.argmax(finer))
        where = "" if first is None else f" in row {first + row}, counted from 0"
        raise too_fine(with_nanoseconds(int(values[row])) + where, name)
    return whole


def refuse_time(name: str, value: int) -> None:
    raise DataError(
        "must lie within 2^61 units of zero", parameter=name, value=value, hint="check the unit of the column"
    )
