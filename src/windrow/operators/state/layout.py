"""Which state columns a query's aggregates need, and where they stand in the tables.

Aggregates that ask for the same part of the same argument share its columns. Column 0 of the adding table is
always the row count, which shows whether a group has rows at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates import lookup
from windrow.aggregates.kinds.base import Array, Integers, Numbers, Part, State, value_type
from windrow.aggregates.kinds.columns import Columns
from windrow.aggregates.sums import COUNTED
from windrow.operators.expressions.values import decoded
from windrow.operators.kernels.panes import cells, scatter
from windrow.operators.state.columns.base import Lifted, StateColumn
from windrow.operators.state.columns.making import RegisterColumns, column_for
from windrow.operators.state.hashes import hashes
from windrow.operators.state.keys import as_float64, as_int64, ordered_keys, validity
from windrow.operators.state.kinds import ADDS, KINDS, PAIRS, StateKind
from windrow.plan.nodes import AggregateCall
from windrow.plan.types.expressions import type_of
from windrow.semantics.scalars.expressions import Expression

BLOCK_BYTES_PER_ROW = 64
"""A scratch table of wide cells must be small beside the rows that go into it: it is cleared and merged whole."""


class Table:
    """State of some cells: of each kind a matrix with one row a cell. Kinds are in order, the first is `ADDS`."""

    __slots__ = ("adds", "matrices")

    def __init__(self, matrices: dict[StateKind, Numbers]) -> None:
        self.matrices = matrices
        self.adds: Integers = matrices[ADDS]

    def take(self, rows: npt.NDArray[Any] | slice) -> Table:
        if isinstance(rows, slice) or rows.dtype == np.bool_:
            return Table({kind: matrix[rows] for kind, matrix in self.matrices.items()})
        # `take` knows that a row is a block of memory; indexing copies item by item.
        return Table({kind: np.take(matrix, rows, axis=0) for kind, matrix in self.matrices.items()})

    def copy(self) -> Table:
        return Table({kind: matrix.copy() for kind, matrix in self.matrices.items()})

    def put(self, rows: npt.NDArray[Any] | slice, other: Table) -> None:
        """Let these rows be those of another table of the same columns."""
        for kind, matrix in self.matrices.items():
            matrix[rows] = other.matrices[kind]

    def reset(self, rows: slice) -> None:
        """Make these rows neutral."""
        for kind, matrix in self.matrices.items():
            matrix[rows] = kind.neutral

    def take_out(self, rows: npt.NDArray[Any]) -> Table:
        """Take these rows, each of them once, and make them neutral."""
        shapes = ((kind, (len(rows), matrix.shape[1])) for kind, matrix in self.matrices.items())
        taken = Table({kind: np.empty(shape, kind.dtype) for kind, shape in shapes})
        for kind, matrix in self.matrices.items():
            cells.take_out(rows, kind.neutral, matrix, taken.matrices[kind])
        return taken

    def combine(self, slots: npt.NDArray[Any], other: Table) -> None:
        """Combine the rows of another table of the same columns into these cells."""
        for kind, matrix in self.matrices.items():
            kind.combine(slots, other.matrices[kind], matrix)

    @staticmethod
    def joined(parts: Iterable[Table]) -> Table:
        """Cells of the same columns, one after the other; there must be some."""
        tables = list(parts)
        return Table({kind: np.concatenate([t.matrices[kind] for t in tables]) for kind in tables[0].matrices})

    def __len__(self) -> int:
        return len(self.adds)

    @property
    def nbytes(self) -> int:
        return sum(matrix.nbytes for matrix in self.matrices.values())


Regrow: TypeAlias = Callable[[Callable[[Table], Table]], None]
"""Does to stored tables what it is given, where columns change."""


class Argument:
    """One argument expression with all columns that aggregates need of it."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = value_type(kind)
        self.is_float = bool(pa.types.is_floating(self.kind))
        self.columns: dict[Columns, StateColumn] = {}
        self.adding: list[StateColumn] = []
        """Those of them that add up."""
        self.registers: list[RegisterColumns] = []
        self.forms: set[str] = set()
        """What some column wants of the values: "numbers", "keys", their "times"."""
        self.need(COUNTED)

    def need(self, declared: Columns) -> None:
        if declared in self.columns:
            return
        column = self.columns[declared] = column_for(declared, self.kind)
        self.forms.update(column.needs)
        if column.kind is ADDS:
            self.adding.append(column)
        if isinstance(column, RegisterColumns):
            self.registers.append(column)

    def lift(self, array: Array, times: Integers) -> Lifted:
        """The argument's values as the columns want them, and only in the forms that some of them wants."""
        numbers = keys = np.empty(0, np.int64)
        marks = {}
        if self.registers:
            hashed = hashes(array)
            marks = {column.sketch: column.marks(hashed) for column in self.registers}
        array = decoded(array)
        if "numbers" in self.forms:
            numbers = as_float64(array).view(np.int64) if self.is_float else as_int64(array)
        if "keys" in self.forms:
            keys = ordered_keys(array)
        return Lifted(numbers, keys, validity(array), times, marks)


