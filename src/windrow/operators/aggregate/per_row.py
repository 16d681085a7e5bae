"""The window aggregate over slide-by-tuple windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Integers
from windrow.operators.aggregate import saving as window_state
from windrow.operators.aggregate.empty_windows import LastReported
from windrow.operators.aggregate.grouping import Grouping
from windrow.operators.aggregate.lowering import Lowering
from windrow.operators.aggregate.result_times import promise_of, times_of
from windrow.operators.base import Batch, Counters, Element, GroupPunctuations, LateRows
from windrow.operators.input.early_rows import SetsAside
from windrow.operators.late.group_bounds import GroupBounds, group_names, passed_on
from windrow.operators.late.judging import Missed, Verdict, late_batch, late_schema
from windrow.operators.state.changes import Saved
from windrow.operators.windows.base import Closed, Rows
from windrow.operators.windows.rows.latecomers import Latecomers
from windrow.operators.windows.rows.past_ends import PastEnds
from windrow.operators.windows.rows.per_row import PerRow
from windrow.plan.nodes import Late, Lateness, WindowAggregate
from windrow.plan.types.schema import Shape
from windrow.semantics.progress.policies import END, START, Punctuation, check_advance
from windrow.semantics.windows.kinds import Emit, SlideByTuple


class PerRowOperator(SetsAside):
    """Every row, or every n-th, closes a window for its own group, or for all groups.

    A late row closes none and is not counted. It still is in the windows that end above the bound, as far as
    they reach back to it. The windows it missed are known while they end within RANGE of the bound.
    """

    def __init__(
        self, node: WindowAggregate, shape: Shape, output: Shape, *, passes: frozenset[str] = frozenset()
    ) -> None:
        """`passes` are the columns out by which windows above can use promises for single groups."""
        assert isinstance(node.window, SlideByTuple)
        assert shape.time is not None
        self.node = node
        self.window = node.window
        self.grouping = Grouping(node, shape)
        shared = bool(node.keys) and not node.window.partition
        self.fills_gaps = shared and node.emit is Emit.EMPTY
        self.windower = PerRow(
            node.window, self.grouping.plan, shared=shared, past=PastEnds() if self._asks_for_ends else None
        )
        self.lowering = Lowering(self.grouping.plan, len(node.keys), output.schema)
        self.late_schema = late_schema(shape.schema, shape.time)
        self.bound = START
        self.ahead: GroupBounds | None = None
        """The groups whose own promises are ahead of the one for all."""
        self.passes = passes
        self.first = END
        """The smallest time among rows in time, for EMIT COMPLETE."""
        self.reported = LastReported(node, self.grouping, output.schema)
        self.counters = Counters()

    @property
    def _asks_for_ends(self) -> bool:
        """Whether it must be known where windows ended: a late row has missed one for sure only if it closes one."""
        return self.node.late is not Late.DROP or self.window.every > 1 or self.fills_gaps

    @property
    def takes_bounds(self) -> bool:
        """Whether rows that met different bounds may come in one batch.

        Not where late rows decide which groups answer, where values are looked up among all rows, or where it
        depends on the windows before it whether a late row counts.
        """
        judged = self.node.lateness is Lateness.CONSISTENT and self.window.every > 1
        return not (self.windower.shared or self.grouping.plan.keeps_values or judged)

    # Rows in

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        if batch.selected is not None and not batch.selected.any():
            return
        rows = self.grouping.rows(batch, self.windower.regrow)
        self.counters.rows_in += len(rows)
        if len(rows) == 0:
            return
        if batch.bounds is None and self.ahead is None and rows.span[0] >= self.bound:
            self._add(rows)
            return
        bounds = self._bounds(batch, rows)
        late = rows.times < bounds
        if not late.all():
            self._add(rows.take(~late))
        if late.any():
            yield from self._late(batch, rows, np.flatnonzero(late), bounds[late])

    def _bounds(self, batch: Batch, rows: Rows) -> Integers:
        """The bound that each row met."""
        if self.ahead is not None:
            return self.ahead.boundaries(rows.group_codes(), self.bound)
        if batch.bounds is None:
            return np.full(len(rows), self.bound)
        return batch.bounds if batch.selected is None else batch.bounds[batch.selected.view(np.bool_)]

    def _add(self, rows: Rows) -> None:
        self.first = min(self.first, rows.span[0])
        self.windower.add(rows, self.grouping.count)

    def _late(self, batch: Batch, rows: Rows, late: Integers, bounds: Integers) -> Iterator[Element]:
        """Rows below the bounds they met: into the windows still open, and into the book of what was missed.

        Where the bound has moved since it was last told, the windows below its new place are reported first.
        """
        bound, moved = int(bounds[-1]), batch.bounds is not None and bool(bounds[-1] > self.bound)
        if moved:
            counting = bounds - rows.times[late] < self.window.range
            counting &= self.node.lateness is Lateness.GENEROUS
            coming = self.windower.latecomers(rows.take(late[counting]), bounds[counting], self.grouping.count)
            yield from self._close(bound, coming)
        verdict, missed = self._judged(rows.take(late), bounds)
        self.counters.late += int(np.count_nonzero(verdict.missed))
        lasting = verdict.counts & (rows.times[late] > self._floor)
        passed = rows.times[late] < self.bound  # the others are late for their group alone
        if (lasting & passed).any():
            self.windower.amend(rows.take(late[lasting & passed]), self.grouping.count)
        if (lasting & ~passed).any():
            self.windower.add_silent(rows.take(late[lasting & ~passed]))
        if self.node.late is Late.SIDE and verdict.missed.any():
            data = batch.compact().data.take(arrow(late[verdict.missed]))
            told = missed.take(np.flatnonzero(verdict.missed))
            yield LateRows(late_batch(data, told, batch.source, self.late_schema))
        if moved:
            self._forget()
            yield promise_of(self.node, self._promise())

    def _judged(self, rows: Rows, bounds: Integers) -> tuple[Verdict, Missed]:
        """The rule is `semantics.placement`, on whole arrays. Farther back than RANGE nothing is open, or known."""
        times = rows.times
        gone = bounds - times >= self.window.range
        own = gone | (self.window.every == 1)
        counts, firsts, lasts = np.zeros(len(times), np.int64), times, times
        if self.windower.past is not None:
            counts, firsts, lasts = self.windower.missed(np.where(gone, bounds, times), bounds, rows.group_codes())
            lasts = np.where(counts == 0, times, lasts)
        missed = own | (counts > 0)
        counting = ~gone & ~missed if self.node.lateness is Lateness.CONSISTENT else ~gone
        starts = np.where(own, times, firsts) - self.window.range
        return Verdict(missed, counting), Missed(bounds - times, counts + own, starts, lasts)

    @property
    def _floor(self) -> int:
        """Rows up to here are in no window that is still open."""
        return START if self.bound == START else max(START, self.bound - self.window.range)

    # Punctuations in

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        bound = check_advance(self.bound, punctuation.value)
        if bound == self.bound:
            return
        yield from self._close(bound)
        self._forget()
        yield promise_of(self.node, self._promise())

    def _promise(self) -> int:
        """The least end of a result to come: empty windows of a group wait for the next that it has rows in."""
        past, earliest = self.windower.past, self.reported.earliest
        if self.bound == END or earliest is None or past is None:
            return self.bound
        waiting = past.from_number(earliest + 1)
        return self.bound if waiting is None else min(self.bound, waiting)

    def _close(self, bound: int, late: Latecomers | None = None) -> Iterator[Element]:
        for closed in self.windower.close(bound, self.grouping.count, late):
            yield from self._report(closed)
        self.bound = bound

    def punctuate_groups(self, punctuations: GroupPunctuations, port: int = 0) -> Iterable[Element]:
        """The windows that rows of some groups have closed are reported while rows of the others wait."""
        known = punctuations.above(self.bound)
        if len(known) == 0:
            return
        if self.ahead is None:
            self.ahead = GroupBounds(group_names(self.node), lambda: self.grouping.groups)
        moved = self.ahead.advance(known)
        if len(moved):
            bounds = np.full(self.grouping.count, START)
            bounds[moved] = self.ahead.closed[moved]
            for closed in self.windower.close_groups(bounds, self.grouping.count):
                yield from self._report(closed)
        yield from passed_on(self.node, self.passes, known, known.values)

    def _forget(self) -> None:
        self.grouping.forget_values(self.windower)
        if self.fills_gaps:  # which knows the last window of every group
            self.windower.forget_ends(self._floor, self.reported.earliest)
            return
        self.windower.forget_ends(self._floor, None)
        if self.ahead is not None and self.ahead.forget_below(self.bound):
            self.ahead = None
        self.grouping.compact(*(keeper for keeper in (self.windower, self.ahead) if keeper is not None))

    def _report(self, closed: Closed) -> Iterator[Element]:
        if self.fills_gaps:
            past = self.windower.past
            assert past is not None
            for numbers, codes in self.reported.gaps(closed.answers, past.times_of):
                ends = past.times_of(numbers)
                empty = self.lowering.nothing(numbers, codes)
                yield self._result(Closed(empty.answers, empty.lowered, ends - self.window.range, ends))
        chosen = self._chosen(closed)
        if len(chosen.answers):
            yield self._result(chosen)

    def _chosen(self, closed: Closed) -> Closed:
        """A window that begins after the first row holds every row it could ever hold."""
        if self.node.emit is not Emit.COMPLETE:
            return closed
        assert closed.starts is not None
        return closed.take(np.flatnonzero(closed.starts + 1 >= self.first))

    def _result(self, closed: Closed) -> Batch:
        assert closed.ends is not None
        data = self.lowering.batch(closed, self.grouping.groups, closed.starts, closed.ends)
        self.counters.results += len(data)
        return Batch(data, times_of(self.node, closed.ends))

    # State

    @property
    def state_bytes(self) -> int:
        return self.windower.nbytes

    @property
    def open_windows(self) -> int:
        return self.windower.open_windows

    def facts(self) -> dict[str, Any]:
        return {"bounds": [self.bound, self.first], "last_reported": self.reported.windows.tolist()}

    def set_facts(self, facts: dict[str, Any]) -> None:
        self.bound, self.first = facts["bounds"]
        self.reported.windows = np.array(facts["last_reported"], np.int64)

    def state(self) -> dict[str, Saved]:
        return window_state.save(self) | window_state.nested(ahead=self.ahead)

    def restore(self, tables: dict[str, pa.Table]) -> None:
        window_state.load(self, tables)
        if known := window_state.under("ahead", tables):
            self.ahead = GroupBounds(group_names(self.node), lambda: self.grouping.groups)
            self.ahead.restore(known)
