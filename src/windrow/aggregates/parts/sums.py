"""The exact sum of an argument, and the mean from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow.aggregates.kinds.base import Integers, Part
from windrow.aggregates.parts.columns import Columns, Rule, Stored
from windrow.aggregates.parts.counts import COUNTED
from windrow.semantics.scalars.expressions import Expression


@dataclass(frozen=True)
class Summed(Columns):
    """The exact sum: a whole number, or the digits of a float."""

    rule = Rule.ADD

    def width(self, kind: pa.DataType) -> int:
        return 7 if pa.types.is_floating(kind) else 1


SUMMED = Summed()


@dataclass(frozen=True)
class Total(Part):
    """The exact sum. Value: int64 array for integers (an overflow raises), float64 for floats, rounded once."""

    argument: Expression
    columns = (SUMMED,)

    def read(self, rows: Integers, stored: Stored) -> Any:
        column, state = stored(SUMMED)
        return column.total(state)


@dataclass(frozen=True)
class Mean(Part):
    """The exact sum divided by the count of values. Value: float64 array."""

    argument: Expression
    columns = (COUNTED, SUMMED)

    def read(self, rows: Integers, stored: Stored) -> Any:
        (counted, state), (column, _) = stored(COUNTED), stored(SUMMED)
        return column.mean(state, counted.read(state))
