"""Least and greatest of short windows: a register for each pane that a window has so far."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Elaboratable, Module, Signal
from amaranth.lib import data

from windrow.hardware.circuits.panes.steps import PanePlan, pick, some_parts


class Ladder(Elaboratable):
    """The last 1, 2, ... PPW panes combined, of each group: a pane enters all of them and every one moves up a step.

    This is Window-ID over panes: for a few panes of a window it is less than memories with their control.
    """

    def __init__(self, plan: PanePlan, places: tuple[int, ...], rungs: int) -> None:
        self.plan, self.places, self.rungs = plan, places, rungs
        self.algebra = plan.algebra_of(places)
        self.per_window = Signal(plan.panes_shape)
        self.panes = [Signal(plan.pane, name=f"pane{at}") for at in range(4)]
        self.late = Signal(plan.late)
        self.busy = Signal()
        self.result = Signal(self.algebra.state)
        self.memories: list[Any] = []

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        state, pane = self.algebra.state, self.panes[3]
        groups = [self._group(m, group) for group in range(self.plan.query.groups)]
        tops = [pick(state, rungs, self._top) for rungs in groups]
        m.d.sync += self.result.eq(pick(state, tops, pane.group))
        return m

    @property
    def _top(self) -> Any:
        """The place of the window among the rungs; a number where nothing can be set."""
        return self.per_window - 1 if self.plan.design.configurable else Const(self.rungs - 1)

    def _group(self, m: Module, group: int) -> list[Any]:
        """What each register of a group is with the pane that enters."""
        algebra, pane = self.algebra, self.panes[3]
        rungs = [Signal(algebra.state, init=algebra.neutral, name=f"last{group}_{at + 1}") for at in range(self.rungs)]
        enters, row = self._mine(pane.state), self._mine(self.late.state)
        after = [enters, *(algebra.combine(rung, enters).state for rung in rungs[:-1])]
        with m.If(pane.valid & (pane.group == group)):
            m.d.sync += [rung.eq(new) for rung, new in zip(rungs, after, strict=True)]
        if self.plan.corrects:
            for at, rung in enumerate(rungs):
                with m.If(self.late.valid & (self.late.group == group) & (self.late.age <= at)):
                    m.d.sync += rung.eq(algebra.combine(rung, row).state)
        return after

    def _mine(self, state: Any) -> Any:
        return data.View(self.algebra.state, some_parts(self.plan.query.parts, self.places, state))
