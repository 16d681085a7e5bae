"""Closed panes in block RAM: one port to write, one to read, and emptying it all. `SlicedMemory` is the papers'."""

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


BLOCK_WIDTHS = {512: 72, 1024: 36, 2048: 18, 4096: 9, 8192: 4, 16384: 2}
"""How wide a block RAM of the papers' chip is by how deep it is; deeper ones are one bit wide."""


def slice_widths(bits: int, depth: int) -> tuple[int, ...]:
    """The bits of a word dealt out to block RAMs side by side that are as deep as the memory, as evenly as can be.

    >>> [len(slice_widths(65, depth)) for depth in (128, 512, 1024, 2048, 4096, 8192)], slice_widths(65, 4096)
    ([1, 1, 2, 4, 8, 17], (9, 8, 8, 8, 8, 8, 8, 8))
    """
    widest = next((width for rows, width in BLOCK_WIDTHS.items() if depth <= rows), 1)
    number = -(-bits // widest)
    return tuple((bits + place) // number for place in reversed(range(number)))


class SlicedMemory(Elaboratable):
    """Words of so many bits in block RAMs side by side: none of them is chosen from others behind its output.

    Yosys takes fewer and deeper banks with multiplexers where that saves a block; the papers' tool slices. `read_data`
    is the word that was at `read_address` one cycle before.
    """

    def __init__(self, bits: int, depth: int) -> None:
        self.bits, self.depth = bits, depth
        self.write = Signal()
        self.write_address = Signal(range(depth))
        self.write_data = Signal(bits)
        self.read_address = Signal(range(depth))
        self.read_data = Signal(bits)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        low = 0
        for number, width in enumerate(slice_widths(self.bits, self.depth)):
            words = memory.Memory(shape=unsigned(width), depth=self.depth, init=[])
            m.submodules[f"slice{number}"] = words
            write, read = words.write_port(), words.read_port()
            m.d.comb += [
                write.en.eq(self.write),
                write.addr.eq(self.write_address),
                write.data.eq(self.write_data[low : low + width]),
                read.addr.eq(self.read_address),
                self.read_data[low : low + width].eq(read.data),
            ]
            low += width
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
