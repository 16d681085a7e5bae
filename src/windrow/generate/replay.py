"""Rows that are there, sent as if they came now: out of order on purpose, with promises between them, again and again.

What disorders a generated stream disorders these as well, so the rows must be in order of their time to begin with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute

from windrow.errors import DataError
from windrow.generate.arrival import low_watermarks, reorder
from windrow.generate.disorder import Disorder, InOrder
from windrow.generate.rows import SOURCE, TIME, Ints, Rows
from windrow.semantics.progress.policies import END

pc: Any = pyarrow.compute
_BATCH, _ROW = "batch", "row"


@dataclass(frozen=True)
class Rearranged:
    """Batches in order of the column `time`, by the arrival that `disorder` gives them.

    With `every`, a promise follows each time the smallest time still to come enters another stretch of so many units:
    microseconds for times.
    """

    time: str
    disorder: Disorder | None = None
    every: int | None = None
    seed: int = 0

    def elements(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch | int]:
        """Rows, and promises between them."""
        if self.disorder is None and self.every is None:
            yield from batches
            return
        held = _Held()
        stretch: int | None = None
        rng = np.random.default_rng([self.seed, 4])
        for arrived in reorder(self._pieces(batches, held), self.disorder or InOrder(), rng):
            rows, low = held.take(arrived.rows), low_watermarks(arrived.rows[TIME], arrived.low)
            if rows is None:
                continue
            if self.every is None:
                yield rows
                continue
            stretches = low // self.every
            before = np.concatenate(([stretches[0] if stretch is None else stretch], stretches[:-1]))
            ends = np.flatnonzero((stretches > before) & (low != END)) + 1
            stretch, start = max(int(before[0]), int(stretches[-1])), 0
            for end in ends.tolist():
                yield rows.slice(start, end - start)
                yield int(low[end - 1])
                start = end
            yield rows.slice(start)

    def _pieces(self, batches: Iterable[pa.RecordBatch], held: _Held) -> Iterator[Rows]:
        highest: int | None = None
        for number, batch in enumerate(batches):
            if not batch.num_rows:
                continue
            times = times_of(batch, self.time)
            if (np.diff(times) < 0).any() or (highest is not None and int(times[0]) < highest):
                raise DataError(
                    "must be in order of its time to be brought out of order, or to make promises",
                    parameter=self.time,
                    hint="sort the rows first, or leave --disorder and --punctuate out",
                )
            highest, size = int(times[-1]), len(times)
            held.add(number, batch)
            yield {
                TIME: times,
                SOURCE: np.zeros(size, np.int64),
                _BATCH: np.full(size, number),
                _ROW: np.arange(size),
            }


def times_of(batch: pa.RecordBatch, time: str) -> Ints:
    """The times of rows as integers: microseconds, or the integers that they are."""
    column: Any = batch.column(time)
    if column.null_count:
        raise DataError("must have a time in every row", parameter=time, hint="leave out the rows without one")
    if isinstance(column.type, pa.TimestampType):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    return cast(Ints, np.asarray(column.cast(pa.int64())))


class _Held:
    """Batches of which not all rows have left yet."""

    def __init__(self) -> None:
        self.batches = dict[int, pa.RecordBatch]()
        self.left = dict[int, int]()

    def add(self, number: int, batch: pa.RecordBatch) -> None:
        self.batches[number], self.left[number] = batch, batch.num_rows

    def take(self, rows: Rows) -> pa.RecordBatch | None:
        """The rows by their batches and places; None for none."""
        if not len(rows[_BATCH]):
            return None
        numbers, counts = np.unique(rows[_BATCH], return_counts=True)
        used = [self.batches[number] for number in numbers.tolist()]
        starts = np.cumsum([0, *(batch.num_rows for batch in used)])[:-1]
        places = starts[np.searchsorted(numbers, rows[_BATCH])] + rows[_ROW]
        table = pa.Table.from_batches(used).unify_dictionaries().combine_chunks()
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            self.left[number] -= count
            if not self.left[number]:
                del self.left[number], self.batches[number]
        return table.take(pa.array(places)).combine_chunks().to_batches()[0]


def shifted(batch: pa.RecordBatch, time: str, by: int) -> pa.RecordBatch:
    """The same rows, so much later."""
    column: Any = batch.column(time)
    moved: Any = pa.array(times_of(batch, time) + by)
    if isinstance(column.type, pa.TimestampType):
        moved = moved.cast(pa.timestamp("us", column.type.tz)).cast(column.type, safe=False)
    place = batch.schema.get_field_index(time)
    return batch.set_column(place, batch.schema.field(place), moved.cast(column.type))
