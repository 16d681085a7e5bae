"""sum: exact for integers (an error when it does not fit 64 bits) and for floats (rounded once)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Aggregate, Array, Part, State
from windrow.aggregates.parts.counts import ValidCount
from windrow.aggregates.parts.sums import Total
from windrow.semantics.scalars.expressions import Expression


class Sum(Aggregate):
    name = "sum"
    description = "exact sum; NULL when there is no value"

    def parts(
        self, argument: Expression | None, argument_type: pa.DataType | None, parameters: tuple[Any, ...]
    ) -> tuple[Part, ...]:
        assert argument is not None
        return Total(argument), ValidCount(argument)

    def result_type(self, argument_type: pa.DataType | None, parameters: tuple[Any, ...]) -> pa.DataType:
        self.check_parameters(parameters)
        return pa.float64() if pa.types.is_floating(self.need_number(argument_type)) else pa.int64()

    def lower(self, state: State, parts: tuple[Part, ...]) -> Array:
        return arrow(state.get(parts[0]), null=state.get(parts[1]) == 0)
