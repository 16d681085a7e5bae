"""first and last by event time; equal times go to the least (first) or greatest (last) value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.base import Aggregate, Edge, Part, State, ValidCount, Values, is_scalar, masked, value_type
from windrow.semantics.expressions import Expression


class FirstLast(Aggregate):
    """Fixed-size for numbers and times; other types keep their values with their times (holistic)."""

    differential = False

    def __init__(self, name: str, *, latest: bool) -> None:
        self.name = name
        self.latest = latest
        self.description = f"the value at the {'latest' if latest else 'earliest'} event time"

    def is_bounded_for(self, argument_type: pa.DataType | None) -> bool:
        return argument_type is not None and is_scalar(value_type(argument_type))

    def parts(self, argument: Expression | None, argument_type: pa.DataType | None) -> tuple[Part, ...]:
        assert argument is not None
        if self.is_bounded_for(argument_type):
            return Edge(argument, self.latest), ValidCount(argument)
        return (Values(argument, timed=True),)

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
        index = runs.offsets[1:] - 1 if self.latest else runs.offsets[:-1]
        return runs.values.take(pa.array(np.where(present, index, 0), mask=~present)).cast(kind)
