"""Selection: one stage for each condition, shared by the queries, each of which has a bit that says `passed`.

Rows that no query wants go no further than the last stage. Punctuations pass.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from windrow.hardware.circuits.configuration import constants_of
from windrow.hardware.circuits.expressions import fields_of, literals_of, wire
from windrow.hardware.circuits.flows import registered
from windrow.hardware.circuits.ports import element_of
from windrow.hardware.design import AggregateDesign


def passed_element_of(design: AggregateDesign) -> data.StructLayout:
    """An element, and for each query whether it goes on there."""
    return data.StructLayout({"element": element_of(design), "passed": len(design.queries)})


class FilterStages(wiring.Component):
    """As many stages as the query with the most conditions has, but at least one, which is a register on the input.

    `filtered` is 1 for each row that no query wants. `constants` are there when the design is configurable.
    """

    def __init__(self, design: AggregateDesign) -> None:
        self.design = design
        ports: dict[str, Any] = {
            "input": In(stream.Signature(element_of(design))),
            "output": Out(stream.Signature(passed_element_of(design))),
            "filtered": Out(1),
        }
        if design.configurable:
            ports |= {"constants": In(constants_of(design))}
        super().__init__(ports)

    def elaborate(self, _: Any) -> Module:
        m = Module()
        layout = passed_element_of(self.design)
        flow = stream.Signature(layout).create()
        m.d.comb += [
            flow.valid.eq(self.input.valid),
            flow.payload.element.eq(self.input.payload),
            flow.payload.passed.eq(Const(-1, len(self.design.queries))),
            self.input.ready.eq(flow.ready),
        ]
        for place in range(max(1, *(len(query.where) for query in self.design.queries))):
            flow = registered(m, flow, layout, Cat(flow.payload.element, self._passed(flow.payload, place)))
        wanted = flow.payload.element.punctuation | flow.payload.passed.any()
        m.d.comb += [
            self.output.payload.eq(flow.payload),
            self.output.valid.eq(flow.valid & wanted),
            flow.ready.eq(self.output.ready | ~wanted),
            self.filtered.eq(flow.valid & ~wanted),
        ]
        return m

    def _passed(self, payload: Any, place: int) -> Any:
        """For each query whether it still wants a row after its condition number `place`."""
        return Cat(
            bit & self._condition(number, place, payload.element.data) for number, bit in enumerate(payload.passed)
        )

    def _condition(self, number: int, place: int, row: Any) -> Any:
        where = self.design.queries[number].where
        if place >= len(where):
            return Const(1, 1)
        constants = None
        if self.design.configurable:
            first = sum(1 for condition in where[:place] for _ in literals_of(condition))
            places = range(first, first + sum(1 for _ in literals_of(where[place])))
            constants = [self.constants[f"query{number}_constant{one}"] for one in places]
        return wire(where[place], fields_of(self.design.layout, row), constants).is_true
