"""GROUP BY: keys become numbers of groups by a table that compares all its keys at once; a close visits every group.

A key keeps its number from its first row on. Rows of a key for which the table has no room are counted and go.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from windrow.hardware.circuits.engine import group_bits, step_of
from windrow.hardware.circuits.punctuations import located_of
from windrow.hardware.design import AggregateDesign, WindowQuery


class GroupTable(wiring.Component):
    """Rows get the number of their group, one a cycle, two cycles later; a close becomes one for each group in use.

    `keys` are the keys of all groups side by side, group 0 in the lowest bits. `overflow` is 1 for one cycle for each
    row without a place.
    """

    def __init__(self, design: AggregateDesign, query: WindowQuery) -> None:
        self.design, self.query = design, query
        self._located = located_of(design, query)
        super().__init__(
            {
                "input": In(stream.Signature(self._located)),
                "output": Out(stream.Signature(step_of(design, query))),
                "keys": Out(self._located["key"].width * query.groups),
                "overflow": Out(1),
            }
        )

    def elaborate(self, _: Any) -> Module:
        m = Module()
        if self.query.keys:
            self._look_up(m)
        else:
            m.d.comb += [
                self.output.valid.eq(self.input.valid),
                self.input.ready.eq(self.output.ready),
                *_same(self.input.payload, self.output.payload),
                self.output.payload.final.eq(1),
            ]
        return m

    def _look_up(self, m: Module) -> None:
        """First stage: which keys are equal, the one that is entered in this very cycle included."""
        groups = self.query.groups
        table = Array(Signal(self._located["key"].shape, name=f"key{place}") for place in range(groups))
        used, entering = Signal(groups), Signal(groups)
        flow = stream.Signature(data.StructLayout({"located": self._located, "equal": groups})).create()
        key = self.input.payload.key
        known = Cat(used[place] & (table[place] == key) for place in range(groups))
        entered = Mux(flow.payload.located.key == key, entering, 0)
        m.d.comb += [self.keys.eq(Cat(*table)), self.input.ready.eq(flow.ready | ~flow.valid)]
        with m.If(self.input.ready):
            m.d.sync += [flow.valid.eq(self.input.valid), flow.payload.eq(Cat(self.input.payload, known | entered))]
        self._enter(m, flow, used, entering)
        for place, held in enumerate(table):
            with m.If(entering[place]):
                m.d.sync += held.eq(flow.payload.located.key)

    def _enter(self, m: Module, flow: Any, used: Any, entering: Any) -> None:
        """Second stage: a new key takes the lowest free place; closes stay until they have visited all groups."""
        located, output = flow.payload.located, self.output.payload
        free, is_row, is_new = Signal(), Signal(), Signal()
        lowest = Cat(~used[place] & used[:place].all() for place in range(self.query.groups))
        visited, is_last = self._visits(m, flow, used, free)
        m.d.comb += [
            free.eq(self.output.ready | ~self.output.valid),
            is_row.eq(~located.close & ~located.done),
            is_new.eq(is_row & ~flow.payload.equal.any()),
            flow.ready.eq(free & (~located.close | is_last)),
            entering.eq(Mux(flow.valid & free & is_new, lowest, 0)),
        ]
        m.d.sync += [used.eq(used | entering), self.overflow.eq(flow.valid & free & is_new & used.all())]
        with m.If(free):
            place = _number(flow.payload.equal | Mux(is_new, lowest, 0))
            m.d.sync += [
                self.output.valid.eq(flow.valid & ~(is_new & used.all())),
                *_same(located, output),
                output.final.eq(is_last),
                output.group.eq(Mux(located.close, visited, place)),
            ]

    def _visits(self, m: Module, flow: Any, used: Any, free: Any) -> tuple[Any, Any]:
        """The group that a close is at, and whether it is the last one in use."""
        visited, is_last = Signal(group_bits(self.query)), Signal()
        m.d.comb += is_last.eq(~Cat(used[1:], 0).bit_select(visited, 1))
        with m.If(free & flow.valid & flow.payload.located.close):
            m.d.sync += visited.eq(Mux(is_last, 0, visited + 1))
        return visited, is_last


def _number(one_hot: Any) -> Any:
    """The place of the only bit that is set.

    >>> from amaranth.hdl import Const
    >>> len(_number(Const(4, 5)))
    3
    """
    bits = max(1, (len(one_hot) - 1).bit_length())
    places = range(len(one_hot))
    return Cat(Cat(one_hot[place] for place in places if place >> bit & 1).any() for bit in range(bits))


def _same(located: Any, step: Any) -> list[Any]:
    return [step[name].eq(located[name]) for name in ("close", "done", "late", "time", "arguments")]
