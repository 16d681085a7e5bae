"""The engine of panes: rows go into modules, closes make them panes, panes make windows."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, signed
from amaranth.lib import wiring

from windrow.hardware.circuits.engine import EngineSignature, settings_in
from windrow.hardware.circuits.panes.incremental import IncrementalWindows
from windrow.hardware.circuits.panes.late import LateCorrections
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

    def elaborate(self, _: Any) -> Module:
        m = Module()
        plan = self.plan
        self._settings = settings_in(self, plan.design, plan.query)
        m.submodules.windows = self._windows = windows_of(plan)
        m.submodules.emptying = emptying = Emptying(self._windows.depth)
        modules = plan.query.open_slides * plan.per_slide
        groups, bits = plan.query.groups, len(self.steps.payload.group)
        m.submodules.modules = self._modules = PaneModules(plan.algebra, modules, groups, bits)
        self._late = Signal()
        bounds, settled = self._bounds(m)
        self._accept(m, emptying, settled)
        self._find_module(m, bounds)
        self._give_pane(m)
        if plan.corrects:
            self._correct(m)
        panes = 2 * self._settings["slides"] + 1 if plan.design.configurable else plan.shape.per_window
        m.d.comb += [
            self._windows.per_window.eq(panes),
            self._windows.emptying.eq(emptying.active),
            self._windows.empty_address.eq(emptying.address),
            self.overflow.eq(self._modules.overflow | self._windows.overflow),
        ]
        wiring.connect(m, self._windows.outcomes, wiring.flipped(self.outcomes))
        return m

    def _bounds(self, m: Module) -> tuple[list[list[tuple[Any, Any]]], Any]:
        """Begin and end of each pane of each open slide, less the end of the oldest; and whether they are there yet.

        What can be set is reckoned at the start: every bound from that of the slide before it.
        """
        width, shape, slides = signed(self.plan.design.time_width), self.plan.shape, self.plan.query.open_slides
        if not self.plan.design.configurable:
            starts = [(at - 1) * shape.slide for at in range(slides)]
            cuts = [[(start + cut.begin, start + cut.end) for cut in shape.cuts] for start in starts]
            return [[(Const(begin, width), Const(end, width)) for begin, end in one] for one in cuts], Const(1, 1)
        slide, rest = self._settings["slide"], self._settings["rest"]
        edges = [Signal(width, name=f"edge{at}") for at in range(slides + 1)]
        middles = [Signal(width, name=f"middle{at}") for at in range(slides)]
        waiting = Signal(range(slides + 3), init=slides + 2)
        with m.If(waiting != 0):
            m.d.sync += waiting.eq(waiting - 1)
        m.d.sync += edges[0].eq(-slide)
        for at in range(slides):
            m.d.sync += [edges[at + 1].eq(edges[at] + slide), middles[at].eq(edges[at + 1] - rest)]
        both = zip(edges[:-1], middles, edges[1:], strict=True)
        return [[(begin, middle), (middle, end)] for begin, middle, end in both], (waiting == 0) & ~self.start

    def _accept(self, m: Module, emptying: Emptying, settled: Any) -> None:
        """Rows at once; the panes of a slide one a cycle, while there is room."""
        step, room = self.steps.payload, self._windows.room
        self._cut = Signal(range(self.plan.per_slide))
        self._row, self._closing, self._ending, self._last_cut = Signal(), Signal(), Signal(), Signal()
        may = self.steps.valid & emptying.ready & settled & ~self._late
        m.d.comb += [
            self._last_cut.eq(self._cut == self.plan.per_slide - 1),
            self._row.eq(may & ~step.close & ~step.done),
            self._closing.eq(may & step.close & room),
            self._ending.eq(may & step.done & room),
            self.steps.ready.eq(self._row | self._closing & self._last_cut | self._ending),
            emptying.written.eq(self._row | self._closing),
        ]
        with m.If(self._closing):
            m.d.sync += self._cut.eq(self._cut + 1)
            with m.If(self._last_cut):
                m.d.sync += self._cut.eq(0)

    def _find_module(self, m: Module, bounds: list[list[tuple[Any, Any]]]) -> None:
        """The slides of the ring from the oldest on, and their panes; modules are numbered slide by slide."""
        step, modules, slides = self.steps.payload, self._modules, range(len(bounds))
        oldest = Signal(len(slides), init=1)
        with m.If(self._closing & self._last_cut & step.final):
            m.d.sync += oldest.eq(oldest.rotate_left(1))
        inside = [[(step.time >= begin) & (step.time < end) for begin, end in one] for one in bounds]
        hits, takes = [], []
        for slide in slides:
            for cut in range(self.plan.per_slide):
                ahead = [inside[at][cut] & oldest[(slide - at) % len(slides)] for at in slides]
                hits.append(self._row & ~step.late & reduce(or_, ahead))
                takes.append(self._closing & oldest[slide] & (self._cut == cut))
        with m.If(~self._late):
            m.d.sync += [modules.group.eq(step.group), modules.arguments.eq(step.arguments)]
        m.d.sync += [modules.hits.eq(Cat(*hits)), modules.takes.eq(Cat(*takes))]

    def _give_pane(self, m: Module) -> None:
        step, pane = self.steps.payload, Signal(self.plan.pane)
        m.d.sync += [
            pane.valid.eq(self._closing),
            pane.done.eq(self._ending),
            pane.closes.eq(self._last_cut),
            pane.final.eq(step.final),
            pane.group.eq(step.group),
            pane.end.eq(step.time),
        ]
        m.d.comb += pane.state.eq(self._modules.pane)
        m.d.sync += self._windows.pane.eq(pane)

    def _correct(self, m: Module) -> None:
        step, windows, plan = self.steps.payload, self._windows, self.plan
        slide, rest = self._settings["slide"], self._settings["rest"]
        lengths = (slide - rest, rest) if plan.per_slide > 1 else (slide,)
        m.submodules.late_rows = rows = LateCorrections(plan, slide, lengths)
        with m.If(self._row):
            m.d.sync += [self._late.eq(step.late), rows.time.eq(step.time)]
        with m.Elif(rows.finished):
            m.d.sync += self._late.eq(0)
        m.d.comb += [
            rows.waiting.eq(self._late),
            rows.idle.eq(windows.idle),
            windows.late.valid.eq(rows.correct),
            windows.late.age.eq(rows.age),
            windows.late.group.eq(self._modules.group),
            windows.late.state.eq(plan.algebra.lift(self._modules.arguments)),
        ]
        with m.If(rows.correct & ~plan.algebra.fits(self._modules.arguments)):
            m.d.comb += self.overflow.eq(1)


def windows_of(plan: PanePlan) -> WindowsFromPanes:
    """Windows from panes as the design says."""
    return ScanWindows(plan) if plan.design.window_level is WindowLevel.SCAN else IncrementalWindows(plan)
