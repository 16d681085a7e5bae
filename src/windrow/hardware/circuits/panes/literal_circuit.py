"""The whole circuit of the pane paper: unlike Window-ID's, its selection belongs to stage 1 and takes no cycle."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import Any

from amaranth.hdl import Const, Module
from amaranth.lib import wiring

from windrow.hardware.circuits.accumulators import Accumulators
from windrow.hardware.circuits.expressions import fields_of, wire
from windrow.hardware.circuits.panes.literal import LiteralPanes
from windrow.hardware.circuits.ports import AggregatePorts
from windrow.hardware.design import AggregateDesign


class LiteralPaneCircuit(wiring.Component):
    """Seven cycles from a punctuation to its result. Every element is taken, no result waits, nothing is counted."""

    def __init__(self, design: AggregateDesign) -> None:
        self.design = design
        (self.query,) = design.queries
        super().__init__(AggregatePorts(design))

    def elaborate(self, _: Any) -> Module:
        m = Module()
        m.submodules.engine = engine = LiteralPanes(self.design, self.query)
        element, output = self.input.payload, self.output.payload
        fields = fields_of(self.design.layout, element.data)
        passes = reduce(and_, (wire(one, fields).is_true for one in self.query.where), Const(1, 1))
        m.d.comb += [
            self.input.ready.eq(1),
            engine.row.eq(self.input.valid & ~element.punctuation & passes),
            engine.punctuation.eq(self.input.valid & element.punctuation),
            engine.time.eq(element.time),
            engine.arguments.eq(Accumulators(self.query.parts, self.design.layout).evaluate(element.data)),
            self.output.valid.eq(engine.result),
            output.nonempty.eq(engine.result),
            output.end.eq(engine.end),
            output.parts.eq(engine.parts),
        ]
        return m
