"""The whole circuit of a design."""

from __future__ import annotations

from functools import reduce
from operator import add, and_
from typing import Any

from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.lib import wiring

from windrow.hardware.circuits.configuration import Configuration
from windrow.hardware.circuits.filters import FilterStages
from windrow.hardware.circuits.handshake.array import HandshakeArray
from windrow.hardware.circuits.literal import LiteralCircuit, as_in_the_papers
from windrow.hardware.circuits.merging import QueryMerger
from windrow.hardware.circuits.ports import COUNTER_BITS, AggregatePorts
from windrow.hardware.circuits.query import QueryCircuit
from windrow.hardware.design import AggregateDesign, Design, JoinDesign, Variant


def circuit_of(design: Design) -> wiring.Component:
    """The circuit with the ports `AggregatePorts` or `JoinPorts` of the design."""
    if isinstance(design, JoinDesign):
        return HandshakeArray(design)
    if design.variant is Variant.LITERAL:
        return LiteralCircuit(as_in_the_papers(design))
    return AggregateCircuit(design)


class AggregateCircuit(wiring.Component):
    """Filters, and behind them the circuit of each query; a row goes on when all queries take it.

    Results of several queries come in turns, each query's in its order. Counters add up what queries say of a row: a
    row that is late for two of them is counted twice.
    """

    def __init__(self, design: AggregateDesign) -> None:
        self.design = design
        super().__init__(AggregatePorts(design))

    def elaborate(self, _: Any) -> Module:
        m = Module()
        self._configuration = Configuration(self.design) if self.design.configurable else None
        filters = FilterStages(self.design)
        queries = [QueryCircuit(self.design, number) for number in range(len(self.design.queries))]
        merger = QueryMerger(self.output.payload.shape(), len(queries))
        self._add(m, filters=filters, merger=merger)
        self._add(m, **{f"query{number}": query for number, query in enumerate(queries)})
        self._feed(m, filters)
        self._share(m, filters.output, queries)
        for number, query in enumerate(queries):
            wiring.connect(m, query.output, getattr(merger, f"input{number}"))
        wiring.connect(m, merger.output, wiring.flipped(self.output))
        if self._configuration is not None:
            self._configure(m, self._configuration, filters, queries)
        self._count(m, filters, queries)
        return m

    def _add(self, m: Module, **parts: Any) -> None:
        """Submodules that a start puts back to where they are after a reset."""
        for name, part in parts.items():
            m.submodules[name] = ResetInserter(self._configuration.restart)(part) if self._configuration else part

    def _feed(self, m: Module, filters: FilterStages) -> None:
        stopped = self._configuration.stopped | self._configuration.restart if self._configuration else 0
        m.d.comb += [
            filters.input.payload.eq(self.input.payload),
            filters.input.valid.eq(self.input.valid & ~stopped),
            self.input.ready.eq(filters.input.ready & ~stopped),
        ]

    def _share(self, m: Module, flow: Any, queries: list[QueryCircuit]) -> None:
        """An element goes to all queries that want it in the same cycle."""
        wanted = [flow.payload.element.punctuation | passed for passed in flow.payload.passed]
        ready = reduce(and_, (query.input.ready for query in queries))
        m.d.comb += flow.ready.eq(ready)
        for query, wants in zip(queries, wanted, strict=True):
            m.d.comb += query.input.payload.eq(flow.payload.element)
            m.d.comb += query.input.valid.eq(flow.valid & wants & ready)

    def _configure(
        self, m: Module, configuration: Configuration, filters: FilterStages, queries: list[QueryCircuit]
    ) -> None:
        m.submodules.configuration = configuration
        wiring.connect(m, wiring.flipped(self.configure), configuration.configure)
        m.d.comb += filters.constants.eq(configuration.constants)
        for number, query in enumerate(queries):
            m.d.comb += query.settings.eq(getattr(configuration, f"settings{number}"))
            m.d.comb += query.start.eq(configuration.start)

    def _count(self, m: Module, filters: FilterStages, queries: list[QueryCircuit]) -> None:
        is_row = self.input.valid & self.input.ready & ~self.input.payload.punctuation
        pulses = {
            "rows": [is_row],
            "filtered": [filters.filtered],
            "late": [query.late for query in queries],
            "early": [query.early for query in queries],
            "overflow": [pulse for query in queries for pulse in (query.no_room, query.too_large)],
        }
        for name, found in pulses.items():
            count, restarts = getattr(self, name), self._configuration.restart if self._configuration else None
            more = Signal(range(len(found) + 1), name=f"more_{name}")
            m.d.sync += more.eq(reduce(add, found))
            longer = (count + more)[: COUNTER_BITS + 1]
            m.d.sync += count.eq(longer[:COUNTER_BITS] | longer[COUNTER_BITS].replicate(COUNTER_BITS))
            if restarts is not None:
                with m.If(restarts):
                    m.d.sync += [count.eq(0), more.eq(0)]
