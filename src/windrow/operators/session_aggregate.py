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
from windrow.operators.early_rows import SetsAside
from windrow.operators.group_bounds import GroupBounds, group_names, passed_on
from windrow.operators.grouping import Grouping
from windrow.operators.lateness import Missed, late_batch, late_schema
from windrow.operators.suspects import Suspects
from windrow.operators.windows.base import Closed
from windrow.operators.windows.session import Sessions
from windrow.plan.nodes import Late, WindowAggregate
from windrow.plan.schema import Shape
from windrow.semantics.progress import END, START, Punctuation, check_advance
from windrow.semantics.windows import Emit, Session


class SessionOperator(SetsAside):
    """Groups rows into sessions; rows below the bound of their group are judged when its next bound comes."""

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
        self.suspects = Suspects()
        self.counters = Counters()

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        batch = batch.compact()
        self.counters.rows_in += len(batch)
        if len(batch) == 0:
            return ()
        rows = self.grouping.rows(batch, self.windower.regrow)
        self.windower.add(rows, self.grouping.count)
        codes = rows.group_codes()
        below = rows.times < (self.bound if self.ahead is None else self._bounds()[codes])
        if below.any():
            self.suspects.add(batch, codes, below)
        if not below.all():
            self.first = min(self.first, int(rows.times[~below].min()))
        return ()

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        bound = check_advance(self.bound, punctuation.value)
        if bound == self.bound:
            return
        before, self.bound = self._bounds(), bound
        yield from self._settle(before)
        if self.ahead is not None and self.ahead.forget_below(bound):
            self.ahead = None
        self.grouping.forget_values(self.windower)
        keepers = (self.windower, self.suspects) if self.ahead is None else (self.windower, self.suspects, self.ahead)
        self.grouping.compact(*keepers)
        yield Punctuation(bound)

    def punctuate_groups(self, punctuations: GroupPunctuations, port: int = 0) -> Iterable[Element]:
        """The sessions of some groups close while those of the others stay open."""
        news = punctuations.above(self.bound)
        if len(news) == 0:
            return
        if self.ahead is None:
            self.ahead = GroupBounds(group_names(self.node), lambda: self.grouping.groups)
        before = self._bounds()
        self.ahead.advance(news)
        yield from self._settle(before)
        yield from passed_on(self.node, self.passes, news, news.values)

    def _bounds(self) -> Integers:
        """For each group, the bound in force."""
        if self.ahead is None:
            return np.full(self.grouping.count, self.bound)
        return self.ahead.boundaries(np.arange(self.grouping.groups.count, dtype=np.int32), self.bound)

    def _settle(self, before: Integers) -> Iterator[Element]:
        """Bounds have moved: report the sessions that are over, and the rows that were late for theirs."""
        now = self._bounds()
        for closed in self.windower.close(before, now):
            chosen = self._chosen(closed)
            if len(chosen.answers):
                yield self._result(chosen)
        born_late = self.windower.born_late
        for late, owner in self.suspects.judged(born_late, now > before):
            self.counters.late += len(owner)
            if self.node.late is Late.SIDE:
                ends = born_late.lasts[owner] + self.window.gap
                late_by = before[late.codes] - late.batch.times
                missed = Missed(late_by, np.ones(len(owner), np.int64), born_late.starts[owner], ends)
                yield LateRows(late_batch(late.batch.data, missed, late.batch.source, self.late_schema))

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
        return self.windower.nbytes + self.suspects.nbytes

    @property
    def open_windows(self) -> int:
        return self.windower.open_windows

    def facts(self) -> dict[str, Any]:
        return {"bounds": [self.bound, self.first]}

    def set_facts(self, facts: dict[str, Any]) -> None:
        self.bound, self.first = facts["bounds"]

    def state(self) -> dict[str, pa.Table]:
        return window_state.save(self) | window_state.nested(ahead=self.ahead, suspects=self.suspects)

    def restore(self, tables: dict[str, pa.Table]) -> None:
        window_state.load(self, tables)
        self.suspects.restore(window_state.under("suspects", tables))
        if known := window_state.under("ahead", tables):
            self.ahead = GroupBounds(group_names(self.node), lambda: self.grouping.groups)
            self.ahead.restore(known)
