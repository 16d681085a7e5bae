"""Punctuations become closes, one window a cycle, and times become offsets from the end of the oldest open window.

This is what the papers leave out: there, a punctuation that closes several windows gives one result and loses the
others, and one that is far ahead leaves modules behind. Here everything after the punctuation waits until its windows
have closed. While no window holds a row nothing needs to be closed: then ends are passed one a cycle without a close,
and, after `PATIENCE` of them, all at once by a division.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from windrow.hardware.circuits.accumulators import Accumulators
from windrow.hardware.circuits.engine import offset_bits, settings_in, settings_of
from windrow.hardware.design import AggregateDesign, WindowQuery

PATIENCE = 15


def arrival_of(design: AggregateDesign, query: WindowQuery) -> data.StructLayout:
    """An element of which only what the query needs is left: its key and the arguments of its parts."""
    return data.StructLayout(
        {"punctuation": 1, "last": 1, "time": design.time_width, **_needed(design, query)},
    )


def located_of(design: AggregateDesign, query: WindowQuery) -> data.StructLayout:
    """A row (`time` is its offset), a `close` (`time` is the end of the window) or `done`, as in `step_of`."""
    return data.StructLayout(
        {"close": 1, "done": 1, "late": 1, "time": signed(design.time_width), **_needed(design, query)},
    )


def _needed(design: AggregateDesign, query: WindowQuery) -> dict[str, Any]:
    key = sum(one.bits for one in design.layout.fields if one.name in query.keys)
    return {"key": key, "arguments": Accumulators(query.parts, design.layout).arguments}


class PunctuationSplitter(wiring.Component):
    """Rows in and out one a cycle, two cycles later; a punctuation that closes k windows takes at least k + 1 cycles.

    `late` and `early` are 1 for one cycle for each row that is. Rows that no open window holds end here.

    State: `end` is the end of the oldest open window, `begin` its begin. `reach` is the newest row that was used less
    `begin`: where it is negative, no open window holds a row. An element waits with its distances from both, which
    follow when they move, so that what is to be done next is always to be seen from a sign.
    """

    def __init__(self, design: AggregateDesign, query: WindowQuery) -> None:
        self.design, self.query = design, query
        ports: dict[str, Any] = {
            "input": In(stream.Signature(arrival_of(design, query))),
            "output": Out(stream.Signature(located_of(design, query))),
            "late": Out(1),
            "early": Out(1),
        }
        if design.configurable:
            ports |= {"settings": In(settings_of(design))}
        super().__init__(ports)

    def elaborate(self, _: Any) -> Module:
        m = Module()
        self._declare()
        settings = settings_in(self, self.design, self.query)
        self._give(m)
        with m.FSM(name="state"):
            with m.State("BEGIN"):
                m.d.sync += [self._end.eq(settings["slide"]), self._begin.eq(settings["slide"] - settings["range"])]
                m.next = "PASS"
            with m.State("PASS"):
                self._pass(m, settings)
            self._divide(m, settings)
            with m.State("DONE"):
                pass
        return m

    def _declare(self) -> None:
        width = self.design.time_width
        self._valid, self._element = Signal(), Signal(arrival_of(self.design, self.query))
        self._after_end, self._after_begin = Signal(signed(width)), Signal(signed(width))
        self._end, self._begin = Signal(width), Signal(width)
        self._leaving, self._leaves = Signal(located_of(self.design, self.query)), Signal()
        self._is_early, self._is_held = Signal(), Signal()
        self._free, self._holds_row, self._patience = Signal(), Signal(), Signal(range(PATIENCE + 1))
        reach = signed(offset_bits(self.design, self.query))
        self._reach, self._row_reach = Signal(reach, init=-1), Signal(reach)

    def _give(self, m: Module) -> None:
        """What is to leave leaves, unless it is a row that no open window holds; such rows are only counted.

        A row moves `reach` while it is here. Until it has gone, `begin` stands still.
        """
        late = self._leaving.late
        is_row, used = ~self._leaving.close & ~self._leaving.done, Signal()
        m.d.comb += [
            used.eq(self._is_held & ~self._is_early & (1 if self.query.generous else ~late)),
            self._holds_row.eq(self._leaves & is_row),
            self.output.valid.eq(self._leaves & (~is_row | used)),
            self.output.payload.eq(self._leaving),
            self._free.eq(~self.output.valid | self.output.ready),
        ]
        counted = self._holds_row & self._free
        m.d.sync += [self.late.eq(counted & late), self.early.eq(counted & self._is_early)]
        with m.If(self._free):
            m.d.sync += self._leaves.eq(0)
        with m.If(self._holds_row & used & (self._row_reach > self._reach)):
            m.d.sync += self._reach.eq(self._row_reach)

    def _pass(self, m: Module, settings: dict[str, Any]) -> None:
        with m.If(~self._valid):
            self._take(m)
        with m.Elif(~self._element.punctuation), m.If(self._free):
            self._pass_row(m, settings)
            self._take(m)
        with m.Elif((self._after_end < 0) & ~self._element.last):
            m.d.sync += self._patience.eq(0)
            self._take(m)
        with m.Elif(self._free & ~self._holds_row):
            self._close(m, settings)

    def _take(self, m: Module) -> None:
        element = self.input.payload
        m.d.comb += self.input.ready.eq(1)
        m.d.sync += [
            self._valid.eq(self.input.valid),
            self._element.eq(element),
            self._after_end.eq(element.time - self._end),
            self._after_begin.eq(element.time - self._begin),
        ]

    def _pass_row(self, m: Module, settings: dict[str, Any]) -> None:
        leaving = self._leaving
        m.d.sync += [
            self._leaves.eq(1),
            *(leaving.close.eq(0), leaving.done.eq(0), leaving.late.eq(self._after_end < -settings["slide"])),
            *(leaving.time.eq(self._after_end), leaving.key.eq(self._element.key)),
            leaving.arguments.eq(self._element.arguments),
            self._is_early.eq(self._after_end >= settings["limit"]),
            *(self._is_held.eq(self._after_begin >= 0), self._row_reach.eq(self._after_begin)),
        ]

    def _close(self, m: Module, settings: dict[str, Any]) -> None:
        """The oldest window, if a window holds a row; otherwise go on to the next end, or to the last one."""
        leaving, holds = self._leaving, self._reach >= 0
        m.d.sync += [leaving.close.eq(holds), leaving.done.eq(~holds), leaving.time.eq(self._end), leaving.late.eq(0)]
        with m.If(holds):
            m.d.sync += [self._leaves.eq(1), self._reach.eq(self._reach - settings["slide"])]
            self._go_on(m, settings)
        with m.Elif(self._element.last):
            m.d.sync += self._leaves.eq(1)
            m.next = "DONE"
        with m.Elif(self._patience == PATIENCE):
            m.next = "DIVIDE"
        with m.Else():
            m.d.sync += self._patience.eq(self._patience + 1)
            self._go_on(m, settings)

    def _go_on(self, m: Module, settings: dict[str, Any]) -> None:
        m.d.sync += [
            self._end.eq(self._end + settings["slide"]),
            self._begin.eq(self._begin + settings["slide"]),
            self._after_end.eq(self._after_end - settings["slide"]),
        ]

    def _divide(self, m: Module, settings: dict[str, Any]) -> None:
        """The distance to the punctuation modulo the slide, a bit a cycle: that far below it is the last end."""
        width = self.design.time_width
        rest = Signal(width if self.design.configurable else self.query.slide.bit_length())
        steps = Signal(range(width))
        slide, distance = settings["slide"], self._after_end.as_unsigned()
        longer = Cat(distance[-1], rest)
        with m.State("DIVIDE"):
            m.d.sync += rest.eq(Mux(longer >= slide, longer - slide, longer))
            m.d.sync += [self._after_end.eq(Cat(0, distance)[:width]), steps.eq(steps + 1)]
            with m.If(steps == width - 1):
                m.d.sync += steps.eq(0)
                m.next = "MOVE END"
        with m.State("MOVE END"):
            m.d.sync += [self._end.eq(self._element.time - rest), self._after_end.eq(rest), rest.eq(0)]
            m.next = "MOVE BEGIN"
        with m.State("MOVE BEGIN"):
            m.d.sync += [self._begin.eq(self._end - settings["range"]), self._patience.eq(0)]
            m.next = "PASS"
