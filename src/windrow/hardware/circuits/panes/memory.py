"""Closed panes in block RAM: one port to write, one to read with a register behind it, and emptying it all."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Signal, Value, unsigned
from amaranth.lib import data, memory

READ_CYCLES = 2
"""From an address to its word: one cycle in the memory, one in the register behind it. The register is what keeps the
clock the same for every depth: without it the path leads from the memory through an adder."""


class PaneMemory(Elaboratable):
    """Words of a layout. `read_data` is the word that was at `read_address` two cycles before.

    While `emptying` every word that `empty_address` names becomes the neutral one; nothing else is written then.
    """

    def __init__(self, layout: data.StructLayout, neutral: data.Const, depth: int) -> None:
        self.layout, self.neutral, self.depth = layout, neutral, depth
        slots = max(depth - 1, 0).bit_length()
        self.write = Signal()
        self.write_address = Signal(slots)
        self.write_data = Signal(layout)
        self.read_address = Signal(slots)
        self.read_data = Signal(layout)
        self.emptying = Signal()
        self.empty_address = Signal(slots)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        word = self.neutral.as_value().value
        m.submodules.words = words = memory.Memory(
            shape=unsigned(self.layout.size), depth=self.depth, init=[word] * self.depth
        )
        write, read = words.write_port(), words.read_port()
        m.d.comb += [write.en.eq(self.write | self.emptying), read.addr.eq(self.read_address)]
        with m.If(self.emptying):
            m.d.comb += [write.addr.eq(self.empty_address), write.data.eq(self.neutral)]
        with m.Else():
            m.d.comb += [write.addr.eq(self.write_address), write.data.eq(self.write_data)]
        m.d.sync += Value.cast(self.read_data).eq(read.data)
        return m


class Emptying(Elaboratable):
    """Empties the memories after a reset, one word a cycle, but only if something was ever written into them.

    A reset of a circuit does not reach its block RAM. What power-on has loaded is neutral already.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.written = Signal()
        """Input: a pane or row has been taken."""
        self.active = Signal()
        self.address = Signal(max(depth - 1, 0).bit_length())
        self.ready = Signal()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        dirty = Signal(reset_less=True)
        finished = Signal()
        m.d.comb += [self.ready.eq(finished | ~dirty), self.active.eq(~self.ready)]
        with m.If(self.active):
            m.d.sync += [self.address.eq(self.address + 1), finished.eq(self.address == self.depth - 1)]
        with m.Elif(self.written):
            m.d.sync += [dirty.eq(1), finished.eq(1)]
        return m
