"""Handshake join as an operator: rows go into a chain of workers, and pairs come out of it some time later.

What a join promises of its results holds for what is still in the chain, so a promise waits until the chain is
settled and its pairs are out. That happens only when there is something new to promise, or much to let go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import tabled
from windrow.aggregates.kinds.base import Integers
from windrow.operators.base import Batch, Element
from windrow.operators.handshake.blocks import BlockRows
from windrow.operators.handshake.chain import PAIRS, Found
from windrow.operators.handshake.driver import BLOCK, Driver, MakeLocal
from windrow.operators.handshake.kept import HandshakeRows, load_rows, load_waiting, save_waiting, trial
from windrow.operators.handshake.scanning import Scan
from windrow.operators.joins.base import SIDES, PairJoin
from windrow.operators.joins.encoding import Encoded, Flags
from windrow.operators.joins.progress import first_met, promise
from windrow.operators.joins.results import Picked
from windrow.operators.state.changes import Saved
from windrow.plan.conditions import Conditions
from windrow.plan.nodes import Join
from windrow.plan.types.kinds import Shape
from windrow.semantics.joins import LEFT, RIGHT, AsOf, JoinKind, LastRows
from windrow.semantics.progress.policies import END, Punctuation, check_advance

PIECE = 1 << 14
"""Rows that are put in before pairs are collected: so many wait at most, however large batches are."""
PATIENCE = 16
"""Pieces that come without a promise before all of their pairs are looked for: none waits for longer."""
SPARE = 1 << 14
"""Rows that may lie in a chain after they left their window, whatever the others are."""


class HandshakeJoin(PairJoin):
    """Pairs that workers find, each on its thread."""

    held: tuple[HandshakeRows, HandshakeRows]

    def __init__(
        self,
        node: Join,
        shapes: tuple[Shape, Shape],
        output: Shape,
        conditions: Conditions,
        *,
        threads: int = 1,
        passes: frozenset[str] = frozenset(),
        block: int = BLOCK,
        local: MakeLocal = Scan,
    ) -> None:
        super().__init__(node, shapes, output, conditions, passes)
        assert not isinstance(node.window, (AsOf, LastRows))
        self.window = node.window
        self.settings = threads, block, local
        self.held, self.driver = self._empty()
        self.alive = 0
        """Rows within their windows, when last counted."""
        self.unsettled = 0
        """Pieces since all pairs had met."""
        self.waiting: list[Batch] = []
        """Results that were found as state was saved."""

    def _empty(self) -> tuple[tuple[HandshakeRows, HandshakeRows], Driver]:
        kept = HandshakeRows(self.sealing_of_rows), HandshakeRows(self.sealing_of_rows)
        return kept, Driver(*self.settings, trial(self.columns, kept))

    # Rows in

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        batch, late = self.in_time(batch, port, self.bounds[port])
        yield from late
        for start in range(0, len(batch), PIECE):
            yield from self._emit(self._put(batch.slice(start, min(start + PIECE, len(batch))), port))
            self.unsettled += 1
            yield from self._emit(self._settle() if self.unsettled == PATIENCE else self.driver.outlet.take())

    def _put(self, batch: Batch, port: int) -> Iterator[Found]:
        """Rows that can join something go into the chain; the others have no partner, now and for ever."""
        encoded, picked = self.taken_in(batch, port)
        probes = self.encoders[port].probes(encoded, self.window)
        able = BlockRows.able(encoded, probes)
        if not able.all():
            self._alone(picked.take(np.flatnonzero(~able)), port)
            chosen = np.flatnonzero(able)
            encoded, probes, picked = encoded.take(chosen), probes.take(chosen), picked.take(chosen)
        yield from self.driver.put(port, BlockRows.of(self.held[port].add(picked), encoded, probes))

    # Pairs out

    def _emit(self, found: Iterable[Found] = ()) -> Iterator[Element]:
        """The results of pairs, and all that wait."""
        for lefts, rights in _joined(found):
            yield from self.counted(self._pairs(lefts, rights))
        yield from self.counted(self.waiting)
        self.waiting = []
        yield from self.counted(self.results.flush())

    def _pairs(self, lefts: Integers, rights: Integers) -> Iterator[Batch]:
        """What becomes of pairs for which the predicate holds: they are marked, and given."""
        firsts = self.held[LEFT].mark(lefts) if self.marks(LEFT) else lefts
        if self.marks(RIGHT):
            self.held[RIGHT].mark(rights)
        if not self.node.kind.is_half:
            yield from self.results.add(self.held[LEFT].pick(lefts), self.held[RIGHT].pick(rights))
        elif self.node.kind is JoinKind.SEMI and len(firsts):
            yield from self.results.add(self.held[LEFT].pick(firsts), None)

    def _alone(self, rows: Picked, side: int) -> None:
        """Rows without a partner wait to be given, where that is wanted."""
        if len(rows) and self.marks(side) and self.node.kind is not JoinKind.SEMI:
            self.waiting += self.results.alone(rows, side)

    # Punctuations in

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        before = self.bounds[LEFT], self.bounds[RIGHT]
        self.bounds[port] = check_advance(self.bounds[port], punctuation.value)
        now = self.bounds[LEFT], self.bounds[RIGHT]
        least = min(now[LEFT], self._limit(LEFT)), min(now[RIGHT], self._limit(RIGHT))
        value = max(self.promised, promise(self.node, now, least))
        joint = [] if self.joint is None else list(self.joint.promises(before, now, value))
        if value > self.promised or joint or self._has_much_to_leave():
            yield from self._emit(self._settle())
            self._let_go()
            self._shrink()
        yield from self._emit(self.driver.outlet.take())
        if value > self.promised:
            self.promised = value
            yield Punctuation(value)
        yield from joint
        if now == (END, END):
            self.driver.chain.crew.stop()
        if self.joint is not None:
            self.joint.forget_below(min(self._limit(self.joint.other), now[self.joint.other]))

    def _settle(self) -> Iterator[Found]:
        yield from self.driver.settle()
        self.unsettled = 0

    def _limit(self, side: int) -> int:
        """Rows of a side below this time can meet no row to come."""
        return first_met(self.window, 1 - side, self.bounds[1 - side])

    def _has_much_to_leave(self) -> bool:
        leaving = sum(kept.leaving(self._limit(side)) for side, kept in enumerate(self.held))
        return 2 * leaving > sum(map(len, self.held))

    def _let_go(self) -> None:
        """Rows that can meet no row to come, once all pairs have met."""
        for side in (LEFT, RIGHT):
            for rows in self.held[side].leave(self._limit(side)):
                self._alone(rows, side)
            self.driver.expire(side, self.bounds[1 - side])

    def _rest(self) -> None:
        """Wait for a chain in which all pairs have met."""
        found = list(self._settle())
        assert not found

    def _shrink(self) -> None:
        """Begin again with the rows that can still meet others, if they are few.

        Blocks go in the order in which they came, so one row far ahead keeps all that came after it.
        """
        if self.driver.rows <= 2 * self.alive + SPARE:
            return
        self._rest()
        self.alive = sum(len(self.driver.content(side, self._limit(side))[0]) for side in (LEFT, RIGHT))
        if self.driver.rows > 2 * self.alive + SPARE:
            self._renew(self._saved())

    # State

    @property
    def state_bytes(self) -> int:
        return super().state_bytes + self.driver.nbytes

    def state(self) -> dict[str, Saved]:
        """Between two elements, as if all pairs had met; what they gave waits for the next element."""
        for lefts, rights in _joined(self._settle()):
            self.waiting += self._pairs(lefts, rights)
        self._let_go()
        self._rest()  # letting go moves blocks again, and only a chain at rest can be read
        self.waiting += self.results.flush()
        numbers = [*self.bounds, *self.late, self.promised]
        tables: dict[str, Saved] = {"bounds": tabled(value=np.array(numbers))}
        tables["waiting"] = save_waiting(self.waiting, self.results.output)
        for side, name in enumerate(SIDES):
            ids, columns = self.driver.content(side, self._limit(side))
            if len(ids):
                tables |= self.held[side].saved_apart(name, ids, columns)
        if self.joint is not None:
            tables["joint"] = tabled(time=self.joint.values)
        return tables

    def restore(self, tables: dict[str, pa.Table]) -> None:
        numbers: list[int] = tables["bounds"]["value"].to_numpy().tolist()
        self.bounds, self.late, self.promised = numbers[:2], numbers[2:4], numbers[4]
        self.waiting = load_waiting(tables["waiting"])
        if self.joint is not None:
            self.joint.values = tables["joint"]["time"].to_numpy().copy()
        self._renew(tables)

    def _saved(self) -> dict[str, pa.Table]:
        """The rows in a settled chain that can still meet others, of each side in one table."""
        tables = {}
        for side, name in enumerate(SIDES):
            ids, columns = self.driver.content(side, self._limit(side))
            if len(ids):
                tables[name] = self.held[side].saved(ids, columns)
        return tables

    def _renew(self, tables: dict[str, pa.Table]) -> None:
        self.held, self.driver = self._empty()
        for side, name in enumerate(SIDES):
            if name in tables:
                self.adopt(side, *load_rows(name, tables, self.encoders[side], self.sealing))

    def adopt(self, side: int, encoded: Encoded, picked: Picked, done: Flags) -> None:
        """Rows of a side that held none, oldest first, all of whose pairs have met."""
        probes = self.encoders[side].probes(encoded, self.window)
        self.driver.restore(side, BlockRows.of(self.held[side].add(picked, done), encoded, probes))


def _joined(found: Iterable[Found]) -> Iterator[Found]:
    """Pairs, many at a time."""
    lefts: list[Integers] = []
    rights: list[Integers] = []
    for left, right in found:
        lefts.append(left)
        rights.append(right)
        if sum(map(len, lefts)) >= PAIRS:
            yield np.concatenate(lefts), np.concatenate(rights)
            lefts, rights = [], []
    if lefts:
        yield np.concatenate(lefts), np.concatenate(rights)
