"""The rows of one window that one core keeps."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Shape, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

DISTRIBUTED_ROWS = 64
"""Shares up to so many rows are in look-up tables, which are read within the cycle; longer ones in block RAM."""


class WindowShare(wiring.Component):
    """`rows` rows of `bits`, of which those at addresses 0..`top` are there once `nonempty`.

    `store` writes; from the next cycle on the row is there. Rows are stored at addresses 0, 1, ... in turn and then
    from 0 again, which overwrites the oldest one. `found` is the row at `address`, in the same cycle or (`is_block`)
    in the next.
    """

    def __init__(self, bits: int, rows: int, address: Shape, is_block: bool) -> None:
        self.bits, self.rows, self.is_block = bits, rows, is_block
        super().__init__(
            {
                "store": In(1),
                "place": In(address),
                "row": In(bits),
                "address": In(address),
                "found": Out(bits),
                "top": Out(address),
                "nonempty": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.rows == 0:
            return m
        # Both shares of a core are read at the same address, which may be beyond the end of the other one.
        # Never without an address: compiled simulations read one of no bits from beside it.
        address_bits = max(1, (self.rows - 1).bit_length())
        m.submodules.memory = kept = memory.Memory(shape=self.bits, depth=1 << address_bits, init=[])
        write, read = kept.write_port(), kept.read_port(domain="sync" if self.is_block else "comb")
        m.d.comb += [write.en.eq(self.store), write.addr.eq(self.place[:address_bits]), write.data.eq(self.row)]
        m.d.comb += [read.addr.eq(self.address[:address_bits]), self.found.eq(read.data)]
        is_full = Signal()
        with m.If(self.store):
            m.d.sync += [
                self.nonempty.eq(1),
                self.top.eq(Mux(is_full, self.top, self.place)),
                is_full.eq(is_full | (self.place == self.rows - 1)),
            ]
        return m
