"""count, sum, avg, variance and standard deviation: from counts and exact sums, so that nothing cancels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Aggregate, Array, Integers, Kind, OneColumn, Parameters, Part, State
from windrow.aggregates.kinds.columns import Columns, Rule, Stored
from windrow.semantics.scalars.expressions import Expression


@dataclass(frozen=True)
class Counted(Columns):
    """Values that are not NULL; no column at all until the first NULL. Every argument has it."""

    rule = Rule.ADD
    widths = 0, 0


@dataclass(frozen=True)
class Summed(Columns):
    """The exact sum: a whole number, or the digits of a float.

    Value: int64 array for integers (an overflow raises), float64 for floats, rounded once.
    """

    rule = Rule.ADD
    widths = 1, 7


@dataclass(frozen=True)
class Squared(Columns):
    """The digits of the exact sum of squares."""

    rule = Rule.ADD
    widths = 5, 15


COUNTED, SUMMED, SQUARED = Counted(), Summed(), Squared()


@dataclass(frozen=True)
class RowCount(Part):
    """Rows, NULLs included. Value: int64 array."""

    argument: None = None

    def read(self, rows: Integers, stored: Stored) -> Any:
        return rows


@dataclass(frozen=True)
class Mean(Part):
    """The exact sum divided by the count of values. Value: float64 array."""

    columns = (COUNTED, SUMMED)

    def read(self, rows: Integers, stored: Stored) -> Any:
        (counted, state), (sums, _) = map(stored, self.columns)
        return sums.mean(state, counted.read(state))


@dataclass(frozen=True)
class SquareDeviation(Part):
    """The sum of squared deviations from the mean, from exact sums. Value: float64 array."""

    columns = (COUNTED, SUMMED, SQUARED)

    def read(self, rows: Integers, stored: Stored) -> Any:
        (counted, state), (sums, _), (squares, _) = map(stored, self.columns)
        return squares.deviation(state, sums, counted.read(state))


class Count(Aggregate):
    """count(*) counts rows, count(x) the rows where x is not NULL."""

    name = "count"

    def parts(self, argument: Expression | None, argument_type: Kind, parameters: Parameters) -> tuple[Part, ...]:
        return (RowCount() if argument is None else OneColumn(argument, COUNTED),)

    def result_type(self, argument_type: Kind, parameters: Parameters) -> pa.DataType:
        self.check_parameters(parameters)
        return pa.int64()

    def lower(self, state: State, parts: tuple[Part, ...]) -> Array:
        return arrow(state.get(parts[0]))


class Sum(Aggregate):
    """Exact for integers (an error when it does not fit 64 bits) and for floats (rounded once)."""

    name = "sum"
    takes_numbers = True

    def parts(self, argument: Expression | None, argument_type: Kind, parameters: Parameters) -> tuple[Part, ...]:
        return OneColumn(argument, SUMMED), OneColumn(argument, COUNTED)

    def answer_type(self, kind: pa.DataType) -> pa.DataType:
        return pa.float64() if pa.types.is_floating(kind) else pa.int64()

    def lower(self, state: State, parts: tuple[Part, ...]) -> Array:
        return arrow(state.get(parts[0]), null=state.get(parts[1]) == 0)


class Avg(Sum):
    """The exact sum divided by the count."""

    name = "avg"

    def parts(self, argument: Expression | None, argument_type: Kind, parameters: Parameters) -> tuple[Part, ...]:
        return Mean(argument), OneColumn(argument, COUNTED)

    def answer_type(self, kind: pa.DataType) -> pa.DataType:
        return pa.float64()


class Variance(Avg):
    """Of a sample or a population, or its root: NULL below two values (one, of a population)."""

    def __init__(self, name: str, *, sample: bool, root: bool) -> None:
        self.name = name
        self.sample = sample
        self.root = root

    def parts(self, argument: Expression | None, argument_type: Kind, parameters: Parameters) -> tuple[Part, ...]:
        return SquareDeviation(argument), OneColumn(argument, COUNTED)

    def lower(self, state: State, parts: tuple[Part, ...]) -> Array:
        deviation, count = state.get(parts[0]), state.get(parts[1])
        freedom = count - 1 if self.sample else count
        result = deviation / np.maximum(freedom, 1)
        return arrow(np.sqrt(result) if self.root else result, null=freedom < 1)
