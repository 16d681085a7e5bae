"""What an aggregate is: declarations the planner reads, and `lower` from state to answer.

State is made of *parts* of one argument; aggregates over the same argument share parts, so
`avg(x), sum(x), variance(x)` keep one sum. A part declares the columns it is kept in, their dtype and how they
combine (`columns.py`), and reads its value from them; an operator knows only columns. The columns of all built-in parts
are exact, so that no answer depends on the order of arrival.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.columns import Columns, Stored
from windrow.errors import InternalError, QueryError
from windrow.semantics.scalars.expressions import Expression

Integers: TypeAlias = npt.NDArray[np.int64]
Numbers: TypeAlias = npt.NDArray[Any]
Array: TypeAlias = "pa.Array[Any]"


Kind: TypeAlias = pa.DataType | None
Parameters: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class Part:
    """Some state of one argument: the columns it is kept in, and what is read from them. Compared by value."""

    argument: Expression | None

    @property
    def columns(self) -> tuple[Columns, ...]:
        """What it is kept in, besides the number of rows."""
        return ()

    def read(self, rows: Integers, stored: Stored) -> Any:
        """Its value for every cell, from the numbers of rows and from its columns; what aggregates get."""
        raise InternalError("is kept elsewhere", parameter="part", value=self)


@dataclass(frozen=True)
class OneColumn(Part):
    """What is read from one declaration of columns alone."""

    column: Columns

    @property
    def columns(self) -> tuple[Columns, ...]:
        return (self.column,)

    def read(self, rows: Integers, stored: Stored) -> Any:
        column, state = stored(self.column)
        return column.read(state)


@dataclass(frozen=True)
class Values(Part):
    """All values with their multiplicities (holistic), in value order. Value: `Runs`.

    With `timed`, in order of event time, ties by value.
    """

    argument: Expression
    timed: bool = False


@dataclass(frozen=True)
class Custom(Part):
    """The state of a user's aggregate. Value: a tuple of arrays."""

    aggregate: Aggregate


class Runs(ABC):
    """For each result i, the values `values[offsets[i]:offsets[i + 1]]`, each `counts` times, in order.

    What can be answered without listing the values, a subclass does.
    """

    @property
    @abstractmethod
    def listed(self) -> tuple[Integers, Array, Integers]:
        """Offsets, values and counts."""

    @property
    def offsets(self) -> Integers:
        return self.listed[0]

    @property
    def values(self) -> Array:
        return self.listed[1]

    @property
    def counts(self) -> Integers:
        return self.listed[2]

    @abstractmethod
    def sizes(self) -> Integers:
        """How many rows each result has, multiplicities included."""

    def numbers_around(self, ranks: Integers) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """The `ranks[i]`-th smallest number of result i (0-based) and the next one; anything where there is none."""
        numbers = np.asarray(self.values.cast(pa.float64(), safe=False))
        if len(numbers) == 0:
            return np.zeros(len(ranks)), np.zeros(len(ranks))
        cumulated = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.counts)])
        start = cumulated[self.offsets[:-1]] + ranks
        at, after = (np.searchsorted(cumulated, start + step, side="right") - 1 for step in (0, 1))
        return numbers[np.minimum(at, len(numbers) - 1)], numbers[np.minimum(after, len(numbers) - 1)]

    def distinct(self) -> Integers:
        """How many different values each result has."""
        different: Integers = np.diff(self.offsets)
        return different

    def at_edge(self, *, last: bool) -> Array:
        """The first or the last value of each result, NULL where it has none."""
        index: Array = pa.array(self.offsets[1:] - 1 if last else self.offsets[:-1], mask=self.distinct() == 0)
        chosen: Array = self.values.take(index)
        return chosen

    def most_frequent(self, most: int, least: npt.NDArray[np.float64]) -> tuple[Integers, Array, Integers]:
        """The values that result i has at least `least[i]` times: how many for each result, then values and counts.

        At most `most` of a result, the most frequent first, equal counts in value order.
        """
        sizes = np.diff(self.offsets)
        owners = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((np.arange(len(self.counts)), -self.counts, owners))
        place = np.arange(len(order)) - np.repeat(self.offsets[:-1], sizes)
        chosen = (place < most) & (self.counts[order] >= least[owners])
        found = np.bincount(owners[chosen], minlength=len(sizes))
        index: Array = pa.array(order[chosen])
        return found, self.values.take(index), self.counts[order[chosen]]


