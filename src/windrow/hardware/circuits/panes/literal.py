"""The pipeline of the pane paper as written: modules (algorithms 1 and 2), union, windows (algorithms 3 and 4).

Seven cycles: one for each of the stages 1 to 3, three for stage 4, one for stage 5. There is no way to wait. It is
right while panes close one at a time and at least PPW cycles apart, a slide is one pane and a window three panes or
more; `test_literal.py` shows what happens elsewhere.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, wiring

from windrow.hardware.circuits.accumulators import Accumulators
from windrow.hardware.circuits.engine import LiteralSignature
from windrow.hardware.circuits.merging import choose, delayed, tree_levels
from windrow.hardware.circuits.panes.memory import SlicedMemory
from windrow.hardware.circuits.panes.shape import power_of_two
from windrow.hardware.design import AggregateDesign, WindowQuery


def literal_modules(query: WindowQuery) -> int:
    """Equation 5.

    >>> literal_modules(WindowQuery(600, 60, 60, ())), literal_modules(WindowQuery(600, 61, 60, ()))
    (2, 61)
    """
    return 1 - (-query.slack // query.pane)


def literal_depth(query: WindowQuery) -> int:
    """Words of the pane buffer: twice the panes of a window. The paper's equation 3 says half of it, its table III not.

    >>> literal_depth(WindowQuery(64, 1, 1, ())), literal_depth(WindowQuery(600, 60, 60, ()))
    (128, 32)
    """
    return power_of_two(max(2 * query.range // query.pane, 4))


class LiteralPanes(wiring.Component):
    """The papers' engine with the ports of `LiteralSignature`; a result of the same cycle is lost or mixed with it."""

    def __init__(self, design: AggregateDesign, query: WindowQuery) -> None:
        self.design, self.query = design, query
        self.algebra = Accumulators(query.parts, design.layout)
        self.values = data.StructLayout(dict(_shapes(self.algebra)))
        super().__init__(LiteralSignature(design, query))

    def elaborate(self, _: Any) -> Module:
        m = Module()
        arguments = Signal(self.algebra.arguments)
        m.d.sync += arguments.eq(self.arguments)
        outputs = [self._module(m, number, arguments) for number in range(literal_modules(self.query))]
        flags, words = [flag for flag, _ in outputs], [word for _, word in outputs]
        pane, word = Signal(), Signal(len(words[0]))
        m.d.sync += [
            pane.eq(delayed(m, Cat(*flags).any(), tree_levels(self.design.merge, len(words)))),
            word.eq(choose(m, self.design.merge, flags, words)),
        ]
        self._windows(m, pane, word)
        return m

    def _module(self, m: Module, number: int, arguments: Any) -> tuple[Any, Any]:
        """Stage 1: begin and end of the pane, and what it has to do with the row. Stage 2: its aggregate."""
        width, length, modules = self.design.time_width, self.query.pane, literal_modules(self.query)
        begin, end = (Signal(width, init=(number + more) * length) for more in (0, 1))
        is_in, is_over, closed = Signal(), Signal(), Signal(width)
        m.d.sync += [
            is_in.eq(self.row & ~self.punctuation & (self.time >= begin) & (self.time < end)),
            is_over.eq(self.punctuation & (self.time >= end)),
            closed.eq(end),
        ]
        with m.If(self.punctuation & (self.time >= end)):
            m.d.sync += [begin.eq(begin + modules * length), end.eq(end + modules * length)]
        held, flag, word = Signal(self.algebra.state, init=self.algebra.neutral), Signal(), Signal(self._word_bits)
        m.d.sync += flag.eq(is_over)
        with m.If(is_over):
            m.d.sync += [word.eq(Cat(self._values(held), closed)), held.eq(self.algebra.neutral)]
        with m.Elif(is_in):
            m.d.sync += held.eq(self.algebra.combine(held, self.algebra.lift(arguments)).state)
        return flag, word

    @property
    def _word_bits(self) -> int:
        return self.values.size + self.design.time_width

    def _values(self, state: Any) -> Any:
        """Without the bits that say whether there was a row or a value: the paper has none."""
        return Cat(Value.cast(state[f"value{place}"]) for place in range(len(self.query.parts)))

    def _windows(self, m: Module, pane: Any, word: Any) -> None:
        """Stage 4, algorithms 3 and 4. A word of the buffer is what stage 3 gives: a pane and the flag beside it.

        The paper does not say so. 65 bits are what its table III asks for at RANGE/SLIDE 4096.
        """
        panes, depth = self.query.range // self.query.pane, literal_depth(self.query)
        write, read, before = (Signal(range(depth), init=init) for init in (1, 0, 0))
        counter = Signal(range(panes + 1))
        m.submodules.buffer = buffer = SlicedMemory(1 + len(word), depth)
        m.d.comb += [buffer.write.eq(pane), buffer.write_address.eq(write), buffer.write_data.eq(Cat(pane, word))]
        m.d.comb += buffer.read_address.eq(read)
        following = (read + 1)[: len(read)]
        m.d.sync += before.eq(read)
        with m.If(counter < panes), m.If((read != write) & (following != write)):
            m.d.sync += [read.eq(following), counter.eq(counter + 1)]
        with m.Else():
            m.d.sync += [read.eq(read - panes + 2), counter.eq(1)]
        with m.If(pane):
            m.d.sync += write.eq(write + 1)
        moved, gives = Signal(), Signal()
        m.d.sync += [moved.eq(read != before), gives.eq(counter == panes)]
        is_pane = buffer.read_data[0]
        self._aggregate(m, buffer.read_data[1:], moved & is_pane, gives)

    def _aggregate(self, m: Module, word: Any, takes: Any, gives: Any) -> None:
        """Stage 5: panes make a window."""
        algebra = self.algebra
        total, size = Signal(algebra.state, init=algebra.neutral), self.values.size
        read = data.View(self.values, word[:size])
        members = {f"value{place}": read[f"value{place}"] for place in range(len(self.query.parts))}
        state = data.View(algebra.state, Cat(Value.cast(members.get(name, Const(0, 1))) for name, _ in algebra.state))
        combined = Signal(algebra.state)
        m.d.comb += combined.eq(total)
        with m.If(takes):
            m.d.comb += combined.eq(algebra.combine(total, state).state)
        m.d.sync += [self.result.eq(gives), total.eq(combined)]
        with m.If(gives):
            m.d.sync += [self.end.eq(word[size:]), self.parts.eq(self._parts(combined)), total.eq(algebra.neutral)]

    def _parts(self, state: Any) -> Any:
        """As a result lies, with no value NULL."""
        fields = enumerate(self.query.parts)
        return Cat(Cat(Value.cast(state[f"value{place}"]), Const(0, int(part.is_nullable))) for place, part in fields)


def _shapes(algebra: Accumulators) -> list[tuple[str, Any]]:
    return [(name, field.shape) for name, field in algebra.state if name.startswith("value")]
