"""Circuits that are small enough to know what they do, with the ports of the large ones."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

ELEMENT = data.StructLayout({"last": 1, "value": 70})
SUM = data.StructLayout({"done": 1, "total": 80})


class Running(wiring.Component):
    """Gives the running total of every value, a cycle later, and `done` for the last element.

    `rows` counts what was taken. With `forgets` a result is lost when the next element comes before it was read.
    """

    def __init__(self, *, forgets: bool = False) -> None:
        self.forgets = forgets
        super().__init__(
            {"input": In(stream.Signature(ELEMENT)), "output": Out(stream.Signature(SUM)), "rows": Out(32)}
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        total = Signal(80)
        taken = Signal()
        m.d.comb += self.input.ready.eq(1 if self.forgets else ~self.output.valid | self.output.ready)
        m.d.comb += taken.eq(self.input.valid & self.input.ready)
        with m.If(self.output.ready):
            m.d.sync += self.output.valid.eq(0)
        with m.If(taken):
            after = (total + Mux(self.input.payload.last, 0, self.input.payload.value))[:80]
            m.d.sync += [
                total.eq(after),
                self.rows.eq(self.rows + 1),
                self.output.valid.eq(1),
                self.output.payload.total.eq(after),
                self.output.payload.done.eq(self.input.payload.last),
            ]
        return m
