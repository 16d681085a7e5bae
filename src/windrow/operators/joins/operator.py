"""OA-Join: the window join that needs no order. Rows pass at once; punctuations let state go.

A row looks for partners among what is kept of the other side, and is kept itself only while one may still come. A row
below what its own side promised is late and joins nothing. Which rows meet is thus a matter of their times alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import tabled
from windrow.aggregates.kinds.base import Integers
from windrow.operators.base import Batch, Element
from windrow.operators.joins.base import SIDES, PairJoin
from windrow.operators.joins.encoding import Encoded, Flags, Probes
from windrow.operators.joins.probing import Match, New, Prober
from windrow.operators.joins.progress import first_met, promise, stay_of
from windrow.operators.joins.results import Picked
from windrow.operators.joins.runs import RunLayout
from windrow.operators.joins.store import JoinStore
from windrow.operators.state.changes import Saved, State
from windrow.plan.conditions import Conditions
from windrow.plan.nodes import Join
from windrow.plan.types.kinds import Shape
from windrow.semantics.joins import LEFT, RIGHT, AsOf, JoinKind, LastRows, SameWindow
from windrow.semantics.progress.policies import END, START, Punctuation, check_advance


class JoinOperator(PairJoin):
    """Pairs of new rows with those that are kept."""

    def __init__(
        self,
        node: Join,
        shapes: tuple[Shape, Shape],
        output: Shape,
        conditions: Conditions,
        *,
        threads: int = 1,
        passes: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(node, shapes, output, conditions, passes)
        assert not isinstance(node.window, AsOf)
        self.window = node.window
        self.prober = Prober(self.columns, threads, pairs=not node.kind.is_half)
        self.held: list[JoinStore] = [self._store(side) for side in (LEFT, RIGHT)]
        self.counts = [0, 0]
        """Rows of each side so far, by which windows of rows are counted."""

    def _store(self, side: int) -> JoinStore:
        window, marks = self.window, self.marks(side)
        stay = (window.left, window.right)[side] if isinstance(window, LastRows) else stay_of(window, side)
        origin = window.origin if isinstance(window, SameWindow) else 0
        layout, forgets = RunLayout.of(self.encoders[side]), marks and self.node.kind.is_half
        return JoinStore(layout, stay, origin=origin, marks=marks, forgets=forgets, sealing=self.sealing)

    # Rows in

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        by_arrival = isinstance(self.window, LastRows)  # then no row is late
        batch, late = self.in_time(batch, port, START if by_arrival else self.bounds[port])
        yield from late
        yield from self.admit(batch, port)

    def admit(self, batch: Batch, port: int) -> Iterator[Element]:
        """Join rows that are in time, and keep those that can still meet others."""
        if len(batch) == 0:
            return
        rows, picked = self.taken_in(batch, port)
        met = np.zeros(len(rows), np.bool_) if self.held[port].marks else None
        numbers = None if rows.alive is None else np.flatnonzero(rows.alive)
        yield from self._joined(rows, picked, numbers, port, met)
        if self.node.kind is JoinKind.SEMI and met is not None:
            yield from self._alone(picked.take(np.flatnonzero(met)), port)
        yield from self._kept(rows, picked, met, port)
        yield from self.counted(self.results.flush())

    def _kept(self, rows: Encoded, picked: Picked, met: Flags | None, port: int) -> Iterator[Element]:
        """Rows that can still meet one are kept, those without a partner that cannot are given."""
        places = self._places(rows, port)
        limit = self._limit(port)
        alive = places >= limit if limit != END else np.zeros(len(rows), np.bool_)
        if rows.alive is not None:
            alive &= rows.alive
        if met is not None and self.node.kind is not JoinKind.SEMI:
            yield from self._alone(picked.take(np.flatnonzero(~alive & ~met)), port)
        if met is not None and self.node.kind.is_half:
            alive &= ~met
        self._keep(Encoded(places, rows.words, rows.bands), picked, met, alive, port)
        if isinstance(self.window, LastRows):
            yield from self._leaving(port)

    def _keep(self, rows: Encoded, picked: Picked, met: Flags | None, alive: Flags, port: int) -> None:
        kept = np.flatnonzero(alive)
        if len(kept) == 0 or picked.times is None:
            return
        times = picked.times[kept]
        if len(kept) < len(rows):
            rows, picked = rows.take(kept), picked.take(kept)
            met = None if met is None else met[kept]
        marks = None if met is None else met.view(np.uint8).copy()
        self.held[port].add(rows, picked.data, int(times.min()), marks)

    def _places(self, rows: Encoded, port: int) -> Integers:
        """Where rows lie in their windows: at their times, or at their numbers, which are given to them here."""
        if not isinstance(self.window, LastRows):
            return rows.times
        start = self.counts[port]
        self.counts[port] += len(rows)
        return np.arange(start, self.counts[port])

    def _limit(self, side: int) -> int:
        """Rows of a side below this place can meet no row to come."""
        if not isinstance(self.window, LastRows):
            return first_met(self.window, 1 - side, self.bounds[1 - side])
        size = (self.window.left, self.window.right)[side]
        return END if self.bounds[1 - side] == END else self.counts[side] - size

    # Pairs

    def _probes(self, rows: Encoded, port: int) -> Probes:
        if not isinstance(self.window, LastRows):
            return self.encoders[port].probes(rows, self.window)
        size, count = (self.window.left, self.window.right)[1 - port], self.counts[1 - port]
        first, last = np.full(len(rows), count - size), np.full(len(rows), count - 1)
        return self.encoders[port].probes_between(rows, first, last)

    def _joined(
        self, rows: Encoded, picked: Picked, numbers: Integers | None, port: int, met: Flags | None
    ) -> Iterator[Element]:
        """Pairs of new rows with those that are kept of the other side; `numbers` are the rows that can have any."""
        store = self.held[1 - port]
        if not store.segments or (numbers is not None and len(numbers) == 0):
            return
        probes = self._probes(rows if numbers is None else rows.take(numbers), port)
        for match in self.prober.matches(store, New(port, picked, probes, numbers)):
            if met is not None:
                met[match.mine] = True
            is_half = self.node.kind.is_half
            yield from self.counted(self._first_partners(match, port) if is_half else self._pairs(match))

    def _pairs(self, match: Match) -> Iterator[Batch]:
        if match.run.matched is not None:
            match.run.matched[match.run.rows[match.theirs]] = 1
        yield from self.results.add(match.left, match.right)

    def _first_partners(self, match: Match, port: int) -> Iterator[Batch]:
        """Kept left rows that have now met a partner; they are done with."""
        run = match.run
        if port == LEFT or run.matched is None:
            return
        news = np.unique(match.theirs)
        news = news[run.matched[run.rows[news]] == 0]
        run.matched[run.rows[news]] = 1
        if self.node.kind is JoinKind.SEMI and len(news):
            yield from self.results.add(self.columns.stored(run, news, LEFT), None)

    def _alone(self, rows: Picked, side: int) -> Iterator[Element]:
        """Rows that are given without a partner."""
        if len(rows):
            yield from self.counted(self.results.alone(rows, side))

    # Punctuations in

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        before = self.bounds[LEFT], self.bounds[RIGHT]
        self.bounds[port] = check_advance(self.bounds[port], punctuation.value)
        now = self.bounds[LEFT], self.bounds[RIGHT]
        yield from self._leaving(1 - port)
        yield from self.counted(self.results.flush())
        self.held[port].seal(self.counts[port] if isinstance(self.window, LastRows) else self.bounds[port])
        value = promise(self.node, now, (self._least_of(LEFT), self._least_of(RIGHT)))
        if value > self.promised:
            self.promised = value
            yield Punctuation(value)
        if now == (END, END):
            self.prober.close()
        if self.joint is not None:
            yield from self.joint.promises(before, now, self.promised)
            self.joint.forget_below(min(self._limit(self.joint.other), now[self.joint.other]))

    def _leaving(self, side: int) -> Iterator[Element]:
        """Rows of a side that can meet no row to come; those that never met one are given where that is wanted."""
        for run, rows in self.held[side].leave(self._limit(side)):
            if self.node.kind is not JoinKind.SEMI:
                yield from self._alone(self.columns.stored(run, rows, side), side)

    def _least_of(self, side: int) -> int:
        """The smallest time of a side that a result to come can have."""
        if not isinstance(self.window, LastRows):
            return min(self.bounds[side], self._limit(side))
        # By arrival no row is late, so nothing can be promised until a side has ended.
        return self.held[side].least if self.bounds[side] == END else START

    # State

    def state(self) -> State:
        numbers = [*self.bounds, *self.counts, *self.late, self.promised, *(store.least for store in self.held)]
        tables: dict[str, Saved] = {}
        for name, store in zip(SIDES, self.held, strict=True):
            tables |= store.state(name)
        if self.joint is not None:
            tables["joint"] = tabled(time=self.joint.values)
        return {"bounds": tabled(value=np.array(numbers)), **tables}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        numbers: list[Any] = tables["bounds"]["value"].to_pylist()
        self.bounds, self.counts, self.late, self.promised = numbers[:2], numbers[2:4], numbers[4:6], numbers[6]
        if self.joint is not None:
            self.joint.values = tables["joint"]["time"].to_numpy().copy()
        for side, name in enumerate(SIDES):
            self.held[side] = self._store(side)
            self.held[side].restore(name, tables, numbers[7 + side])
