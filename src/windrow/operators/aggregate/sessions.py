"""The window aggregate over sessions."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Integers
from windrow.operators.aggregate import saving as window_state
from windrow.operators.aggregate.grouping import Grouping
from windrow.operators.aggregate.lowering import Lowering
from windrow.operators.base import Batch, Counters, Element, GroupPunctuations, LateRows
from windrow.operators.input.early_rows import SetsAside
from windrow.operators.late.group_bounds import GroupBounds, group_names, passed_on
from windrow.operators.late.judging import late_batch, late_schema
from windrow.operators.late.session_floors import SessionFloors
from windrow.operators.late.session_revisions import SessionRevisions
from windrow.operators.state.changes import Saved
from windrow.operators.state.groups import Codes
from windrow.operators.windows.base import Closed, Rows
from windrow.operators.windows.sessions.open_sessions import Sessions
from windrow.operators.windows.sessions.revised_sessions import RevisedSessions
from windrow.plan.nodes import Late, WindowAggregate
from windrow.plan.types.schema import Shape
from windrow.semantics.progress.policies import END, START, Punctuation, check_advance
from windrow.semantics.windows.kinds import Emit, Session


class SessionOperator(SetsAside):
    """Groups rows into sessions; rows are judged as they come, by what the bounds so far have settled."""

    def __init__(
        self,
        node: WindowAggregate,
        shape: Shape,
        output: Shape,
        *,
        within: int = 0,
        passes: frozenset[str] = frozenset(),
    ) -> None:
        """`passes` are the columns out by which windows above can use promises for single groups."""
        assert isinstance(node.window, Session)
        assert shape.time is not None
        self.node = node
        self.window = node.window
        self.grouping = Grouping(node, shape)
        self.within = within if node.late is Late.REVISE else 0
        self.past = SessionFloors(node.window.gap, self.within)
        self.revisions: SessionRevisions | None = None
        self.windower = self._windower()
        self.lowering = Lowering(self.grouping.plan, len(node.keys), output.schema)
        self.late_schema = late_schema(shape.schema, shape.time)
        self.passes = passes
        self.bound = START
        self.ahead: GroupBounds | None = None
        """The groups whose own promises are ahead of the one for all."""
        self.first = END
        self.counters = Counters()

    def _windower(self) -> Sessions:
        if self.node.late is not Late.REVISE:
            return Sessions(self.window, self.grouping.plan)
        windower = RevisedSessions(self.window, self.grouping.plan)
        self.revisions = SessionRevisions(windower, SessionFloors(self.window.gap))
        return windower

    @property
    def judging(self) -> SessionFloors:
        """What rows are late for as they come; under LATE REVISE they may still count."""
        return self.past if self.revisions is None else self.revisions.past

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
        below = rows.times < self.judging.bounds[codes]
        if not below.all():
            self.first = min(self.first, int(rows.times[~below].min()))
        self.counters.late += int(np.count_nonzero(rows.times < self.judging.floors[codes]))
        absent = rows.times < self.past.floors[codes]
        self.windower.add(rows.take(~absent) if absent.any() else rows, self.grouping.count)
        yield from self._absent(batch, codes, np.flatnonzero(absent))

    def _take(self, rows: Rows) -> None:
        """Rows in time."""
        self.first = min(self.first, rows.span[0])
        self.windower.add(rows, self.grouping.count)

    def _absent(self, batch: Batch, codes: Codes, absent: Integers) -> Iterator[Element]:
        """Rows that are in no session."""
        if self.node.late is not Late.DROP and len(absent):
            missed = self.past.missed(batch.times[absent], codes[absent])
            yield LateRows(late_batch(batch.data.take(arrow(absent)), missed, batch.source, self.late_schema))

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
        self.grouping.compact(self.windower, *(part for part in self._parts().values() if part is not None))
        yield Punctuation(bound if bound == END else bound - self.within)

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
        yield from passed_on(self.node, self.passes, news, self.past.final(news.values))

    def _know_groups(self) -> None:
        """Groups that are new since the last bound begin with that one."""
        for past in (self.past, self.judging):
            if len(past) < self.grouping.groups.count:
                past.grow(self._bounds())

    def _bounds(self) -> Integers:
        """For each group, the bound in force."""
        if self.ahead is None:
            return np.full(self.grouping.groups.count, self.bound)
        return self.ahead.boundaries(np.arange(self.grouping.groups.count, dtype=np.int32), self.bound)

    def _settle(self) -> Iterator[Element]:
        """Bounds have moved: report the sessions that are over. What comes for them from now on is late."""
        bounds = self._bounds()
        final = self.windower.close(self.past.final(bounds))
        if self.revisions is None:
            yield from self._given(final)
        else:
            yield from self._given(self.revisions.report(bounds))
            deque(final, 0)
        self.past.advance(bounds, self.windower.closed, self.windower.spans)

    def _given(self, answers: Iterable[Closed]) -> Iterator[Element]:
        for closed in answers:
            chosen = self._chosen(closed)
            if len(chosen.answers):
                yield self._result(chosen)

    def _chosen(self, closed: Closed) -> Closed:
        if self.node.emit is not Emit.COMPLETE:
            return closed
        assert closed.starts is not None
        return closed.take(np.flatnonzero(closed.starts >= self.first))

    def _result(self, closed: Closed) -> Batch:
        assert closed.ends is not None
        order = np.argsort(closed.ends, kind="stable")
        data = self.lowering.batch(closed, self.grouping.groups, closed.starts, closed.ends)
        if closed.revisions is not None:
            data = data.append_column("revision", pa.array(closed.revisions.astype(np.int32)))
        data = data.take(arrow(order))
        self.counters.results += len(order)
        return Batch(data, closed.ends[order])

    @property
    def state_bytes(self) -> int:
        known = self.past.nbytes if self.revisions is None else self.past.nbytes + self.revisions.past.nbytes
        return self.windower.nbytes + known

    @property
    def open_windows(self) -> int:
        return self.windower.open_windows

    def facts(self) -> dict[str, Any]:
        return {"bounds": [self.bound, self.first]}

    def set_facts(self, facts: dict[str, Any]) -> None:
        self.bound, self.first = facts["bounds"]

    def _parts(self) -> dict[str, GroupBounds | SessionFloors | None]:
        """What it knows of groups, by the names in its state."""
        judging = None if self.revisions is None else self.revisions.past
        return {"past": self.past, "judging": judging, "ahead": self.ahead}

    def state(self) -> dict[str, Saved]:
        return window_state.save(self) | window_state.nested(**self._parts())

    def restore(self, tables: dict[str, pa.Table]) -> None:
        window_state.load(self, tables)
        if window_state.under("ahead", tables):
            self.ahead = GroupBounds(group_names(self.node), lambda: self.grouping.groups)
        for name, part in self._parts().items():
            if part is not None:
                part.restore(window_state.under(name, tables))
