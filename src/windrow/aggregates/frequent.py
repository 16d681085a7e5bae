"""mode, top_k and heavy_hitters: the most frequent values; equal counts go to the smaller value first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.arrays import where_present
from windrow.aggregates.base import Array, Runs, State
from windrow.aggregates.holistic import Holistic, by_frequency, check_number, counted, listed, owners


class Mode(Holistic):
    name = "mode"
    description = "the most frequent value"

    def result_type(self, argument_type: pa.DataType | None, parameters: tuple[Any, ...]) -> pa.DataType:
        self.check_parameters(parameters)
        return self.need_argument(argument_type)

    def lower_runs(self, runs: Runs, state: State) -> Array:
        present = runs.present
        best = np.zeros(len(present), np.int64)
        best[present] = by_frequency(runs)[runs.offsets[:-1][present]]
        return where_present(runs.values, best, present)


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
        place = np.arange(len(runs.counts)) - np.repeat(runs.offsets[:-1], np.diff(runs.offsets))
        return listed(runs, place < state.parameters[0], by_frequency(runs))


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
        order = by_frequency(runs)
        needed = runs.sizes()[owners(runs)] * float(state.parameters[0])
        return listed(runs, (runs.counts >= needed)[order], order)
