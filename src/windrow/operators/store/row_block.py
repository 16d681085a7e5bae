"""Some rows as equally long columns, never changed: what a store is made of, and what it takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow, concatenated, numbers_of
from windrow.aggregates.kinds.base import Array, Integers
from windrow.operators.compression.coded_column import CodedColumn, Nature
from windrow.operators.kernels.compression.plans import new_plan
from windrow.operators.state.state_columns import matrix_columns, matrix_names, matrix_of
from windrow.operators.store.packed import Packed, joined
from windrow.operators.store.spilled_column import SpilledColumn

Column: TypeAlias = npt.NDArray[Any] | Packed | CodedColumn | SpilledColumn
"""One row, or one line of a matrix, for each row."""
CODED = (CodedColumn, SpilledColumn)
"""Columns in blocks that are shared and never made anew."""
Plans: TypeAlias = dict[str, Integers]
"""For each column what was decided for its last blocks."""
Mask: TypeAlias = npt.NDArray[np.bool_]
Chosen: TypeAlias = npt.NDArray[Any] | slice
"""Places, a mask, or a stretch of rows."""
_WHOLE = "."
"""Before the names of whole rows in tables, so that none is taken for a column of ours."""


class RowBlock:
    """Columns of numbers by name, and whole rows in Arrow where these are given back."""

    __slots__ = ("_spans", "by", "columns", "data", "first", "size")

    def __init__(
        self,
        columns: Mapping[str, Column],
        data: pa.RecordBatch | None = None,
        first: int = 0,
        by: tuple[str, ...] = (),
    ) -> None:
        self.columns = columns
        self.data = data
        self.first = first
        """The number of its first row, where rows are numbered."""
        self.by = by
        """The columns by which its rows are known to be sorted, the first before all."""
        self._spans: dict[str, tuple[int, int]] = {}
        column = next(iter(columns.values()))
        self.size = len(column) if isinstance(column, np.ndarray) else column.size

    def __len__(self) -> int:
        return self.size

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return _read(self.columns[name])

    def part(self, name: str, rows: Chosen) -> npt.NDArray[Any]:
        """A column of some rows."""
        return _read(_taken(self.columns[name], rows))

    @property
    def is_sealed(self) -> bool:
        """Whether columns are in coded blocks, which are shared and never made anew."""
        return any(isinstance(column, CODED) for column in self.columns.values())

    def sealed(
        self, natures: Mapping[str, Nature], block_rows: int, plans: Plans, folded: Collection[str] = ()
    ) -> RowBlock:
        """The same rows with their columns in coded blocks; matrices and whole rows stay as they are."""

        def sealed(name: str, column: Column) -> Column:
            is_constant = isinstance(column, Packed) and len(column.offsets) == 0
            if is_constant or isinstance(column, CODED) or (isinstance(column, np.ndarray) and column.ndim == 2):
                return column
            nature, plan = natures.get(name, Nature.INTEGERS), plans.setdefault(name, new_plan())
            return CodedColumn.of(_read(column), nature, block_rows=block_rows, folded=name in folded, plan=plan)

        columns = {name: sealed(name, column) for name, column in self.columns.items()}
        return RowBlock(columns, self.data, self.first, self.by)

    def coded(self) -> Iterator[tuple[str, object, Callable[[], pa.Table]]]:
        """The columns of sealed rows: their names, what stays the same as long as they do, and them as tables."""
        for name, column in self.columns.items():
            coded = column if isinstance(column, CODED) else CodedColumn.of(_read(column))
            yield name, column, coded.table

    def opened(self, start: int = 0, stop: int | None = None) -> RowBlock:
        """The same rows, or a stretch of them, without coded blocks."""
        if not self.is_sealed:
            return self if start == 0 and stop in (None, len(self)) else self.take(slice(start, stop))
        rows = slice(start, stop)
        columns = {n: c.take(rows) if isinstance(c, CODED) else _taken(c, rows) for n, c in self.columns.items()}
        data = None if self.data is None else self.data.slice(start, len(range(len(self))[rows]))
        return RowBlock(columns, data, self.first + start, self.by)

    @property
    def rows(self) -> pa.RecordBatch:
        """The whole rows, which there must be."""
        assert self.data is not None
        return self.data

    def take(self, rows: Chosen) -> RowBlock:
        columns = {name: _taken(column, rows) for name, column in self.columns.items()}
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            data = None if self.data is None else self.data.slice(start, stop - start)
            return RowBlock(columns, data, self.first + start, self.by)
        if self.data is None:
            return RowBlock(columns)
        places = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        return RowBlock(columns, self.data.take(arrow(places)))

    def sorted_by(self, *names: str) -> RowBlock:
        """The same rows, which are sorted by these columns."""
        return RowBlock(self.columns, self.data, self.first, names)

    def having(self, columns: Mapping[str, Column]) -> RowBlock:
        """The same rows with these columns in addition, or in place of those of the same names."""
        by = self.by if not columns.keys() & set(self.by) else ()
        return RowBlock({**self.columns, **columns}, self.data, self.first, by)

    def remapped(self, name: str, mapping: npt.NDArray[Any]) -> RowBlock:
        """The same rows with `mapping[value]` in place of each value of a column."""
        column, values = self.columns[name], mapping[self[name]]
        if isinstance(column, Packed):
            return self.having({name: Packed.of(values)})
        if isinstance(column, CODED):
            column = _headers(column)
            values = values.astype(column.dtype, copy=False)
            return self.having({name: CodedColumn.of(values, column.nature, block_rows=column.block_rows)})
        return self.having({name: values})

    def without(self, name: str) -> RowBlock:
        return RowBlock({n: column for n, column in self.columns.items() if n != name}, self.data, self.first)

    def numbered(self, first: int) -> RowBlock:
        """The same rows, numbered on from here."""
        return RowBlock(self.columns, self.data, first, self.by)

    def packed(self) -> RowBlock:
        """The same rows with each number in as few bytes as the column needs."""
        columns = {n: c if isinstance(c, Packed) else Packed.of(_read(c)) for n, c in self.columns.items()}
        return RowBlock(columns, self.data, self.first)

    def sorted(self, by: str) -> RowBlock:
        """By a column, equal values as they are."""
        column = self.columns[by]
        places = column.offsets if isinstance(column, Packed) else _read(column)
        if len(places) and (places[1:] < places[:-1]).any():
            return self.take(value_order(places))
        return self

    def ordered(self, *names: str) -> RowBlock:
        """By several columns, the first before all."""
        return self.take(np.lexsort([self[name] for name in reversed(names)]))

    def search(self, name: str, value: int) -> int:
        """How many rows are below a value of a column by which they are sorted."""
        column = self.columns[name]
        return int(column.searchsorted(value)) if isinstance(column, np.ndarray) else column.search(value)

    def span(self, name: str) -> tuple[int, int]:
        """The least and the greatest value of a column; there must be one."""
        if name not in self._spans:
            column = self.columns[name]
            if isinstance(column, CODED):
                self._spans[name] = column.least, column.greatest
            else:
                values = self[name]
                self._spans[name] = int(values.min()), int(values.max())
        return self._spans[name]

    def block_bounds(self, name: str) -> tuple[Integers, Integers, Integers]:
        """Of each block of a column bounds of its values, and where blocks start, with the end of the last."""
        column = self.columns[name]
        if isinstance(column, CODED):
            column = _headers(column)
            return column.leasts, column.greatests, column.starts
        least, greatest = self.span(name)
        return np.array([least]), np.array([greatest]), np.array([0, len(self)])

    @staticmethod
    def joined(blocks: Sequence[RowBlock]) -> RowBlock:
        """Rows of the same columns, one after the other; there must be a block."""
        if len(blocks) == 1:
            return blocks[0]
        columns = {name: _joined([block.columns[name] for block in blocks]) for name in blocks[0].columns}
        data = [block.data for block in blocks if block.data is not None]
        return RowBlock(columns, concatenated(data) if data else None, blocks[0].first)

    @property
    def nbytes(self) -> int:
        return sum(c.nbytes for c in self.columns.values()) + (0 if self.data is None else int(self.data.nbytes))

    @property
    def sizes(self) -> tuple[int, int]:
        """Bytes that the rows would take as plain numbers, and those that are on the disk."""
        raw, spilled = 0 if self.data is None else int(self.data.nbytes), 0
        for column in self.columns.values():
            if isinstance(column, np.ndarray):
                raw += column.nbytes
            else:
                raw += self.size * (8 if isinstance(column, Packed) else _headers(column).dtype.itemsize)
            spilled += column.spilled_bytes if isinstance(column, SpilledColumn) else 0
        return raw, spilled

    # Tables

    def table(self) -> pa.Table:
        """The rows as a table; the columns of a matrix are called after it."""
        arrays = {name: array for own in self.columns for name, array in _arrays(own, self[own]).items()}
        whole = {} if self.data is None else {_WHOLE + n: self.data.column(n) for n in self.data.schema.names}
        return pa.table({**arrays, **whole})

    @staticmethod
    def of_table(table: pa.Table, matrices: Mapping[str, npt.NDArray[Any]] | None = None) -> RowBlock:
        """The rows of a table; `matrices` are like those that some of its columns make up."""
        parts = {name: matrix_names(name, like) for name, like in (matrices or {}).items()}
        own = [name for name in table.column_names if not name.startswith(_WHOLE)]
        columns: dict[str, Column] = {n: numbers_of(table, n) for n in own if not any(n in p for p in parts.values())}
        columns |= {name: matrix_of(table, name, like) for name, like in (matrices or {}).items()}
        whole = {n.removeprefix(_WHOLE): table[n].combine_chunks() for n in table.column_names if n.startswith(_WHOLE)}
        arrays: list[Any] = list(whole.values())
        return RowBlock(columns, pa.record_batch(arrays, names=list(whole)) if whole else None)

    def like(self, table: pa.Table) -> RowBlock:
        """The rows of a table in the columns that these have, as far as it has them, and in the same order."""
        found = RowBlock.of_table(table, {name: self[name] for name in self.columns if self[name].ndim == 2})
        columns = {name: found.columns[name] for name in self.columns if name in found}
        if self.data is None:
            return RowBlock(columns)
        fields = zip(self.data.schema, found.rows.schema.types, strict=True)
        schema = pa.schema([field.with_type(kind) for field, kind in fields])
        return RowBlock(columns, pa.record_batch(found.rows.columns, schema=schema))


def no_rows(schema: pa.Schema) -> pa.RecordBatch:
    """No rows of a schema."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def value_order(values: npt.NDArray[Any]) -> Integers:
    """The order of rows by value, equal ones as they came.

    Sorting values with the place of the row in their low bits is several times quicker than sorting places, but for
    values of one or two bytes, which numpy sorts by their digits.
    """
    bits = len(values).bit_length()
    if values.dtype.itemsize >= 4 and int(values.max(initial=0)) < 1 << 63:
        values = values.astype(np.int64, copy=False)
    if values.dtype != np.int64:
        return np.argsort(values, kind="stable")
    if len(values) == 0 or int(values.max()) - int(values.min()) >= 1 << (63 - bits):
        return np.argsort(values, kind="stable")
    keys: Integers = (values - values.min()) << bits
    keys |= np.arange(len(values))
    keys.sort()
    keys &= (1 << bits) - 1
    return keys


