"""The rows of one side that can still meet one to come, in segments of time, so that whole segments are let go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow, scalars, scalars_of
from windrow.aggregates.kinds.base import Integers
from windrow.operators.joins.encoding import Encoded
from windrow.operators.joins.runs import Marks, RunLayout, SortedRun, merged, sorted_run
from windrow.operators.joins.saved_runs import columns_of, encoded, loaded_run, saved_run
from windrow.operators.state.changes import Saved, lasting, under
from windrow.operators.store import sealing as sealings
from windrow.operators.store.budget import Kept
from windrow.operators.store.row_block import RowBlock, value_order
from windrow.operators.store.saved_rows import numbers_in
from windrow.operators.store.sealed_rows import raw_bytes, spilled_bytes, taken
from windrow.operators.store.sealing import Sealing
from windrow.semantics.progress.policies import END

SEGMENTS = 6
"""The time that rows stay is cut into so many segments, unless they would be small."""
ROWS = 1 << 13
"""Segments that hold fewer rows are made twice as long."""
LARGE = 1 << 19
"""Rows from which on looking into a run costs what memory costs."""
LATER = 16
"""Where packing payload does not pay, it stays as it is, and so does that of so many runs after it."""


class JoinStore:
    """`stay` is how long a row can meet others, in the units of places: times, or numbers by arrival.

    With `marks`, rows are marked when they have met a partner, or left. With `forgets`, marked rows are done with.
    """

    def __init__(
        self,
        layout: RunLayout,
        stay: int,
        *,
        origin: int = 0,
        marks: bool = False,
        forgets: bool = False,
        sealing: Sealing | None = None,
    ) -> None:
        self.layout = layout
        self.sealing = sealing
        if sealing is not None:
            sealing.budget.watch(self)
        self.sealed = 0
        """How many runs were sealed so far: the number of the next."""
        self._passing = 0
        """How many runs are passed over before payload is looked at again."""
        self.origin = origin
        self.step = max(1, -(-stay // SEGMENTS))
        self.marks = marks
        self.forgets = forgets
        self.segments: dict[int, list[SortedRun]] = {}
        self.limit: int | None = None
        """Rows below have left, whether or not they are still here."""

    # Rows in

    def add(self, rows: Encoded, payload: pa.RecordBatch | None, least: int, matched: Marks | None = None) -> None:
        """Rows, at least one; where there are `marks`, `matched` are those that have met a partner.

        `least` is their smallest time.
        """
        numbers = (rows.times - self.origin) // self.step
        different = numbers[np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1))]  # or little more often than once
        numbers = numbers >> self._coarsen(different, len(rows))
        if numbers[0] == numbers[-1] and (numbers == numbers[0]).all():
            self._push(int(numbers[0]), sorted_run(rows, payload, matched, least, self.layout))
            return
        order = value_order(numbers)
        for chosen in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1):
            part = None if payload is None else payload.take(arrow(chosen))
            marked = None if matched is None else matched[chosen]
            self._push(int(numbers[chosen[0]]), sorted_run(rows.take(chosen), part, marked, least, self.layout))

    def _push(self, number: int, run: SortedRun, *, all_in_one: bool = False) -> None:
        """Runs of a segment are each at least twice as long as the next."""
        runs = self.segments.setdefault(number, [])
        while runs and (all_in_one or len(runs[-1]) < 2 * len(run)):
            last = self._rid(runs.pop())
            run = run if last is None else merged(last, run, self.layout)
        runs.append(run)

    def seal(self, bound: int) -> None:
        """No more rows come below a place: segments that end there stay as they are, and their payload is sealed.

        Large ones become one run each, and so do all that go into blocks.
        """
        for number, runs in self.segments.items():
            if (number + 1) * self.step + self.origin > bound or all(run.number >= 0 for run in runs):
                continue
            in_blocks = self.sealing is not None and self.sealing.in_blocks
            if len(runs) > 1 and (in_blocks or len(runs[0]) >= LARGE):
                self._push(number, runs.pop(), all_in_one=True)
            runs[:] = [self._sealed(run) for run in runs]

    def _sealed(self, run: SortedRun) -> SortedRun:
        """The run with its payload in few bytes, where that is wanted and pays."""
        sealing = self.sealing
        if sealing is None or run.number >= 0 or run.payload is None or len(run) < sealing.least:
            return run
        if self._passing and not sealing.in_blocks:
            self._passing -= 1
            return run
        assert isinstance(run.payload, pa.RecordBatch)
        payload = sealing.seal_whole(run.payload)
        if not sealing.in_blocks and run.payload.nbytes < sealings.PACKED_PAYS * payload.nbytes:
            self._passing = LATER
            return run
        self.sealed += 1
        return replace(run, payload=payload, number=self.sealed - 1)

    def _rid(self, run: SortedRun) -> SortedRun | None:
        """A run without the rows that are done with, before it is merged."""
        if not self.forgets or run.matched is None or 4 * np.count_nonzero(run.matched) < len(run):
            return run
        kept = np.flatnonzero(run.matched[run.rows] == 0)
        return run.take(kept, self.layout) if len(kept) else None

    def _coarsen(self, coming: Integers, rows: int) -> int:
        """Make segments longer while they would be many and small; how often they were made twice as long."""
        numbers = np.union1d(np.array(list(self.segments), np.int64), coming)
        times, rows = 0, rows + len(self)
        while len(numbers) > 2 * SEGMENTS and rows < ROWS * len(numbers):
            numbers, times = np.unique(numbers >> 1), times + 1
        if times:
            self.step <<= times
            old, self.segments = self.segments, {}
            for number, runs in sorted(old.items()):
                for run in runs:
                    self._push(number >> times, run)
        return times

    # Rows out

    def runs(self, first: int, last: int) -> Iterator[SortedRun]:
        """The runs that may have rows at these places."""
        for _, runs in sorted(self.segments.items()):
            yield from (run for run in runs if run.span[0] <= last and run.span[1] >= first)

    def leave(self, limit: int) -> Iterator[tuple[SortedRun, Integers]]:
        """Let rows below the limit go; of marked stores those without a partner are given, once."""
        if self.limit is not None and limit <= self.limit:
            return
        self.limit = limit
        for number in sorted(self.segments):
            for run in self.segments[number]:
                if self.marks and run.span[0] < limit:
                    yield from self._left(run, limit)
            runs = [run for run in self.segments[number] if run.span[1] >= limit and limit != END]
            if runs:
                self.segments[number] = runs
            else:
                del self.segments[number]

    def _left(self, run: SortedRun, limit: int) -> Iterator[tuple[SortedRun, Integers]]:
        assert run.matched is not None
        gone = (run.times < limit) & (run.matched[run.rows] == 0)
        rows = np.flatnonzero(gone if limit != END else run.matched[run.rows] == 0)
        if len(rows):
            run.matched[run.rows[rows]] = 1
            yield run, rows

    # Accounts

    def __len__(self) -> int:
        return sum(len(run) for run in self._all())

    @property
    def nbytes(self) -> int:
        return sum(run.nbytes for run in self._all())

    @property
    def kept(self) -> Kept:
        payloads = [run.payload for run in self._all() if run.payload is not None]
        nbytes, raw = self.nbytes, sum(map(raw_bytes, payloads))
        index = nbytes - sum(payload.nbytes for payload in payloads)
        return Kept(len(self), index + raw, nbytes, sum(map(spilled_bytes, payloads)))

    @property
    def least(self) -> int:
        """The smallest time of a row that is here; the end of time when there is none."""
        return min((run.least for run in self._all()), default=END)

    def _all(self) -> Iterator[SortedRun]:
        return (run for runs in list(self.segments.values()) for run in runs)  # also asked by other threads

    # State

    def state(self, name: str) -> dict[str, Saved]:
        """Tables under a name: runs whose payload is sealed, once and as they are, and the rows of the others.

        Of these there are those that can still meet one, by place.
        """
        tables: dict[str, Saved] = {}
        found = [self._as_now(run) for run in self._all() if run.number < 0]
        if found:
            tables[name] = lasting(partial(self._live, found, self.limit))
        sealed = [run for run in self._all() if run.number >= 0]
        if sealed:
            tables[f"{name}.step"] = scalars(step=self.step)
        for run in sealed:
            tables |= {f"{name}.{run.number}.{part}": table for part, table in saved_run(run, self.layout)}
        return tables

    @staticmethod
    def _as_now(run: SortedRun) -> SortedRun:
        """All of a run stays as it is but for its marks."""
        return run if run.matched is None else replace(run, matched=run.matched.copy())

    def _live(self, runs: Sequence[SortedRun], limit: int | None) -> pa.Table:
        """The rows of runs that could still meet one at a limit, by place; no columns where there are none."""
        found = [rows for run in runs if len(rows := self._live_rows(run, limit))]
        return RowBlock.joined(found).sorted("place").table() if found else pa.table({})

    def _live_rows(self, run: SortedRun, limit: int | None) -> RowBlock:
        columns: dict[str, Any] = {"place": run.times, **columns_of(run, self.layout)}
        if run.matched is not None:
            columns["matched"] = run.matched[run.rows]
        alive = np.ones(len(run), np.bool_) if limit is None else run.times >= limit
        if self.forgets and run.matched is not None:
            alive &= run.matched[run.rows] == 0
        live = np.flatnonzero(alive)
        payload = None if run.payload is None else taken(run.payload, run.rows[live])
        return RowBlock(RowBlock(columns).take(live).columns, payload)

    def restore(self, name: str, tables: Mapping[str, pa.Table], least: int) -> None:
        """Take what was saved under a name; `least` is the smallest time of all rows."""
        if f"{name}.step" in tables:
            (self.step,) = scalars_of(tables[f"{name}.step"])
        parts = under(f"{name}.", tables)
        for number in numbers_in(parts):
            assert self.sealing is not None
            run = replace(loaded_run(under(f"{number}.", parts), self.layout, least, self.sealing), number=number)
            self.segments.setdefault((run.span[0] - self.origin) // self.step, []).append(run)
            self.sealed = number + 1
        if name in tables and tables[name].num_rows:
            saved = RowBlock.of_table(tables[name])
            numbers: dict[str, Any] = dict(saved.columns)
            rows = encoded(numbers["place"], numbers, self.layout)
            self.add(rows, None if saved.data is None else saved.rows, least, numbers.get("matched"))
