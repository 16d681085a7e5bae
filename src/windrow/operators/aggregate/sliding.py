"""The window aggregate: groups rows, judges lateness, drives a window algorithm, gives answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Integers
from windrow.operators.aggregate import saving as window_state
from windrow.operators.aggregate.early_results import Early
from windrow.operators.aggregate.grouping import Grouping
from windrow.operators.aggregate.result_times import promise_of
from windrow.operators.aggregate.results import Results
from windrow.operators.aggregate.smoothing import EAGER, Flush, Smoothing, When, check_flush, why_not_smooth
from windrow.operators.aggregate.trial import Algorithm, Trial, WindowState, make_windower
from windrow.operators.base import Batch, Counters, Element, GroupPunctuations, LateRows
from windrow.operators.input.early_rows import SetsAside
from windrow.operators.input.grid import Grid
from windrow.operators.late.group_bounds import passed_on
from windrow.operators.late.groups_ahead import Ahead
from windrow.operators.late.judging import judge, late_batch, late_schema, missed_windows
from windrow.operators.late.revisions import Revisions
from windrow.operators.state.cells import Cells
from windrow.operators.state.changes import Saved
from windrow.operators.state.groups import NO_CODES, Codes
from windrow.operators.windows.base import Closed, Rows
from windrow.operators.windows.extents import end_of, ends, last_closed
from windrow.operators.windows.panes import PanedWid
from windrow.operators.windows.two_level.windower import TwoLevel
from windrow.physical.planner import Choice
from windrow.plan.nodes import Late, Lateness, Strategy, WindowAggregate
from windrow.plan.types.schema import Shape
from windrow.semantics.progress.policies import END, START, Punctuation, check_advance
from windrow.semantics.windows.kinds import Emit, Landmark, Sliding

if TYPE_CHECKING:
    from windrow.operators.panes.partials import Partials
    from windrow.operators.panes.shared import SharedCells


class WindowOperator(SetsAside):
    """Sliding, tumbling and landmark windows."""

    def __init__(
        self,
        node: WindowAggregate,
        shape: Shape,
        output: Shape,
        choice: Choice,
        *,
        trial: Trial | None = None,
        threads: int = 1,
        within: int = 0,
        passes: frozenset[str] = frozenset(),
        early: int = 0,
        flush: Flush = EAGER,
    ) -> None:
        """`passes` are the columns out by which windows above can use promises for single groups.

        With a trial, the first rows choose the algorithm.
        """
        assert isinstance(node.window, (Sliding, Landmark))
        assert shape.time is not None
        self.node = node
        self.window = node.window
        self.grouping = Grouping(node, shape)
        self.within = within if node.late is Late.REVISE else 0
        self.smoothing: Smoothing | None = None
        self.algorithm = self._algorithm(choice, trial, flush, threads)
        self.late_schema = late_schema(shape.schema, shape.time)
        self.bound = START
        self.closed = START
        """The end of the last closed window boundary: rows below it are late."""
        self.ahead: Ahead | None = None
        """The groups whose own promises are ahead of the one for all."""
        self.passes = passes
        self.revisions = Revisions(self) if node.late is Late.REVISE else None
        self.early = Early(self, early) if early else None
        self.counters = Counters()
        self.results = Results(node, self.grouping, output.schema, self.counters)

    # The algorithm

    def _algorithm(self, choice: Choice, trial: Trial | None, flush: Flush, threads: int) -> Algorithm:
        plan = self.grouping.plan
        make = partial(make_windower, self.node, plan, threads=threads, keep=self.within)
        if flush.when is not When.EAGER and why_not_smooth(self.node) is None:
            windower = TwoLevel(self.window, plan, size=flush.rows, places=flush.places)
            self.smoothing = Smoothing(self, windower, flush)
            return Algorithm(make, Choice(Strategy.PANES, ("windows are given in slices",)), windower=windower)
        return Algorithm(make, choice, trial)

    @property
    def windower(self) -> WindowState:
        return self.algorithm.windower(self.grouping.count)

    # Rows in

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        if self.early is None:
            yield from self._take(batch)
            return
        for piece, speaks in self.early.pieces(batch.compact()):
            yield from self._take(piece)
            if speaks:
                yield from self.early.speak()

    def _take(self, batch: Batch) -> Iterator[Element]:
        if batch.selected is not None and not batch.selected.any():
            return
        rows = self.grouping.rows(batch, self.algorithm.regrow)
        self.counters.rows_in += len(rows)
        if len(rows) == 0:
            return
        if self.ahead is None and (self.closed == START or rows.span[0] >= self.closed):
            self._add(rows)
            return
        late = rows.times < self.closed_of(rows.group_codes())
        if not late.all():
            self._add(rows.take(~late))
        if late.any():
            yield from self._late(batch, rows, np.flatnonzero(late))

    def closed_of(self, codes: Codes) -> Integers:
        """For each of these groups, the end of the last closed window boundary."""
        if self.ahead is None:
            return np.full(len(codes), self.closed)
        return self.ahead.boundaries(codes, self.closed)

    def _add(self, rows: Rows) -> None:
        self.results.first = min(self.results.first, rows.span[0])
        self.algorithm.add(rows, self.grouping.count)

    def _late(self, batch: Batch, rows: Rows, late: npt.NDArray[np.int64]) -> Iterator[Element]:
        """Rows below the closed boundary: into the windows still open, and into the book of what was missed."""
        times, closed = rows.times[late], self.closed_of(rows.group_codes()[late])
        self.windower.witness(int(times.max()))
        consistent = self.node.lateness is Lateness.CONSISTENT
        verdict = judge(self.window, times, closed, consistent=consistent)
        self.counters.late += int(np.count_nonzero(verdict.missed))
        absent, counts = verdict.missed, verdict.counts
        if self.revisions is not None:
            absent, counts = self.revisions.note(rows.take(late), verdict, closed)
            self.counters.uncorrected += int(np.count_nonzero(absent))
        yield from self._count(rows.take(late[counts]), closed[counts])
        if self.node.late is not Late.DROP and absent.any():
            missed = missed_windows(self.window, times[absent], closed[absent], self.within)
            data = batch.compact().data.take(arrow(late[absent]))
            yield LateRows(late_batch(data, missed, batch.source, self.late_schema))

    def _count(self, rows: Rows, closed: Integers) -> Iterator[Element]:
        """Late rows into open windows. For landmark windows they count from the boundary on, like rows at it."""
        if len(rows) == 0:
            return
        if isinstance(self.window, Landmark):
            yield from self._report(self.closed, rows.group_codes())
            clamped = replace(rows, times=np.maximum(rows.times, closed))
            self.results.first = min(self.results.first, clamped.span[0])
            self.windower.add(clamped, self.grouping.count)
            return
        passed = rows.times < self.closed  # the others are late for their group alone: their panes are open
        if passed.any():
            self.windower.amend(rows.take(passed), self.grouping.count)
        if not passed.all():
            self.windower.add(rows.take(~passed), self.grouping.count)

    # Cells in, made of rows by the low level of a two-level aggregation

    def merge(self, partials: Partials | SharedCells) -> Iterable[Element]:
        """What `process` does with rows, for those behind the cells. `why_not_partial` says where that is the same.

        All rows of a pane are late for the same windows, since windows begin and end where panes do.
        """
        assert isinstance(self.windower, PanedWid)
        self.counters.rows_in += partials.rows
        if len(partials) == 0:
            return
        cells = partials.encoded(self.grouping, self.windower)
        late = self.windower.starts_of(cells.panes) < self.closed_of(cells.codes)
        if not late.all():
            self._put(self.windower, cells.take(~late))
        if late.any():
            yield from self._late_cells(self.windower, cells.take(late))

    def witness(self, latest: int) -> None:
        """A row of this time came, maybe to another operator that shares the groups of the query with this one.

        The last landmark window depends on the rows of all groups. START: there was no row.
        """
        if latest != START:
            self.windower.witness(latest)

    def _put(self, windower: PanedWid, cells: Cells) -> None:
        starts = windower.starts_of(cells.panes)
        self.results.first = min(self.results.first, int(starts.min()))
        windower.witness(int(starts.max()))
        windower.put(cells)

    def _late_cells(self, windower: PanedWid, cells: Cells) -> Iterator[Element]:
        starts = windower.starts_of(cells.panes)
        windower.witness(int(starts.max()))
        closed = self.closed_of(cells.codes)
        verdict = judge(self.window, starts, closed, consistent=self.node.lateness is Lateness.CONSISTENT)
        self.counters.late += int(cells.state.adds[verdict.missed, 0].sum())
        counting, starts, closed = cells.take(verdict.counts), starts[verdict.counts], closed[verdict.counts]
        if len(counting) == 0:
            return
        if isinstance(self.window, Landmark):
            yield from self._report(self.closed, counting.codes)
            self.results.first = min(self.results.first, int(closed.min()))
            windower.put(replace(counting, panes=(closed - self.window.origin) // windower.pane))
            return
        passed = starts < self.closed
        if passed.any():
            windower.amend_cells(counting.take(passed).each_once(windower.layout), self.grouping.count)
        if not passed.all():
            windower.put(counting.take(~passed))

    # Punctuations in

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        self.bound = check_advance(self.bound, punctuation.value)
        closed = self._boundary(punctuation.value)
        if closed <= self.closed:
            return
        if self.revisions is not None:
            yield from self.revisions.flush()
        self.closed = closed
        if self.smoothing is not None and self.ahead is None and closed != END:
            yield from self.smoothing.ask(closed, self._promise(closed))
            return
        yield from self._report(closed)
        if self.early is not None and closed == END:
            yield from self.early.finish()
        if self.ahead is not None and self.ahead.forget_below(closed):
            self.ahead = None
        if self.algorithm.trial is None:
            self._compact()
        yield promise_of(self.node, self.held_back(self._promise(closed)))

    def _compact(self) -> None:
        """Forget values and groups that no one knows any more."""
        self.grouping.forget_values(self.windower)
        if self.node.emit is not Emit.EMPTY:  # which knows the last window of every group
            self.grouping.compact(
                self.windower, *(k for k in (self.revisions, self.ahead, self.early) if k is not None)
            )

    def punctuate_groups(self, punctuations: GroupPunctuations, port: int = 0) -> Iterable[Element]:
        """The windows of some groups close while those of the others stay open."""
        closed = Grid(self.window.origin, self.window.slide).rounded_down(punctuations.values)
        news = replace(punctuations, values=closed).above(self.closed)
        if len(news) == 0:
            return
        if self.revisions is not None:
            yield from self.revisions.flush()
        if self.smoothing is not None:
            yield from self.smoothing.finish()
        if self.ahead is None:
            self.ahead = Ahead(self.grouping, self.node)
        yield from self._report_groups(self.ahead, self.ahead.advance(news))
        self.windower.forget_reported(self.ahead.reported)
        promises = np.array([self.held_back(self._promise(c)) for c in news.values.tolist()], np.int64)
        yield from passed_on(self.node, self.passes, news, promises)

    def _promise(self, closed: int) -> int:
        """The least end of a result to come. Landmark windows beyond the last row so far wait for a row, maybe late."""
        if closed == END:
            return END
        following = closed + self.window.slide
        if isinstance(self.window, Landmark) and self.results.first != END:
            last = max(
                self.windower.last_window(closed), (self.results.first - self.window.origin) // self.window.slide
            )
            following = min(following, end_of(self.window, last + 1))
        return following - self.within

    def held_back(self, promise: int) -> int:
        """What is left of a promise because empty windows of a group wait for the next row of it."""
        earliest = self.results.reported.earliest
        return promise if promise == END or earliest is None else min(promise, end_of(self.window, earliest + 1))

    def _boundary(self, bound: int) -> int:
        if bound == END:
            return END
        return end_of(self.window, last_closed(self.window, bound))

    def _report(self, bound: int, concerned: Codes = NO_CODES) -> Iterator[Element]:
        """The windows that are closed for all groups; for those concerned also what is closed for them alone."""
        ahead = self.ahead
        if self.smoothing is not None:
            yield from self.smoothing.finish()
        if self.algorithm.skips_to(bound):
            return
        for closed in self.windower.close(bound, self.grouping.count):
            if ahead is not None:
                codes = closed.answers.codes
                ahead.grow()
                closed = closed.take(np.flatnonzero(closed.answers.windows > ahead.reported[codes]))
            yield from self.given(closed)
        if ahead is not None and len(concerned):
            yield from self._report_groups(ahead, np.unique(concerned))

    def _report_groups(self, ahead: Ahead, codes: Codes) -> Iterator[Element]:
        """The windows up to the boundaries of single groups that were not reported before."""
        codes = codes[ahead.boundaries(codes, START) != START]
        if len(codes) == 0:
            return
        chosen = np.zeros(self.grouping.count, np.bool_)
        chosen[codes] = True
        part = self.windower.extract(chosen)
        bound = int(ahead.closed[codes].max())
        over = last_closed(self.window, bound) >= part.last_window(END)
        for closed in part.close(END if over else bound, self.grouping.count):
            windows, owners = closed.answers.windows, closed.answers.codes
            news = windows > np.maximum(ahead.reported[owners], self.windower.reported)
            news &= windows <= last_closed(self.window, ahead.closed[owners])
            yield from self.given(closed.take(np.flatnonzero(news)))
        done = last_closed(self.window, ahead.closed[codes])
        if isinstance(self.window, Landmark):  # windows beyond the last row so far wait for a row
            done = np.minimum(done, self.windower.last_window(END))
        ahead.reported[codes] = np.maximum(ahead.reported[codes], done)

    def given(self, closed: Closed) -> Iterator[Element]:
        """Answers of closed windows, those of them that are reported."""
        if len(closed.answers) == 0:
            return
        chosen = self.results.chosen(closed)
        if self.early is not None:
            yield from self.early.settle(chosen)
        yield from self.results.batches(chosen)

    def open_answers(self) -> Iterator[Closed]:
        """The windows not reported yet, as they are now."""
        part = self.windower.extract(np.ones(self.grouping.count, np.bool_))
        for closed in part.close(END, self.grouping.count):
            end = ends(self.window, closed.answers.windows)
            still_open = end > self.closed_of(closed.answers.codes)
            chosen = self.results.chosen(closed.take(np.flatnonzero(still_open)))
            if len(chosen.answers):
                yield chosen

    # State

    @property
    def state_bytes(self) -> int:
        return self.algorithm.nbytes

    @property
    def open_windows(self) -> int:
        return self.algorithm.open_windows

    def facts(self) -> dict[str, Any]:
        """What it knows besides tables, for the saved state."""
        return {
            "choice": self.algorithm.to_json(),
            "bounds": [self.bound, self.closed, self.results.first],
            "last_reported": self.results.reported.windows.tolist(),
            "revisions": self.revisions.to_json() if self.revisions is not None else None,
            "due": self.smoothing.to_json() if self.smoothing is not None else None,
        }

    def set_facts(self, facts: dict[str, Any]) -> None:
        self.bound, self.closed, self.results.first = facts["bounds"]
        self.results.reported.windows = np.array(facts["last_reported"], np.int64)
        if self.revisions is not None:
            self.revisions.from_json(facts["revisions"])
        if self.smoothing is not None:
            self.smoothing.from_json(facts["due"])

    def state(self) -> dict[str, Saved]:
        return window_state.save(self) | window_state.nested(ahead=self.ahead, early=self.early)

    def restore(self, tables: dict[str, pa.Table]) -> None:
        check_flush("windower.stripes" in tables, self.smoothing is not None)
        self.algorithm.take_up(*window_state.facts_of(tables)["choice"])
        window_state.load(self, tables)
        if known := window_state.under("ahead", tables):
            self.ahead = Ahead(self.grouping, self.node)
            self.ahead.restore(known)
        if self.early is not None:
            self.early.restore(window_state.under("early", tables))
