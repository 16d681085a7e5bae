"""Rows that wait for a punctuation to pass them: few sorted runs, so that one costs a search in each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from windrow.aggregates.base import Integers
from windrow.operators.state.groups import Codes
from windrow.operators.state.layout import Layout, Table

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class RowStates:
    """Rows as state of their own, and which of them close a window (empty: all, or not known yet)."""

    times: Integers
    codes: Codes
    state: Table
    closes: Flags

    def __len__(self) -> int:
        return len(self.times)

    def take(self, rows: Integers | slice) -> RowStates:
        closes = self.closes[rows] if len(self.closes) else self.closes
        return RowStates(self.times[rows], self.codes[rows], self.state.take(rows), closes)

    def in_order(self, chosen: Flags) -> RowStates:
        """The chosen rows by time; the order of equal times means nothing."""
        rows = np.flatnonzero(chosen)
        times = self.times[rows]
        if len(rows) and (times[1:] < times[:-1]).any():
            rows = rows[np.argsort(times)]
        elif len(rows) == len(self):
            return self
        return self.take(rows)

    def pieces(self, size: int) -> Iterator[RowStates]:
        """Sorted rows in pieces of about `size`; equal times stay together."""
        start = 0
        while start < len(self):
            end = min(start + size, len(self))
            end = int(np.searchsorted(self.times, self.times[end - 1], side="right"))
            yield self.take(slice(start, end))
            start = end


def joined(parts: Sequence[RowStates]) -> RowStates:
    """All of them, one after the other; there must be one."""
    if len(parts) == 1:
        return parts[0]
    tables = [part.state for part in parts]
    state = Table(
        np.concatenate([t.adds for t in tables]),
        np.concatenate([t.maxs for t in tables]),
        np.concatenate([t.pairs for t in tables]),
    )
    times, codes, closes = (
        np.concatenate([part.times for part in parts]),
        np.concatenate([part.codes for part in parts]),
        np.concatenate([part.closes for part in parts]),
    )
    return RowStates(times, codes, state, closes)


class Waiting:
    """Rows above the bound: those that came since it moved, unsorted, and sorted runs.

    A run is made at most half as long as the one before, so there are logarithmically many. A row is sorted when the
    bound moves for the first time since it came, then merged as often as the runs after it can double.
    """

    def __init__(self, layout: Layout) -> None:
        self.nothing = RowStates(np.empty(0, np.int64), np.empty(0, np.int32), layout.empty(0), np.empty(0, np.bool_))
        self.fresh: list[RowStates] = []
        self.runs: list[RowStates] = []

    def __len__(self) -> int:
        return sum(map(len, (*self.fresh, *self.runs)))

    def add(self, rows: RowStates) -> None:
        if len(rows):
            self.fresh.append(rows)

    def take_below(self, bound: int) -> RowStates:
        """Remove and return the rows below a bound, sorted by time."""
        cuts = [int(np.searchsorted(run.times, bound)) for run in self.runs]
        leaving = [run.take(slice(cut)) for run, cut in zip(self.runs, cuts, strict=True) if cut]
        staying = [run.take(slice(cut, None)) for run, cut in zip(self.runs, cuts, strict=True) if cut < len(run)]
        whole = joined([*leaving, *self.fresh] or [self.nothing])
        below = whole.times < bound
        self.fresh, self.runs = [], staying
        self._keep(whole.in_order(~below))
        return whole.in_order(below)

    def _keep(self, run: RowStates) -> None:
        while self.runs and len(self.runs[-1]) < 2 * len(run):
            both = joined([self.runs.pop(), run])
            run = both.take(np.argsort(both.times, kind="stable"))
        if len(run):
            self.runs.append(run)

    def content(self) -> RowStates:
        """All rows, in any order."""
        return joined([*self.runs, *self.fresh] or [self.nothing])

    def fill(self, times: Integers, codes: Codes, state: Table, closes: Flags) -> None:
        """Hold exactly these rows."""
        self.fresh, self.runs = [], []
        self.add(RowStates(times, codes, state, closes))

    def change(self, convert: Callable[[RowStates], RowStates]) -> None:
        """Do something to all rows that keeps their order."""
        self.fresh, self.runs = [convert(rows) for rows in self.fresh], [convert(run) for run in self.runs]

    def regrow(self, convert: Callable[[Table], Table]) -> None:
        self.change(lambda rows: replace(rows, state=convert(rows.state)))
        self.nothing = replace(self.nothing, state=convert(self.nothing.state))

    def remap(self, mapping: Codes) -> None:
        self.change(lambda rows: replace(rows, codes=mapping[rows.codes]))

    @property
    def nbytes(self) -> int:
        held = (*self.fresh, *self.runs)
        return sum(r.times.nbytes + r.codes.nbytes + r.state.nbytes + r.closes.nbytes for r in held)
