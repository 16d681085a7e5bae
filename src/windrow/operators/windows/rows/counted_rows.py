"""Windows over the last rows: of the stream or of each partition, by arrival or by event time.

By arrival, a window is reported with its last row, and no row is ever late. By event time, rows wait until a
punctuation passes them; then those of each partition are put in order, and counted. A row that comes below the bound
is late: the rows behind its place are counted already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.operators.aggregate.grouping import Grouping
from windrow.operators.base import Batch
from windrow.operators.late.judging import Missed, Verdicts
from windrow.operators.state.changes import Saved
from windrow.operators.state.groups import NO_CODES, Codes, Groups
from windrow.operators.store.row_block import RowBlock, no_rows
from windrow.operators.store.waiting_rows import WaitingRows
from windrow.operators.windows.base import Closed
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.operators.windows.rows.last_rows import RowWindows
from windrow.plan.nodes import WindowAggregate
from windrow.plan.types.expressions import column_type
from windrow.plan.types.kinds import Shape
from windrow.semantics.progress.policies import START
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Emit, RowsWindow

if TYPE_CHECKING:
    from windrow.operators.late.bounds import Bounds, GroupBounds

PIECE = 1 << 16
"""Rows taken at a time, so that they and their cells stay in the cache."""


class CountedRows(RowWindows):
    """Windows of rows. `window_start` and `window_end` are numbers of rows, of the partition where there is one."""

    def __init__(self, node: WindowAggregate, shape: Shape, grouping: Grouping) -> None:
        assert isinstance(node.window, RowsWindow)
        names = [e.name for _, e in node.keys if isinstance(e, Column) and e.name in node.window.partition]
        self.is_key = self.keeps_groups = len(names) == len(node.keys)
        """Whether groups are partitions; these stay, since their rows are counted."""
        super().__init__(node.window, grouping.plan, by_group=self.is_key)
        self.grouping = grouping
        self.length = node.window.range
        self.names: list[str] = names
        self.columns = [shape.schema.get_field_index(name) for name in names]
        self._partitions = Groups([column_type(name, shape.schema) for name in names])
        nothing: dict[str, Any] = {"place": np.empty(0, np.int64), "code": NO_CODES}
        self.waiting = WaitingRows(RowBlock(nothing, no_rows(shape.schema)), by_group=True)
        self.arrived = 0
        self.is_promising = not names and node.emit is not Emit.EMPTY
        """Of partitions, and of empty windows, it is not known which end next."""

    @property
    def partitions(self) -> Groups:
        return self.grouping.groups if self.is_key else self._partitions

    # Rows in

    def rows(self, batch: Batch) -> GroupedRows:
        """Rows of a batch as `add` takes them."""
        batch = batch.compact()
        if self.window.order is None:
            first, self.arrived = self.arrived, self.arrived + len(batch)
            rows = GroupedRows(np.arange(first, self.arrived), NO_CODES, {}, data=batch.data)
            rows.__dict__["span"] = first, self.arrived - 1  # known without looking at the numbers
            return rows
        codes = self._partitions_of(batch)
        codes = codes if len(codes) else np.zeros(len(batch), np.int32)
        return GroupedRows(batch.times, codes, {}, data=batch.data)

    def _partitions_of(self, batch: Batch) -> Codes:
        columns = [batch.data.column(place) for place in self.columns]
        return self.partitions.encode(columns) if columns else NO_CODES

    def add(self, rows: GroupedRows, groups: int) -> Iterable[Closed]:
        assert rows.data is not None
        if self.window.order is None:
            return self._count(Batch(rows.data, rows.times))
        self.waiting.append(RowBlock({"place": rows.times, "code": rows.codes}, rows.data))
        return ()

    def _count(self, batch: Batch) -> Iterator[Closed]:
        """Rows in the order in which they count."""
        for start in range(0, len(batch), PIECE):
            piece = batch.slice(start, min(start + PIECE, len(batch)))
            rows = self.grouping.rows(piece, self.regrow)
            rows.partitions = rows.codes if self.is_key else self._partitions_of(piece)
            self.reserve(self.partitions.count, self.grouping.count)
            yield from self.count_rows(rows)

    def judge(self, rows: GroupedRows, met: Integers, *, consistent: bool) -> Verdicts:
        late = np.ones(len(rows), np.bool_)
        behind = met - rows.times
        return Verdicts(late, late, ~late, lambda places: Missed(behind[places], None, None, None))

    def take_late(self, rows: GroupedRows, met: Integers, bounds: Bounds, groups: int) -> Iterable[Closed]:
        return ()

    # Windows out

    def close(self, bound: int, groups: int) -> Iterator[Closed]:
        yield from self._released(self.waiting.take_below(bound))

    def close_groups(self, codes: Codes, ahead: GroupBounds, groups: int) -> Iterator[Closed]:
        if len(codes):
            yield from self._released(self.waiting.take_groups(ahead.closed))

    def _released(self, rows: RowBlock) -> Iterator[Closed]:
        if len(rows):
            yield from self._count(Batch(rows.rows, rows["place"]))

    def next_end(self, closed: int) -> int:
        if not self.is_promising:
            return START
        return (self.counted_rows // self.window.slide + 1) * self.window.slide

    # What the numbers of windows mean

    def ends_of(self, numbers: Integers) -> Integers:
        return numbers * self.window.slide

    def is_complete(self, closed: Closed, first: int) -> npt.NDArray[np.bool_]:
        """Those that are full."""
        return self.ends_of(closed.answers.places) >= self.window.range

    # Groups and state

    def state(self) -> dict[str, Saved]:
        tables: dict[str, Saved] = {**super().state(), "waiting": self.waiting.saved_whole()}
        return tables if self.is_key else tables | {"partition_keys": self.partitions.saved()}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        if not self.is_key:
            self.partitions.restore(tables["partition_keys"])
        super().restore(tables)
        self.arrived = self.counted_rows
        self.waiting.fill(tables["waiting"])

    @property
    def nbytes(self) -> int:
        return super().nbytes + self.waiting.nbytes
