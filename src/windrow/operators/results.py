"""From the answers of windows to batches of results: which of them are reported, and with which columns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from windrow.aggregates.base import Integers
from windrow.operators.answers import Lowering
from windrow.operators.base import Batch, Counters
from windrow.operators.grouping import Grouping
from windrow.operators.windows.base import Closed
from windrow.operators.windows.extents import ends
from windrow.plan.nodes import Late, WindowAggregate
from windrow.semantics.early import Kind
from windrow.semantics.progress import END, START
from windrow.semantics.windows import Emit, Landmark, Sliding

CHUNK = 1 << 18


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
        self.last_reported: Integers = np.empty(0, np.int64)

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
        return Batch(data, ends(self.window, windows))

    def rows(self, closed: Closed) -> pa.RecordBatch:
        """Answers as rows: keys, bounds, aggregates."""
        end = ends(self.window, closed.answers.windows)
        start = None if isinstance(self.window, Landmark) else end - self.window.range
        return self.lowering.batch(closed, self.grouping.groups, start, end)

    def told(self, rows: pa.RecordBatch, windows: Integers, kind: Kind) -> Batch:
        """Rows of a query with early results, with what they are."""
        self.counters.results += len(rows)
        return Batch(
            rows.append_column("kind", pa.array([kind.value] * len(rows), pa.string())), ends(self.window, windows)
        )

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
