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

    State: `end` is the end of the oldest open window. `reach` is the newest row that was used less the begin of that
    window: where it is negative, no open window holds a row. An element waits with its distance from `end`, which
    follows when that moves, so what is to be done next is always to be seen from a sign.
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
        width = self.design.time_width
        self._end = Signal(width, name="end")
        self._waits, self._element = Signal(name="waits"), Signal(arrival_of(self.design, self.query), name="element")
        self._after_end = Signal(signed(width), name="after_end")
        self._passing, self._moving, self._patience = Signal(), Signal(), Signal(range(PATIENCE + 1))
        settings = settings_in(self, self.design, self.query)
        self._decide(m)
        self._take(m, settings)
        self._give(m, settings)
        with m.FSM(name="state"):
            with m.State("MOVE"):
                m.d.comb += self._moving.eq(1)
                m.next = "PASS"
            self._pass_or_divide(m, settings)
            with m.State("DONE"):
                pass
        return m

    def _decide(self, m: Module) -> None:
        """What becomes of the element that waits: a row passes, a promise closes windows until it is below `end`.

        `reach` must have heard of the row before a promise before it is asked, so that row must have gone.
        """
        element, is_below = self._element, self._after_end < 0
        self._leaves, self._leaving = Signal(), Signal(located_of(self.design, self.query), name="leaving")
        self._occupied, self._may_close, self._free = Signal(), Signal(), Signal()
        self._closes, self._passes_row, self._is_over = Signal(), Signal(), Signal()
        is_row = ~self._leaving.close & ~self._leaving.done
        may_close = self._waits & element.punctuation & (~is_below | element.last)
        m.d.comb += [
            self._may_close.eq(may_close & (~self._leaves | (~is_row & self.output.ready))),
            self._closes.eq(self._passing & self._may_close & (self._occupied | element.last)),
            self._passes_row.eq(self._passing & self._waits & ~element.punctuation & self._free),
            self._is_over.eq(self._waits & element.punctuation & is_below & ~element.last),
        ]

    def _take(self, m: Module, settings: dict[str, Any]) -> None:
        """The next element, as soon as the last one has gone; or go on to the next end with the one that waits."""
        goes_on = Signal()
        skips = ~self._element.last & (self._patience != PATIENCE)
        m.d.comb += [
            self.input.ready.eq(self._passes_row | (self._passing & (~self._waits | self._is_over))),
            goes_on.eq((self._passing & self._may_close & (self._occupied | skips)) | self._moving),
        ]
        with m.If(self.input.ready):
            m.d.sync += [self._waits.eq(self.input.valid), self._element.eq(self.input.payload)]
            m.d.sync += [self._after_end.eq(self.input.payload.time - self._end), self._patience.eq(0)]
        with m.If(goes_on):
            m.d.sync += self._after_end.eq(self._after_end - settings["slide"])
            m.d.sync += [self._end.eq(self._end + settings["slide"]), self._patience.eq(self._patience + 1)]

    def _give(self, m: Module, settings: dict[str, Any]) -> None:
        """What leaves, unless it is a row that no open window holds; such rows are only counted."""
        leaving, late, element = self._leaving, self._leaving.late, self._element
        is_early, is_held, used, holds_row = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            used.eq(is_held & ~is_early & (1 if self.query.generous else ~late)),
            holds_row.eq(self._leaves & ~leaving.close & ~leaving.done),
            self.output.valid.eq(self._leaves & (leaving.close | leaving.done | used)),
            self.output.payload.eq(leaving),
            self._free.eq(~self.output.valid | self.output.ready),
        ]
        with m.If(self._free):
            punctuation = element.punctuation
            m.d.sync += [
                self._leaves.eq(self._passes_row | self._closes),
                *(leaving.close.eq(punctuation & self._occupied), leaving.done.eq(punctuation & ~self._occupied)),
                leaving.late.eq(~punctuation & (self._after_end < -settings["slide"])),
                leaving.time.eq(Mux(punctuation, self._end, self._after_end)),
                *(leaving.key.eq(element.key), leaving.arguments.eq(element.arguments)),
                is_early.eq(self._after_end >= settings["limit"]),
                is_held.eq(self._after_end >= -settings["range"]),
            ]
        counted = holds_row & self._free
        m.d.sync += [self.late.eq(counted & late), self.early.eq(counted & is_early)]
        self._follow(m, settings, holds_row & used)

    def _follow(self, m: Module, settings: dict[str, Any], is_used: Any) -> None:
        """A row moves `reach` a cycle after it has left, a close moves the begin that it counts from.

        What has left is compared in a cycle of its own, which is not one with a close: the path would be the longest.
        """
        shape = signed(offset_bits(self.design, self.query))
        reach, row_reach = Signal(shape, init=-1), Signal(shape)
        gone, gone_reach = Signal(), Signal(shape)
        m.d.comb += self._occupied.eq((reach >= 0) | (gone & (gone_reach >= 0)))
        with m.If(self._free):
            m.d.sync += row_reach.eq(self._after_end + settings["range"])
        with m.If(self._closes):
            m.d.sync += [reach.eq(reach - settings["slide"]), gone_reach.eq(gone_reach - settings["slide"])]
        with m.Else():
            m.d.sync += [gone.eq(is_used & self._free), gone_reach.eq(row_reach)]
            with m.If(gone & (gone_reach > reach)):
                m.d.sync += reach.eq(gone_reach)

    def _pass_or_divide(self, m: Module, settings: dict[str, Any]) -> None:
        """The distance to the punctuation modulo the slide, a bit a cycle: that far below it is the last end."""
        width, slide = self.design.time_width, settings["slide"]
        rest = Signal(width if self.design.configurable else self.query.slide.bit_length())
        distance, steps = Signal(width), Signal(range(width))
        longer = Cat(distance[-1], rest)
        with m.State("PASS"):
            m.d.comb += self._passing.eq(1)
            m.d.sync += [distance.eq(self._after_end), rest.eq(0), steps.eq(0)]
            with m.If(self._may_close & ~self._occupied & (self._element.last | (self._patience == PATIENCE))):
                m.next = "DONE"
                with m.If(~self._element.last):
                    m.next = "DIVIDE"
        with m.State("DIVIDE"):
            m.d.sync += rest.eq(Mux(longer >= slide, longer - slide, longer))
            m.d.sync += [distance.eq(Cat(0, distance)), steps.eq(steps + 1)]
            with m.If(steps == width - 1):
                m.next = "MOVE TO END"
        with m.State("MOVE TO END"):
            m.d.sync += [self._end.eq(self._element.time - rest), self._waits.eq(0)]
            m.next = "MOVE"
