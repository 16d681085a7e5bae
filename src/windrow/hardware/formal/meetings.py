"""Which rows of a handshake array meet: each pair that is in both windows at once does, once, and no other pair.

Rows carry their number in the stream, so that a pair says who met. Which side each row is of is free.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Meetings(wiring.Component):
    """`bad` rises when two rows meet that should not, or again; when a pair is missing; in cycle `last` if not done.

    `left_rows` and `right_rows` are the windows, in rows. Where `waits` is set, gaps and a reader that is not ready are
    tried too; then nothing need be done by cycle `last`.
    """

    def __init__(
        self, array: wiring.Component, *, rows: int, left_rows: int, right_rows: int, last: int, waits: bool = False
    ) -> None:
        self.array, self.rows, self.windows, self.last, self.waits = array, rows, (left_rows, right_rows), last, waits
        ports: dict[str, Any] = {"sides": In(rows)}
        if waits:
            ports |= {"offers": In(1), "ready": In(1)}
        ports |= {"takes": Out(1), "row": Out(array.input.payload.shape())}
        super().__init__({**ports, "gives": Out(1), "pair": Out(array.output.payload.shape()), "bad": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.array = self.array
        self._feed(m, self._kept_sides(m))
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

    def _kept_sides(self, m: Module) -> Signal:
        """Which rows are right ones, as the first cycle has it."""
        is_first, kept, sides = Signal(init=1), Signal(self.rows), Signal(self.rows)
        m.d.sync += is_first.eq(0)
        with m.If(is_first):
            m.d.sync += kept.eq(self.sides)
        m.d.comb += sides.eq(Mux(is_first, self.sides, kept))
        self.kept = sides
        return sides

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
        missed, refused = [], []
        for left in range(self.rows):
            for right in range(self.rows):
                met = Signal(name=f"met_{left}_{right}")
                now = Signal(name=f"now_{left}_{right}")
                m.d.comb += now.eq(self.gives & ~pair.done & (pair.left == left) & (pair.right == right))
                m.d.sync += met.eq(met | now)
                expected = self._is_due(left, right)
                refused.append(now & (met | ~expected))
                missed.append(expected & ~met)
        m.d.comb += [wrong.eq(Cat(refused).any()), missing.eq(Cat(missed).any())]

    def _is_due(self, left: int, right: int) -> Value:
        """Whether the earlier of two rows is still among the last ones of its side when the later comes."""
        earlier, later, side = (left, right, 0) if left < right else (right, left, 1)
        between = [self.kept[place] == side for place in range(earlier + 1, later)]
        is_pair = (~self.kept[left] & self.kept[right]) if left != right else Value.cast(0)
        return (is_pair & (sum(between, Value.cast(0)) < self.windows[side]))[0]
