"""The papers' circuits as written, and the engine of the first: four stages of Window-ID.

There is no back-pressure, nothing is counted and nothing ends: rows come at any time, `last` means nothing, and results
that nobody takes are gone. Where this loses results, `test_literal.py` shows it.
"""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring

from windrow.errors import UnsupportedError
from windrow.hardware.circuits.accumulators import Accumulators
from windrow.hardware.circuits.engine import LiteralSignature
from windrow.hardware.circuits.expressions import fields_of, wire
from windrow.hardware.circuits.merging import choose, delayed, tree_levels
from windrow.hardware.circuits.panes.literal import LiteralPanes
from windrow.hardware.circuits.ports import AggregatePorts
from windrow.hardware.design import AggregateDesign, CircuitAlgorithm, WindowQuery


class LiteralCircuit(wiring.Component):
    """The papers' engine behind its selection. Every element is taken, no result waits, nothing is counted.

    Window-ID has two stages for it: one compares, one decides whether a row is valid. In the paper on panes the
    selection belongs to the first stage of the engine and takes no cycle.
    """

    def __init__(self, design: AggregateDesign) -> None:
        self.design = design
        (self.query,) = design.queries
        super().__init__(AggregatePorts(design))

    def elaborate(self, _: Any) -> Module:
        m = Module()
        is_staged = self.design.algorithm is CircuitAlgorithm.WID
        m.submodules.engine = engine = (LiteralWindowIds if is_staged else LiteralPanes)(self.design, self.query)
        element, valid = self.input.payload, self.input.valid
        row, punctuation = valid & ~element.punctuation, valid & element.punctuation
        fields = fields_of(self.design.layout, element.data)
        passes = [wire(condition, fields).is_true for condition in self.query.where]
        if is_staged:
            passes = delayed(m, Cat(*passes), 1)
            row = delayed(m, delayed(m, row, 1) & passes.all(), 1)
            element, punctuation = (delayed(m, one, 2) for one in (element, punctuation))
        else:
            row = reduce(and_, passes, row)
        arguments = Accumulators(self.query.parts, self.design.layout).evaluate(element.data)
        m.d.comb += [
            self.input.ready.eq(1),
            *(engine.row.eq(row), engine.punctuation.eq(punctuation)),
            *(engine.time.eq(element.time), engine.arguments.eq(arguments)),
            *(self.output.valid.eq(engine.result), self.output.payload.nonempty.eq(engine.result)),
            *(self.output.payload.end.eq(engine.end), self.output.payload.parts.eq(engine.parts)),
        ]
        return m


def as_in_the_papers(design: AggregateDesign) -> AggregateDesign:
    """The design, or an error: the papers have one query without groups, of which nothing can be set."""
    if len(design.queries) > 1 or design.queries[0].keys or design.configurable:
        raise UnsupportedError(
            "must be repaired for several queries, for GROUP BY and for what is set at run time",
            parameter="variant",
            value=design.variant.value,
            hint="the papers' circuits are one query without groups",
        )
    return design


class LiteralWindowIds(wiring.Component):
    """Stages 3 and 4 of the first paper: modules that know begin and end of their window, and a union of their results.

    All modules whose end a punctuation reaches give their result in the same cycle, of which the union passes one.
    """

    def __init__(self, design: AggregateDesign, query: WindowQuery) -> None:
        self.design, self.query = design, query
        super().__init__(LiteralSignature(design, query))

    def elaborate(self, _: Any) -> Module:
        m = Module()
        outputs = [self._module(m, number) for number in range(self.design.modules(self.query))]
        flags, words = [flag for flag, _ in outputs], [word for _, word in outputs]
        chosen = choose(m, self.design.merge, flags, words)
        is_any = delayed(m, Cat(*flags).any(), tree_levels(self.design.merge, len(words)))
        m.d.sync += [self.result.eq(is_any), Cat(self.end, self.parts).eq(chosen)]
        return m

    def _module(self, m: Module, number: int) -> tuple[Any, Any]:
        """Algorithms 1 and 2 of one module: its output flag and its output word, both registers."""
        accumulators = Accumulators(self.query.parts, self.design.layout)
        width, slide = self.design.time_width, self.query.slide
        modules = self.design.modules(self.query)
        begin, end = (Signal(width, init=number * slide + length) for length in (0, self.query.range))
        state, flag = Signal(accumulators.state, init=accumulators.neutral), Signal()
        word = Signal(width + self.query.results.bits)
        is_in = self.row & (self.time >= begin) & (self.time < end)
        is_over = self.punctuation & (self.time >= end)
        m.d.sync += flag.eq(is_over)
        with m.If(is_over):
            m.d.sync += [word.eq(Cat(end, self._parts(accumulators, state))), state.eq(accumulators.neutral)]
            m.d.sync += [begin.eq(begin + modules * slide), end.eq(end + modules * slide)]
        with m.Elif(is_in):
            m.d.sync += state.eq(accumulators.combine(state, accumulators.lift(self.arguments)).state)
        return flag, word

    def _parts(self, accumulators: Accumulators, state: Any) -> Any:
        """Values without the bit that says NULL: a window without rows looks like one of neutral values."""
        parts = enumerate(self.query.parts)
        return Cat(
            Cat(Value.cast(state[f"value{place}"]), Const(0, 1) if part.is_nullable else Const(0, 0))
            for place, part in parts
        )
