"""Registers on the way of a stream, so that neither data nor `ready` go far in one cycle."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


def registered(m: Module, flow: Any, shape: Any, value: Any) -> Any:
    """The stream one cycle later, as `value` of `shape`; one payload a cycle."""
    output = stream.Signature(shape).create()
    m.d.comb += flow.ready.eq(output.ready | ~output.valid)
    with m.If(flow.ready):
        m.d.sync += output.valid.eq(flow.valid)
        with m.If(flow.valid):
            m.d.sync += output.payload.eq(value)
    return output


class SkidBuffer(wiring.Component):
    """Passes a stream on, one cycle later and one payload a cycle; `ready` comes from a register.

    It holds two payloads: the second is the one that was on its way when the reader stopped.
    """

    def __init__(self, shape: Any) -> None:
        self.shape = shape
        super().__init__({"input": In(stream.Signature(shape)), "output": Out(stream.Signature(shape))})

    def elaborate(self, _: Any) -> Module:
        m = Module()
        waiting, spare = Signal(), Signal(self.shape)
        m.d.comb += self.input.ready.eq(~waiting)
        with m.If(self.output.ready | ~self.output.valid):
            m.d.sync += [self.output.valid.eq(self.input.valid | waiting), waiting.eq(0)]
            with m.If(waiting):
                m.d.sync += self.output.payload.eq(spare)
            with m.Else():
                m.d.sync += self.output.payload.eq(self.input.payload)
        with m.Elif(self.input.valid & ~waiting):
            m.d.sync += [waiting.eq(1), spare.eq(self.input.payload)]
        return m
