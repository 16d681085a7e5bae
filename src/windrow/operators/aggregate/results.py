"""From the answers of windows to batches of results: which of them are reported, and with which columns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.operators.aggregate.empty_windows import LastReported
from windrow.operators.aggregate.grouping import Grouping
from windrow.operators.aggregate.lowering import Lowering
from windrow.operators.aggregate.result_times import times_of
from windrow.operators.base import Batch, Counters
from windrow.operators.windows.base import Closed, Windower
from windrow.plan.nodes import Late, WindowAggregate
from windrow.semantics.progress.policies import END
from windrow.semantics.windows.kinds import Emit, ResultKind


class WindowResults:
    """What a window aggregate gives."""

    def __init__(self, node: WindowAggregate, grouping: Grouping, output: pa.Schema, counters: Counters) -> None:
        self.node = node
        self.grouping = grouping
        self.lowering = Lowering(grouping.plan, len(node.keys), output)
        self.counters = counters
        self.first = END
        """The smallest time among rows in time, for EMIT COMPLETE."""
        self.reported = LastReported(node, grouping, output)

    def chosen(self, closed: Closed, windower: Windower) -> Closed:
        """Those of the answers that are reported, with where their windows start and end."""
        closed = windower.placed(closed)
        if self.node.emit is not Emit.COMPLETE:
            return closed
        keep = windower.is_complete(closed, self.first)
        return closed if keep.all() else closed.take(np.flatnonzero(keep))

    def batches(self, closed: Closed, windower: Windower) -> Iterator[Batch]:
        """Chosen answers, and the empty windows before them where these are wanted."""
        if self.node.emit is Emit.EMPTY and windower.has_gaps:
            for empty in self._empties(closed, windower):
                yield self.result(empty)
        if len(closed.answers):
            yield self.result(closed)

    def result(self, closed: Closed) -> Batch:
        """Answers as a batch of the output stream."""
        assert closed.ends is not None
        data = self.rows(closed)
        if self.node.early is not None:
            return self.told(data, closed.ends, ResultKind.FINAL)
        if self.node.late is Late.REVISE:
            number = np.zeros(len(data), np.int32) if closed.revisions is None else closed.revisions.astype(np.int32)
            data = data.append_column("revision", pa.array(number))
        self.counters.results += len(data)
        return Batch(data, times_of(self.node, closed.ends))

    def rows(self, closed: Closed) -> pa.RecordBatch:
        """Answers as rows: keys, bounds, aggregates."""
        assert closed.ends is not None
        return self.lowering.batch(closed, self.grouping.groups, closed.starts, closed.ends)

    def told(self, rows: pa.RecordBatch, ends: Integers, kind: ResultKind) -> Batch:
        """Rows of a query with early results, with what they are."""
        self.counters.results += len(rows)
        data = rows.append_column("kind", pa.array([kind.value] * len(rows), pa.string()))
        return Batch(data, times_of(self.node, ends))

    def _empties(self, closed: Closed, windower: Windower) -> Iterator[Closed]:
        """The windows without rows between two reported ones of the same group."""
        for empty, codes in self.reported.gaps(closed.answers, windower.ends_of):
            yield windower.placed(self.lowering.nothing(empty, codes))
