"""min and max. Floats order NaN above everything, as Spark and DuckDB do; text orders by its bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.base import Aggregate, Extreme, Part, State, ValidCount, Values, is_scalar, masked, value_type
from windrow.semantics.expressions import Expression


class MinMax(Aggregate):
    """Fixed-size for numbers and times; other types keep their different values (holistic)."""

    differential = False

    def __init__(self, name: str, *, greatest: bool) -> None:
        self.name = name
        self.greatest = greatest
        self.description = f"the {'greatest' if greatest else 'least'} value"

    def is_bounded_for(self, argument_type: pa.DataType | None) -> bool:
        return argument_type is not None and is_scalar(value_type(argument_type))

    def parts(self, argument: Expression | None, argument_type: pa.DataType | None) -> tuple[Part, ...]:
        assert argument is not None
        if self.is_bounded_for(argument_type):
            return Extreme(argument, self.greatest), ValidCount(argument)
        return (Values(argument),)

    def result_type(self, argument_type: pa.DataType | None, parameters: tuple[Any, ...]) -> pa.DataType:
        self.check_parameters(parameters)
        return self.need_argument(argument_type)

    def lower(self, state: State, parts: tuple[Part, ...]) -> pa.Array:
        assert state.argument_type is not None
        kind = value_type(state.argument_type)
        if len(parts) == 2:
            return masked(state.get(parts[0]), state.get(parts[1]) > 0, kind)
        runs = state.get(parts[0])
        present = runs.offsets[1:] > runs.offsets[:-1]
        index = runs.offsets[1:] - 1 if self.greatest else runs.offsets[:-1]
        return runs.values.take(pa.array(np.where(present, index, 0), mask=~present)).cast(kind)
