"""Which rows of a handshake array meet: each pair that is in both windows at once does, once, and no other pair.

Rows carry their number in the stream, so that a pair says who met. Which side each row is of is free, and so is the one
pair that is watched: what is true of any pair is true of all, and a solver has far less to keep than with all of them.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from windrow.hardware.formal.standing_inputs import as_at_first


class Meetings(wiring.Component):
    """`bad` rises when the watched rows meet and should not, or again; when they have not met in the end; in cycle
    `last` if not done.

    `left_rows` and `right_rows` are the windows, in rows. Where `waits` is set, gaps and a reader that is not ready are
    tried too; then nothing need be done by cycle `last`.
    """

    def __init__(
        self, array: wiring.Component, *, rows: int, left_rows: int, right_rows: int, last: int, waits: bool = False
    ) -> None:
        self.array, self.rows, self.windows, self.last, self.waits = array, rows, (left_rows, right_rows), last, waits
        self.sizes = tuple(len(array.output.payload[side]) for side in ("left", "right"))
        ports: dict[str, Any] = {"sides": In(rows), "left": In(self.sizes[0]), "right": In(self.sizes[1])}
        if waits:
            ports |= {"offers": In(1), "ready": In(1)}
        ports |= {"takes": Out(1), "row": Out(array.input.payload.shape())}
        super().__init__({**ports, "gives": Out(1), "pair": Out(array.output.payload.shape()), "bad": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.array = self.array
        self.kept, *self.watched = as_at_first(m, self.sides, self.left, self.right)
        self._feed(m, self.kept)
        pair = self.array.output.payload
        done, cycle = Signal(), Signal(range(self.last + 2))
        with m.If(cycle <= self.last):
            m.d.sync += cycle.eq(cycle + 1)
        wrong, missing = Signal(), Signal()
        self._watch(m, pair, wrong, missing)
        m.d.sync += done.eq(done | self.gives & pair.done)
        overdue = (cycle == self.last) & ~done if not self.waits else 0
        after = self.gives & done
        m.d.comb += self.bad.eq(wrong | (self.gives & pair.done & missing) | after | overdue)
        return m

    def _feed(self, m: Module, sides: Signal) -> None:
        """The rows one after another, and then the end."""
        source, drain = self.array.input, self.array.output
        place, holds = Signal(range(self.rows + 2)), Signal()
        m.d.comb += [
            source.valid.eq((place <= self.rows) & ((self.offers | holds) if self.waits else 1)),
            source.payload.last.eq(place == self.rows),
            source.payload.right.eq(sides.bit_select(place, 1) & (place < self.rows)),
            source.payload.data.eq(Mux(place < self.rows, place, 0)),
            drain.ready.eq(self.ready if self.waits else 1),
            self.takes.eq(source.valid & source.ready),
            self.gives.eq(drain.valid & drain.ready),
            Value.cast(self.row).eq(Mux(self.takes, Value.cast(source.payload), 0)),
            Value.cast(self.pair).eq(Mux(self.gives, Value.cast(drain.payload), 0)),
        ]
        m.d.sync += [place.eq(place + self.takes), holds.eq(source.valid & ~source.ready)]

    def _watch(self, m: Module, pair: Any, wrong: Signal, missing: Signal) -> None:
        left, right = self.watched
        met, now, due = Signal(), Signal(), Signal()
        places = [(one, other) for one in range(self.rows) for other in range(self.rows)]
        expected = [(left == one) & (right == other) & self._is_due(one, other) for one, other in places]
        m.d.comb += [
            now.eq(self.gives & ~pair.done & (pair.left == left) & (pair.right == right)),
            due.eq(Cat(expected).any()),
            wrong.eq(now & (met | ~due)),
            missing.eq(due & ~met),
        ]
        m.d.sync += met.eq(met | now)

    def _is_due(self, left: int, right: int) -> Value:
        """Whether the earlier of two rows is still among the last ones of its side when the later comes."""
        earlier, later, side = (left, right, 0) if left < right else (right, left, 1)
        between = [self.kept[place] == side for place in range(earlier + 1, later)]
        is_pair = (~self.kept[left] & self.kept[right]) if left != right else Value.cast(0)
        return (is_pair & (sum(between, Value.cast(0)) < self.windows[side]))[0]
