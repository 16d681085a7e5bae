"""Variance and standard deviation, of a sample and of a population."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Aggregate, Array, Part, State
from windrow.aggregates.parts.counts import ValidCount
from windrow.aggregates.parts.squares import SquareDeviation
from windrow.semantics.scalars.expressions import Expression


class Variance(Aggregate):
    """From exact sums of values and squares, so that nothing cancels: NULL below two values (one, of a population)."""

    def __init__(self, name: str, *, sample: bool, root: bool) -> None:
        self.name = name
        self.sample = sample
        self.root = root
        kind = "standard deviation" if root else "variance"
        self.description = f"{'sample' if sample else 'population'} {kind}"

    def parts(
        self, argument: Expression | None, argument_type: pa.DataType | None, parameters: tuple[Any, ...]
    ) -> tuple[Part, ...]:
        assert argument is not None
        return SquareDeviation(argument), ValidCount(argument)

    def result_type(self, argument_type: pa.DataType | None, parameters: tuple[Any, ...]) -> pa.DataType:
        self.check_parameters(parameters)
        self.need_number(argument_type)
        return pa.float64()

    def lower(self, state: State, parts: tuple[Part, ...]) -> Array:
        deviation, count = state.get(parts[0]), state.get(parts[1])
        freedom = count - 1 if self.sample else count
        result = deviation / np.maximum(freedom, 1)
        return arrow(np.sqrt(result) if self.root else result, null=freedom < 1)
