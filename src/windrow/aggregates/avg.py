"""avg: the exact sum divided by the count."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Aggregate, Array, Part, State
from windrow.aggregates.parts.counts import ValidCount
from windrow.aggregates.parts.sums import Mean
from windrow.semantics.scalars.expressions import Expression


class Avg(Aggregate):
    name = "avg"
    description = "mean of the values; NULL when there is none"

    def parts(
        self, argument: Expression | None, argument_type: pa.DataType | None, parameters: tuple[Any, ...]
    ) -> tuple[Part, ...]:
        assert argument is not None
        return Mean(argument), ValidCount(argument)

    def result_type(self, argument_type: pa.DataType | None, parameters: tuple[Any, ...]) -> pa.DataType:
        self.check_parameters(parameters)
        self.need_number(argument_type)
        return pa.float64()

    def lower(self, state: State, parts: tuple[Part, ...]) -> Array:
        return arrow(state.get(parts[0]), null=state.get(parts[1]) == 0)
