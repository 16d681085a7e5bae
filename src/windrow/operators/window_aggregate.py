"""The window aggregate: groups rows, judges lateness, drives a window algorithm, gives answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.arrays import arrow
from windrow.aggregates.base import Array, Integers
from windrow.errors import UnsupportedError
from windrow.operators import window_state
from windrow.operators.answers import Lowering
from windrow.operators.base import Batch, Counters, Element, LateRows
from windrow.operators.evaluate import evaluate
from windrow.operators.expressions.values import decoded
from windrow.operators.kernels.panes import compress
from windrow.operators.lateness import judge, late_batch, late_schema, missed_windows
from windrow.operators.revisions import Revisions
from windrow.operators.state.cells import Cells
from windrow.operators.state.groups import Groups
from windrow.operators.state.keys import as_float64, as_int64, validity
from windrow.operators.state.layout import Layout
from windrow.operators.windows.adaptive import AdaptWid
from windrow.operators.windows.base import Closed, Keeper, Plan, Rows, Windower
from windrow.operators.windows.buffer import Buffer
from windrow.operators.windows.extents import end_of, ends, last_closed
from windrow.operators.windows.panes import PanedWid
from windrow.operators.windows.wid import Wid
from windrow.plan.nodes import Late, Lateness, Strategy, WindowAggregate
from windrow.plan.schema import Shape
from windrow.plan.types import type_of
from windrow.semantics.progress import END, START, Punctuation, check_advance
from windrow.semantics.windows import Emit, Landmark, Sliding

if TYPE_CHECKING:
    from windrow.operators.partials import Partials

CHUNK = 1 << 18


class Grouping:
    """What every window operator does with rows first: select, evaluate, encode, lift."""

    def __init__(self, node: WindowAggregate, shape: Shape) -> None:
        self.keys = node.keys
        self.groups = Groups([type_of(expression, shape.schema) for _, expression in node.keys])
        self.plan = Plan(Layout(node.aggregates, shape.schema))

    @property
    def count(self) -> int:
        return max(1, self.groups.count)

    def rows(self, batch: Batch, windower: Windower) -> Rows:
        chosen = batch.selected
        times = batch.times
        if chosen is not None:
            out = np.empty(len(times) + 1, np.int64)
            times = out[: compress(times, chosen, out)]
        codes = self.groups.encode([_chosen(evaluate(e, batch.data), chosen) for _, e in self.keys])
        arrays = {e: _chosen(evaluate(e, batch.data), chosen) for e in self.plan.layout.arguments}
        lifted = self.plan.layout.lift(arrays, times, windower.regrow)
        rows = Rows(times, codes, lifted)
        rows.valid = {e: validity(array) for e, array in arrays.items()}
        rows.keys = {p: v.keys(arrays[p.argument], times) for p, v in self.plan.values.items()}
        rows.numbers = {p: _numbers(arrays[p.argument]) for p in self.plan.custom if p.argument is not None}
        return rows

    def compact(self, *keepers: Keeper) -> None:
        """Forget groups that no one knows any more, once they are most of all."""
        found = self.groups.compacted(lambda: np.unique(np.concatenate([k.codes_in_use() for k in keepers])))
        if found is not None:
            self.groups, mapping = found
            for keeper in keepers:
                keeper.remap(mapping, self.groups.count)

    def forget_values(self, windower: Windower) -> None:
        """Forget values that no open window holds."""
        for part, values in self.plan.values.items():
            values.compact(windower.kept_values(part))


def _chosen(array: Array, chosen: npt.NDArray[np.uint8] | None) -> Array:
    return array if chosen is None else array.filter(pa.array(chosen.view(np.bool_)))


def _numbers(array: Array) -> npt.NDArray[Any]:
    array = decoded(array)
    return as_float64(array) if pa.types.is_floating(array.type) else as_int64(array)


class WindowOperator:
    """Sliding, tumbling and landmark windows."""

    def __init__(
        self,
        node: WindowAggregate,
        shape: Shape,
        output: Shape,
        strategy: Strategy,
        *,
        threads: int = 1,
        within: int = 0,
    ) -> None:
        assert isinstance(node.window, (Sliding, Landmark))
        assert shape.time is not None
        self.node = node
        self.window = node.window
        self.grouping = Grouping(node, shape)
        self.within = within if node.late is Late.REVISE else 0
        self.windower = make_windower(node, self.grouping.plan, strategy, threads=threads, keep=self.within)
        self.output = output.schema
        self.lowering = Lowering(self.grouping.plan, len(node.keys), output.schema)
        self.late_schema = late_schema(shape.schema, shape.time, shape.domain)
        self.bound = START
        self.closed = START
        """The end of the last closed window boundary: rows below it are late."""
        self.first = END
        """The smallest time among rows in time, for EMIT COMPLETE and for where landmark windows begin."""
        self.last_reported: Integers = np.empty(0, np.int64)
        self.revisions = Revisions(self) if node.late is Late.REVISE else None
        self.counters = Counters()

    # Rows in

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        if batch.selected is not None and not batch.selected.any():
            return
        rows = self.grouping.rows(batch, self.windower)
        self.counters.rows_in += len(rows)
        if len(rows) == 0:
            return
        if self.closed == START or rows.span[0] >= self.closed:
            self._add(rows)
            return
        late = rows.times < self.closed
        if not late.all():
            self._add(rows.take(~late))
        yield from self._late(batch, rows, np.flatnonzero(late))

    def _add(self, rows: Rows) -> None:
        self.first = min(self.first, rows.span[0])
        self.windower.witness(rows.span[1])
        self.windower.add(rows, self.grouping.count)

    def _late(self, batch: Batch, rows: Rows, late: npt.NDArray[np.int64]) -> Iterator[Element]:
        """Rows below the closed boundary: into the windows still open, and into the book of what was missed."""
        times = rows.times[late]
        self.windower.witness(int(times.max()))
        consistent = self.node.lateness is Lateness.CONSISTENT
        verdict = judge(self.window, times, self.closed, consistent=consistent)
        self.counters.late += int(np.count_nonzero(verdict.missed))
        absent, counts = verdict.missed, verdict.counts
        if self.revisions is not None:
            absent, counts = self.revisions.note(rows.take(late), verdict)
        yield from self._count(rows.take(late[counts]))
        if self.node.late is not Late.DROP and absent.any():
            yield LateRows(self._missed_batch(batch, rows, late[absent]))

    def _count(self, rows: Rows) -> Iterator[Element]:
        """Late rows into open windows. For landmark windows they count from the boundary on, like rows at it."""
        if len(rows) == 0:
            return
        if isinstance(self.window, Landmark):
            yield from self._report(self.closed)
            clamped = replace(rows, times=np.maximum(rows.times, self.closed))
            self.first = min(self.first, clamped.span[0])
            self.windower.add(clamped, self.grouping.count)
        else:
            self.windower.amend(rows, self.grouping.count)

    def _missed_batch(self, batch: Batch, rows: Rows, late: npt.NDArray[np.int64]) -> pa.RecordBatch:
        missed = missed_windows(self.window, rows.times[late], self.closed)
        data = batch.compact().data.take(arrow(late))
        return late_batch(data, missed, batch.source, self.late_schema)

    # Cells in, made of rows by the low level of a two-level aggregation

    def merge(self, partials: Partials) -> Iterable[Element]:
        """What `process` does with rows, for those behind the cells. `why_not_partial` says where that is the same.

        All rows of a pane are late for the same windows, since windows begin and end where panes do.
        """
        assert isinstance(self.windower, PanedWid)
        self.counters.rows_in += partials.rows
        if len(partials) == 0:
            return
        cells = partials.encoded(self.grouping, self.windower)
        late = self.windower.starts_of(cells.panes) < self.closed
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
        self.first = min(self.first, int(starts.min()))
        windower.witness(int(starts.max()))
        windower.put(cells)

    def _late_cells(self, windower: PanedWid, cells: Cells) -> Iterator[Element]:
        starts = windower.starts_of(cells.panes)
        windower.witness(int(starts.max()))
        verdict = judge(self.window, starts, self.closed, consistent=self.node.lateness is Lateness.CONSISTENT)
        self.counters.late += int(cells.state.adds[verdict.missed, 0].sum())
        counting = cells.take(verdict.counts)
        if len(counting) == 0:
            return
        if isinstance(self.window, Landmark):
            yield from self._report(self.closed)
            self.first = min(self.first, self.closed)
            boundary = (self.closed - self.window.origin) // windower.pane
            windower.put(replace(counting, panes=np.full(len(counting), boundary)))
        else:
            windower.amend_cells(counting, self.grouping.count)

    # Punctuations in

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        refuse_group(punctuation)
        self.bound = check_advance(self.bound, punctuation.value)
        closed = self._boundary(punctuation.value)
        if closed <= self.closed:
            return
        if self.revisions is not None:
            yield from self.revisions.flush()
        self.closed = closed
        yield from self._report(closed)
        self.grouping.forget_values(self.windower)
        if self.node.emit is not Emit.EMPTY:  # which knows the last window of every group
            self.grouping.compact(self.windower, *([] if self.revisions is None else [self.revisions]))
        yield Punctuation(self._promise(closed))

    def _promise(self, closed: int) -> int:
        """The least end of a result to come. Landmark windows beyond the last row so far wait for a row, maybe late."""
        if closed == END:
            return END
        following = closed + self.window.slide
        if isinstance(self.window, Landmark) and self.first != END:
            last = max(self.windower.last_window(closed), (self.first - self.window.origin) // self.window.slide)
            following = min(following, end_of(self.window, last + 1))
        return following - self.within

    def _boundary(self, bound: int) -> int:
        if bound == END:
            return END
        return end_of(self.window, last_closed(self.window, bound))

    def _report(self, bound: int) -> Iterator[Element]:
        for closed in self.windower.close(bound, self.grouping.count):
            chosen = self._chosen(closed)
            if self.node.emit is Emit.EMPTY:
                for empty in self._empties(chosen):
                    yield self.result(empty)
            if len(chosen.answers):
                yield self.result(chosen)

    def _chosen(self, closed: Closed) -> Closed:
        if self.node.emit is not Emit.COMPLETE or isinstance(self.window, Landmark):
            return closed
        starts = ends(self.window, closed.answers.windows) - self.window.range
        keep = starts >= self.first
        return closed if keep.all() else closed.take(np.flatnonzero(keep))

    def result(self, closed: Closed, revision: Integers | None = None) -> Batch:
        """Answers as a batch of the output stream."""
        end = ends(self.window, closed.answers.windows)
        start = None if isinstance(self.window, Landmark) else end - self.window.range
        data = self.lowering.batch(closed, self.grouping.groups, start, end)
        if self.node.late is Late.REVISE:
            number = np.zeros(len(end), np.int32) if revision is None else revision.astype(np.int32)
            data = data.append_column("revision", pa.array(number))
        self.counters.results += len(end)
        return Batch(data, end)

    def _empties(self, closed: Closed) -> Iterator[Closed]:
        """The windows without rows between two reported ones of the same group."""
        windows, codes = closed.answers.windows, closed.answers.codes
        if self.grouping.count > len(self.last_reported):
            more = np.full(2 * self.grouping.count - len(self.last_reported), START, np.int64)
            self.last_reported = np.concatenate([self.last_reported, more])
        order = np.lexsort((windows, codes))
        before = np.empty(len(order), np.int64)
        sorted_codes, sorted_windows = codes[order], windows[order]
        heads = np.ones(len(order), np.bool_)
        heads[1:] = sorted_codes[1:] != sorted_codes[:-1]
        before[1:] = sorted_windows[:-1]
        before[heads] = self.last_reported[sorted_codes[heads]]
        self.last_reported[sorted_codes] = sorted_windows
        gaps = np.where(before == START, 0, sorted_windows - before - 1)
        for i in np.flatnonzero(gaps).tolist():
            for first in range(int(before[i]) + 1, int(sorted_windows[i]), CHUNK):
                empty = np.arange(first, min(first + CHUNK, int(sorted_windows[i])))
                yield self.lowering.nothing(empty, np.full(len(empty), sorted_codes[i], np.int32))

    # State

    @property
    def state_bytes(self) -> int:
        return self.windower.nbytes

    @property
    def open_windows(self) -> int:
        return self.windower.open_windows

    def facts(self) -> dict[str, Any]:
        """What it knows besides tables, for the saved state."""
        return {
            "bounds": [self.bound, self.closed, self.first],
            "last_reported": self.last_reported.tolist(),
            "revisions": self.revisions.to_json() if self.revisions is not None else None,
        }

    def set_facts(self, facts: dict[str, Any]) -> None:
        self.bound, self.closed, self.first = facts["bounds"]
        self.last_reported = np.array(facts["last_reported"], np.int64)
        if self.revisions is not None:
            self.revisions.from_json(facts["revisions"])

    def state(self) -> dict[str, pa.Table]:
        return window_state.save(self)

    def restore(self, tables: dict[str, pa.Table]) -> None:
        window_state.load(self, tables)


def make_windower(
    node: WindowAggregate, plan: Plan, strategy: Strategy, *, threads: int, keep: int
) -> Wid | Buffer | PanedWid:
    """The algorithm of a strategy for sliding and landmark windows."""
    window = node.window
    assert isinstance(window, (Sliding, Landmark))
    if strategy is Strategy.WID and isinstance(window, Sliding):
        return Wid(window, plan)
    if strategy is Strategy.ADAPTIVE and isinstance(window, Sliding):
        return AdaptWid(window, plan)
    if strategy is Strategy.BUFFER:
        return Buffer(window, plan)
    return PanedWid(window, plan, threads=threads, keep=keep)


def refuse_group(punctuation: Punctuation) -> None:
    if punctuation.group is not None:
        raise UnsupportedError(
            "for single groups are not available yet",
            parameter="punctuations",
            value=punctuation.group,
            hint="send punctuations for all groups (group=None)",
        )
