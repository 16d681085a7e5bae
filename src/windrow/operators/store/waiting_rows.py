"""Rows that wait for a punctuation to pass them: few sorted runs, so that one costs a search in each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from windrow.aggregates.kinds.base import Integers
from windrow.operators.kernels.rows.row_values import gather
from windrow.operators.store.row_block import Mask, RowBlock, value_order
from windrow.operators.store.row_store import RowStore


class WaitingRows(RowStore):
    """Rows above the bound, by their column `place`: sorted runs, and those that came since it moved.

    A run is made at most half as long as the one before, so there are logarithmically many. A row is sorted when the
    bound moves for the first time since it came, then merged as often as the runs after it can double.
    """

    def __init__(self, nothing: RowBlock, *, by_group: bool = False) -> None:
        """With `by_group`, rows leave group after group, each by time."""
        super().__init__(nothing)
        self.by_group = by_group

    @property
    def runs(self) -> list[RowBlock]:
        return self.blocks[: self._apart]

    def take_below(self, bound: int) -> RowBlock:
        """Remove and return the rows below a bound."""
        runs, fresh = self.runs, self.blocks[self._apart :]
        cuts = [run.search("place", bound) for run in runs]
        leaving = [run.take(slice(cut)) for run, cut in zip(runs, cuts, strict=True) if cut]
        staying = [run.take(slice(cut, None)) for run, cut in zip(runs, cuts, strict=True) if cut < len(run)]
        whole = RowBlock.joined([*leaving, *fresh] or [self.nothing])
        below = whole["place"] < bound
        self.blocks = _with_run(staying, _sorted(whole, ~below))
        self._apart = len(self.blocks)
        return _sorted(whole, below, by_group=self.by_group)

    def take_groups(self, bounds: Integers) -> RowBlock:
        """Remove and return the rows below the bounds of their groups, `bounds[code]`."""
        whole = self.content()
        below = whole["place"] < bounds[whole["code"]]
        self.replace(whole.take(np.flatnonzero(~below)))
        return _sorted(whole, below, by_group=self.by_group)

    def content(self) -> RowBlock:
        """All rows; those of equal times in order of arrival."""
        return RowBlock.joined(self.blocks or [self.nothing])


def _with_run(runs: list[RowBlock], run: RowBlock) -> list[RowBlock]:
    while runs and len(runs[-1]) < 2 * len(run):
        run = RowBlock.joined([runs.pop(), run]).sorted("place")
    return [*runs, run] if len(run) else runs


def _sorted(rows: RowBlock, chosen: Mask, *, by_group: bool = False) -> RowBlock:
    """The chosen rows by time, copied once."""
    places = np.flatnonzero(chosen)
    times = rows["place"][places]
    if (times[1:] < times[:-1]).any():
        places = places[value_order(times)]
    elif len(places) == len(rows) and not by_group:
        return rows
    if by_group:
        codes, order = rows["code"][places], np.empty(len(places), np.int64)
        gather(codes, int(codes.max(initial=0)) + 1, order)
        places = places[order]
    return rows.take(places)


def pieces(rows: RowBlock, size: int) -> Iterator[RowBlock]:
    """Sorted rows in pieces of about `size`; equal times stay together."""
    start, times = 0, rows["place"]
    while start < len(rows):
        end = min(start + size, len(rows))
        end = int(np.searchsorted(times, times[end - 1], side="right"))
        yield rows.take(slice(start, end))
        start = end
