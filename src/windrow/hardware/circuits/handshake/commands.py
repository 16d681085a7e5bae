"""What goes along the chain: a row and the place where it is to be kept, in order of arrival."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux, Shape, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from windrow.hardware.circuits.handshake.link import NeighbourLink
from windrow.hardware.circuits.ports import JoinPorts
from windrow.hardware.design import JoinDesign


def share_rows(rows: int, cores: int, core: int) -> int:
    """How many rows of a window of `rows` a core keeps: they are dealt out in turn, so that shares differ by one row.

    >>> [share_rows(10, 4, core) for core in range(4)], [share_rows(2, 4, core) for core in range(4)]
    ([3, 3, 2, 2], [1, 1, 0, 0])
    """
    return max(0, -((core - rows) // cores))


def longest_share(design: JoinDesign) -> int:
    return share_rows(max(design.left_rows, design.right_rows), design.cores, 0)


def last_place(rows: int, cores: int) -> tuple[int, int]:
    """The core and the address in its share of the last row of a window, after which the oldest row is overwritten.

    >>> last_place(10, 4), last_place(2, 4)
    ((1, 2), (1, 0))
    """
    return (rows - 1) % cores, (rows - 1) // cores


def row_of(design: JoinDesign) -> data.StructLayout:
    """What comes in."""
    return JoinPorts(design).members["input"].signature.members["payload"].shape


def pair_of(design: JoinDesign) -> data.StructLayout:
    """What comes out, but for the end."""
    pair = JoinPorts(design).members["output"].signature.members["payload"].shape
    return data.StructLayout({name: pair[name].shape for name in ("left", "right")})


def command_of(design: JoinDesign) -> data.StructLayout:
    """A row on its way along the chain; the core that is `home` cores further keeps it at `address`.

    So no core has to know its number, and all of them are the same circuit. With `last` it is the end of all.
    """
    return data.StructLayout(
        {
            **{name: field.shape for name, field in row_of(design)},
            "home": Shape.cast(range(design.cores)),
            "address": Shape.cast(range(longest_share(design))),
        }
    )


class Dispatcher(wiring.Component):
    """Gives every row the place of the row that leaves its window: the places of a window are taken in turn.

    Takes a row in two cycles at most, and none after the one with `last`.
    """

    def __init__(self, design: JoinDesign) -> None:
        self.design = design
        rows, commands = stream.Signature(row_of(design)), stream.Signature(command_of(design))
        super().__init__({"input": In(rows), "output": Out(commands)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.entrance = entrance = NeighbourLink(row_of(self.design))
        ended = Signal()
        m.d.comb += [
            entrance.input.valid.eq(self.input.valid & ~ended),
            entrance.input.payload.eq(self.input.payload),
            self.input.ready.eq(entrance.input.ready & ~ended),
        ]
        with m.If(self.input.valid & self.input.ready):
            m.d.sync += ended.eq(self.input.payload.last)
        self._send(m, entrance.output)
        return m

    def _send(self, m: Module, rows: Any) -> None:
        taken = rows.valid & rows.ready
        m.d.comb += rows.ready.eq(~self.output.valid)
        with m.If(self.output.ready):
            m.d.sync += self.output.valid.eq(0)
        row, command = rows.payload, self.output.payload
        left = self._place(m, taken & ~row.right, self.design.left_rows)
        right = self._place(m, taken & row.right, self.design.right_rows)
        with m.If(~self.output.valid):
            m.d.sync += [self.output.valid.eq(rows.valid), command.last.eq(row.last), command.right.eq(row.right)]
            m.d.sync += [command.data.eq(row.data), command.home.eq(Mux(row.right, right.home, left.home))]
            m.d.sync += command.address.eq(Mux(row.right, right.address, left.address))

    def _place(self, m: Module, taken: Any, rows: int) -> data.View:
        """The place of the next row of a side.

        A row is taken every other cycle at most. So a cycle goes by before the place moves on, and another one until
        it is known whether it is the last.
        """
        command = command_of(self.design)
        shape = data.StructLayout({name: command[name].shape for name in ("home", "address")})
        place, advance = Signal(shape), Signal()
        home, address = last_place(rows, self.design.cores)
        is_last, is_last_core = Signal(init=home == address == 0), Signal(init=self.design.cores == 1)
        m.d.sync += [
            advance.eq(taken),
            is_last.eq((place.home == home) & (place.address == address)),
            is_last_core.eq(place.home == self.design.cores - 1),
        ]
        with m.If(advance):
            with m.If(is_last):
                m.d.sync += place.eq(Const(0))
            with m.Elif(is_last_core):
                m.d.sync += [place.home.eq(0), place.address.eq(place.address + 1)]
            with m.Else():
                m.d.sync += place.home.eq(place.home + 1)
        return place
