"""mode, top_k and heavy_hitters: the most frequent values; equal counts go to the smaller value first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import where_present
from windrow.aggregates.kinds.base import Array, Runs, State
from windrow.aggregates.kinds.holistic import Holistic, check_number, counted, frequencies


class Mode(Holistic):
    name = "mode"
    description = "the most frequent value"

    def result_type(self, argument_type: pa.DataType | None, parameters: tuple[Any, ...]) -> pa.DataType:
        self.check_parameters(parameters)
        return self.need_argument(argument_type)

    def lower_runs(self, runs: Runs, state: State) -> Array:
        found, values, _ = runs.most_frequent(1, np.zeros(state.size))
        return where_present(values, np.cumsum(found) - 1, found > 0)


class TopK(Holistic):
    name = "top_k"
    parameter_names = ("k",)
    description = "the k most frequent values with their counts"

    def result_type(self, argument_type: pa.DataType | None, parameters: tuple[Any, ...]) -> pa.DataType:
        self.check_parameters(parameters)
        k = parameters[0]
        is_count = isinstance(k, int) and not isinstance(k, bool) and k >= 1
        check_number(self, k, "k", "must be a whole number of at least 1", is_count)
        return counted(self.need_argument(argument_type))

    def lower_runs(self, runs: Runs, state: State) -> Array:
        return frequencies(runs.most_frequent(state.parameters[0], np.zeros(state.size)))


class HeavyHitters(Holistic):
    name = "heavy_hitters"
    parameter_names = ("fraction",)
    description = "the values that make up at least a fraction of the rows, with their counts"

    def result_type(self, argument_type: pa.DataType | None, parameters: tuple[Any, ...]) -> pa.DataType:
        self.check_parameters(parameters)
        share = parameters[0]
        is_share = isinstance(share, (int, float)) and not isinstance(share, bool) and 0 < share <= 1
        check_number(self, share, "fraction", "must be above 0 and at most 1", is_share)
        return counted(self.need_argument(argument_type))

    def lower_runs(self, runs: Runs, state: State) -> Array:
        share = float(state.parameters[0])
        most = int(min(1 / share, 1 << 62)) + 1
        return frequencies(runs.most_frequent(most, runs.sizes().astype(np.float64) * share))
