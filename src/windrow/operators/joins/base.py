"""What joins have in common: late rows, and what is made of the plan before rows come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from windrow.operators.base import Batch, Counters, EarlyRows, Element, LateRows, Operator
from windrow.operators.input.policy import as_late_rows
from windrow.operators.joins.asof_rows import AsOfRows
from windrow.operators.joins.encoding import Encoded, Encoder
from windrow.operators.joins.progress import Joint
from windrow.operators.joins.results import JoinColumns, JoinResults, Picked
from windrow.operators.joins.store import JoinStore
from windrow.operators.late.judging import Missed, below, late_batch, late_schema_of_join
from windrow.operators.store.budget import Budget
from windrow.operators.store.row_store import RowStore
from windrow.operators.store.sealing import Sealing, sealing_of
from windrow.plan.checks.joins import schema_of
from windrow.plan.conditions import Conditions
from windrow.plan.nodes import Join, Late
from windrow.plan.types.kinds import Shape
from windrow.semantics.joins import LEFT, RIGHT
from windrow.semantics.progress.policies import START

SIDES = ("left", "right")


class AnyJoin(Operator):
    """Port 0 takes the left rows, port 1 the right ones.

    Rows below what their own side had promised as they came are late and join nothing. They are counted by side, and
    given where that was asked for.
    """

    makes_results = True
    held: Sequence[JoinStore | RowStore | AsOfRows]
    """What is kept of each side."""

    def __init__(self, node: Join, shapes: tuple[Shape, Shape]) -> None:
        self.node = node
        self.late_schema = late_schema_of_join(node, shapes)
        self.late = [0, 0]
        self.bounds = [START, START]
        """What each side has promised."""
        self.counters = Counters()
        self.sealing = sealing_of(node.compression)
        """How rows are kept that stay; None: as they came."""

    @property
    def sealing_of_rows(self) -> Sealing | None:
        """How they are where they are in a store of rows."""
        return None if self.sealing is None else self.sealing.of_fewer()

    def late_rows(self, port: int) -> int:
        return self.late[port]

    @property
    def stored_rows(self) -> int:
        return sum(map(len, self.held))

    @property
    def budgets(self) -> tuple[Budget, ...]:
        return () if self.sealing is None else (self.sealing.budget,)

    @property
    def state_bytes(self) -> int:
        return sum(rows.nbytes for rows in self.held)

    def in_time(self, batch: Batch, port: int, bound: int) -> tuple[Batch, list[LateRows]]:
        """The rows that are in time, and the others as they are given; all of them are counted."""
        batch = batch.compact()
        self.counters.rows_in += len(batch)
        bounds = np.broadcast_to(bound if batch.bounds is None else np.maximum(batch.bounds, bound), len(batch))
        late = below(batch.times, bounds)
        if not late.any():
            return batch, []
        count = int(np.count_nonzero(late))
        self.counters.late += count
        self.late[port] += count
        if self.node.late is not Late.SIDE:
            return batch.where(~late), []
        missed = Missed((bounds - batch.times)[late], None, None, None)
        rows = late_batch(self._widened(batch.where(late), port), missed, batch.source, self.late_schema)
        return batch.where(~late), [LateRows(rows)]

    def _widened(self, batch: Batch, port: int) -> pa.RecordBatch:
        """Rows of either side, with NULL in the columns of the other."""
        kinds = [self.late_schema.field(c.name).type for c in self.node.names]
        columns = [
            batch.data.column(c.source) if c.side == port else pa.nulls(len(batch), kind)
            for c, kind in zip(self.node.names, kinds, strict=True)
        ]
        return pa.record_batch(columns, names=[c.name for c in self.node.names])

    def set_aside(self, early: EarlyRows, port: int = 0) -> Iterable[Element]:
        """Rows that are too far ahead join nothing; they are given like late ones."""
        batch = early.batch.compact()
        self.counters.early += len(batch)
        if len(batch) and self.node.late is Late.SIDE:
            yield as_late_rows(batch, self.late_schema, self._widened(batch, port))


class PairJoin(AnyJoin):
    """A join that gives pairs, by an index or by a chain of workers."""

    def __init__(
        self,
        node: Join,
        shapes: tuple[Shape, Shape],
        output: Shape,
        conditions: Conditions,
        passes: frozenset[str] = frozenset(),
    ) -> None:
        """`passes` are the columns out by which windows above can use promises for single groups."""
        super().__init__(node, shapes)
        left, right = (Encoder(conditions, side, schema_of(node, shapes)) for side in (LEFT, RIGHT))
        self.encoders = (left, right)
        self.columns = JoinColumns(node, shapes, conditions, left)
        self.results = JoinResults(self.columns, output.schema)
        self.joint = Joint.of(node, shapes, passes)
        self.promised = START

    def marks(self, side: int) -> bool:
        """Whether it matters if rows of a side have met a partner."""
        return side in self.node.kind.outer_sides or (self.node.kind.is_half and side == LEFT)

    def taken_in(self, batch: Batch, port: int) -> tuple[Encoded, Picked]:
        """What is looked up of rows, and what is kept of them."""
        if self.joint is not None and self.joint.other == port:
            self.joint.note(batch.times)
        data = self.columns.renamed(batch.data, port)
        return self.encoders[port].encode(data, batch.times), self.columns.pick(data, batch.times, port)

    def counted(self, batches: Iterable[Batch]) -> Iterator[Element]:
        for batch in batches:
            self.counters.results += len(batch)
            yield batch
