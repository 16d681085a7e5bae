"""The window aggregate over sessions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.arrays import arrow, tabled
from windrow.aggregates.base import Integers
from windrow.operators import window_state
from windrow.operators.answers import Lowering
from windrow.operators.base import Batch, Counters, Element, GroupPunctuations, LateRows
from windrow.operators.grouping import Grouping
from windrow.operators.lateness import Missed, late_batch, late_schema
from windrow.operators.state.groups import Codes
from windrow.operators.windows.base import Closed
from windrow.operators.windows.session import Sessions, owners
from windrow.plan.nodes import Late, WindowAggregate
from windrow.plan.schema import Shape
from windrow.semantics.progress import END, START, Punctuation, check_advance
from windrow.semantics.windows import Emit, Session


class SessionOperator:
    """Groups rows into sessions; rows below the bound are judged when the next punctuation comes.

    Until then a late row may still be joined to an open session by other rows of the same lull between two
    punctuations, in whatever order they come.
    """

    def __init__(self, node: WindowAggregate, shape: Shape, output: Shape) -> None:
        assert isinstance(node.window, Session)
        assert shape.time is not None
        self.node = node
        self.gap = node.window.gap
        self.grouping = Grouping(node, shape)
        self.windower = Sessions(node.window, self.grouping.plan)
        self.lowering = Lowering(self.grouping.plan, len(node.keys), output.schema)
        self.late_schema = late_schema(shape.schema, shape.time)
        self.bound = START
        self.first = END
        self.suspects: list[tuple[Batch, Integers, Codes]] = []
        """Rows below the bound since the last punctuation."""
        self.counters = Counters()

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        batch = batch.compact()
        self.counters.rows_in += len(batch)
        if len(batch) == 0:
            return ()
        rows = self.grouping.rows(batch, self.windower.regrow)
        self.windower.add(rows, self.grouping.count)
        below = rows.times < self.bound
        if below.any():
            kept = batch.data.filter(pa.array(below))
            suspects = Batch(kept, rows.times[below], None, batch.source)
            self.suspects.append((suspects, rows.times[below], rows.group_codes()[below]))
        if not below.all():
            self.first = min(self.first, int(rows.times[~below].min()))
        return ()

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        bound = check_advance(self.bound, punctuation.value)
        if bound == self.bound:
            return
        for closed in self.windower.close(bound, self.grouping.count):
            chosen = self._chosen(closed)
            if len(chosen.answers):
                yield self._result(chosen)
        yield from self._born_late()
        self.bound = bound
        self.grouping.forget_values(self.windower)
        self.grouping.compact(self.windower)
        yield Punctuation(bound)

    def punctuate_groups(self, punctuations: GroupPunctuations, port: int = 0) -> Iterable[Element]:
        """Sessions wait for the punctuation of all rows."""
        return ()

    def _chosen(self, closed: Closed) -> Closed:
        if self.node.emit is not Emit.COMPLETE:
            return closed
        assert closed.starts is not None
        return closed.take(np.flatnonzero(closed.starts >= self.first))

    def _result(self, closed: Closed) -> Batch:
        assert closed.ends is not None
        order = np.argsort(closed.ends, kind="stable")
        data = self.lowering.batch(closed, self.grouping.groups, closed.starts, closed.ends).take(arrow(order))
        self.counters.results += len(order)
        return Batch(data, closed.ends[order])

    def _born_late(self) -> Iterator[Element]:
        codes, starts, lasts = self.windower.born_late
        for batch, times, row_codes in self.suspects:
            owner = owners(row_codes, times, codes, starts, lasts)
            late = np.flatnonzero(owner >= 0)
            self.counters.late += len(late)
            if len(late) and self.node.late is Late.SIDE:
                ends = lasts[owner[late]] + self.gap
                missed = Missed(self.bound - times[late], np.ones(len(late), np.int64), starts[owner[late]], ends)
                yield LateRows(late_batch(batch.data.take(arrow(late)), missed, batch.source, self.late_schema))
        self.suspects = []

    @property
    def state_bytes(self) -> int:
        return self.windower.nbytes

    @property
    def open_windows(self) -> int:
        return self.windower.open_windows

    def facts(self) -> dict[str, Any]:
        return {"bounds": [self.bound, self.first], "sources": [batch.source for batch, _, _ in self.suspects]}

    def set_facts(self, facts: dict[str, Any]) -> None:
        self.bound, self.first = facts["bounds"]
        self.windower.bound = self.bound

    def state(self) -> dict[str, pa.Table]:
        tables = window_state.save(self)
        for i, (batch, times, codes) in enumerate(self.suspects):
            tables[f"suspects{i}"] = pa.Table.from_batches([batch.data])
            tables[f"places{i}"] = tabled(time=times, code=codes)
        return tables

    def restore(self, tables: dict[str, pa.Table]) -> None:
        sources = window_state.load(self, tables)["sources"]
        for i, source in enumerate(sources):
            places = tables[f"places{i}"]
            times, codes = (np.array(places[name].combine_chunks()) for name in ("time", "code"))
            data = tables[f"suspects{i}"].combine_chunks().to_batches()[0]
            self.suspects.append((Batch(data, times, None, source), times, codes))
