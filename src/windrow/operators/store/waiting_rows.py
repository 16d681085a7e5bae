"""Rows that wait for a punctuation to pass them: few sorted runs, so that one costs a search in each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Integers
from windrow.operators.kernels.rows.row_values import gather
from windrow.operators.state.groups import Codes
from windrow.operators.state.layout import Layout, Table

Flags = npt.NDArray[np.bool_]
Marks = npt.NDArray[np.uint8]


class Held(Protocol):
    """Rows with their times and groups, as whoever waits for them wants them."""

    @property
    def times(self) -> Integers: ...

    @property
    def codes(self) -> Codes: ...

    @property
    def nbytes(self) -> int: ...

    def __len__(self) -> int: ...

    def take(self: Kind, rows: Integers | slice) -> Kind: ...

    def sorted(self: Kind, chosen: Flags) -> Kind:
        """The chosen rows by time."""

    def released(self: Kind, chosen: Flags) -> Kind:
        """The chosen rows in the order in which they are wanted once they wait no longer."""

    @classmethod
    def joined(cls: type[Kind], parts: Sequence[Kind]) -> Kind:
        """All of them, one after the other; there must be one."""


Kind = TypeVar("Kind", bound=Held)


def time_order(times: Integers) -> Integers:
    """The order of rows by time, equal times as they came.

    Sorting times with the place of the row in their low bits is several times quicker than sorting places.
    """
    bits = len(times).bit_length()
    if len(times) == 0 or int(times.max()) - int(times.min()) >= 1 << (63 - bits):
        return np.argsort(times, kind="stable")
    keys: Integers = (times - times.min()) << bits
    keys |= np.arange(len(times))
    keys.sort()
    keys &= (1 << bits) - 1
    return keys


@dataclass(frozen=True)
class RowStates:
    """Rows as state of their own, and what each does to its window (empty: all the same)."""

    times: Integers
    codes: Codes
    state: Table
    marks: Marks

    def __len__(self) -> int:
        return len(self.times)

    def take(self, rows: Integers | slice) -> RowStates:
        marks = self.marks[rows] if len(self.marks) else self.marks
        return RowStates(self.times[rows], self.codes[rows], self.state.take(rows), marks)

    def sorted(self, chosen: Flags) -> RowStates:
        rows = np.flatnonzero(chosen)
        times = self.times[rows]
        if len(rows) and (times[1:] < times[:-1]).any():
            rows = rows[time_order(times)]
        elif len(rows) == len(self):
            return self
        return self.take(rows)

    def released(self, chosen: Flags) -> RowStates:
        return self.sorted(chosen)

    def by_group(self) -> RowStates:
        """By group, then by time."""
        return self.take(np.lexsort((self.times, self.codes)))

    def pieces(self, size: int) -> Iterator[RowStates]:
        """Sorted rows in pieces of about `size`; equal times stay together."""
        start = 0
        while start < len(self):
            end = min(start + size, len(self))
            end = int(np.searchsorted(self.times, self.times[end - 1], side="right"))
            yield self.take(slice(start, end))
            start = end

    @classmethod
    def joined(cls, parts: Sequence[RowStates]) -> RowStates:
        if len(parts) == 1:
            return parts[0]
        state = Table.joined(part.state for part in parts)
        times, codes, marks = (
            np.concatenate([part.times for part in parts]),
            np.concatenate([part.codes for part in parts]),
            np.concatenate([part.marks for part in parts]),
        )
        return cls(times, codes, state, marks)

    @staticmethod
    def nothing(layout: Layout) -> RowStates:
        return RowStates(np.empty(0, np.int64), np.empty(0, np.int32), layout.empty(0), np.empty(0, np.uint8))

    @property
    def nbytes(self) -> int:
        return self.times.nbytes + self.codes.nbytes + self.state.nbytes + self.marks.nbytes


@dataclass(frozen=True)
class RowsOfPartitions:
    """Rows as they came, and the partition of each. Equal times stay in order of arrival."""

    data: pa.RecordBatch
    times: Integers
    codes: Codes

    def __len__(self) -> int:
        return len(self.times)

    def take(self, rows: Integers | slice) -> RowsOfPartitions:
        if isinstance(rows, slice):
            start, end, _ = rows.indices(len(self))
            return RowsOfPartitions(self.data.slice(start, end - start), self.times[rows], self.codes[rows])
        return RowsOfPartitions(self.data.take(arrow(rows)), self.times[rows], self.codes[rows])

    def sorted(self, chosen: Flags) -> RowsOfPartitions:
        rows = np.flatnonzero(chosen)
        return self.take(rows[time_order(self.times[rows])])

    def released(self, chosen: Flags) -> RowsOfPartitions:
        """Partition after partition, each by time."""
        rows = np.flatnonzero(chosen)
        rows = rows[time_order(self.times[rows])]
        codes, order = self.codes[rows], np.empty(len(rows), np.int64)
        gather(codes, int(codes.max(initial=0)) + 1, order)
        return self.take(rows[order])

    @classmethod
    def joined(cls, parts: Sequence[RowsOfPartitions]) -> RowsOfPartitions:
        if len(parts) == 1:
            return parts[0]
        table = pa.Table.from_batches([part.data for part in parts]).combine_chunks()
        data = table.to_batches() or [parts[0].data]
        assert len(data) == 1
        times, codes = np.concatenate([part.times for part in parts]), np.concatenate([part.codes for part in parts])
        return cls(data[0], times, codes)

    @staticmethod
    def nothing(schema: pa.Schema) -> RowsOfPartitions:
        none = pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in schema], schema=schema)
        return RowsOfPartitions(none, np.empty(0, np.int64), np.empty(0, np.int32))

    @property
    def nbytes(self) -> int:
        return int(self.data.nbytes) + self.times.nbytes + self.codes.nbytes


class Waiting(Generic[Kind]):
    """Rows above the bound: those that came since it moved, unsorted, and sorted runs.

    A run is made at most half as long as the one before, so there are logarithmically many. A row is sorted when the
    bound moves for the first time since it came, then merged as often as the runs after it can double.
    """

    def __init__(self, nothing: Kind) -> None:
        self.nothing = nothing
        self.fresh: list[Kind] = []
        self.runs: list[Kind] = []

    def __len__(self) -> int:
        return sum(map(len, (*self.fresh, *self.runs)))

    def add(self, rows: Kind) -> None:
        if len(rows):
            self.fresh.append(rows)

    def take_below(self, bound: int) -> Kind:
        """Remove and return the rows below a bound."""
        cuts = [int(np.searchsorted(run.times, bound)) for run in self.runs]
        leaving = [run.take(slice(cut)) for run, cut in zip(self.runs, cuts, strict=True) if cut]
        staying = [run.take(slice(cut, None)) for run, cut in zip(self.runs, cuts, strict=True) if cut < len(run)]
        whole = self._joined([*leaving, *self.fresh])
        below = whole.times < bound
        self.fresh, self.runs = [], staying
        self._keep(whole.sorted(~below))
        return whole.released(below)

    def take_groups(self, bounds: Integers) -> Kind:
        """Remove and return the rows below the bounds of their groups, `bounds[code]`."""
        whole = self.content()
        below = whole.times < bounds[whole.codes]
        self.fresh, self.runs = [], []
        self.add(whole.take(np.flatnonzero(~below)))
        return whole.released(below)

    def _joined(self, parts: list[Kind]) -> Kind:
        return type(self.nothing).joined(parts or [self.nothing])

    def _keep(self, run: Kind) -> None:
        while self.runs and len(self.runs[-1]) < 2 * len(run):
            both = self._joined([self.runs.pop(), run])
            run = both.take(time_order(both.times))
        if len(run):
            self.runs.append(run)

    def content(self) -> Kind:
        """All rows; those of equal times in order of arrival, where that means something."""
        return self._joined([*self.runs, *self.fresh])

    def fill(self, rows: Kind) -> None:
        """Hold exactly these rows."""
        self.fresh, self.runs = [], []
        self.add(rows)

    def change(self, convert: Callable[[Kind], Kind]) -> None:
        """Do something to all rows that keeps their order."""
        self.fresh, self.runs = [convert(rows) for rows in self.fresh], [convert(run) for run in self.runs]
        self.nothing = convert(self.nothing)

    @property
    def nbytes(self) -> int:
        return sum(rows.nbytes for rows in (*self.fresh, *self.runs))
