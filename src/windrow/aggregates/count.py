"""count(*) counts rows, count(x) the rows where x is not NULL."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Aggregate, Array, Part, State
from windrow.aggregates.parts.counts import RowCount, ValidCount
from windrow.semantics.scalars.expressions import Expression


class Count(Aggregate):
    name = "count"
    takes_rows = True
    description = "rows, or rows where the argument is not NULL"

    def parts(
        self, argument: Expression | None, argument_type: pa.DataType | None, parameters: tuple[Any, ...]
    ) -> tuple[Part, ...]:
        return (RowCount(),) if argument is None else (ValidCount(argument),)

    def result_type(self, argument_type: pa.DataType | None, parameters: tuple[Any, ...]) -> pa.DataType:
        self.check_parameters(parameters)
        return pa.int64()

    def lower(self, state: State, parts: tuple[Part, ...]) -> Array:
        return arrow(state.get(parts[0]))
