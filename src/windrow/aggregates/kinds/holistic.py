"""Base of the aggregates that need all values of the window: median, quantile, mode, distinct, top-k, collect.

Their state is the multiset of values; multiplicities add and subtract, so panes and running differences apply
(pseudo-differential, thesis section 6.2.2.2), but its size has no constant bound.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow, lists
from windrow.aggregates.kinds.base import Aggregate, Array, Integers, Part, Runs, State, Values
from windrow.errors import QueryError
from windrow.semantics.scalars.expressions import Expression


class Holistic(Aggregate):
    bounded = False
    timed = False

    def parts(
        self, argument: Expression | None, argument_type: pa.DataType | None, parameters: tuple[Any, ...]
    ) -> tuple[Part, ...]:
        assert argument is not None
        return (Values(argument, self.timed),)

    def lower(self, state: State, parts: tuple[Part, ...]) -> Array:
        return self.lower_runs(state.get(parts[0]), state)

    @abstractmethod
    def lower_runs(self, runs: Runs, state: State) -> Array:
        """The answers from the values of each result."""


def interpolated(runs: Runs, fraction: float) -> Array:
    """The quantile between the two nearest ranks (linear), NULL when there is no value."""
    sizes = runs.sizes()
    position = (np.maximum(sizes, 1) - 1) * fraction
    low = np.floor(position).astype(np.int64)
    below, above = runs.numbers_around(low)
    return arrow(_between(below, above, position - low), null=sizes == 0)


def _between(
    below: npt.NDArray[np.float64], above: npt.NDArray[np.float64], weight: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    with np.errstate(invalid="ignore", over="ignore"):
        mixed = below * (1 - weight) + above * weight
    return np.where((below == above) | (weight == 0), below, mixed)


def frequencies(found: tuple[Integers, Array, Integers]) -> Array:
    """What `Runs.most_frequent` found, as lists of {value, count}."""
    sizes, values, counts = found
    return lists(sizes, pa.StructArray.from_arrays([values, arrow(counts)], ["value", "count"]))


def counted(kind: pa.DataType) -> pa.DataType:
    """The list-of-{value, count} type of the frequency aggregates."""
    return pa.list_(pa.struct([("value", kind), ("count", pa.int64())]))


def check_number(aggregate: Aggregate, value: Any, name: str, rule: str, valid: bool) -> None:
    if not valid:
        raise QueryError(f"of {aggregate.name} {rule}", parameter=name, value=value)
