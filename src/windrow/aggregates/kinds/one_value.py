"""Base of the aggregates that pick one value of the window: min, max, first, last."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import pyarrow as pa

from windrow.aggregates.kinds.arrays import of_type
from windrow.aggregates.kinds.base import Aggregate, Array, Part, Runs, State, Values, is_scalar, value_type
from windrow.aggregates.parts.counts import ValidCount
from windrow.semantics.scalars.expressions import Expression


class OneValue(Aggregate):
    """The first or last value in some order. Fixed-size for numbers and times; other types keep values (holistic)."""

    differential = False
    timed = False
    """Values are in order of event time."""

    def __init__(self, name: str, description: str, *, last: bool) -> None:
        self.name = name
        self.description = description
        self.last = last

    @abstractmethod
    def fixed_part(self, argument: Expression) -> Part:
        """The fixed-size state that holds the value."""

    def is_bounded_for(self, argument_type: pa.DataType | None) -> bool:
        return argument_type is not None and is_scalar(value_type(argument_type))

    def parts(
        self, argument: Expression | None, argument_type: pa.DataType | None, parameters: tuple[Any, ...]
    ) -> tuple[Part, ...]:
        assert argument is not None
        if self.is_bounded_for(argument_type):
            return self.fixed_part(argument), ValidCount(argument)
        return (Values(argument, self.timed),)

    def result_type(self, argument_type: pa.DataType | None, parameters: tuple[Any, ...]) -> pa.DataType:
        self.check_parameters(parameters)
        return self.need_argument(argument_type)

    def lower(self, state: State, parts: tuple[Part, ...]) -> Array:
        assert state.argument_type is not None
        kind = value_type(state.argument_type)
        if len(parts) == 2:
            return of_type(state.get(parts[0]), kind, null=state.get(parts[1]) == 0)
        runs: Runs = state.get(parts[0])
        return runs.at_edge(last=self.last).cast(kind)