@dataclass(frozen=True)
class State:
    """The values of parts for a set of results; what `lower` reads."""

    size: int
    get: Callable[[Part], Any]
    argument_type: Kind
    parameters: Parameters


class Aggregate(ABC):
    """One aggregate function. Declarations are all the planner uses."""

    name: str
    bounded = True
    """Its state per window has a constant size."""
    differential = True
    """A part of the window can be subtracted from its state."""
    takes_numbers = False
    """Its argument must be a number."""
    answer: pa.DataType | None = None
    """The type of its answers; None: that of its argument."""
    parameter_names: tuple[str, ...] = ()

    @abstractmethod
    def parts(self, argument: Expression | None, argument_type: Kind, parameters: Parameters) -> tuple[Part, ...]:
        """The state it needs."""

    def result_type(self, argument_type: Kind, parameters: Parameters) -> pa.DataType:
        """The type of the answer, or a QueryError when argument or parameters do not fit."""
        self.check_parameters(parameters)
        return self.answer_type(self.need_argument(argument_type))

    def answer_type(self, kind: pa.DataType) -> pa.DataType:
        """The type of the answer over values of this type."""
        return self.answer or kind

    @abstractmethod
    def lower(self, state: State, parts: tuple[Part, ...]) -> Array:
        """The answers from the state, NULL rules applied."""

    def is_bounded_for(self, argument_type: Kind) -> bool:
        return self.bounded

    def check_parameters(self, parameters: Parameters) -> None:
        if len(parameters) != len(self.parameter_names):
            wanted = ", ".join(("column", *self.parameter_names))
            raise QueryError(
                f"takes {len(self.parameter_names)} parameter(s) besides its column",
                parameter=self.name,
                value=len(parameters),
                hint=f"write {self.name}({wanted})",
            )

    def check_number(self, value: Any, rule: str, fits: Callable[[Any], bool], *kinds: type) -> None:
        """Refuse a value of the parameter that is no number of these kinds, or none that fits."""
        if isinstance(value, bool) or not isinstance(value, kinds or (int, float)) or not fits(value):
            raise QueryError(f"of {self.name} {rule}", parameter=self.parameter_names[0], value=value)

    def need_argument(self, argument_type: Kind) -> pa.DataType:
        if argument_type is None:
            raise QueryError("needs a column", parameter=self.name, hint=f"write {self.name}(column)")
        kind = value_type(argument_type)
        if not is_plain(kind):
            raise QueryError("needs plain values", parameter=self.name, value=str(kind), hint="give it a field of them")
        if self.takes_numbers and not is_number(kind):
            hint = "CAST(column AS DOUBLE), or count it"
            raise QueryError("needs a number", parameter=self.name, value=str(kind), hint=hint)
        return kind


def value_type(kind: pa.DataType) -> pa.DataType:
    """The type of a column's values: a dictionary's value type, everything else itself."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_plain(kind: pa.DataType) -> bool:
    """Whether values of a type can be told apart and have an order, to group, compare and sort by."""
    odd = pa.types.is_nested(kind) or pa.types.is_interval(kind)
    return not odd and not isinstance(kind, pa.BaseExtensionType)


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def is_scalar(kind: pa.DataType) -> bool:
    """Its values map to int64 keeping their order, so that they live in fixed-size state."""
    return bool(
        is_number(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind)
    ) and not pa.types.is_interval(kind)
