"""Whole rows of Arrow in few bytes, never changed: each column as a sealed array."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.operators.state.changes import under
from windrow.operators.store.block_cache import BlockCache
from windrow.operators.store.sealed_array import Saving, SealedArray


@dataclass(frozen=True, eq=False)
class SealedRows:
    """Rows that come back as they were: `batch()` equals what was sealed, types, NULL and bits of floats included.

    A look at some rows costs the blocks they are in, unless a cache has them.
    """

    schema: pa.Schema
    arrays: tuple[SealedArray, ...]
    start: int
    size: int
    raw_bytes: int
    """Of the rows as they came."""
    cache: BlockCache | None = None

    @staticmethod
    def of(rows: pa.RecordBatch, block_rows: int | None, cache: BlockCache | None = None) -> SealedRows:
        """With `block_rows`, columns go into coded blocks, else they are packed."""
        arrays = tuple(SealedArray.of(column, block_rows) for column in rows.columns)
        return SealedRows(rows.schema, arrays, 0, len(rows), rows.nbytes, cache)

    def __len__(self) -> int:
        return self.size

    # Reading

    def take(self, rows: npt.NDArray[Any]) -> pa.RecordBatch:
        """Rows at places in any order."""
        if self.start:
            rows = rows + self.start
        return self._batch([array.take(rows, self.cache) for array in self.arrays])

    def batch(self) -> pa.RecordBatch:
        """All rows, as they came."""
        return self._batch([array.part(self.start, self.start + self.size) for array in self.arrays])

    def slice(self, start: int, length: int) -> SealedRows:
        """Some rows, which share what they are in with the others."""
        length = max(0, min(length, self.size - start))
        share = self.raw_bytes * length // max(1, self.size)
        return replace(self, start=self.start + start, size=length, raw_bytes=share)

    def select(self, names: Sequence[str]) -> SealedRows:
        """Some columns, there must be one."""
        chosen = [self.schema.get_field_index(name) for name in names]
        schema = pa.schema([self.schema.field(place) for place in chosen])
        return replace(self, schema=schema, arrays=tuple(self.arrays[place] for place in chosen))

    def _batch(self, arrays: list[Any]) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    # What they take, and where they are

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)

    @property
    def spilled_bytes(self) -> int:
        return sum(array.spilled_bytes for array in self.arrays)

    def spilled(self, spill: Callable[[Any], Any]) -> SealedRows:
        """The same with its coded columns where `spill` puts them."""
        return replace(self, arrays=tuple(array.spilled(spill) for array in self.arrays))

    # Saving

    def saved(self) -> Iterator[Saving]:
        """The columns as tables, in blocks, each of which needs to be saved only once."""
        assert self.start == 0
        yield "schema", self, self.schema.empty_table
        for place, array in enumerate(self.arrays):
            for name, stamp, make in array.saved():
                yield f"{place}.{name}", stamp, make

    @staticmethod
    def of_tables(tables: Mapping[str, pa.Table], size: int, cache: BlockCache | None = None) -> SealedRows:
        """The rows that were saved; `size` is how many there were."""
        schema = tables["schema"].schema
        arrays = tuple(SealedArray.of_tables(field.type, under(f"{i}.", tables)) for i, field in enumerate(schema))
        found = SealedRows(schema, arrays, 0, size, 0, cache)
        return replace(found, raw_bytes=found.batch().nbytes)


WholeRows: TypeAlias = pa.RecordBatch | SealedRows
"""Whole rows as they came, or sealed."""


def taken(rows: WholeRows, places: npt.NDArray[Any]) -> pa.RecordBatch:
    """Some rows, in this order."""
    return rows.take(places) if isinstance(rows, SealedRows) else rows.take(arrow(places))


def opened(rows: WholeRows) -> pa.RecordBatch:
    """The rows as they came."""
    return rows.batch() if isinstance(rows, SealedRows) else rows


def raw_bytes(rows: WholeRows) -> int:
    """What they take as they came."""
    return rows.raw_bytes if isinstance(rows, SealedRows) else int(rows.nbytes)


def spilled_bytes(rows: WholeRows) -> int:
    """What of them is on the disk."""
    return rows.spilled_bytes if isinstance(rows, SealedRows) else 0
