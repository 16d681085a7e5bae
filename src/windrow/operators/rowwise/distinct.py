"""DupElim: each different row once. Rows pass at once; what was seen is forgotten as the punctuation passes it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow, tabled
from windrow.aggregates.kinds.base import Integers
from windrow.operators.base import Batch, Counters, Element, GroupPunctuations, Operator
from windrow.operators.late.judging import below
from windrow.operators.state.changes import Saved
from windrow.operators.state.groups import Groups
from windrow.physical.nodes import Grid
from windrow.semantics.progress.policies import END, START, Punctuation


class DupElim(Operator):
    """The progressing attribute is one of the columns, so equal rows have equal times.

    Whether a row below the bound was there before is no longer known, so it is late: counted, not passed on. The bound
    moves along the grid of the windows above, however much finer the promises below are.
    """

    def __init__(self, schema: pa.Schema, grid: Grid) -> None:
        self.schema = schema
        self.grid = grid
        self.seen = Groups(schema.types)
        self.times: Integers = np.empty(0, np.int64)
        self.bound = START
        self.counters = Counters()

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        batch = self._in_time(batch.compact())
        if len(batch) == 0:
            return
        known = self.seen.count
        codes = self.seen.encode(batch.data.columns)
        fresh, first = np.unique(codes, return_index=True)
        first = first[fresh >= known]
        grown = np.empty(self.seen.count, np.int64)
        grown[: len(self.times)] = self.times
        grown[codes[first]] = batch.times[first]
        self.times = grown
        first.sort()
        self.counters.filtered += len(batch) - len(first)
        if len(first):
            yield Batch(batch.data.take(arrow(first)), batch.times[first], None, batch.source)

    def _in_time(self, batch: Batch) -> Batch:
        late = below(batch.times, self.bound)
        self.counters.rows_in += len(batch)
        self.counters.late += int(np.count_nonzero(late))
        return batch.where(~late) if late.any() else batch

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        value = self.grid.round_down(punctuation.value)
        if value <= self.bound:
            return
        self.bound = value
        keep = np.flatnonzero(self.times >= self.bound) if self.bound != END else np.empty(0, np.int64)
        if 2 * len(keep) < len(self.times):
            rows = self.seen.decode(keep.astype(np.int32))
            self.seen, self.times = Groups(self.schema.types), self.times[keep]
            self.seen.encode(rows)
        yield Punctuation(value)

    def punctuate_groups(self, punctuations: GroupPunctuations, port: int = 0) -> Iterable[Element]:
        """What was seen is forgotten by the punctuation for all rows alone; windows above may use more."""
        yield punctuations

    @property
    def state_bytes(self) -> int:
        return self.times.nbytes * (1 + len(self.schema))

    def state(self) -> dict[str, Saved]:
        return {
            "seen": self.seen.saved(),
            "times": tabled(time=self.times),
            "bound": tabled(bound=np.array([self.bound])),
        }

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self.seen.restore(tables["seen"])
        self.times = np.array(tables["times"]["time"].combine_chunks())
        self.bound = tables["bound"]["bound"][0].as_py()
