"""From the answers of windows to batches of results: which of them are reported, and with which columns."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.operators.aggregate.empty_windows import LastReported
from windrow.operators.aggregate.grouping import Grouping
from windrow.operators.aggregate.lowering import Lowering
from windrow.operators.aggregate.result_times import times_of
from windrow.operators.base import Batch, Counters
from windrow.operators.windows.base import Closed
from windrow.operators.windows.extents import ends
from windrow.plan.nodes import Late, WindowAggregate
from windrow.semantics.oracle.early_results import Kind
from windrow.semantics.progress.policies import END
from windrow.semantics.windows.kinds import Emit, Landmark, Sliding


class Results:
    """What a window operator gives."""

    def __init__(self, node: WindowAggregate, grouping: Grouping, output: pa.Schema, counters: Counters) -> None:
        assert isinstance(node.window, (Sliding, Landmark))
        self.node = node
        self.window = node.window
        self.grouping = grouping
        self.lowering = Lowering(grouping.plan, len(node.keys), output)
        self.counters = counters
        self.first = END
        """The smallest time among rows in time, for EMIT COMPLETE and for where landmark windows begin."""
        self.reported = LastReported(node, grouping, output)

    def chosen(self, closed: Closed) -> Closed:
        """Those of the answers that are reported."""
        if self.node.emit is not Emit.COMPLETE or isinstance(self.window, Landmark):
            return closed
        starts = ends(self.window, closed.answers.windows) - self.window.range
        keep = starts >= self.first
        return closed if keep.all() else closed.take(np.flatnonzero(keep))

    def batches(self, closed: Closed) -> Iterator[Batch]:
        """Chosen answers, and the empty windows before them where these are wanted."""
        if self.node.emit is Emit.EMPTY:
            for empty in self._empties(closed):
                yield self.result(empty)
        if len(closed.answers):
            yield self.result(closed)

    def result(self, closed: Closed, revision: Integers | None = None) -> Batch:
        """Answers as a batch of the output stream."""
        data, windows = self.rows(closed), closed.answers.windows
        if self.node.early is not None:
            return self.told(data, windows, Kind.FINAL)
        if self.node.late is Late.REVISE:
            number = np.zeros(len(data), np.int32) if revision is None else revision.astype(np.int32)
            data = data.append_column("revision", pa.array(number))
        self.counters.results += len(data)
        return Batch(data, times_of(self.node, ends(self.window, windows)))

    def rows(self, closed: Closed) -> pa.RecordBatch:
        """Answers as rows: keys, bounds, aggregates."""
        end = ends(self.window, closed.answers.windows)
        start = None if isinstance(self.window, Landmark) else end - self.window.range
        return self.lowering.batch(closed, self.grouping.groups, start, end)

    def told(self, rows: pa.RecordBatch, windows: Integers, kind: Kind) -> Batch:
        """Rows of a query with early results, with what they are."""
        self.counters.results += len(rows)
        data = rows.append_column("kind", pa.array([kind.value] * len(rows), pa.string()))
        return Batch(data, times_of(self.node, ends(self.window, windows)))

    def _empties(self, closed: Closed) -> Iterator[Closed]:
        """The windows without rows between two reported ones of the same group."""
        for empty, codes in self.reported.gaps(closed.answers, partial(ends, self.window)):
            yield self.lowering.nothing(empty, codes)
