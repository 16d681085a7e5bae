"""Open panes: a module for each pane of each open slide and each group, in a ring of slides."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data

from windrow.hardware.circuits.accumulators import Accumulators


class PaneModules(Elaboratable):
    """Accumulators of open panes: a row goes into one of them, a pane that closes is read and emptied.

    `hits` names the module of the row, one bit for each; `takes` the one to give away, in the same cycle in `pane`.
    Never both at once.
    """

    def __init__(self, algebra: Accumulators, modules: int, groups: int, group_bits: int) -> None:
        self.algebra, self.modules, self.groups = algebra, modules, groups
        self.hits = Signal(modules)
        self.takes = Signal(modules)
        self.group = Signal(group_bits)
        self.arguments = Signal(algebra.arguments)
        self.pane = Signal(algebra.state)
        self.overflow = Signal()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        given = self.algebra.lift(self.arguments)
        panes, missed = [], []
        for place in range(self.modules):
            for group in range(self.groups):
                mine = (self.group == group) if self.groups > 1 else 1
                held = Signal(self.algebra.state, init=self.algebra.neutral, name=f"pane{place}_{group}")
                combined = self.algebra.combine(held, given)
                with m.If(self.hits[place] & mine):
                    m.d.sync += held.eq(combined.state)
                with m.If(self.takes[place] & mine):
                    m.d.sync += held.eq(self.algebra.neutral)
                panes.append(Mux(self.takes[place] & mine, Value.cast(held), 0))
                missed.append(self.hits[place] & mine & combined.overflow)
        fits = self.algebra.fits(self.arguments)
        m.d.comb += [
            self.pane.eq(data.View(self.algebra.state, reduce(or_, panes))),
            self.overflow.eq(self.hits.any() & ~fits | reduce(or_, missed)),
        ]
        return m
