"""Windows that end with rows: `(t - range, t]` for every row, or every n-th, by arrival or by rank (thesis 6.1.4).

The thesis keeps a start bin and an end bin for each row in time order, and adds a row to every bin between its own
two: as much work as there are window ends within RANGE. Here rows wait until a punctuation passes them; what it
releases is sorted once and runs through the window once. Sums follow by a running difference, greatest-of state by
two stacks, so a row is added, flipped and taken away once, and an answer reads one or two states. A row costs the
logarithm of the rows that wait with it, for sorting, and does not depend on how many windows are open. The late rows
of a batch are put into their places together, which costs the rows that lie between the earliest of them and the bound.

Aggregates that keep values slide over their ranks, and users' own are put together from stretches that windows have in
common: a row and an answer cost a logarithm. Only an answer that lists its values costs its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import numbers_of, scalars, scalars_of, tabled
from windrow.aggregates.kinds.base import Integers, Values
from windrow.operators.kernels.rows.per_row import CLOSED, CLOSES, SILENT, UNCOUNTED, count_off
from windrow.operators.late.judging import Missed, Verdicts, below
from windrow.operators.state.cells import Cells
from windrow.operators.state.changes import Saved
from windrow.operators.state.groups import Codes
from windrow.operators.state.layout import Table
from windrow.operators.state.values.value_rows import ValueLog, ValueRows
from windrow.operators.store.cell_rows import cell_rows, cells_of, converting, no_cell_rows
from windrow.operators.store.row_block import RowBlock
from windrow.operators.store.waiting_rows import WaitingRows, pieces
from windrow.operators.windows.base import Closed, Plan, Windower
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.operators.windows.rows.latecomers import Latecomers, PastEnds
from windrow.operators.windows.rows.row_timeline import RowTimeline
from windrow.operators.windows.rows.sliding_runs import ExtentValues
from windrow.plan.nodes import Late, Lateness, WindowAggregate
from windrow.semantics.progress.policies import END, START
from windrow.semantics.windows.kinds import Emit, SlideBy, SlideByTuple

if TYPE_CHECKING:
    from windrow.operators.late.bounds import Bounds, GroupBounds

PIECE = 1 << 16
"""Rows that are released at once go through the window in pieces of this size, which stay in the cache."""


class PerRow(Windower):
    """Every row, or every n-th, closes a window for its own group, or for all groups when `shared`.

    A late row closes none and is not counted. It still is in the windows that end above the bound, as far as
    they reach back to it. The windows it missed are known while they end within RANGE of the bound.
    """

    def __init__(self, node: WindowAggregate, window: SlideByTuple, plan: Plan) -> None:
        self.window = window
        self.plan = plan
        self.layout = plan.layout
        self.length = window.range
        self.shared = self.has_gaps = shared = bool(node.keys) and not window.partition
        self.is_marked = window.every > 1 and window.by is SlideBy.ARRIVAL
        """Whether rows state what they do to their windows. If not, all of them close one, or it is counted later."""
        self.waiting = self._none_waiting()
        self.has_closed = False
        """Whether rows that wait may have closed a window for their group alone."""
        self.timeline = RowTimeline(self.layout, window.range, shared=shared)
        self.rows_kept = ValueRows(plan.values, plan.custom, plan.sealing)
        self.counters: Integers = np.zeros(1, np.int64)
        """Rows counted since the last window, of each group; of all groups in the first place when `shared`."""
        asks = node.late is not Late.DROP or window.every > 1 or (shared and node.emit is Emit.EMPTY)
        self.past = PastEnds() if asks else None
        """Ends of reported windows, where they are asked for: a late row missed one for sure only if it closes one."""
        self.ended = 0
        """How many windows have ended."""
        self.consistent = node.lateness is Lateness.CONSISTENT
        """Whether a row that missed a window counts in none."""
        self.expected: Latecomers | None = None

    def _none_waiting(self) -> WaitingRows:
        nothing = no_cell_rows(self.layout)
        return WaitingRows(self._marked(nothing, UNCOUNTED) if self.is_marked else nothing)

    # Rows in

    def add(self, rows: GroupedRows, groups: int) -> Iterable[Closed]:
        self.timeline.tidy()
        states = self._states_of(rows)
        if self.is_marked:
            states = self._counted(self._marked(states, UNCOUNTED), groups, SlideBy.ARRIVAL)
        self.waiting.append(states)
        rows.keep_values(self.rows_kept)
        return ()

    def _states_of(self, rows: GroupedRows) -> RowBlock:
        table = self.layout.empty(len(rows))
        self.layout.scatter(rows.lifted, np.arange(len(rows), dtype=np.int32), table)
        return cell_rows(Cells(rows.times, rows.group_codes(), table))

    @staticmethod
    def _marked(rows: RowBlock, mark: int) -> RowBlock:
        return rows.having({"marks": np.full(len(rows), mark, np.uint8)})

    def _go_ahead(self) -> None:
        """From now on, rows state what they do to their windows, or have done."""
        if not self.is_marked:
            self.waiting.change(lambda rows: self._marked(rows, UNCOUNTED))
        self.is_marked, self.has_closed = True, True

    def _counted(self, rows: RowBlock, groups: int, by: SlideBy) -> RowBlock:
        """Rows in the order `by`, with those that close a window marked, if that is the order in which they count."""
        if self.window.every == 1 and self.is_marked:
            return _remarked(rows, UNCOUNTED, CLOSES)
        if self.window.every == 1 or self.window.by is not by:
            return rows
        if groups > len(self.counters) and not self.shared:
            self.counters = np.concatenate([self.counters, np.zeros(2 * groups - len(self.counters), np.int64)])
        marks = rows["marks"].copy() if self.is_marked else np.full(len(rows), UNCOUNTED, np.uint8)
        count_off(self._owners(rows["code"]), self.window.every, self.counters, marks)
        return rows.having({"marks": marks})

    def _owners(self, codes: Codes) -> Codes:
        """Whose windows the rows of these groups close."""
        return np.zeros_like(codes) if self.shared else codes

    # Late rows

    def judge(self, rows: GroupedRows, met: Integers, *, consistent: bool) -> Verdicts:
        """The rule is `semantics.placement`, on whole arrays. Farther back than RANGE nothing is open, or known."""
        times = rows.times
        gone = met - times >= self.window.range
        own = gone | (self.window.every == 1)
        counts, firsts, lasts = np.zeros(len(times), np.int64), times, times
        if self.past is not None:
            counts, firsts, lasts = self._missed(np.where(gone, met, times), met, rows.group_codes())
            lasts = np.where(counts == 0, times, lasts)
        missed = own | (counts > 0)
        starts = np.where(own, times, firsts) - self.window.range
        facts = Missed(met - times, counts + own, starts, lasts)
        return Verdicts(missed, missed, ~gone & ~missed if consistent else ~gone, facts.take)

    def _missed(self, times: Integers, bounds: Integers, codes: Codes) -> tuple[Integers, Integers, Integers]:
        """How many windows ended from each time to its bound, for its group; the first and the last of these ends."""
        assert self.past is not None
        ahead = None
        if self.has_closed:
            ahead = self._ends_of(self.waiting.where(lambda rows: rows["marks"] == CLOSED).sorted("place"), CLOSED)
        return self.past.missed(times, bounds, self._owners(codes), ahead)

    def take_late(self, rows: GroupedRows, met: Integers, bounds: Bounds, groups: int) -> Iterable[Closed]:
        rows = rows.take(rows.times > self._floor(bounds.closed))
        rows.keep_values(self.rows_kept)
        states, passed = self._states_of(rows), below(rows.times, bounds.closed)
        if passed.any():
            self.timeline.amend(cells_of(states.take(passed)), groups)
        if not passed.all():  # late for their group alone: in its windows to come, of which they close none
            self._go_ahead()
            self.waiting.append(self._marked(states.take(~passed), SILENT))
        return ()

    def _floor(self, closed: int) -> int:
        """Rows up to here are in no window that is still open."""
        return START if closed == START else max(START, closed - self.window.range)

    def expect(self, rows: GroupedRows, met: Integers, groups: int) -> None:
        counting = met - rows.times < self.window.range
        counting &= not self.consistent
        self.expected = Latecomers(self._states_of(rows.take(counting)), met[counting], self.timeline.reach, groups)

    # Windows out

    def close(self, bound: int, groups: int) -> Iterator[Closed]:
        """The windows that end below a bound, with expected rows among them where these have met a bound below it."""
        late, self.expected = self.expected, None
        released = self._counted(self.waiting.take_below(bound), groups, SlideBy.RANK)
        values = ExtentValues(self.plan, self.rows_kept, self.timeline.reach)
        for piece in pieces(released, PIECE):
            self.timeline.append(cells_of(piece))
            ends = self._ends(piece)
            for answers in self.timeline.slide(ends, groups):
                ended = ends["place"][answers.places - ends.first]
                if late is not None:
                    late.join(answers, ended)
                yield from values.closed(answers, ended, self.window.range)
            self.timeline.forget()
        self.timeline.pass_to(bound, groups)
        self.timeline.forget()
        self.rows_kept.forget(END if bound == END else bound - self.timeline.reach + 1)

    def _ends(self, rows: RowBlock) -> RowBlock:
        """The windows that end with these rows and are still to be reported."""
        ends = self._ends_of(rows, CLOSES)
        if self.past is not None:
            known = self._ends_of(rows, CLOSES, CLOSED) if self.is_marked else ends
            self.past.append(known)
            self.ended += len(known)
        else:
            self.ended += len(ends)
        return ends

    def _ends_of(self, rows: RowBlock, *marks: int) -> RowBlock:
        """Where windows end with rows of these marks, and the group each is for; they are numbered on."""
        chosen = np.isin(rows["marks"], marks) if "marks" in rows else slice(None)
        ends, codes = rows["place"][chosen], self._owners(rows["code"][chosen])
        return RowBlock({"place": ends, "code": codes}, first=self.ended)

    def close_groups(self, codes: Codes, ahead: GroupBounds, groups: int) -> Iterator[Closed]:
        """Their rows wait on for the bound of all, like rows that close nothing: later windows hold them."""
        if len(codes) == 0:
            return
        bounds = np.full(groups, START)
        bounds[codes] = ahead.closed[codes]
        self._go_ahead()
        waiting = self.waiting.take_groups(bounds).ordered("code", "place")
        released = self._counted(waiting, groups, SlideBy.RANK)
        ends = self._ends_of(released, CLOSES)
        if len(ends):
            alone = self.timeline.of_groups(bounds > START, released)
            values = ExtentValues(self.plan, self.rows_kept, self.timeline.reach)
            for answers in alone.slide(ends, groups):
                yield from values.closed(answers, ends["place"][answers.places - ends.first], self.window.range)
        self.waiting.append(_remarked(released, CLOSES, CLOSED))

    def forget(self, closed: int, reported: int | None) -> None:
        """Ends of which no late row and no empty window asks any more."""
        if self.past is None:
            return
        gone = self.past.search(self._floor(closed) + 1)
        if reported is not None and self.has_gaps:
            gone = min(gone, max(0, reported + 1 - self.past.first))
        self.past.forget(gone)

    # What the numbers of windows mean

    def ends_of(self, numbers: Integers) -> Integers:
        assert self.past is not None
        return self.past.gather("place", numbers)

    def end_after(self, number: int) -> int | None:
        if self.past is None or number + 1 >= self.past.count:
            return None
        return super().end_after(number)

    def is_complete(self, closed: Closed, first: int) -> npt.NDArray[np.bool_]:
        """A window `(start, end]` that begins after the first row."""
        assert closed.starts is not None
        return closed.starts + 1 >= first

    # Groups and values

    def seal_rows(self) -> None:
        self.rows_kept.seal()

    def regrow(self, convert: Callable[[Table], Table]) -> None:
        self.waiting.change(converting(convert))
        self.timeline.regrow(convert)

    def codes_in_use(self) -> Codes:
        counting = np.empty(0, np.int32) if self.shared else np.flatnonzero(self.counters).astype(np.int32)
        used = [counting, self.waiting.used("code"), self.timeline.codes_in_use(), *self.rows_kept.codes_in_use()]
        return np.unique(np.concatenate(used))

    def remap(self, mapping: Codes, groups: int) -> None:
        self.waiting.remap("code", mapping)
        self.timeline.remap(mapping, groups)
        self.rows_kept.remap(mapping)
        if self.shared:
            return
        if self.window.every > 1:
            counting = np.flatnonzero(self.counters)
            counters = np.zeros(max(1, groups), np.int64)
            counters[mapping[counting]] = self.counters[counting]
            self.counters = counters
        if self.past is not None:
            self.past.remap("code", mapping)

    def kept_values(self, part: Values) -> ValueLog:
        return self.rows_kept.logs[part]

    # State

    def state(self) -> dict[str, Saved]:
        tables: dict[str, Saved] = {
            **self.timeline.saved(),
            **self.rows_kept.saved(),
            "waiting": self.waiting.saved_whole(),
            "counters": tabled(value=self.counters),
            "ended": scalars(windows=self.ended),
        }
        return tables if self.past is None else tables | {"past": self.past.saved_whole()}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self.timeline.restore(tables)
        self.rows_kept.restore(tables)
        self.is_marked = "marks" in tables["waiting"].column_names
        self.waiting = self._none_waiting()
        self.waiting.fill(tables["waiting"])
        self.has_closed = self.is_marked and bool((self.waiting.column("marks") == CLOSED).any())
        self.counters = numbers_of(tables["counters"], "value")
        (self.ended,) = scalars_of(tables["ended"])
        if self.past is not None:
            self.past.fill(tables["past"], self.ended - tables["past"].num_rows)

    @property
    def nbytes(self) -> int:
        past = 0 if self.past is None else self.past.nbytes
        return self.waiting.nbytes + self.timeline.nbytes + self.rows_kept.nbytes + self.counters.nbytes + past

    @property
    def open_windows(self) -> int:
        return len(self.waiting) // self.window.every


def _remarked(rows: RowBlock, mark: int, instead: int) -> RowBlock:
    marks = rows["marks"]
    return rows.having({"marks": np.where(marks == mark, instead, marks).astype(np.uint8)})
