"""The window aggregate over sessions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.arrays import arrow
from windrow.aggregates.base import Integers
from windrow.operators import window_state
from windrow.operators.answers import Lowering
from windrow.operators.base import Batch, Counters, Element, GroupPunctuations, LateRows
from windrow.operators.group_bounds import GroupBounds, group_names, passed_on
from windrow.operators.grouping import Grouping
from windrow.operators.lateness import late_batch, late_schema
from windrow.operators.session_floors import SessionFloors
from windrow.operators.state.groups import Codes
from windrow.operators.windows.base import Closed, Rows
from windrow.operators.windows.session import Sessions
from windrow.plan.nodes import Late, WindowAggregate
from windrow.plan.schema import Shape
from windrow.semantics.progress import END, START, Punctuation, check_advance
from windrow.semantics.windows import Emit, Session


class SessionOperator:
    """Groups rows into sessions; rows are judged as they come, by what the bounds so far have settled."""

    def __init__(
        self, node: WindowAggregate, shape: Shape, output: Shape, *, passes: frozenset[str] = frozenset()
    ) -> None:
        """`passes` are the columns out by which windows above can use promises for single groups."""
        assert isinstance(node.window, Session)
        assert shape.time is not None
        self.node = node
        self.window = node.window
        self.grouping = Grouping(node, shape)
        self.windower = Sessions(node.window, self.grouping.plan)
        self.lowering = Lowering(self.grouping.plan, len(node.keys), output.schema)
        self.late_schema = late_schema(shape.schema, shape.time)
        self.passes = passes
        self.bound = START
        self.ahead: GroupBounds | None = None
        """The groups whose own promises are ahead of the one for all."""
        self.first = END
        self.past = SessionFloors(node.window.gap)
        self.counters = Counters()

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        batch = batch.compact()
        self.counters.rows_in += len(batch)
        if len(batch) == 0:
            return
        rows = self.grouping.rows(batch, self.windower.regrow)
        if self.ahead is None and rows.span[0] >= self.bound:
            self._take(rows)
            return
        codes = rows.group_codes()
        self._know_groups()
        below = rows.times < self.past.bounds[codes]
        if not below.all():
            self.first = min(self.first, int(rows.times[~below].min()))
        late = rows.times < self.past.floors[codes]
        self.windower.add(rows.take(~late) if late.any() else rows, self.grouping.count)
        yield from self._late(batch, codes, np.flatnonzero(late))

    def _take(self, rows: Rows) -> None:
        """Rows in time."""
        self.first = min(self.first, rows.span[0])
        self.windower.add(rows, self.grouping.count)

    def _late(self, batch: Batch, codes: Codes, late: Integers) -> Iterator[Element]:
        self.counters.late += len(late)
        if self.node.late is Late.SIDE and len(late):
            missed = self.past.missed(batch.times[late], codes[late])
            yield LateRows(late_batch(batch.data.take(arrow(late)), missed, batch.source, self.late_schema))

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        bound = check_advance(self.bound, punctuation.value)
        if bound == self.bound:
            return
        self._know_groups()
        self.bound = bound
        yield from self._settle()
        if self.ahead is not None and self.ahead.forget_below(bound):
            self.ahead = None
        self.grouping.forget_values(self.windower)
        keepers = (self.windower, self.past) if self.ahead is None else (self.windower, self.past, self.ahead)
        self.grouping.compact(*keepers)
        yield Punctuation(bound)

    def punctuate_groups(self, punctuations: GroupPunctuations, port: int = 0) -> Iterable[Element]:
        """The sessions of some groups close while those of the others stay open."""
        news = punctuations.above(self.bound)
        if len(news) == 0:
            return
        if self.ahead is None:
            self.ahead = GroupBounds(group_names(self.node), lambda: self.grouping.groups)
        self._know_groups()
        self.ahead.advance(news)
        yield from self._settle()
        yield from passed_on(self.node, self.passes, news, news.values)

    def _know_groups(self) -> None:
        """Groups that are new since the last bound begin with that one."""
        if len(self.past) < self.grouping.groups.count:
            self.past.grow(self._bounds())

    def _bounds(self) -> Integers:
        """For each group, the bound in force."""
        if self.ahead is None:
            return np.full(self.grouping.groups.count, self.bound)
        return self.ahead.boundaries(np.arange(self.grouping.groups.count, dtype=np.int32), self.bound)

    def _settle(self) -> Iterator[Element]:
        """Bounds have moved: report the sessions that are over. What comes for them from now on is late."""
        bounds = self._bounds()
        for closed in self.windower.close(bounds):
            chosen = self._chosen(closed)
            if len(chosen.answers):
                yield self._result(chosen)
        self.past.advance(bounds, self.windower.closed, self.windower.spans)

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

    @property
    def state_bytes(self) -> int:
        return self.windower.nbytes + self.past.nbytes

    @property
    def open_windows(self) -> int:
        return self.windower.open_windows

    def facts(self) -> dict[str, Any]:
        return {"bounds": [self.bound, self.first]}

    def set_facts(self, facts: dict[str, Any]) -> None:
        self.bound, self.first = facts["bounds"]

    def state(self) -> dict[str, pa.Table]:
        return window_state.save(self) | window_state.nested(ahead=self.ahead, past=self.past)

    def restore(self, tables: dict[str, pa.Table]) -> None:
        window_state.load(self, tables)
        self.past.restore(window_state.under("past", tables))
        if known := window_state.under("ahead", tables):
            self.ahead = GroupBounds(group_names(self.node), lambda: self.grouping.groups)
            self.ahead.restore(known)
