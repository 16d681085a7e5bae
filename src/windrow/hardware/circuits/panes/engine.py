"""The engine of panes: rows go into modules, closes make them panes, panes make windows."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Module, Signal, signed
from amaranth.lib import wiring

from windrow.hardware.circuits.engine import EngineSignature
from windrow.hardware.circuits.panes.incremental import IncrementalWindows
from windrow.hardware.circuits.panes.late import LateRows
from windrow.hardware.circuits.panes.memory import Emptying
from windrow.hardware.circuits.panes.modules import PaneModules
from windrow.hardware.circuits.panes.scan import ScanWindows
from windrow.hardware.circuits.panes.steps import PanePlan, WindowsFromPanes
from windrow.hardware.design import AggregateDesign, WindowLevel, WindowQuery


class PaneEngine(wiring.Component):
    """One row a cycle; a close takes a cycle for each pane of a slide, and waits while windows have no room for more.

    Stage 1 finds the module of a row, stage 2 adds it; a close takes the panes of the oldest slide in stage 2. A late
    row stays in stage 2, and everything behind it waits, until the pane that it belongs to has been corrected.
    """

    def __init__(self, design: AggregateDesign, query: WindowQuery) -> None:
        self.plan = PanePlan(design, query)
        super().__init__(EngineSignature(design, query))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        plan, shape = self.plan, self.plan.shape
        m.submodules.windows = self.windows = windows_of(plan)
        m.submodules.emptying = emptying = Emptying(self.windows.depth)
        m.submodules.modules = self.modules = PaneModules(
            plan.algebra, shape.modules, plan.query.groups, len(self.steps.payload.group)
        )
        self.late = Signal()
        self._accept(m, emptying)
        self._find_module(m)
        self._give_pane(m)
        if plan.corrects:
            self._correct(m)
        m.d.comb += [
            self.windows.emptying.eq(emptying.active),
            self.windows.empty_address.eq(emptying.address),
            self.overflow.eq(self.modules.overflow | self.windows.overflow),
            self.outcomes.valid.eq(self.windows.outcomes.valid),
            self.outcomes.payload.eq(self.windows.outcomes.payload),
            self.windows.outcomes.ready.eq(self.outcomes.ready),
        ]
        return m

    def _accept(self, m: Module, emptying: Emptying) -> None:
        """Rows at once; the panes of a slide one a cycle, while there is room."""
        step, shape = self.steps.payload, self.plan.shape
        self.cut = Signal(range(max(shape.per_slide, 2)))
        self.row, self.closing, self.ending, self.last_cut = Signal(), Signal(), Signal(), Signal()
        may = self.steps.valid & emptying.ready & ~self.late
        m.d.comb += [
            self.last_cut.eq(self.cut == shape.per_slide - 1),
            self.row.eq(may & ~step.close & ~step.done),
            self.closing.eq(may & step.close & self.windows.room),
            self.ending.eq(may & step.done & self.windows.room),
            self.steps.ready.eq(self.row | self.closing & self.last_cut | self.ending),
            emptying.written.eq(self.row | self.closing),
        ]
        with m.If(self.closing):
            m.d.sync += self.cut.eq(self.cut + 1)
            with m.If(self.last_cut):
                m.d.sync += self.cut.eq(0)

    def _find_module(self, m: Module) -> None:
        """The slides of the ring from the oldest on, and their panes; modules are numbered slide by slide."""
        step, shape, modules = self.steps.payload, self.plan.shape, self.modules
        slides = range(shape.slides)
        oldest = Signal(shape.slides, init=1)
        with m.If(self.closing & self.last_cut & step.final):
            m.d.sync += oldest.eq(oldest.rotate_left(1))
        inside = [[self._is_inside(at, cut.begin, cut.end) for cut in shape.cuts] for at in slides]
        hits, takes = [], []
        for slide in slides:
            for cut in range(shape.per_slide):
                ahead = [inside[at][cut] & oldest[(slide - at) % shape.slides] for at in slides]
                hits.append(self.row & ~step.late & reduce(or_, ahead))
                takes.append(self.closing & oldest[slide] & (self.cut == cut))
        with m.If(~self.late):
            m.d.sync += [modules.group.eq(step.group), modules.arguments.eq(step.arguments)]
        m.d.sync += [modules.hits.eq(Cat(*hits)), modules.takes.eq(Cat(*takes))]

    def _is_inside(self, slide: int, begin: int, end: int) -> Any:
        first = (slide - 1) * self.plan.shape.slide
        time = self.steps.payload.time
        return (time >= first + begin) & (time < first + end)

    def _give_pane(self, m: Module) -> None:
        step, pane = self.steps.payload, Signal(self.plan.pane)
        m.d.sync += [
            pane.valid.eq(self.closing),
            pane.done.eq(self.ending),
            pane.closes.eq(self.last_cut),
            pane.final.eq(step.final),
            pane.group.eq(step.group),
            pane.end.eq(step.time),
        ]
        m.d.comb += pane.state.eq(self.modules.pane)
        m.d.sync += self.windows.pane.eq(pane)

    def _correct(self, m: Module) -> None:
        step, windows, width = self.steps.payload, self.windows, self.plan.design.time_width
        m.submodules.late_rows = rows = LateRows(self.plan, width)
        time = Signal(signed(width))
        with m.If(self.row):
            m.d.sync += [self.late.eq(step.late), time.eq(step.time)]
        with m.Elif(rows.finished):
            m.d.sync += self.late.eq(0)
        m.d.comb += [
            rows.waiting.eq(self.late),
            rows.time.eq(time),
            rows.idle.eq(windows.idle),
            windows.late.valid.eq(rows.correct),
            windows.late.age.eq(rows.age),
            windows.late.group.eq(self.modules.group),
            windows.late.state.eq(self.plan.algebra.lift(self.modules.arguments)),
        ]
        fits = self.plan.algebra.fits(self.modules.arguments)
        with m.If(rows.correct & ~fits):
            m.d.comb += self.overflow.eq(1)


def windows_of(plan: PanePlan) -> WindowsFromPanes:
    """Windows from panes as the design says."""
    if plan.design.window_level is WindowLevel.SCAN:
        return ScanWindows(plan)
    return IncrementalWindows(plan)
