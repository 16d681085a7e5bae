"""Sort: rows wait until a punctuation passes them, and leave in order. No other operator needs it.

On top of a plan it is ordered output. Below a window it is processing in order, to be compared with: over an input
whose policy is slack, in time or in rows, it is the sort with slack; over a union, which is as far as its slowest
input, it is the union that keeps order (Merge, where Meld lets rows pass).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import tabled
from windrow.operators.base import Batch, Counters, Element, Operator
from windrow.operators.expressions.values import in_types_of
from windrow.operators.late.judging import below
from windrow.operators.state.changes import Saved
from windrow.operators.store.row_block import RowBlock, no_rows
from windrow.operators.store.waiting_rows import WaitingRows
from windrow.plan.nodes import Lateness
from windrow.plan.types.kinds import in_order
from windrow.semantics.progress.policies import START, Punctuation, check_advance


class SortOperator(Operator):
    """With `time`, the name of its column, rows of equal time leave in the order of an answer; else by arrival.

    A row below the bound has missed its place. Consistent: it is late, counted and not passed on. Generous: it
    passes at once, out of order, for the windows above that are still open.
    """

    def __init__(self, schema: pa.Schema, *, time: str | None = None, lateness: Lateness = Lateness.CONSISTENT) -> None:
        self.schema = schema
        self.time = time
        self.lateness = lateness
        self.waiting = WaitingRows(RowBlock({"place": np.empty(0, np.int64)}, no_rows(schema)))
        self.bound = START
        self.counters = Counters()

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        batch = batch.compact()
        batch = Batch(in_types_of(self.schema, batch.data), batch.times, None, batch.source)
        self.counters.rows_in += len(batch)
        late = below(batch.times, self.bound)
        if late.any():
            if self.lateness is Lateness.GENEROUS:
                yield batch.where(late)
            else:
                self.counters.late += int(np.count_nonzero(late))
            batch = batch.where(~late)
        self.waiting.append(RowBlock({"place": batch.times}, batch.data))

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        self.bound = check_advance(self.bound, punctuation.value)
        released = self.waiting.take_below(self.bound)
        if len(released):
            self.counters.results += len(released)
            yield Batch(self._in_order(released.rows), released["place"])
        yield punctuation

    def _in_order(self, data: pa.RecordBatch) -> pa.RecordBatch:
        if self.time is None:
            return data
        (data,) = in_order(pa.Table.from_batches([data]), self.time).combine_chunks().to_batches()
        return data

    @property
    def state_bytes(self) -> int:
        return self.waiting.nbytes

    def state(self) -> dict[str, Saved]:
        return {"bound": tabled(bound=np.array([self.bound])), "waiting": self.waiting.saved_whole()}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self.bound = tables["bound"]["bound"][0].as_py()
        self.waiting.fill(tables["waiting"])
