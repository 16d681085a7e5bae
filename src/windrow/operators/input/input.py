"""Input: the first operator of every stream. Makes times int64, derives punctuations, cuts batches where it must.

Conceptually the policy gives a punctuation after every row, so where batches happen to be cut cannot change an answer.
In fact a batch is cut only before a row that is below a punctuation its predecessors imply, and that punctuation is
rounded down to the grid of the windows above, because only such a one can close anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import tabled
from windrow.aggregates.kinds.base import Integers
from windrow.errors import DataError
from windrow.operators.base import Batch, Counters, EarlyRows, Element, GroupPunctuations, Operator
from windrow.operators.input.group_promises import Singles
from windrow.operators.input.partitions import PartitionProgress
from windrow.operators.input.policy import Disorder, LeadLimit, implied, settle
from windrow.operators.input.times import refuse_time, to_units
from windrow.operators.kernels import input as kernels
from windrow.operators.kernels.disorder import note_jump
from windrow.operators.state.groups import NO_CODES, Codes
from windrow.operators.state.keys import present
from windrow.physical.nodes import Grid
from windrow.semantics.progress.policies import (
    END,
    LIMIT,
    START,
    External,
    Ordered,
    Policy,
    Punctuation,
    Slack,
    SlackRows,
    check_advance,
)


class Input(Operator):
    """The punctuation policy of one source."""

    def __init__(
        self,
        name: str,
        time: str,
        policy: Policy,
        *,
        slack: int = 0,
        lead: LeadLimit | None = None,
        grid: Grid | None = None,
        pace: Grid = Grid(),  # noqa: B008 - frozen
        stride: int = 1,
        is_patient: bool = False,
        schema: pa.Schema | None = None,
        partitions: PartitionProgress | None = None,
    ) -> None:
        """`grid` is where windows above may end; None: none is there.

        Its rows are read a `pace` at a time where others are read too, `stride` rows at least. It `is_patient` where it
        does not matter when they come. `schema` is needed where punctuations are elements for single groups: their
        values get its types. `partitions` is given where these have bounds of their own.
        """
        self.name = name
        self.time = time
        self.policy = policy
        self.slack = slack
        self.lead = lead
        self.grid = grid
        self._rounding = grid or Grid()
        self.pace = pace
        self.stride = stride
        self.is_patient = is_patient
        self.high = START
        self.bound = START
        self.promised = START
        """The last punctuation carried by the data, before rounding."""
        self.recent: Integers = np.empty(0, np.int64)
        self.disorder = Disorder()
        self.singles, self.partitions = Singles(name, policy, self.grid, schema), partitions
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
        batch, codes = Batch(data, times, None, self.name), self._codes(data)
        if self.lead is not None:
            batch, codes, early = self._in_reach(batch, codes, self.lead)
            yield from early
        if len(batch) == 0:
            return
        if self.grid is not None and self.grid.together:
            yield replace(batch, bounds=self._bounds(batch.times, codes))
        else:
            yield from self._cut(batch, codes)
        yield from self._imply()

    def _codes(self, data: pa.RecordBatch) -> Codes:
        """The number of each row's partition, where the stream has such."""
        return NO_CODES if self.partitions is None or len(data) == 0 else self.partitions.codes(data)

    def _in_reach(self, batch: Batch, codes: Codes, lead: LeadLimit) -> tuple[Batch, Codes, list[EarlyRows]]:
        """The rows that are not too far ahead, with their partitions, and the others."""
        marks, against = lead.judge(batch.times, self.high, self.partitions, codes)
        if not marks.any():
            return batch, codes, []
        early = replace(batch, bounds=against).where(marks)
        self.counters.early += len(early)
        return batch.where(~marks), codes if self.partitions is None else codes[~marks], [EarlyRows(early)]

    def _cut(self, batch: Batch, codes: Codes) -> Iterator[Element]:
        start = 0
        for cut, bound in self._cuts(batch.times, codes):
            if cut > start:
                yield batch.slice(start, cut)
            start = cut
            yield self._advance(bound)
        yield batch.slice(start, len(batch)) if start else batch

    def _advance(self, bound: int) -> Punctuation:
        self.bound = check_advance(self.bound, bound)
        return Punctuation(bound)

    def _imply(self) -> Iterator[Punctuation]:
        """What holds after all that came so far, if it says more than what held before."""
        implied = self._implied()
        if implied > self.bound:
            yield self._advance(implied)

    def _implied(self) -> int:
        """The bound after all rows so far, on the grid."""
        if self.partitions is not None:
            return self._rounding.round_down(self.partitions.bound)
        return self._rounding.round_down(implied(self.policy, self.slack, high=self.high, settled=self._settled))

    def _bounds(self, times: Integers, codes: Codes) -> Integers | None:
        """The bound that each row meets; None when no row is below one that moved."""
        if self.partitions is not None:
            self._check_span(*kernels.span(times))
            implied = self.partitions.bounds(times, codes, self._first(times), self.disorder.notes)
            bounds = np.maximum(implied, self.bound)
            return bounds if (times < bounds).any() else None
        if isinstance(self.policy, SlackRows):
            bounds = np.maximum(self._highs(times, Grid())[:-1], self.bound)
            return bounds if (times < bounds).any() else None
        if not isinstance(self.policy, (Ordered, Slack)):
            self._note_below(times)
            return None
        before = self.high
        self._check_span(*kernels.span(times))
        bounds = np.empty(len(times), np.int64)
        notes = self.disorder.notes
        below = kernels.row_bounds(times, before, self.slack, self.bound, bounds, self._first(times), notes)
        return bounds if below else None

    def _first(self, times: Integers) -> int:
        """The number of the first of these rows, which have just come in."""
        return self.counters.rows_in - len(times)

    def _note_below(self, times: Integers) -> None:
        """Where only what was promised decides what is below the bound."""
        least, most = kernels.span(times)
        self._check_span(least, most)
        if least < self.bound < END:
            kernels.note_below(times, self.bound, self.promised, self._first(times), self.disorder.notes)

    def _cuts(self, times: Integers, codes: Codes) -> list[tuple[int, int]]:
        if self.partitions is not None:
            noted = self._first(times), self.disorder.notes
            spots, least, most = self.partitions.cuts(times, codes, self._rounding, self.bound, *noted)
            self._check_span(least, most)
            return [] if self.grid is None else spots
        if isinstance(self.policy, SlackRows):
            return self._row_cuts(times)
        if self.grid is None:
            self._check_span(*kernels.span(times))
            return []
        if not isinstance(self.policy, (Ordered, Slack)):
            self._note_below(times)
            return []
        slack = self.slack if isinstance(self.policy, Slack) else 0
        room = 64
        while True:
            cuts, bounds, notes = np.empty(room, np.int64), np.empty(room, np.int64), self.disorder.notes.copy()
            grid = self.grid.origin, self.grid.step
            found, high, least = kernels.cut_points(
                times, self.high, slack, self.bound, *grid, cuts, bounds, self._first(times), notes
            )
            if found >= 0:
                self._check_span(least, high)
                self.disorder.notes = notes
                return list(zip(cuts[:found].tolist(), bounds[:found].tolist(), strict=True))
            room *= 16

    def _check_span(self, least: int, most: int) -> None:
        """Times beyond the limit would overflow window bounds: refuse them, note the largest otherwise."""
        if least <= -LIMIT or most >= LIMIT:
            refuse_time(self.time, int(least if least <= -LIMIT else most))
        self.high = max(self.high, int(most))

    _settled = START
    """Largest time that the last `rows` rows no longer keep from counting."""

    def _highs(self, times: Integers, grid: Grid) -> Integers:
        """What counts as the largest time before each row and after the last, under slack in rows."""
        assert isinstance(self.policy, SlackRows)
        rows = self.policy.rows
        trail = np.concatenate([self.recent, times])
        # Row i of the batch counts everything up to trail[len(recent) + i - rows - 1].
        highs = np.full(len(times) + 1, self._settled, np.int64)
        known = np.maximum.accumulate(trail)
        last = len(self.recent) + np.arange(len(times) + 1) - rows - 1
        usable = last >= 0
        highs[usable] = np.maximum(known[last[usable]], self._settled)
        tops = np.maximum.accumulate(np.concatenate([[self.high], times]))
        self._check_span(*kernels.span(times))
        noted = self._first(times), self.disorder.notes
        kernels.note_rows(times, highs, tops, rows, grid.origin, grid.step, *noted)
        self._settled, recent = settle(trail, rows, self._settled)
        self.recent = recent.copy()
        return highs

    def _row_cuts(self, times: Integers) -> list[tuple[int, int]]:
        highs = self._highs(times, self._rounding)
        if self.grid is None:
            return []
        cuts, bounds = np.empty(len(times), np.int64), np.empty(len(times), np.int64)
        found = kernels.cut_points_rows(times, highs[:-1], self.bound, self.grid.origin, self.grid.step, cuts, bounds)
        return list(zip(cuts[:found].tolist(), bounds[:found].tolist(), strict=True))

    def _punctuated(self, data: pa.RecordBatch, column: str) -> Iterator[Element]:
        marks = data.column(column)
        carried = present(marks)
        single = self.singles.mask(data, carried)
        values = to_units(marks.fill_null(0), column) if carried.any() else np.zeros(len(data), np.int64)
        start = 0
        for spot in np.flatnonzero(carried & ~single).tolist():
            yield from self._grouped(data.slice(start, spot - start), single[start:spot], values[start:spot])
            yield from self.punctuate(Punctuation(int(values[spot])))
            start = spot + 1
        yield from self._grouped(data.slice(start), single[start:], values[start:])

    def _grouped(self, data: pa.RecordBatch, single: npt.NDArray[np.bool_], values: Integers) -> Iterator[Element]:
        """Rows among which there are promises for single groups; these are given together, as late as may be."""
        if not single.any():
            yield from self._rows(data)
            return
        times = to_units(data.column(self.time).fill_null(0), self.time)
        start = 0
        for cut in (*self.singles.cuts(data, times, values, single), len(data)):
            piece, here = data.slice(start, cut - start), single[start:cut]
            yield from self._rows(piece.filter(pa.array(~here)))
            yield from self.singles.promises(piece.filter(pa.array(here)), values[start:cut][here])
            start = cut

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        """A promise carried by the data, or the end of the input."""
        if punctuation.group is not None and self.partitions is not None:
            self.partitions.announce(punctuation, self.name)
            yield from self._imply()
            return
        if punctuation.group is not None:
            yield from self.singles.one(punctuation)
            return
        before, self.promised = self.promised, check_advance(self.promised, punctuation.value)
        if isinstance(self.policy, External) and before < self.promised < END:
            step = self._rounding.step
            note_jump(self.disorder.notes, self.counters.rows_in, self.promised, before, step, kernels.GRACE)
        value = self._rounding.round_down(self.promised)
        if value > self.bound:
            yield self._advance(value)

    def pass_time(self) -> Iterable[Element]:
        """Time has passed and nothing came: partitions that are silent for too long no longer hold back the others."""
        if self.partitions is not None and self.bound < END:
            self.partitions.pass_time()
            yield from self._imply()

    def punctuate_groups(self, punctuations: GroupPunctuations, port: int = 0) -> Iterable[Element]:
        yield from self.singles.promises(punctuations.groups, punctuations.values)

    def set_aside(self, early: EarlyRows, port: int = 0) -> Iterable[Element]:
        """Rows that were found early elsewhere."""
        self.counters.rows_in += len(early)
        self.counters.early += len(early)
        yield early

    def places_of(self, data: pa.RecordBatch) -> Integers:
        """The time of each row, or what it promises where it is a punctuation."""
        if not isinstance(self.policy, External) or self.policy.column is None:
            found = self.times_of(data)
            if self.lead is None:
                return found
            return self.lead.places(found, self.high, self.partitions, self._codes(data))
        marks, times = data.column(self.policy.column), data.column(self.time)
        if not marks.null_count and not self.policy.per:
            return to_units(marks, self.policy.column)
        carried = present(marks)
        promised, at = to_units(marks.fill_null(0), self.policy.column), to_units(times.fill_null(0), self.time)
        places = np.where(carried, promised, at)
        # What is promised for one group says nothing about where the source is.
        return np.where(self.singles.mask(data, carried), -LIMIT, places)

    def times_of(self, data: pa.RecordBatch) -> Integers:
        column = data.column(self.time)
        if column.null_count:
            row = int(np.flatnonzero(~present(column))[0]) + self.counters.rows_in
            raise DataError(
                "must not be null: a row without a time belongs to no window",
                parameter=self.time,
                value=f"null at row {row} of {self.name}",
                hint=f"filter the source, or fill it: coalesce({self.time}, ...)",
            )
        return to_units(column, self.time, self.counters.rows_in, capped=self.lead is not None)

    def state(self) -> dict[str, pa.Table]:
        scalars = tabled(value=np.array([self.high, self.bound, self._settled, self.promised]))
        partitions = {} if self.partitions is None else self.partitions.state()
        recent = tabled(time=self.recent)
        return {"bounds": scalars, "recent": recent, "disorder": self.disorder.state(), **partitions}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self.high, self.bound, self._settled, self.promised = tables["bounds"]["value"].to_numpy().tolist()
        self.recent = tables["recent"]["time"].to_numpy().copy()
        self.disorder.restore(tables["disorder"])
        if self.partitions is not None:
            self.partitions.restore(tables)
