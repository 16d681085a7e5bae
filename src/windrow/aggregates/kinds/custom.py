"""Aggregates of your own: lift, combine, finish on whole arrays."""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow, where_present
from windrow.aggregates.kinds.base import Aggregate, Array, Custom, Kind, Numbers, Parameters, Part, State
from windrow.semantics.scalars.expressions import Expression

Columns: TypeAlias = tuple[Numbers, ...]


class UserAggregate(Aggregate):
    """Subclass this, then `windrow.register(MyAggregate())`.

    The law you promise: `combine` is associative and commutative. NULL arguments are left out before `lift`. A window
    without values gives NULL.

    The geometric mean, kept as the sum of logarithms and a count:

    >>> class GeometricMean(UserAggregate):
    ...     name = "geomean"
    ...     result = pa.float64()
    ...     def lift(self, values):
    ...         return np.log(values), np.ones(len(values), np.int64)
    ...     def combine(self, left, right):
    ...         return left[0] + right[0], left[1] + right[1]
    ...     def finish(self, state, parameters):
    ...         return np.exp(state[0] / state[1])
    """

    differential = False
    takes_numbers = True
    result: pa.DataType

    @abstractmethod
    def lift(self, values: Numbers) -> Columns:
        """The state of each single value, as arrays of the same length."""

    @abstractmethod
    def combine(self, left: Columns, right: Columns) -> Columns:
        """The states of `left[i]` and `right[i]` taken together, element by element."""

    @abstractmethod
    def finish(self, state: Columns, parameters: Parameters) -> Numbers | Array:
        """The answers from the states."""

    def parts(self, argument: Expression | None, argument_type: Kind, parameters: Parameters) -> tuple[Part, ...]:
        return (Custom(argument, self),)

    def answer_type(self, kind: pa.DataType) -> pa.DataType:
        return self.result

    def lower(self, state: State, parts: tuple[Part, ...]) -> Array:
        columns, present = state.get(parts[0])
        answers = self.finish(columns, state.parameters)
        array = answers if isinstance(answers, pa.Array) else arrow(answers)
        return where_present(array.cast(self.result), np.cumsum(present) - 1, present)
