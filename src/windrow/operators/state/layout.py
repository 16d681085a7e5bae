"""Which state columns a query's aggregates need, and where they stand in the tables.

Aggregates that ask for the same part of the same argument share its columns. Column 0 of the adding table is
always the row count, which says whether a group has rows at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates import lookup
from windrow.aggregates.kinds import base
from windrow.aggregates.kinds.base import Array, Integers, Part, State, value_type
from windrow.errors import InternalError
from windrow.operators.expressions.values import decoded
from windrow.operators.kernels.panes import scatter
from windrow.operators.state.columns import (
    AddColumn,
    FloatSquares,
    FloatSum,
    GreatestColumn,
    IntegerSquares,
    IntegerSum,
    LatestColumn,
    Lifted,
    ValidColumn,
    square_deviation,
)
from windrow.operators.state.keys import as_float64, as_int64, from_keys, ordered_keys, validity
from windrow.plan.nodes import AggregateCall
from windrow.plan.types.expressions import type_of
from windrow.semantics.scalars.expressions import Expression

LEAST = np.int64(-(1 << 63))


@dataclass
class Table:
    """State of some cells: one row a cell, `adds` add up, `maxs` and `pairs` keep the greatest."""

    adds: Integers
    maxs: Integers
    pairs: Integers

    def take(self, rows: npt.NDArray[Any] | slice) -> Table:
        if isinstance(rows, slice) or rows.dtype == np.bool_:
            return Table(self.adds[rows], self.maxs[rows], self.pairs[rows])
        # `take` knows that a row is a block of memory; indexing copies item by item.
        return Table(*(np.take(matrix, rows, axis=0) for matrix in (self.adds, self.maxs, self.pairs)))

    @staticmethod
    def joined(parts: Iterable[Table]) -> Table:
        """Cells of the same columns, one after the other; there must be some."""
        matrices = zip(*((part.adds, part.maxs, part.pairs) for part in parts), strict=True)
        return Table(*(np.concatenate(same) for same in matrices))

    def __len__(self) -> int:
        return len(self.adds)

    @property
    def nbytes(self) -> int:
        return self.adds.nbytes + self.maxs.nbytes + self.pairs.nbytes


class Argument:
    """One argument expression with all columns that aggregates need of it."""

    def __init__(self, expression: Expression, kind: pa.DataType) -> None:
        self.expression = expression
        self.kind = value_type(kind)
        self.is_float = bool(pa.types.is_floating(self.kind))
        self.valid = ValidColumn()
        self.sums: IntegerSum | FloatSum | None = None
        self.squares: IntegerSquares | FloatSquares | None = None
        self.extremes: dict[bool, GreatestColumn] = {}
        self.edges: dict[bool, LatestColumn] = {}

    def need(self, part: Part) -> None:
        if isinstance(part, (base.Total, base.Mean, base.SquareDeviation)):
            self.sums = self.sums or (FloatSum() if self.is_float else IntegerSum())
        if isinstance(part, base.SquareDeviation):
            self.squares = self.squares or (FloatSquares() if self.is_float else IntegerSquares())
        if isinstance(part, base.Extreme):
            self.extremes.setdefault(part.greatest, GreatestColumn(part.greatest))
        if isinstance(part, base.Edge):
            self.edges.setdefault(part.latest, LatestColumn(part.latest))

    @property
    def adding(self) -> list[AddColumn]:
        return [column for column in (self.valid, self.sums, self.squares) if column is not None]

    def matching(self, other: Argument) -> list[AddColumn]:
        """The adding columns of another that keep what those of this one keep, in their order."""
        pairs = (self.valid, other.valid), (self.sums, other.sums), (self.squares, other.squares)
        return [theirs for mine, theirs in pairs if mine is not None and theirs is not None]

    def lift(self, array: Array, times: Integers) -> Lifted:
        """The argument's values as the columns want them; keys only where something compares."""
        keyed = bool(self.extremes or self.edges)
        empty = np.empty(0, np.int64)
        needs_numbers = self.sums is not None
        array = decoded(array)
        numbers = empty
        if needs_numbers:
            numbers = as_float64(array).view(np.int64) if self.is_float else as_int64(array)
        return Lifted(numbers, ordered_keys(array) if keyed else empty, validity(array), self.is_float, times)


