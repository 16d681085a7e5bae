"""median and quantile(q), exact, interpolated between the two nearest values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow.aggregates.kinds.base import Array, Runs, State
from windrow.aggregates.kinds.holistic import Holistic, check_number, interpolated


class Quantile(Holistic):
    name = "quantile"
    parameter_names: tuple[str, ...] = ("q",)
    description = "the q-quantile, exact, interpolated"

    def result_type(self, argument_type: pa.DataType | None, parameters: tuple[Any, ...]) -> pa.DataType:
        self.check_parameters(parameters)
        self.need_number(argument_type)
        for q in parameters:
            is_fraction = isinstance(q, (int, float)) and not isinstance(q, bool) and 0 <= q <= 1
            check_number(self, q, "q", "must be between 0 and 1", is_fraction)
        return pa.float64()

    def lower_runs(self, runs: Runs, state: State) -> Array:
        return interpolated(runs, float(state.parameters[0]))


class Median(Quantile):
    name = "median"
    parameter_names = ()
    description = "the middle value, exact"

    def lower_runs(self, runs: Runs, state: State) -> Array:
        return interpolated(runs, 0.5)
