"""approx_distinct: about how many different values, from a sketch of fixed size (HyperLogLog); NULL is none of them.

The sketch is 2^p registers of a byte. A value's hash chooses a register and a number, which is one more than the zeros
its last 48 bits begin with; the register keeps the greatest. So the state is a function of the set of values: order,
batches, panes and engines cannot change the answer. The estimate is Ertl's ("New cardinality estimation algorithms for
HyperLogLog sketches", 2017, section 2.3), right from one value on, without tables. `semantics/oracle/sketch.py` does
the same value by value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Aggregate, Array, Integers, Kind, Numbers, OneColumn, Parameters, Part, State
from windrow.aggregates.kinds.columns import Hashes, Sketch
from windrow.semantics.oracle.sketch import RARITY, precision_for
from windrow.semantics.scalars.expressions import Expression

LEAST_ERROR, MOST_ERROR = 0.005, 0.2
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class HyperLogLog(Sketch):
    """2^precision registers."""

    most = RARITY + 1
    precision: int

    def width(self, kind: pa.DataType) -> int:
        return 1 << self.precision

    def lift(self, hashes: Hashes) -> tuple[Numbers, Numbers]:
        rest = hashes & np.uint64((1 << RARITY) - 1)
        _, bits = np.frexp(rest.astype(np.float64))  # exact: they fit into a float
        return hashes >> np.uint64(64 - self.precision), RARITY + 1 - bits


class ApproxDistinct(Aggregate):
    name = "approx_distinct"
    differential = False
    answer = pa.int64()
    parameter_names = ("error",)

    def check_parameters(self, parameters: Parameters) -> None:
        """The error may be left out; it is 2 % then."""
        if parameters:
            super().check_parameters(parameters)
            rule = f"must be between {LEAST_ERROR} and {MOST_ERROR}"
            self.check_number(parameters[0], rule, lambda error: LEAST_ERROR <= error <= MOST_ERROR)

    def parts(self, argument: Expression | None, argument_type: Kind, parameters: Parameters) -> tuple[Part, ...]:
        return (OneColumn(argument, HyperLogLog(precision_for(*parameters))),)

    def lower(self, state: State, parts: tuple[Part, ...]) -> Array:
        (part,) = parts
        assert isinstance(part, OneColumn)
        return arrow(estimates(state.get(part), part.column.width(pa.null())))


def estimates(counts: Integers, size: int) -> Integers:
    """About how many different values went into each row of `size` registers, of which so many hold 0, 1, 2, ..."""
    whole = size * _tau(1 - counts[:, -1] / size)
    for number in range(RARITY, 0, -1):
        whole = 0.5 * (whole + counts[:, number])
    whole += size * _sigma(counts[:, 0] / size)
    is_empty = counts[:, 0] == size
    found = np.rint(size * size / (2 * math.log(2) * np.where(is_empty, 1.0, whole)))
    return np.where(is_empty, 0, found).astype(np.int64)


def _sigma(x: Floats) -> Floats:
    """x + x^2 + 2 x^4 + 4 x^8 + ...; anything for 1."""
    x = np.where(x == 1, 0.0, x)
    factor, total, before = 1.0, x, x - 1
    while (total != before).any():
        x, before = x * x, total
        total = total + x * factor
        factor += factor
    return total


def _tau(x: Floats) -> Floats:
    """(1 - x - (1 - x^(1/2))^2 / 2 - (1 - x^(1/4))^2 / 4 - ...) / 3, and 0 for 0."""
    x = np.where(x == 0, 1.0, x)
    factor, total, before = 1.0, 1 - x, -x
    while (total != before).any():
        x, before, factor = np.sqrt(x), total, 0.5 * factor
        total = total - (1 - x) * (1 - x) * factor
    return total / 3