class Layout:
    """The state columns of a list of aggregate calls."""

    def __init__(self, calls: Iterable[AggregateCall], schema: pa.Schema) -> None:
        self.calls = tuple(calls)
        self.types = [None if c.argument is None else type_of(c.argument, schema) for c in self.calls]
        one: dict[Part, Part] = {}
        self.functions = [lookup(call.function) for call in self.calls]
        asked = zip(self.functions, self.calls, self.types, strict=True)
        needed = [function.parts(call.argument, kind, call.parameters) for function, call, kind in asked]
        self.parts = [tuple(one.setdefault(part, part) for part in parts) for parts in needed]
        """What each call needs; equal parts are one object."""
        self.arguments: dict[Expression, Argument] = {}
        for call, kind, parts in zip(self.calls, self.types, self.parts, strict=True):
            if call.argument is not None and kind is not None:
                argument = self.arguments.setdefault(call.argument, Argument(kind))
                for declared in (columns for part in parts for columns in part.columns):
                    argument.need(declared)
        self.columns = [column for argument in self.arguments.values() for column in argument.columns.values()]
        self.adding = [column for argument in self.arguments.values() for column in argument.adding]
        self._place()

    def _place(self) -> None:
        widths = dict.fromkeys(KINDS, 0)
        widths[ADDS] = 1
        for column in self.columns:
            column.offset = widths[column.kind]
            widths[column.kind] += column.width
        self.widths = {kind: width for kind, width in widths.items() if width}
        self.block_bytes = sum(w * np.dtype(kind.dtype).itemsize for kind, w in self.widths.items() if kind.is_narrow)
        """Of each cell, in blocks of small numbers."""

    @property
    def kinds(self) -> tuple[StateKind, ...]:
        """The kinds of state there are, the first of them `ADDS`."""
        return tuple(self.widths)

    @property
    def weights(self) -> tuple[int, int, int]:
        """What adds, what keeps the greatest and what keeps pairs, in columns of eight bytes."""
        weights = {k: -(-width * np.dtype(k.dtype).itemsize // 8) for k, width in self.widths.items()}
        pairs = weights.get(PAIRS, 0)
        return weights[ADDS], sum(weights.values()) - weights[ADDS] - pairs, pairs

    def rows_in(self, most: int) -> int:
        """How many rows of state are made at once where it is `most` of them as a rule: fewer of wide ones."""
        return max(1, most // (1 + self.block_bytes // BLOCK_BYTES_PER_ROW))

    def fits_scratch(self, cells: int, rows: int) -> bool:
        """Whether blocks of so many cells are small beside the rows that go into them."""
        return cells * self.block_bytes <= BLOCK_BYTES_PER_ROW * rows

    def empty(self, rows: int) -> Table:
        """Neutral state: nothing added, nothing seen."""
        return Table({kind: kind.empty(rows, width) for kind, width in self.widths.items()})

    def blank(self, rows: int) -> Table:
        """Room for state that is written before it is read."""
        return Table({kind: np.empty((rows, width), kind.dtype) for kind, width in self.widths.items()})

    def grown(self, table: Table, rows: int) -> Table:
        """The same state with room for more cells."""
        bigger = self.empty(rows)
        bigger.put(slice(len(table)), table)
        return bigger

    def lift(self, arrays: dict[Expression, Array], times: Integers, regrow: Regrow) -> dict[Expression, Lifted]:
        """Lift the arguments; where a column must widen, `regrow` is called with what to do to stored tables."""
        lifted = {e: argument.lift(arrays[e], times) for e, argument in self.arguments.items()}
        both, rows = zip(self.arguments.values(), lifted.values(), strict=True), len(times)
        widening = [c for argument, values in both for c in argument.adding if c.wants_to_widen(values, rows)]
        if widening:
            self._widen(widening, regrow)
        return lifted

    def _widen(self, widening: list[StateColumn], regrow: Regrow) -> None:
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
        return Table({**table.matrices, ADDS: np.ascontiguousarray(np.concatenate(pieces, axis=1))})

    def align(self, table: Table, saved: list[Any], regrow: Regrow) -> Table:
        """Settled state of another layout of the same calls, as `saved`, in the widths of this one.

        Where the other is wider, or sums could now overflow, this one widens first; `regrow` as in `lift`.
        """
        rows = int(table.adds[:, 0].sum())
        widening = [column for column, entry in zip(self.adding, saved, strict=True) if column.absorb(entry, rows)]
        if widening:
            self._widen(widening, regrow)
        widths = [entry["width"] for entry in saved]
        return table if widths == [column.width for column in self.adding] else self._widened(table, widths)

    def narrowed(self, table: Table, wide: Layout, regrow: Regrow) -> Table:
        """Settled state of a layout of these calls and more, in the columns and widths of this one; see `align`."""
        theirs = [
            wide.arguments[expression].columns[declared]
            for expression, mine in self.arguments.items()
            for declared in mine.columns
        ]
        places: dict[StateKind, list[int]] = {kind: [] for kind in self.kinds}
        places[ADDS].append(0)
        for column in theirs:
            places[column.kind] += range(column.offset, column.offset + column.width)
        chosen = Table({kind: _columns(table.matrices[kind], columns) for kind, columns in places.items()})
        return self.align(chosen, [column.to_json() for column in theirs if column.kind is ADDS], regrow)

    def scatter(self, lifted: dict[Expression, Lifted], slots: npt.NDArray[np.int32], table: Table) -> None:
        """Put rows into their cells."""
        self.scatter_adds(lifted, slots, table.adds)
        self.scatter_greatest(lifted, slots, table)

    def scatter_greatest(self, lifted: dict[Expression, Lifted], slots: npt.NDArray[np.int32], table: Table) -> None:
        """Put rows into what keeps the greatest in their cells."""
        for expression, argument in self.arguments.items():
            for column in argument.columns.values():
                if column.kind is not ADDS:
                    column.scatter(lifted[expression], slots, table.matrices[column.kind])

    def scatter_adds(self, lifted: dict[Expression, Lifted], slots: npt.NDArray[np.int32], adds: Integers) -> None:
        """Put rows into what adds up in their cells."""
        scatter.add_rows(adds, slots)
        for expression, argument in self.arguments.items():
            for column in argument.adding:
                column.scatter(lifted[expression], slots, adds)

    def settle(self, table: Table) -> None:
        for column in self.adding:
            column.settle(table.adds)

    def read(self, part: Part, table: Table) -> Any:
        """The value of a part for every cell of a table."""

        def stored(declared: Columns) -> tuple[StateColumn, Numbers]:
            assert part.argument is not None
            column = self.arguments[part.argument].columns[declared]
            return column, table.matrices[column.kind]

        return part.read(table.adds[:, 0], stored)

    def lower(self, place: int, size: int, get: Callable[[Part], Any]) -> Array:
        """The answers of one aggregate call from the values of its parts."""
        state = State(size, get, self.types[place], self.calls[place].parameters)
        return self.functions[place].lower(state, self.parts[place])

    def to_json(self) -> list[Any]:
        """What must be known to read saved tables again."""
        return [column.to_json() for column in self.adding]

    def from_json(self, saved: list[Any]) -> None:
        for column, entry in zip(self.adding, saved, strict=True):
            column.from_json(entry)
        self._place()


def _columns(matrix: Numbers, places: list[int]) -> Numbers:
    """Some columns, without copying when they are all."""
    return matrix if places == list(range(matrix.shape[1])) else np.ascontiguousarray(matrix[:, places])
