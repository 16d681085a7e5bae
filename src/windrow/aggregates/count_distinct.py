"""count_distinct: how many different values; NULL is none of them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Array, Runs, State
from windrow.aggregates.kinds.holistic import Holistic


class CountDistinct(Holistic):
    name = "count_distinct"
    description = "how many different values, exact"

    def result_type(self, argument_type: pa.DataType | None, parameters: tuple[Any, ...]) -> pa.DataType:
        self.check_parameters(parameters)
        self.need_argument(argument_type)
        return pa.int64()

    def lower_runs(self, runs: Runs, state: State) -> Array:
        return arrow(runs.distinct())
