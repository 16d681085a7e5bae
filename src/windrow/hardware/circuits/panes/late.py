"""Rows whose pane has closed while windows that hold it are open: which pane it is, and the wait for the correction.

Late rows are rare, so this is slow and small: it steps back over the panes, one a cycle, while everything waits.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal, signed

from windrow.hardware.circuits.panes.steps import PanePlan


class LateCorrections(Elaboratable):
    """Finds the pane of a row that is `waiting`, `time` before the end of the oldest open window, and corrects it.

    `lengths` are those of the panes of a slide, in order of time. `age` panes have closed after the one that is found;
    `correct` is 1 for one cycle when the windows are `idle`; `finished`, for one cycle, when they are again.
    """

    def __init__(self, plan: PanePlan, slide: Any, lengths: tuple[Any, ...]) -> None:
        self.plan, self.slide, self.lengths = plan, slide, lengths
        width = signed(plan.design.time_width)
        self.waiting = Signal()
        self.time = Signal(width)
        self.idle = Signal()
        self.age = Signal(plan.panes_shape)
        self.correct = Signal()
        self.finished = Signal()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        ahead, begin, cut = Signal.like(self.time), Signal.like(self.time), Signal()
        last, first = self.lengths[-1], self.lengths[0]
        m.d.comb += begin.eq(ahead + Mux(cut, first, last))
        with m.FSM():
            with m.State("REST"):
                m.d.sync += [ahead.eq(self.time + self.slide), self.age.eq(0), cut.eq(0)]
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