class Layout:
    """The state columns of a list of aggregate calls."""

    def __init__(self, calls: Iterable[AggregateCall], schema: pa.Schema) -> None:
        self.calls = tuple(calls)
        self.types = [None if c.argument is None else type_of(c.argument, schema) for c in self.calls]
        one: dict[Part, Part] = {}
        self.parts = [
            tuple(one.setdefault(part, part) for part in lookup(call.function).parts(call.argument, kind))
            for call, kind in zip(self.calls, self.types, strict=True)
        ]
        """What each call needs; equal parts are one object."""
        self.arguments: dict[Expression, Argument] = {}
        for call, kind, parts in zip(self.calls, self.types, self.parts, strict=True):
            if call.argument is not None and kind is not None:
                argument = self.arguments.setdefault(call.argument, Argument(call.argument, kind))
                for part in parts:
                    argument.need(part)
        self._place()

    def _place(self) -> None:
        adds, maxs, pairs = 1, 0, 0
        for argument in self.arguments.values():
            for column in argument.adding:
                column.offset, adds = adds, adds + column.width
            for greatest in argument.extremes.values():
                greatest.offset, maxs = maxs, maxs + 1
            for latest in argument.edges.values():
                latest.offset, pairs = pairs, pairs + 2
        self.widths = adds, maxs, pairs

    def empty(self, rows: int) -> Table:
        """Neutral state: nothing added, nothing seen."""
        adds, maxs, pairs = self.widths
        return Table(
            np.zeros((rows, adds), np.int64),
            np.full((rows, maxs), LEAST, np.int64),
            np.full((rows, pairs), LEAST, np.int64),
        )

    def blank(self, rows: int) -> Table:
        """Room for state that is written before it is read."""
        adds, maxs, pairs = (np.empty((rows, width), np.int64) for width in self.widths)
        return Table(adds, maxs, pairs)

    def grown(self, table: Table, rows: int) -> Table:
        """The same state with room for more cells."""
        bigger = self.empty(rows)
        bigger.adds[: len(table)] = table.adds
        bigger.maxs[: len(table)] = table.maxs
        bigger.pairs[: len(table)] = table.pairs
        return bigger

    def lift(
        self, arrays: dict[Expression, Array], times: Integers, regrow: Callable[[Callable[[Table], Table]], None]
    ) -> dict[Expression, Lifted]:
        """Lift the arguments; where a column must widen, `regrow` is called with what to do to stored tables."""
        lifted = {e: argument.lift(arrays[e], times) for e, argument in self.arguments.items()}
        widening = [
            column
            for expression, argument in self.arguments.items()
            for column in argument.adding
            if column.wants_to_widen(lifted[expression], len(times))
        ]
        if widening:
            self._widen(widening, regrow)
        return lifted

    @property
    def adding(self) -> list[AddColumn]:
        return [column for argument in self.arguments.values() for column in argument.adding]

    def _widen(self, widening: list[AddColumn], regrow: Callable[[Callable[[Table], Table]], None]) -> None:
        before = [column.width for column in self.adding]
        for column in widening:
            column.width = column.wide
        regrow(lambda table: self._widened(table, before))
        self._place()

    def _widened(self, table: Table, widths: list[int]) -> Table:
        """State of columns that had these widths, in the widths of now."""
        pieces, offset = [table.adds[:, :1]], 1
        for column, width in zip(self.adding, widths, strict=True):
            old = table.adds[:, offset : offset + width]
            pieces.append(old if width == column.width else column.widened(table.adds, old))
            offset += width
        return Table(np.ascontiguousarray(np.concatenate(pieces, axis=1)), table.maxs, table.pairs)

    def align(self, table: Table, saved: list[Any], regrow: Callable[[Callable[[Table], Table]], None]) -> Table:
        """Settled state of another layout of the same calls, which `saved` tells, in the widths of this one.

        Where the other is wider, or sums could now overflow, this one widens first; `regrow` as in `lift`.
        """
        rows = int(table.adds[:, 0].sum())
        pairs = list(zip(self.adding, saved, strict=True))
        widening = [column for column, entry in pairs if column.absorb(entry, rows)]
        if widening:
            self._widen(widening, regrow)
        widths = [entry["width"] for entry in saved]
        return table if widths == [column.width for column in self.adding] else self._widened(table, widths)

    def narrowed(self, table: Table, wide: Layout, regrow: Callable[[Callable[[Table], Table]], None]) -> Table:
        """Settled state of a layout of these calls and more, in the columns and widths of this one; see `align`."""
        pairs = [(mine, wide.arguments[expression]) for expression, mine in self.arguments.items()]
        adding = [column for mine, other in pairs for column in mine.matching(other)]
        maxs = [other.extremes[kind].offset for mine, other in pairs for kind in mine.extremes]
        edges = [other.edges[kind].offset for mine, other in pairs for kind in mine.edges]
        adds = [0, *(column.offset + i for column in adding for i in range(column.width))]
        chosen = Table(
            _columns(table.adds, adds),
            _columns(table.maxs, maxs),
            _columns(table.pairs, [place + i for place in edges for i in range(2)]),
        )
        return self.align(chosen, [column.to_json() for column in adding], regrow)

    def scatter(self, lifted: dict[Expression, Lifted], slots: npt.NDArray[np.int32], table: Table) -> None:
        """Put rows into their cells."""
        scatter.add_rows(table.adds, slots)
        for expression, argument in self.arguments.items():
            values = lifted[expression]
            for adding in argument.adding:
                adding.scatter(values, slots, table.adds)
            for greatest in argument.extremes.values():
                greatest.scatter(values, slots, table.maxs)
            for latest in argument.edges.values():
                latest.scatter(values, slots, table.pairs)

    def settle(self, table: Table) -> None:
        for column in self.adding:
            column.settle(table.adds)

    def read(self, part: Part, table: Table) -> Any:
        """The value of a part for every cell of a table."""
        if isinstance(part, base.RowCount):
            return table.adds[:, 0]
        if isinstance(part, (base.Values, base.Custom)) or part.argument is None:
            raise InternalError("is kept elsewhere", parameter="part", value=part)
        argument = self.arguments[part.argument]
        count = argument.valid.read(table.adds)
        if isinstance(part, base.ValidCount):
            return count
        if isinstance(part, base.Extreme):
            return from_keys(argument.extremes[part.greatest].keys(table.maxs), argument.kind)
        if isinstance(part, base.Edge):
            return from_keys(argument.edges[part.latest].keys(table.pairs), argument.kind)
        assert argument.sums is not None
        if isinstance(part, base.Total):
            return argument.sums.total(table.adds)
        if isinstance(part, base.Mean):
            return argument.sums.mean(table.adds, count)
        assert argument.squares is not None
        return square_deviation(argument.sums, argument.squares, table.adds, count)

    def function(self, place: int) -> base.Aggregate:
        return lookup(self.calls[place].function)

    def lower(self, place: int, size: int, get: Callable[[Part], Any]) -> Array:
        """The answers of one aggregate call from the values of its parts."""
        state = State(size, get, self.types[place], self.calls[place].parameters)
        return self.function(place).lower(state, self.parts[place])

    def to_json(self) -> list[Any]:
        """What must be known to read saved tables again."""
        return [column.to_json() for column in self.adding]

    def from_json(self, saved: list[Any]) -> None:
        for column, entry in zip(self.adding, saved, strict=True):
            column.from_json(entry)
        self._place()


def _columns(matrix: Integers, places: list[int]) -> Integers:
    """Some columns, without copying when they are all."""
    return matrix if places == list(range(matrix.shape[1])) else np.ascontiguousarray(matrix[:, places])
