"""collect: the values of the window as a list in order of event time, ties by value; NULLs left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow, lists
from windrow.aggregates.kinds.base import Array, Runs, State
from windrow.aggregates.kinds.holistic import Holistic


class Collect(Holistic):
    name = "collect"
    timed = True
    description = "all values as a list in order of event time"

    def result_type(self, argument_type: pa.DataType | None, parameters: tuple[Any, ...]) -> pa.DataType:
        self.check_parameters(parameters)
        return pa.list_(self.need_argument(argument_type))

    def lower_runs(self, runs: Runs, state: State) -> Array:
        index = np.repeat(np.arange(len(runs.counts)), runs.counts)
        return lists(runs.sizes(), runs.values.take(arrow(index)))
