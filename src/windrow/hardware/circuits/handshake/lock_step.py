"""The paper's array: both windows are shift registers along the chain, and all cores move at once.

Rows of the left stream enter at the first core and move one place with each row of their stream; rows of the right
stream enter at the last core and move the other way. A core compares the row that has just reached it with its part of
the other window. Since one stream moves at a time, two rows that pass each other are in the same core exactly once.

What it gets wrong, by design of the paper: two rows meet only when later rows push them to the same core, so those that
have not met when the stream ends never do. A window has as many rows as the chain has places, the next multiple of the
cores, so it holds rows that have expired. A core that finds its result queue full loses the pair. And the
lines that tell all cores to move or to scan go to the whole chip.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from windrow.hardware.circuits.handshake.commands import pair_of, share_rows
from windrow.hardware.circuits.handshake.predicate import is_match
from windrow.hardware.circuits.handshake.results import ResultPort, ResultQueue, merge
from windrow.hardware.circuits.ports import COUNTER_BITS, JoinPorts
from windrow.hardware.design import JoinDesign


def place_of(bits: int) -> data.StructLayout:
    """A place of a window, which holds a row or none yet."""
    return data.StructLayout({"valid": 1, "row": max(bits, 1)})


class LockStepCore(wiring.Component):
    """A part of both shift registers: `move_left` and `move_right` shift one of them, then `scan` counts addresses."""

    def __init__(self, design: JoinDesign) -> None:
        self.design = design
        left, right = place_of(design.left.bits), place_of(design.right.bits)
        pairs = stream.Signature(pair_of(design))
        self.left_places = share_rows(design.left_rows, design.cores, 0)
        self.right_places = share_rows(design.right_rows, design.cores, 0)
        super().__init__(
            {
                "move_left": In(1),
                "move_right": In(1),
                "is_right": In(1),
                "is_scanning": In(1),
                "scan": In(range(max(self.left_places, self.right_places))),
                "ended": In(1),
                "left_in": In(left),
                "left_out": Out(left),
                "right_in": In(right),
                "right_out": Out(right),
                "before": In(pairs),
                "before_drained": In(1),
                "results": Out(pairs),
                "is_drained": Out(1),
                "is_lost": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left = self._window(m, self.left_in, self.left_places, self.move_left)
        right = self._window(m, self.right_in, self.right_places, self.move_right)
        m.d.comb += [self.left_out.eq(left[-1]), self.right_out.eq(right[-1])]
        one, other = Signal(self.left_in.shape()), Signal(self.right_in.shape())
        m.d.comb += [
            one.eq(Mux(self.is_right, Array(left)[self.scan], left[0])),
            other.eq(Mux(self.is_right, right[0], Array(right)[self.scan])),
        ]
        m.submodules.queue = queue = ResultQueue(self.design, 0, lossy=True)
        wiring.connect(m, wiring.flipped(self.before), queue.before)
        wiring.connect(m, queue.output, wiring.flipped(self.results))
        met = one.valid & other.valid & is_match(self.design, one.row, other.row)
        m.d.comb += [
            queue.own.left.eq(one.row),
            queue.own.right.eq(other.row),
            queue.own_valid.eq(self.is_scanning & met),
            queue.finished.eq(self.ended & ~self.is_scanning),
            queue.before_drained.eq(self.before_drained),
            self.is_drained.eq(queue.is_drained),
            self.is_lost.eq(queue.is_overrun),
        ]
        return m

    def _window(self, m: Module, entering: Any, places: int, move: Any) -> list[Any]:
        window = [Signal(entering.shape(), name=f"{move.name}_{place}") for place in range(places)]
        with m.If(move):
            m.d.sync += [after.eq(before) for before, after in zip([entering, *window], window, strict=False)]
        return window


class LockStepArray(wiring.Component):
    """The chain and its scheduler: a row in as many cycles as a core has places of the other side."""

    def __init__(self, design: JoinDesign) -> None:
        self.design = design
        super().__init__(JoinPorts(design))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        cores = [LockStepCore(self.design) for _ in range(self.design.cores)]
        for place, core in enumerate(cores):
            m.submodules[f"core{place}"] = core
        self._schedule(m, cores)
        self._join_neighbours(m, cores)
        lost = Signal(range(len(cores) + 1))
        m.d.comb += lost.eq(sum(core.is_lost for core in cores))
        total = Signal(COUNTER_BITS + 1)
        m.d.comb += total.eq(self.lost + lost)
        m.d.sync += self.lost.eq(Mux(total[-1], ~0, total))
        return m

    def _schedule(self, m: Module, cores: list[LockStepCore]) -> None:
        row, scan, is_scanning, is_right = self.input.payload, Signal.like(cores[0].scan), Signal(), Signal()
        is_done, ended, taken = scan == 0, Signal(), Signal()
        m.d.comb += [
            self.input.ready.eq((~is_scanning | is_done) & ~ended),
            taken.eq(self.input.valid & self.input.ready),
        ]
        m.d.sync += scan.eq(Mux(is_done, 0, scan - 1))
        with m.If(is_done):
            m.d.sync += is_scanning.eq(0)
        with m.If(taken):
            places = Mux(row.right, cores[0].left_places - 1, cores[0].right_places - 1)
            m.d.sync += [is_scanning.eq(~row.last), is_right.eq(row.right), scan.eq(Mux(row.last, 0, places))]
            m.d.sync += ended.eq(row.last)
        for core in cores:
            m.d.comb += [core.scan.eq(scan), core.is_scanning.eq(is_scanning), core.is_right.eq(is_right)]
            m.d.comb += [core.move_left.eq(taken & ~row.right & ~row.last), core.ended.eq(ended)]
            m.d.comb += core.move_right.eq(taken & row.right & ~row.last)

    def _join_neighbours(self, m: Module, cores: list[LockStepCore]) -> None:
        m.d.comb += [cores[0].left_in.valid.eq(1), cores[0].left_in.row.eq(self.input.payload.data)]
        m.d.comb += [cores[-1].right_in.valid.eq(1), cores[-1].right_in.row.eq(self.input.payload.data)]
        for one, other in pairwise(cores):
            m.d.comb += [other.left_in.eq(one.left_out), one.right_in.eq(other.right_out)]
        m.submodules.results = results = ResultPort(self.design)
        merge(m, cores, results)
        wiring.connect(m, results.output, wiring.flipped(self.output))
