"""Windows over the last rows: of the stream or of each partition, by arrival or by event time.

By arrival, a window is reported with its last row, and no row is ever late. By event time, rows wait until a
punctuation passes them; then those of each partition are put in order, and counted. A row that comes below the bound
is late: the rows behind its place are counted already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers, Values
from windrow.operators.aggregate.grouping import Grouping
from windrow.operators.base import Batch
from windrow.operators.late.judging import Missed, Verdicts
from windrow.operators.state.changes import Saved
from windrow.operators.state.groups import NO_CODES, Codes, Groups
from windrow.operators.state.layout import Table
from windrow.operators.state.saving import load_groups, save_groups
from windrow.operators.store.row_block import RowBlock, no_rows
from windrow.operators.store.waiting_rows import WaitingRows
from windrow.operators.windows.base import Closed, GroupedRows, Windower
from windrow.operators.windows.rows.last_rows import RowWindows
from windrow.operators.windows.rows.rings import Rings
from windrow.plan.nodes import WindowAggregate
from windrow.plan.types.expressions import column_type
from windrow.plan.types.schema import Shape
from windrow.semantics.progress.policies import START
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows import kinds
from windrow.semantics.windows.kinds import Emit

if TYPE_CHECKING:
    from windrow.operators.aggregate.bounds import Bounds
    from windrow.operators.late.group_bounds import GroupBounds

PIECE = 1 << 16
"""Rows taken at a time, so that their cells stay in the cache."""


@dataclass
class PartitionedRows(GroupedRows):
    """Rows with the partition that each counts in; those that are to wait have it as their code, and are not lifted."""

    partitions: Codes = field(default_factory=lambda: NO_CODES)
    data: pa.RecordBatch | None = None

    def take(self, rows: Any) -> PartitionedRows:
        part = super().take(rows)
        partitions = self.partitions[rows] if len(self.partitions) else self.partitions
        data = None if self.data is None else self.data.take(pa.array(np.arange(len(self))[rows]))
        return PartitionedRows(
            part.times, part.codes, part.lifted, part.keys, part.valid, part.numbers, partitions, data
        )


class CountedRows(Windower):
    """Windows of rows. `window_start` and `window_end` are numbers of rows, of the partition where there is one."""

    def __init__(self, node: WindowAggregate, shape: Shape, grouping: Grouping) -> None:
        assert isinstance(node.window, kinds.RowsWindow)
        self.window = node.window
        self.grouping = grouping
        self.plan = grouping.plan
        self.inner = RowWindows(node.window, grouping.plan)
        names = [e.name for _, e in node.keys if isinstance(e, Column) and e.name in self.window.partition]
        self.names: list[str] = names
        self.is_key = len(names) == len(node.keys)
        """Whether groups are partitions."""
        self.columns = [shape.schema.get_field_index(name) for name in names]
        self._partitions = Groups([column_type(name, shape.schema) for name in names])
        nothing: dict[str, Any] = {"place": np.empty(0, np.int64), "code": NO_CODES}
        self.waiting = WaitingRows(RowBlock(nothing, no_rows(shape.schema)), by_group=True)
        self.arrived = 0
        self.is_promising = not names and node.emit is not Emit.EMPTY
        """Of partitions, and of empty windows, nobody knows which end next."""

    @property
    def partitions(self) -> Groups:
        return self.grouping.groups if self.is_key else self._partitions

    # Rows in

    def rows(self, batch: Batch) -> GroupedRows:
        """Rows of a batch as `add` takes them."""
        batch = batch.compact()
        if self.window.order is None:
            numbers = np.arange(self.arrived, self.arrived + len(batch))
            self.arrived += len(batch)
            return self._grouped(Batch(batch.data, numbers))
        codes = self._partitions_of(batch)
        codes = codes if len(codes) else np.zeros(len(batch), np.int32)
        return PartitionedRows(batch.times, codes, {}, data=batch.data)

    def _grouped(self, batch: Batch) -> PartitionedRows:
        rows = self.grouping.rows(batch, self.regrow)
        partitions = rows.codes if self.is_key else self._partitions_of(batch)
        return PartitionedRows(rows.times, rows.codes, rows.lifted, rows.keys, rows.valid, rows.numbers, partitions)

    def _partitions_of(self, batch: Batch) -> Codes:
        columns = [batch.data.column(place) for place in self.columns]
        return self.partitions.encode(columns) if columns else NO_CODES

    def add(self, rows: GroupedRows, groups: int) -> Iterable[Closed]:
        assert isinstance(rows, PartitionedRows)
        if self.window.order is None:
            return self._count(rows)
        assert rows.data is not None
        self.waiting.append(RowBlock({"place": rows.times, "code": rows.codes}, rows.data))
        return ()

    def _count(self, rows: PartitionedRows) -> Iterator[Closed]:
        """Rows in the order in which they count."""
        self.inner.reserve(self.partitions.count, self.grouping.count)
        for start in range(0, len(rows), PIECE):
            piece = rows if len(rows) <= PIECE else rows.take(slice(start, start + PIECE))
            yield from self.inner.add(piece, piece.partitions)

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
            yield from self._count(self._grouped(Batch(rows.rows, rows["place"])))

    def next_end(self, closed: int) -> int:
        if not self.is_promising:
            return START
        return (self.inner.counted_rows // self.window.slide + 1) * self.window.slide

    # What the numbers of windows mean

    @property
    def length(self) -> int:
        return self.window.range

    def ends_of(self, numbers: Integers) -> Integers:
        return numbers * self.window.slide

    def end_after(self, number: int) -> int:
        return (number + 1) * self.window.slide

    def is_complete(self, closed: Closed, first: int) -> npt.NDArray[np.bool_]:
        """Those that are full."""
        return self.ends_of(closed.answers.windows) >= self.window.range

    # Groups and state

    @property
    def keeps_groups(self) -> bool:
        """Partitions stay: their rows are counted."""
        return self.is_key

    def regrow(self, convert: Callable[[Table], Table]) -> None:
        self.inner.regrow(convert)

    def codes_in_use(self) -> Codes:
        return self.inner.codes_in_use()

    def remap(self, mapping: Codes, groups: int) -> None:
        self.inner.remap(mapping, groups)

    def kept_values(self, part: Values) -> Rings:
        return self.inner.values[part]

    def state(self) -> dict[str, Saved]:
        tables: dict[str, Saved] = {**self.inner.state(), "waiting": self.waiting.table()}
        return tables if self.is_key else tables | {"partition_keys": save_groups(self.partitions)}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        if not self.is_key:
            load_groups(self.partitions, tables["partition_keys"])
        self.inner.restore(tables)
        self.arrived = self.inner.counted_rows
        self.waiting.fill(tables["waiting"])

    @property
    def nbytes(self) -> int:
        return self.inner.nbytes + self.waiting.nbytes

    @property
    def open_windows(self) -> int:
        return self.inner.open_windows
