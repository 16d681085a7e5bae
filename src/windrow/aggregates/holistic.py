"""Aggregates that need all values of the window: median, quantile, mode, distinct, top-k, collect.

Their state is the multiset of values; multiplicities add and subtract, so panes and running differences apply
(pseudo-differential, thesis section 6.2.2.2), but its size has no constant bound.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow, lists, where_present
from windrow.aggregates.kinds.base import Aggregate, Array, Integers, Kind, Parameters, Part, Runs, State, Values
from windrow.semantics.scalars.expressions import Expression


class Holistic(Aggregate):
    bounded = False
    timed = False

    def parts(self, argument: Expression | None, argument_type: Kind, parameters: Parameters) -> tuple[Part, ...]:
        assert argument is not None
        return (Values(argument, self.timed),)

    def lower(self, state: State, parts: tuple[Part, ...]) -> Array:
        return self.lower_runs(state.get(parts[0]), state)

    @abstractmethod
    def lower_runs(self, runs: Runs, state: State) -> Array:
        """The answers from the values of each result."""


class CountDistinct(Holistic):
    """How many different values; NULL is none of them."""

    name = "count_distinct"
    answer = pa.int64()

    def lower_runs(self, runs: Runs, state: State) -> Array:
        return arrow(runs.distinct())


class Collect(Holistic):
    """The values as a list in order of event time, ties by value; NULLs left out."""

    name = "collect"
    timed = True

    def answer_type(self, kind: pa.DataType) -> pa.DataType:
        return pa.list_(kind)

    def lower_runs(self, runs: Runs, state: State) -> Array:
        index = np.repeat(np.arange(len(runs.counts)), runs.counts)
        return lists(runs.sizes(), runs.values.take(arrow(index)))


class Quantile(Holistic):
    """Exact, interpolated between the two nearest values; the median where no fraction is given."""

    name = "quantile"
    takes_numbers = True
    answer = pa.float64()
    parameter_names: tuple[str, ...] = ("q",)

    def check_parameters(self, parameters: Parameters) -> None:
        super().check_parameters(parameters)
        for q in parameters:
            self.check_number(q, "must be between 0 and 1", lambda q: 0 <= q <= 1)

    def lower_runs(self, runs: Runs, state: State) -> Array:
        return interpolated(runs, *map(float, state.parameters))


class Median(Quantile):
    name = "median"
    parameter_names = ()


class Mode(Holistic):
    """The most frequent value; equal counts go to the smaller value."""

    name = "mode"

    def lower_runs(self, runs: Runs, state: State) -> Array:
        found, values, _ = runs.most_frequent(1, np.zeros(state.size))
        return where_present(values, np.cumsum(found) - 1, found > 0)


class TopK(Holistic):
    """The k most frequent values with their counts; equal counts: the smaller value first."""

    name = "top_k"
    parameter_names = ("k",)

    def check_parameters(self, parameters: Parameters) -> None:
        super().check_parameters(parameters)
        self.check_number(parameters[0], "must be a whole number of at least 1", lambda k: k >= 1, int)

    def answer_type(self, kind: pa.DataType) -> pa.DataType:
        return pa.list_(pa.struct([("value", kind), ("count", pa.int64())]))

    def lower_runs(self, runs: Runs, state: State) -> Array:
        return frequencies(runs.most_frequent(state.parameters[0], np.zeros(state.size)))


class HeavyHitters(TopK):
    """The values that make up at least a fraction of the rows, with their counts."""

    name = "heavy_hitters"
    parameter_names = ("fraction",)

    def check_parameters(self, parameters: Parameters) -> None:
        Holistic.check_parameters(self, parameters)
        self.check_number(parameters[0], "must be above 0 and at most 1", lambda share: 0 < share <= 1)

    def lower_runs(self, runs: Runs, state: State) -> Array:
        share = float(state.parameters[0])
        most = int(min(1 / share, 1 << 62)) + 1
        return frequencies(runs.most_frequent(most, runs.sizes().astype(np.float64) * share))


def interpolated(runs: Runs, fraction: float = 0.5) -> Array:
    """The quantile between the two nearest ranks (linear), NULL when there is no value."""
    sizes = runs.sizes()
    position = (np.maximum(sizes, 1) - 1) * fraction
    low = np.floor(position).astype(np.int64)
    below, above = runs.numbers_around(low)
    weight = position - low
    with np.errstate(invalid="ignore", over="ignore"):
        mixed = below * (1 - weight) + above * weight
    return arrow(np.where((below == above) | (weight == 0), below, mixed), null=sizes == 0)


def frequencies(found: tuple[Integers, Array, Integers]) -> Array:
    """What `Runs.most_frequent` found, as lists of {value, count}."""
    sizes, values, counts = found
    return lists(sizes, pa.StructArray.from_arrays([values, arrow(counts)], ["value", "count"]))
