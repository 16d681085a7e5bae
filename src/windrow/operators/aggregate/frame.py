"""The window aggregate: groups rows, judges lateness, drives a window algorithm, reports what it closes.

All kinds of windows run in this one frame and differ in their algorithm, behind `Windower`. Early results, corrections
of paned windows and smoothing are parts that are there where they were asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Integers
from windrow.operators.aggregate.algorithm import Algorithm, StrategyTrial, windowing_of
from windrow.operators.aggregate.early_results import Early
from windrow.operators.aggregate.grouping import Grouping
from windrow.operators.aggregate.partials import Partials, SharedCells, merged
from windrow.operators.aggregate.results import WindowResults
from windrow.operators.aggregate.smoothing import Smoothing, check_flush
from windrow.operators.base import Batch, Counters, EarlyRows, Element, GroupPunctuations, LateRows, Operator
from windrow.operators.input.policy import as_late_rows
from windrow.operators.late.bounds import passed_on
from windrow.operators.late.judging import Verdicts, below, late_batch, late_schema
from windrow.operators.late.revisions import Revisions
from windrow.operators.state.changes import Saved, nested, under
from windrow.operators.store.budget import Budget
from windrow.operators.windows.base import Closed, Keeper, Windower
from windrow.operators.windows.extents import first_windows
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.operators.windows.numbered import NumberedWindows
from windrow.physical.how import EAGER, Flush, When
from windrow.physical.planner import Choice
from windrow.plan.checks.windows import lag_of
from windrow.plan.nodes import Late, Lateness, WindowAggregate
from windrow.plan.types.kinds import Shape
from windrow.semantics.progress.policies import END, START, Punctuation
from windrow.semantics.windows.kinds import Emit, Landmark, RowsWindow, Sliding


class WindowAggregateOperator(Operator):
    """Windows of any kind, aggregated by group."""

    makes_results = True

    def __init__(
        self,
        node: WindowAggregate,
        shape: Shape,
        output: Shape,
        choice: Choice,
        *,
        trial: StrategyTrial | None = None,
        threads: int = 1,
        within: int = 0,
        passes: frozenset[str] = frozenset(),
        early: int = 0,
        flush: Flush = EAGER,
    ) -> None:
        """`passes` are the columns out by which windows above can use promises for single groups.

        With a trial, the first rows choose the algorithm.
        """
        self.node = node
        self.grouping = Grouping(node, shape)
        self.within = within
        self.bounds, self._rows, make = windowing_of(node, shape, self.grouping, threads=threads, within=within)
        self.smoothing = smooth = None if flush.when is When.EAGER else Smoothing(self, flush)
        self.algorithm = Algorithm(make if smooth is None else lambda _: smooth.windower, choice, trial)
        self.late_schema = late_schema(shape.schema, shape.time)
        self.passes = frozenset() if isinstance(node.window, RowsWindow) else passes
        self.counters = Counters()
        self.results = WindowResults(node, self.grouping, output.schema, self.counters)
        self.promised = START
        """What was promised of the results so far."""
        corrects = node.late is Late.REVISE and isinstance(node.window, Sliding)  # sessions do it themselves
        self.revisions = Revisions(self) if corrects else None
        self.early = Early(self, early) if early else None

    @property
    def windower(self) -> Windower:
        known = self.algorithm.running
        return self.algorithm.windower(self.grouping.count) if known is None else known

    # Rows in

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        return self._take(batch) if self.early is None else self.early.among(batch.compact(), self._take)

    def _take(self, batch: Batch) -> Iterator[Element]:
        if batch.selected is not None and not batch.selected.any():
            return
        rows = self._rows(batch, self.algorithm.regrow)
        self.counters.rows_in += len(rows)
        if len(rows) == 0:
            return
        self.refuse_leap(rows.times)
        met = self.bounds.met(batch, rows)
        if met is None:
            yield from self._in_time(rows)
            return
        late = below(rows.times, met)
        if not late.all():
            yield from self._in_time(rows.take(~late) if late.any() else rows)
        if late.any():
            yield from self._late(batch, rows.take(late), np.flatnonzero(late), met[late])

    def _in_time(self, rows: GroupedRows) -> Iterator[Element]:
        self.results.first = min(self.results.first, rows.span[0])
        yield from self._given(self.algorithm.add(rows, self.grouping.count))
        if self.bounds.by_arrival:  # rows themselves end windows
            yield from self._moved_on()

    def refuse_leap(self, times: Integers) -> None:
        """Refuse rows, in order of arrival, that would have landmark windows written without end."""
        if isinstance(self.node.window, Landmark):
            assert isinstance(self.windower, NumberedWindows)
            self.results.reported.refuse_leap(first_windows(self.node.window, times), self.windower.last_window(END))

    def _late(self, batch: Batch, rows: GroupedRows, places: Integers, met: Integers) -> Iterator[Element]:
        """Rows below the bounds they met: into the windows still open, and into the book of what was missed.

        Where the bound has moved since the last punctuation, the windows below its new place are reported first.
        """
        moved = batch.bounds is not None and bool(met[-1] > self.bounds.closed)
        if moved:
            self.windower.expect(rows, met, self.grouping.count)
            self.bounds.advance(int(met[-1]))
            yield from self._close()
        verdict = self.judged(rows, met)
        self.counters.late += int(np.count_nonzero(verdict.missed))
        if self.node.late is Late.REVISE:
            self.counters.uncorrected += int(np.count_nonzero(verdict.absent))
        counting = rows.take(verdict.counts)
        if len(counting):
            yield from self.before_late()
            taken = self.windower.take_late(counting, met[verdict.counts], self.bounds, self.grouping.count)
            yield from self._given(taken)
        yield from self._absent(batch, verdict, places)
        if moved:
            yield from self._moved_on()

    def judged(self, rows: GroupedRows, met: Integers) -> Verdicts:
        """What became of rows below the bounds they met; what they make wrong is noted, if it is to be corrected."""
        self.windower.witness(rows.span[1])
        verdict = self.windower.judge(rows, met, consistent=self.node.lateness is Lateness.CONSISTENT)
        return verdict if self.revisions is None else self.revisions.note(rows, verdict, met)

    def before_late(self) -> Iterator[Element]:
        """Late rows count in no landmark window that waits to be given."""
        if self.smoothing is not None and isinstance(self.node.window, Landmark):
            yield from self.smoothing.finish()

    def _absent(self, batch: Batch, verdict: Verdicts, places: Integers) -> Iterator[Element]:
        """Rows that are missing in a window for good."""
        if self.node.late is not Late.DROP and verdict.absent.any():
            absent = np.flatnonzero(verdict.absent)
            data = batch.compact().data.take(arrow(places[absent]))
            yield LateRows(late_batch(data, verdict.details(absent), batch.source, self.late_schema))

    def set_aside(self, early: EarlyRows, port: int = 0) -> Iterable[Element]:
        """Rows that are too far ahead: in no window, and given where late ones are."""
        batch = early.batch.compact()
        self.counters.early += len(batch)
        if len(batch) and self.node.late is not Late.DROP:
            yield as_late_rows(batch, self.late_schema)

    def merge(self, partials: Partials | SharedCells) -> Iterable[Element]:
        """Cells made of rows elsewhere: what `process` does, for the rows behind them."""
        return merged(self, partials)

    def witness(self, latest: int) -> None:
        """A row of this time came, maybe to another operator that shares the groups of the query with this one.

        The last landmark window depends on the rows of all groups. START: there was no row.
        """
        if latest != START:
            self.windower.witness(latest)

    # Punctuations in

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        if self.revisions is not None and self.bounds.closes(punctuation.value):
            yield from self.revisions.flush()
        if not self.bounds.advance(punctuation.value):
            return
        closed = self.bounds.closed
        if self.smoothing is not None and self.bounds.ahead is None and closed != END:
            yield from self.smoothing.ask(closed, self._promise(closed))
            return
        yield from self._close()
        if self.early is not None and closed == END:
            yield from self.early.finish()
        yield from self._moved_on()

    def punctuate_groups(self, punctuations: GroupPunctuations, port: int = 0) -> Iterable[Element]:
        """The windows of some groups close while those of the others stay open."""
        news = self.bounds.news(punctuations)
        if len(news) == 0:
            return
        if self.revisions is not None:
            yield from self.revisions.flush()
        if self.smoothing is not None:
            yield from self.smoothing.finish()
        ahead, moved = self.bounds.advance_groups(news)
        yield from self._given(self.windower.close_groups(moved, ahead, self.grouping.count))
        if self.passes:
            promises = [self._held_back(self._promise(closed)) for closed in news.values.tolist()]
            yield from passed_on(self.node, self.passes, news, np.array(promises, np.int64))

    def _close(self) -> Iterator[Element]:
        """Report the windows that are closed for all groups."""
        if self.smoothing is not None:
            yield from self.smoothing.finish()
        if not self.algorithm.skips_to(self.bounds.closed):
            yield from self._given(self.windower.close(self.bounds.closed, self.grouping.count))

    def _moved_on(self) -> Iterator[Element]:
        """Windows were reported: forget what is no longer needed, and promise what holds now."""
        self.bounds.forget()
        if self.algorithm.trial is None:
            self._compact(self.windower)
        yield from self.promise(self._promise(self.bounds.closed))
        if self.algorithm.trial is None:
            self.windower.seal_rows()

    def _compact(self, windower: Windower) -> None:
        """Forget values and groups without state; EMIT EMPTY keeps the last window of every group."""
        self.grouping.forget_values(windower)
        windower.forget(self.bounds.closed, self.results.reported.earliest)
        if windower.keeps_groups or (self.node.emit is Emit.EMPTY and windower.has_gaps):
            return
        ahead = None if isinstance(self.node.window, RowsWindow) else self.bounds.ahead  # that one knows partitions
        keepers: tuple[Keeper | None, ...] = (ahead, self.revisions, self.early)
        self.grouping.compact(windower, *(keeper for keeper in keepers if keeper is not None))

    # Results and promises out

    def _given(self, answers: Iterable[Closed]) -> Iterator[Element]:
        for closed in answers:
            yield from self.given(closed)

    def given(self, closed: Closed) -> Iterator[Element]:
        """Answers of closed windows, those of them that are reported."""
        if self.bounds.ahead is not None:
            closed = self.bounds.ahead.unreported(closed)
        if len(closed.answers) == 0:
            return
        chosen = self.results.chosen(closed, self.windower)
        if self.early is not None:
            yield from self.early.settle(chosen)
        yield from self.results.batches(chosen, self.windower)

    def open_answers(self) -> Iterator[Closed]:
        """The windows not reported yet, as they are now."""
        for closed in self.windower.open_answers(self.grouping.count):
            found = self.windower.placed(closed)
            assert found.ends is not None
            still_open = np.flatnonzero(found.ends > self.bounds.of(found.answers.codes))
            chosen = self.results.chosen(found.take(still_open), self.windower)
            if len(chosen.answers):
                yield chosen

    def _promise(self, closed: int) -> int:
        """The least end of a result to come, when windows up to `closed` are; START when that is not known."""
        if closed == END:
            return END
        following = self.algorithm.next_end(closed, self.grouping.count)
        return following if following == START else following - self.within

    def promise(self, end: int) -> Iterator[Punctuation]:
        """The promise that no result to come ends before this, if it is more than was promised."""
        end = self._held_back(end)
        if end > self.promised:
            self.promised = end
            yield Punctuation(end if end == END else end - lag_of(self.node))

    def _held_back(self, end: int) -> int:
        """What is left of a promise because empty windows of a group wait for the next row of it."""
        earliest = self.results.reported.earliest
        if end == END or earliest is None:
            return end
        waiting = self.windower.end_after(earliest)
        return end if waiting is None else min(end, waiting)

    # What metrics ask

    def lost_rows(self, port: int) -> int:
        return self.counters.uncorrected if self.node.late is Late.REVISE else self.counters.late

    @property
    def budgets(self) -> tuple[Budget, ...]:
        sealing = self.grouping.plan.sealing
        return () if sealing is None else (sealing.budget,)

    @property
    def state_bytes(self) -> int:
        return self.algorithm.nbytes

    @property
    def open_windows(self) -> int:
        return self.algorithm.open_windows

    @property
    def settled(self) -> list[str] | None:
        has_choice = isinstance(self.node.window, (Sliding, Landmark)) and self.algorithm.trial is None
        return self.algorithm.to_json() if has_choice else None

    @property
    def waiting_and_evicted(self) -> tuple[int, int]:
        if self.smoothing is None:
            return 0, 0
        return self.smoothing.windower.waiting, self.smoothing.windower.low.collisions

    # State

    def state(self) -> dict[str, Saved]:
        """Groups, widths of state columns, counters, the algorithm's own tables and those of the parts there are."""
        parts: dict[str, Any] = {"windower.": self.windower, "ahead.": self.bounds.ahead, "early.": self.early}
        tables = nested({prefix: part.state() for prefix, part in parts.items() if part is not None})
        tables["groups"] = self.grouping.groups.saved()
        for i, values in enumerate(self.grouping.plan.values.values()):
            tables[f"known{i}"] = values.known.saved()
        facts: dict[str, Any] = {
            "layout": self.grouping.plan.layout.to_json(),
            "counters": vars(self.counters),
            "choice": self.algorithm.to_json(),
            "bounds": self.bounds.to_json(),
            "first": self.results.first,
            "promised": self.promised,
            "last_reported": self.results.reported.windows.tolist(),
            "revisions": self.revisions.to_json() if self.revisions is not None else None,
            "due": self.smoothing.to_json() if self.smoothing is not None else None,
        }
        tables["facts"] = pa.table({"json": [json.dumps(facts)]})
        return tables

    def restore(self, tables: dict[str, pa.Table]) -> None:
        check_flush("windower.stripes" in tables, self.smoothing is not None)
        facts: dict[str, Any] = json.loads(tables["facts"]["json"][0].as_py())
        plan = self.grouping.plan
        self.algorithm.take_up(*facts["choice"])
        plan.layout.from_json(facts["layout"])
        self.windower.regrow(lambda table: plan.layout.empty(len(table)))
        vars(self.counters).update(facts["counters"])
        self.grouping.groups.restore(tables["groups"])
        for i, values in enumerate(plan.values.values()):
            values.known.restore(tables[f"known{i}"])
        self.windower.restore(under("windower.", tables))
        self.bounds.restore(facts["bounds"], under("ahead.", tables))
        self.results.first, self.promised = facts["first"], facts["promised"]
        self.results.reported.windows = np.array(facts["last_reported"], np.int64)
        if self.revisions is not None:
            self.revisions.from_json(facts["revisions"])
        if self.smoothing is not None:
            self.smoothing.from_json(facts["due"])
        if self.early is not None:
            self.early.restore(under("early.", tables))
