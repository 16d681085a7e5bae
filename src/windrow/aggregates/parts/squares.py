"""The exact sum of squares of an argument, and the squared deviation from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow.aggregates.kinds.base import Integers, Part
from windrow.aggregates.parts.columns import Columns, Rule, Stored
from windrow.aggregates.parts.counts import COUNTED
from windrow.aggregates.parts.sums import SUMMED
from windrow.semantics.scalars.expressions import Expression


@dataclass(frozen=True)
class Squared(Columns):
    """The digits of the exact sum of squares."""

    rule = Rule.ADD

    def width(self, kind: pa.DataType) -> int:
        return 15 if pa.types.is_floating(kind) else 5


SQUARED = Squared()


@dataclass(frozen=True)
class SquareDeviation(Part):
    """The sum of squared deviations from the mean, from exact sums. Value: float64 array."""

    argument: Expression
    columns = (COUNTED, SUMMED, SQUARED)

    def read(self, rows: Integers, stored: Stored) -> Any:
        (counted, state), (sums, _), (squares, _) = (stored(columns) for columns in self.columns)
        return squares.deviation(state, sums, counted.read(state))
