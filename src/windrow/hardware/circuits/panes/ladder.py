"""Least and greatest of short windows: a register for each pane that a window has so far."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Signal, Value
from amaranth.lib import data

from windrow.hardware.circuits.panes.steps import PanePlan, pick, some_parts


class Ladder(Elaboratable):
    """The last 1, 2, ... PPW panes combined, of each group: a pane enters all of them and every one moves up a step.

    This is Window-ID over panes: for a few panes of a window it is less than memories with their control.
    """

    def __init__(self, plan: PanePlan, places: tuple[int, ...]) -> None:
        self.plan, self.places = plan, places
        self.algebra = plan.algebra_of(places)
        self.panes = [Signal(plan.pane, name=f"pane{at}") for at in range(4)]
        self.late = Signal(plan.late)
        self.busy = Signal()
        self.result = Signal(self.algebra.state)
        self.memories: list[Any] = []

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        algebra, panes, pane = self.algebra, self.plan.shape.per_window, self.panes[3]
        neutral = algebra.neutral
        tops = []
        for group in range(self.plan.query.groups):
            rungs = [Signal(algebra.state, init=neutral, name=f"last{group}_{at + 1}") for at in range(panes)]
            late = self.late.valid & (self.late.group == group)
            enters = data.View(algebra.state, self._mine(Value.cast(pane.state)))
            row = data.View(algebra.state, self._mine(Value.cast(self.late.state)))
            tops.append(algebra.combine(rungs[-2], enters).state if panes > 1 else enters)
            for at, rung in enumerate(rungs):
                with m.If(pane.valid & (pane.group == group)):
                    m.d.sync += rung.eq(algebra.combine(rungs[at - 1], enters).state if at else enters)
                if self.plan.corrects:
                    with m.If(late & (self.late.age <= at)):
                        m.d.sync += rung.eq(algebra.combine(rung, row).state)
        m.d.sync += self.result.eq(pick(algebra.state, tops, pane.group))
        return m

    def _mine(self, state: Any) -> Any:
        return some_parts(self.plan.query.parts, self.places, data.View(self.plan.algebra.state, state))