def _headers(column: CodedColumn | SpilledColumn) -> CodedColumn:
    """A coded column, maybe without its bytes."""
    return column.headers if isinstance(column, SpilledColumn) else column


def _read(column: Column) -> npt.NDArray[Any]:
    return column if isinstance(column, np.ndarray) else column.read()


def _joined(columns: Sequence[Any]) -> Column:
    """Columns of the same rows' blocks; coded blocks stay as they are where all of them are coded."""
    if all(isinstance(column, Packed) for column in columns):
        return joined(columns)
    if all(isinstance(column, CodedColumn) for column in columns):
        return CodedColumn.joined(columns)
    return np.concatenate([_read(column) for column in columns])


def _taken(column: Column, rows: Chosen) -> Column:
    if isinstance(column, CODED) and isinstance(rows, slice):
        start, stop, _ = rows.indices(column.size)
        return column.slice(start, stop)
    if not isinstance(column, np.ndarray):
        return column.take(rows)
    if column.ndim == 1 or isinstance(rows, slice) or rows.dtype == np.bool_:
        return column[rows]
    return np.take(column, rows, axis=0)  # knows that a line is a block of memory; indexing copies item by item


def _arrays(name: str, values: npt.NDArray[Any]) -> dict[str, Array]:
    """The columns of a table that a column, or a matrix, makes up."""
    return {name: arrow(values)} if values.ndim == 1 else matrix_columns(name, values)
