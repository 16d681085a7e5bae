"""Input: the first operator of every stream. Makes times int64, derives punctuations, cuts batches where it must.

Conceptually the policy speaks after every row, so where batches happen to be cut cannot change an answer. In fact
a batch is cut only before a row that is below a punctuation its predecessors imply, and that punctuation is
rounded down to the grid of the windows above, because only such a one can close anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.arrays import tabled
from windrow.aggregates.base import Array, Integers
from windrow.errors import DataError
from windrow.operators.base import Batch, Counters, Element
from windrow.operators.kernels import input as kernels
from windrow.operators.state.keys import as_int64, validity
from windrow.semantics.progress import (
    END,
    START,
    AtEnd,
    External,
    Ordered,
    Policy,
    Punctuation,
    Slack,
    SlackRows,
    check_advance,
)

LIMIT = 1 << 61


@dataclass(frozen=True)
class Grid:
    """Where windows above may end: origin + k * step. Punctuations in between say nothing to them."""

    origin: int = 0
    step: int = 1
    pace: int = 1
    """How far one source may be read ahead of another; at least a step."""
    by_arrival: bool = False
    """Rows are counted as they come, so that it matters which source is read first."""

    @property
    def paced(self) -> Grid:
        return Grid(self.origin, max(self.step, self.pace))

    def round_down(self, bound: int) -> int:
        if bound in (START, END):
            return bound
        return self.origin + (bound - self.origin) // self.step * self.step


class Input:
    """The punctuation policy of one source."""

    def __init__(self, name: str, time: str, policy: Policy, *, slack: int = 0, grid: Grid | None = None) -> None:
        self.name = name
        self.time = time
        self.policy = policy
        self.slack = slack
        self.grid = grid
        self.pace = (grid or Grid()).paced
        self.high = START
        self.bound = START
        self.promised = START
        """The last punctuation carried by the data, before rounding."""
        self.recent: Integers = np.empty(0, np.int64)
        self.counters = Counters()

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        """`batch.times` is ignored: it is made here."""
        data = batch.data
        if isinstance(self.policy, External) and self.policy.column is not None:
            yield from self._punctuated(data, self.policy.column)
        else:
            yield from self._rows(data)

    def _rows(self, data: pa.RecordBatch) -> Iterator[Element]:
        times = self.times_of(data)
        self.counters.rows_in += len(times)
        batch = Batch(data, times, None, self.name)
        if len(times) == 0:
            return
        start = 0
        for cut, bound in self._cuts(times):
            if cut > start:
                yield batch.slice(start, cut)
            start = cut
            yield self._advance(bound)
        yield batch.slice(start, len(times)) if start else batch
        implied = self._implied()
        if implied > self.bound:
            yield self._advance(implied)

    def _advance(self, bound: int) -> Punctuation:
        self.bound = check_advance(self.bound, bound)
        return Punctuation(bound)

    def _implied(self) -> int:
        """The bound after all rows so far, on the grid."""
        grid = self.grid or Grid()
        if isinstance(self.policy, Ordered):
            return grid.round_down(self.high)
        if isinstance(self.policy, Slack) and self.high != START:
            return grid.round_down(self.high - self.slack)
        if isinstance(self.policy, SlackRows):
            return grid.round_down(self._settled)
        return START

    def _cuts(self, times: Integers) -> list[tuple[int, int]]:
        if isinstance(self.policy, SlackRows):
            return self._row_cuts(times)
        if not isinstance(self.policy, (Ordered, Slack)) or self.grid is None:
            self._check_span(*kernels.span(times))
            return []
        slack = self.slack if isinstance(self.policy, Slack) else 0
        room = 64
        while True:
            cuts, bounds = np.empty(room, np.int64), np.empty(room, np.int64)
            found, high, least = kernels.cut_points(
                times, self.high, slack, self.bound, self.grid.origin, self.grid.step, cuts, bounds
            )
            if found >= 0:
                self._check_span(least, high)
                return list(zip(cuts[:found].tolist(), bounds[:found].tolist(), strict=True))
            room *= 16

    def _check_span(self, least: int, most: int) -> None:
        """Times beyond the limit would overflow window bounds: refuse them, note the largest otherwise."""
        if least <= -LIMIT or most >= LIMIT:
            refuse_time(self.time, int(least if least <= -LIMIT else most))
        self.high = max(self.high, int(most))

    _settled = START
    """Largest time that the last `rows` rows no longer keep from counting."""

    def _row_cuts(self, times: Integers) -> list[tuple[int, int]]:
        assert isinstance(self.policy, SlackRows)
        rows = self.policy.rows
        trail = np.concatenate([self.recent, times])
        # Row i of the batch counts everything up to trail[len(recent) + i - rows - 1].
        highs = np.full(len(times) + 1, self._settled, np.int64)
        known = np.maximum.accumulate(trail)
        last = len(self.recent) + np.arange(len(times) + 1) - rows - 1
        usable = last >= 0
        highs[usable] = np.maximum(known[last[usable]], self._settled)
        self.recent = trail[max(0, len(trail) - rows) :].copy()
        self._check_span(*kernels.span(times))
        self._settled = int(highs[-1])
        if self.grid is None:
            return []
        cuts, bounds = np.empty(len(times), np.int64), np.empty(len(times), np.int64)
        found = kernels.cut_points_rows(times, highs[:-1], self.bound, self.grid.origin, self.grid.step, cuts, bounds)
        return list(zip(cuts[:found].tolist(), bounds[:found].tolist(), strict=True))

    def _punctuated(self, data: pa.RecordBatch, column: str) -> Iterator[Element]:
        marks = data.column(column)
        spots = np.flatnonzero(validity(marks)) if marks.null_count else np.arange(len(data))
        values = to_units(marks.fill_null(0)) if len(spots) else np.empty(0, np.int64)
        start = 0
        for spot in spots.tolist():
            yield from self._rows(data.slice(start, spot - start))
            yield from self.punctuate(Punctuation(int(values[spot])))
            start = spot + 1
        yield from self._rows(data.slice(start))

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        """A promise carried by the data, or the end of the input."""
        self.promised = check_advance(self.promised, punctuation.value)
        value = (self.grid or Grid()).round_down(self.promised)
        if value > self.bound:
            yield self._advance(value)

    @property
    def is_patient(self) -> bool:
        """When its rows come does not matter: it promises nothing before its end, or no one above listens."""
        return self.grid is None or (isinstance(self.policy, AtEnd) and not self.grid.by_arrival)

    def places_of(self, data: pa.RecordBatch) -> Integers:
        """The time of each row, or what it promises where it is a punctuation."""
        if not isinstance(self.policy, External) or self.policy.column is None:
            return self.times_of(data)
        marks, times = data.column(self.policy.column), data.column(self.time)
        if not marks.null_count:
            return to_units(marks)
        return np.where(validity(marks), to_units(marks.fill_null(0)), to_units(times.fill_null(0)))

    def times_of(self, data: pa.RecordBatch) -> Integers:
        column = data.column(self.time)
        if column.null_count:
            row = int(np.flatnonzero(validity(column) == 0)[0]) + self.counters.rows_in
            raise DataError(
                "must not be null: a row without a time belongs to no window",
                parameter=self.time,
                value=f"null at row {row} of {self.name}",
                hint=f"filter the source, or fill it: coalesce({self.time}, ...)",
            )
        return to_units(column, self.time)

    def state(self) -> dict[str, pa.Table]:
        scalars = pa.table({"value": pa.array([self.high, self.bound, self._settled, self.promised], pa.int64())})
        return {"bounds": scalars, "recent": tabled(time=self.recent)}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        bounds: list[Any] = tables["bounds"]["value"].to_pylist()
        self.high, self.bound, self._settled, self.promised = bounds
        self.recent = tables["recent"]["time"].to_numpy().copy()


def to_units(column: Array, name: str = "time") -> Integers:
    """A time or integer column as int64: microseconds for timestamps of any unit."""
    values = as_int64(column)
    if not pa.types.is_timestamp(column.type) or column.type.unit == "us":
        return values
    if column.type.unit == "ns":
        return values // 1000
    factor = 1_000_000 if column.type.unit == "s" else 1_000
    if len(values):
        for extreme in kernels.span(values):
            if abs(int(extreme)) >= LIMIT // factor:
                refuse_time(name, int(extreme))
    return values * factor


def refuse_time(name: str, value: int) -> None:
    raise DataError(
        "must lie within 2^61 units of zero", parameter=name, value=value, hint="check the unit of the column"
    )
