"""Rows whose pane has closed while windows that hold it are open: which pane it is, and the wait for the correction.

Late rows are rare, so this is slow and small: it steps back over the panes, one a cycle, while everything waits.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Const, Elaboratable, Module, Signal, signed

from windrow.hardware.circuits.panes.steps import PanePlan


class LateRows(Elaboratable):
    """Finds the pane of a row that is `waiting`, `time` before the end of the oldest open window, and corrects it.

    `age` panes have closed after it; `correct` is 1 for one cycle when the windows are `idle`; `finished`, for one
    cycle, when they are again.
    """

    def __init__(self, plan: PanePlan, time_width: int) -> None:
        self.plan, self.time_width = plan, time_width
        self.waiting = Signal()
        self.time = Signal(signed(time_width))
        self.idle = Signal()
        self.age = Signal(plan.shape.per_window.bit_length())
        self.correct = Signal()
        self.finished = Signal()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        shape = self.plan.shape
        lengths = [cut.length for cut in reversed(shape.cuts)]
        ahead, cut = Signal(signed(self.time_width)), Signal()
        length = (
            Array([Const(one, range(max(lengths) + 1)) for one in lengths])[cut] if cut_twice(lengths) else lengths[0]
        )
        begin = Signal.like(ahead)
        m.d.comb += begin.eq(ahead + length)
        with m.FSM():
            with m.State("REST"):
                m.d.sync += [ahead.eq(self.time + shape.slide), self.age.eq(0), cut.eq(0)]
                with m.If(self.waiting):
                    m.next = "SEARCH"
            with m.State("SEARCH"):
                with m.If(begin >= 0):
                    m.next = "CORRECT"
                with m.Else():
                    m.d.sync += [ahead.eq(begin), self.age.eq(self.age + 1), cut.eq(~cut)]
            with m.State("CORRECT"):
                m.d.comb += self.correct.eq(self.idle)
                with m.If(self.idle):
                    m.next = "WAIT"
            with m.State("WAIT"):
                m.d.comb += self.finished.eq(self.idle)
                with m.If(self.idle):
                    m.next = "REST"
        return m


def cut_twice(lengths: list[int]) -> bool:
    return len(lengths) > 1
