"""Rows that wait until no row before them can come: a few sorted runs, so that a punctuation costs a search in each."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from windrow.aggregates.arrays import arrow, tabled
from windrow.aggregates.base import Integers
from windrow.operators.base import Batch


@dataclass
class _Run:
    """Rows by time, ties by arrival; those before `start` have left."""

    rows: Batch
    start: int = 0

    def __len__(self) -> int:
        return len(self.rows) - self.start

    @property
    def rest(self) -> Batch:
        return self.rows.slice(self.start, len(self.rows))

    def leave(self, end: int) -> Batch:
        """The rows up to a place; what stays is copied once most are gone, so that they are not held in memory."""
        leaving = self.rows.slice(self.start, end)
        self.start = end
        if 2 * self.start > len(self.rows):
            self.rows, self.start = _taken(self.rows, np.arange(self.start, len(self.rows))), 0
        return leaving


@dataclass
class Waiting:
    """Rows above the bound: those that came since it moved, as they came, and sorted runs, the oldest first.

    A run is made at most half as long as the one before, so there are logarithmically many.
    """

    fresh: list[Batch] = field(default_factory=list)
    runs: list[_Run] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(map(len, self.fresh)) + sum(map(len, self.runs))

    def add(self, batch: Batch) -> None:
        if len(batch):
            self.fresh.append(batch)

    def release(self, bound: int, *, last: bool) -> Batch | None:
        """The rows below a bound, or all when it is the last one, by time, ties by arrival; they wait no longer."""
        leaving = []
        for run in self.runs:
            end = len(run.rows) if last else int(np.searchsorted(run.rows.times, bound))
            if end > run.start:
                leaving.append(run.leave(end))
        self.runs = [run for run in self.runs if len(run)]
        fresh = joined(self.fresh)
        if fresh is not None:
            below = np.ones(len(fresh), np.bool_) if last else fresh.times < bound
            leaving += _some(fresh, below)
            self.fresh = []
            self._keep(_some(fresh, ~below))
        whole = joined(leaving)
        return None if whole is None else by_time(whole)

    def _keep(self, rows: list[Batch]) -> None:
        for batch in rows:
            run = by_time(batch)
            while self.runs and len(self.runs[-1]) < 2 * len(run):
                both = joined([self.runs.pop().rest, run])
                assert both is not None
                run = by_time(both)
            self.runs.append(_Run(run))

    def state(self) -> dict[str, pa.Table]:
        whole = joined([*(run.rest for run in self.runs), *self.fresh])
        if whole is None:
            return {}
        return {"waiting": pa.Table.from_batches([whole.data]), "waiting.times": tabled(time=whole.times)}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        if "waiting" in tables:
            data = tables["waiting"].combine_chunks().to_batches()[0]
            times: Integers = np.array(tables["waiting.times"]["time"].combine_chunks())
            self.fresh, self.runs = [Batch(data, times)], []

    @property
    def nbytes(self) -> int:
        return sum(rows.data.nbytes + rows.times.nbytes for rows in (*self.fresh, *(run.rows for run in self.runs)))


def by_time(batch: Batch) -> Batch:
    """Its rows by time, those of equal time as they are."""
    times = batch.times
    if not (times[1:] < times[:-1]).any():
        return batch
    return _taken(batch, np.argsort(times, kind="stable"))


def _taken(batch: Batch, rows: Integers) -> Batch:
    return Batch(batch.data.take(arrow(rows)), batch.times[rows], None, batch.source)


def _some(batch: Batch, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[Batch]:
    """The chosen rows as a batch; nothing when there are none."""
    if not chosen.any():
        return []
    return [batch if chosen.all() else Batch(batch.data, batch.times, chosen.view(np.uint8)).compact()]


def joined(pieces: list[Batch]) -> Batch | None:
    """All rows as one batch; None when there are none."""
    if len(pieces) < 2:
        return pieces[0] if pieces else None
    data = pa.Table.from_batches([piece.data for piece in pieces]).combine_chunks().to_batches()
    assert len(data) == 1
    return Batch(data[0], np.concatenate([piece.times for piece in pieces]))
