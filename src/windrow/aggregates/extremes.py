"""min and max. Floats order NaN above everything, as Spark and DuckDB do; text orders by its bytes."""

from __future__ import annotations

from windrow.aggregates.kinds.base import Part
from windrow.aggregates.kinds.one_value import OneValue
from windrow.aggregates.parts.extremes import Extreme
from windrow.semantics.scalars.expressions import Expression


class MinMax(OneValue):
    def __init__(self, name: str, *, greatest: bool) -> None:
        super().__init__(name, f"the {'greatest' if greatest else 'least'} value", last=greatest)

    def fixed_part(self, argument: Expression) -> Part:
        return Extreme(argument, self.last)
