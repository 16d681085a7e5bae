"""The window aggregate over the last rows: of the stream or of each partition, by arrival or by event time.

By arrival, a window is reported with its last row, and no row is ever late. By event time, rows wait until a
punctuation passes them; then those of each partition are put in order, and counted. A row that comes below the bound
is late: the rows behind its place are counted already.
"""

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
from windrow.operators.late.group_bounds import GroupBounds
from windrow.operators.late.judging import Missed, late_batch, late_schema
from windrow.operators.state.groups import NO_CODES, Codes, Groups
from windrow.operators.state.saving import load_groups, save_groups
from windrow.operators.store.row_block import RowBlock, no_rows
from windrow.operators.store.waiting_rows import WaitingRows
from windrow.operators.windows.base import Closed
from windrow.operators.windows.rows.last_rows import RowWindows
from windrow.plan.nodes import Late, WindowAggregate
from windrow.plan.types.expressions import column_type
from windrow.plan.types.schema import Shape
from windrow.semantics.progress.policies import END, START, Punctuation, check_advance
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Emit, Rows

PIECE = 1 << 16
"""Rows taken at a time, so that their cells stay in the cache."""


class RowsOperator(SetsAside):
    """Windows of rows. `window_start` and `window_end` are numbers of rows, of the partition where there is one."""

    def __init__(self, node: WindowAggregate, shape: Shape, output: Shape) -> None:
        assert isinstance(node.window, Rows)
        self.node = node
        self.window = node.window
        self.grouping = Grouping(node, shape)
        self.windower = RowWindows(node.window, self.grouping.plan)
        names = [e.name for _, e in node.keys if isinstance(e, Column) and e.name in self.window.partition]
        self.is_key = len(names) == len(node.keys)
        """Whether groups are partitions."""
        self.names: list[str] = names
        self.columns = [shape.schema.get_field_index(name) for name in names]
        kinds = [column_type(name, shape.schema) for name in names]
        self.partitions = self.grouping.groups if self.is_key else Groups(kinds)
        self.lowering = Lowering(self.grouping.plan, len(node.keys), output.schema)
        self.late_schema = late_schema(shape.schema, shape.time)
        self.reported = LastReported(node, self.grouping, output.schema)
        nothing: dict[str, Any] = {"place": np.empty(0, np.int64), "code": NO_CODES}
        self.waiting = WaitingRows(RowBlock(nothing, no_rows(shape.schema)), by_group=True)
        self.ahead: GroupBounds | None = None
        """The partitions whose own promises are ahead of the one for all."""
        self.bound, self.promised = START, START
        self.counters = Counters()

    # Rows in

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        batch = batch.compact()
        if self.window.order is None:
            numbers = np.arange(self.counters.rows_in, self.counters.rows_in + len(batch))
            self.counters.rows_in += len(batch)
            yield from self._count(Batch(batch.data, numbers))
            yield from self._promise()
            return
        self.counters.rows_in += len(batch)
        codes = self._partitions_of(batch)
        codes = codes if len(codes) else np.zeros(len(batch), np.int32)
        rows = RowBlock({"place": batch.times, "code": codes}, batch.data)
        bounds: Any = self.bound if self.ahead is None else self.ahead.boundaries(codes, self.bound)
        below = batch.times < bounds
        if below.any():
            late = np.flatnonzero(below)
            yield from self._late(batch, late, np.broadcast_to(bounds, len(batch))[late])
            rows = rows.take(np.flatnonzero(~below))
        self.waiting.append(rows)

    def _late(self, batch: Batch, late: Integers, bounds: Integers) -> Iterator[Element]:
        self.counters.late += len(late)
        if self.node.late is not Late.DROP:
            missed = Missed(bounds - batch.times[late], None, None, None)
            yield LateRows(late_batch(batch.data.take(arrow(late)), missed, batch.source, self.late_schema))

    def _count(self, batch: Batch) -> Iterator[Element]:
        """Rows in the order in which they count."""
        for start in range(0, len(batch), PIECE):
            piece = batch.slice(start, min(start + PIECE, len(batch)))
            rows = self.grouping.rows(piece, self.windower.regrow)
            partitions = rows.codes if self.is_key else self._partitions_of(piece)
            self.windower.reserve(self.partitions.count, self.grouping.count)
            for closed in self.windower.add(rows, partitions):
                yield from self._report(closed)
            self._tidy()

    def _partitions_of(self, batch: Batch) -> Codes:
        return (
            self.partitions.encode([batch.data.column(place) for place in self.columns]) if self.columns else NO_CODES
        )

    def _tidy(self) -> None:
        """Forget values and groups that no window to come holds. Partitions stay: their rows are counted."""
        self.grouping.forget_values(self.windower)
        if not self.is_key and self.node.emit is not Emit.EMPTY:
            self.grouping.compact(self.windower)

    # Punctuations in

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        self.bound = check_advance(self.bound, punctuation.value)
        if self.window.order is not None:
            yield from self._count_released(self.waiting.take_below(self.bound))
        if self.ahead is not None and self.ahead.forget_below(self.bound):
            self.ahead = None
        yield from self._promise()

    def _count_released(self, rows: RowBlock) -> Iterator[Element]:
        if len(rows):
            yield from self._count(Batch(rows.rows, rows["place"]))

    def punctuate_groups(self, punctuations: GroupPunctuations, port: int = 0) -> Iterable[Element]:
        """The rows of some partitions are counted while those of the others wait."""
        known = punctuations.above(self.bound)
        if len(known) == 0 or self.window.order is None:
            return
        if self.ahead is None:
            self.ahead = GroupBounds(self.names, lambda: self.partitions)
        if len(self.ahead.advance(known)):
            yield from self._count_released(self.waiting.take_groups(self.ahead.closed))

    def _promise(self) -> Iterator[Element]:
        """The least end of a result to come, when it grew: of partitions, and of empty windows, nothing is known."""
        promise = END if self.bound == END else START
        if self.bound != END and not self.columns and self.node.emit is not Emit.EMPTY:
            promise = (int(self.windower.counted.sum()) // self.window.slide + 1) * self.window.slide
        if promise > self.promised:
            self.promised = promise
            yield promise_of(self.node, promise)

    # Results

    def _report(self, closed: Closed) -> Iterator[Element]:
        if self.node.emit is Emit.COMPLETE:
            full = closed.answers.windows * self.window.slide >= self.window.range
            closed = closed if full.all() else closed.take(np.flatnonzero(full))
        if self.node.emit is Emit.EMPTY:
            for empty, codes in self.reported.gaps(closed.answers, self._ends):
                yield self._result(self.lowering.nothing(empty, codes))
        if len(closed.answers):
            yield self._result(closed)

    def _ends(self, windows: Integers) -> Integers:
        return windows * self.window.slide

    def _result(self, closed: Closed) -> Batch:
        ends = self._ends(closed.answers.windows)
        data = self.lowering.batch(closed, self.grouping.groups, ends - self.window.range, ends)
        self.counters.results += len(ends)
        return Batch(data, times_of(self.node, ends))

    # State

    @property
    def state_bytes(self) -> int:
        return self.windower.nbytes + self.waiting.nbytes

    @property
    def open_windows(self) -> int:
        return self.windower.open_windows

    def facts(self) -> dict[str, Any]:
        return {"bounds": [self.bound, self.promised], "last_reported": self.reported.windows.tolist()}

    def set_facts(self, facts: dict[str, Any]) -> None:
        self.bound, self.promised = facts["bounds"]
        self.reported.windows = np.array(facts["last_reported"], np.int64)

    def state(self) -> dict[str, pa.Table]:
        own = {} if self.is_key else {"partitions": save_groups(self.partitions)}
        own["waiting"] = self.waiting.table()
        return window_state.save(self) | own | window_state.nested(ahead=self.ahead)

    def restore(self, tables: dict[str, pa.Table]) -> None:
        window_state.load(self, tables)
        if not self.is_key:
            load_groups(self.partitions, tables["partitions"])
        self.waiting.fill(tables["waiting"])
        if known := window_state.under("ahead", tables):
            self.ahead = GroupBounds(self.names, lambda: self.partitions)
            self.ahead.restore(known)
