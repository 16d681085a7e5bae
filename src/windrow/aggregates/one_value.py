"""min, max, first and last: one value of the window, the last in some order.

Floats order NaN above everything, as Spark and DuckDB do; text orders by its bytes. first and last are by event time;
equal times go to the least (first) or greatest (last) value.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.aggregates.kinds.arrays import of_type
from windrow.aggregates.kinds.base import (
    Aggregate,
    Array,
    Kind,
    OneColumn,
    Parameters,
    Part,
    Runs,
    State,
    Values,
    is_scalar,
    value_type,
)
from windrow.aggregates.kinds.columns import Columns, Rule
from windrow.aggregates.sums import COUNTED
from windrow.semantics.scalars.expressions import Expression


@dataclass(frozen=True)
class Greatest(Columns):
    """The greatest (or least) order key. Value: numpy array of the argument's storage type."""

    rule = Rule.GREATEST
    widths = 1, 1
    greatest: bool


@dataclass(frozen=True)
class Latest(Columns):
    """The latest (or earliest) time, and the greatest (or least) order key at it. Value: as of `Greatest`."""

    rule = Rule.LATEST
    widths = 2, 2
    latest: bool


class OneValue(Aggregate):
    """Fixed-size for numbers and times; other types keep values (holistic)."""

    differential = False

    def __init__(self, name: str, *, timed: bool, last: bool) -> None:
        self.name = name
        self.timed = timed
        self.last = last

    def is_bounded_for(self, argument_type: Kind) -> bool:
        return argument_type is not None and is_scalar(value_type(argument_type))

    def parts(self, argument: Expression | None, argument_type: Kind, parameters: Parameters) -> tuple[Part, ...]:
        assert argument is not None
        if not self.is_bounded_for(argument_type):
            return (Values(argument, self.timed),)
        column = Latest(self.last) if self.timed else Greatest(self.last)
        return OneColumn(argument, column), OneColumn(argument, COUNTED)

    def lower(self, state: State, parts: tuple[Part, ...]) -> Array:
        assert state.argument_type is not None
        kind = value_type(state.argument_type)
        if len(parts) == 2:
            return of_type(state.get(parts[0]), kind, null=state.get(parts[1]) == 0)
        runs: Runs = state.get(parts[0])
        return runs.at_edge(last=self.last).cast(kind)
