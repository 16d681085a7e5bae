"""What lies between two neighbours."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


class NeighbourLink(wiring.Component):
    """A place for one thing between two cores, which see only its registers: it takes one when there is none in it.

    So a thing passes every other cycle at most; `JoinCore` relies on it for commands. In return no path of the circuit
    leads from a core through its neighbour, and the clock does not depend on how many there are.
    """

    def __init__(self, shape: Any) -> None:
        super().__init__({"input": In(stream.Signature(shape)), "output": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.input.ready.eq(~self.output.valid)
        with m.If(self.output.ready):
            m.d.sync += self.output.valid.eq(0)
        with m.If(~self.output.valid):
            m.d.sync += [self.output.valid.eq(self.input.valid), self.output.payload.eq(self.input.payload)]
        return m
