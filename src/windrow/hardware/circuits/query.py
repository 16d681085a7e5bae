"""One query behind the shared filters: what it needs of a row, punctuations, groups, window engine, results."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from windrow.hardware.circuits.accumulators import Accumulators
from windrow.hardware.circuits.engine import settings_of
from windrow.hardware.circuits.expressions import fields_of, packed
from windrow.hardware.circuits.flows import SkidBuffer, registered
from windrow.hardware.circuits.groups import GroupTable
from windrow.hardware.circuits.panes.engine import PaneEngine
from windrow.hardware.circuits.ports import element_of, result_of
from windrow.hardware.circuits.punctuations import PunctuationSplitter, arrival_of
from windrow.hardware.circuits.window_ids import WindowIds
from windrow.hardware.design import AggregateDesign, CircuitAlgorithm, WindowQuery


def engine_of(design: AggregateDesign, query: WindowQuery) -> wiring.Component:
    """The repaired window engine of a query, with the ports of `EngineSignature`."""
    return WindowIds(design, query) if design.algorithm is CircuitAlgorithm.WID else PaneEngine(design, query)


class QueryCircuit(wiring.Component):
    """The repaired circuit of query `number`: elements in, results out, and one pulse for each row that is counted."""

    def __init__(self, design: AggregateDesign, number: int) -> None:
        self.design, self.number, self.query = design, number, design.queries[number]
        ports: dict[str, Any] = {
            "input": In(stream.Signature(element_of(design))),
            "output": Out(stream.Signature(result_of(design))),
            "late": Out(1),
            "early": Out(1),
            "no_room": Out(1),
            "too_large": Out(1),
        }
        if design.configurable:
            ports |= {"settings": In(settings_of(design)), "start": In(1)}
        super().__init__(ports)

    def elaborate(self, _: Any) -> Module:
        m = Module()
        splitter = PunctuationSplitter(self.design, self.query)
        table = GroupTable(self.design, self.query)
        buffer = SkidBuffer(table.output.payload.shape())
        engine = engine_of(self.design, self.query)
        m.submodules.splitter, m.submodules.table = splitter, table
        m.submodules.buffer, m.submodules.engine = buffer, engine
        wiring.connect(m, self._arrivals(m), splitter.input)
        wiring.connect(m, splitter.output, table.input)
        wiring.connect(m, table.output, buffer.input)
        wiring.connect(m, buffer.output, engine.steps)
        self._results(m, engine.outcomes, table.keys)
        m.d.comb += [self.late.eq(splitter.late), self.early.eq(splitter.early)]
        m.d.comb += [self.no_room.eq(table.overflow), self.too_large.eq(engine.overflow)]
        if self.design.configurable:
            m.d.comb += [splitter.settings.eq(self.settings), engine.settings.eq(self.settings)]
            m.d.comb += engine.start.eq(self.start)
        return m

    def _arrivals(self, m: Module) -> Any:
        """What the query needs of an element: a register for the input, one for keys and arguments."""
        m.submodules.entrance = buffer = SkidBuffer(element_of(self.design))
        wiring.connect(m, wiring.flipped(self.input), buffer.input)
        element = buffer.output.payload
        fields = fields_of(self.design.layout, element.data)
        named = {one.name: one for one in self.design.layout.fields}
        key = Cat(packed(fields[name], named[name]) for name in self.query.keys)
        arguments = Accumulators(self.query.parts, self.design.layout).evaluate(element.data)
        value = Cat(element.punctuation, element.last, element.time, key, arguments)
        return registered(m, buffer.output, arrival_of(self.design, self.query), value)

    def _results(self, m: Module, outcomes: Any, keys: Any) -> None:
        """Numbers of groups become keys again."""
        outcome, shape = outcomes.payload, result_of(self.design)
        width = len(keys) // self.query.groups
        key = Value.cast(keys).word_select(outcome.group, width) if self.query.keys else Value.cast(0)
        members = {
            "done": outcome.done,
            "nonempty": ~outcome.done,
            "query": Value.cast(self.number),
            "end": outcome.end,
            "key": key,
            "parts": outcome.parts,
        }
        value = Cat(_padded(members[name], field.width) for name, field in shape)
        flow = registered(m, outcomes, shape, value)
        wiring.connect(m, flow, wiring.flipped(self.output))


def _padded(value: Any, width: int) -> Any:
    value = Value.cast(value)
    return Cat(value, Value.cast(0).replicate(max(0, width - len(value))))[:width]
