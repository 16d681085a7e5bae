"""Window-ID: a module for every open window; a row goes into all that hold it at once.

Windows stand in the order of their ends and move up one place when the oldest closes, so that the result is always that
of the first place, and where a window lies is known from its place: place j ends j slides after the oldest. A row needs
two comparisons for each place, with numbers that never change.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring

from windrow.hardware.circuits.accumulators import Accumulators
from windrow.hardware.circuits.engine import EngineSignature, offset_bits, outcome_of
from windrow.hardware.circuits.merging import CreditQueue, choose, delayed, tree_levels
from windrow.hardware.design import AggregateDesign, WindowQuery

QUEUED = 8


class WindowIds(wiring.Component):
    """A window engine (`EngineSignature`): a row or a close a cycle, whatever the number of windows.

    First stage: which places hold the row. Second: their accumulators take it, or all move up. Then the groups of the
    closing window are made one, in as many cycles as `merge` takes, and what is not empty is queued.
    """

    def __init__(self, design: AggregateDesign, query: WindowQuery) -> None:
        self.design, self.query = design, query
        self.accumulators = Accumulators(query.parts, design.layout)
        super().__init__(EngineSignature(design, query))

    def elaborate(self, _: Any) -> Module:
        m = Module()
        outcome = outcome_of(self.design, self.query)
        queue = CreditQueue(outcome, QUEUED + tree_levels(self.design.merge, self.query.groups))
        m.submodules.queue = queue
        bounds, ready = self._bounds(m)
        m.d.comb += self.steps.ready.eq(queue.room & ready)
        placed = self._place(m, bounds)
        m.d.comb += queue.begin.eq(self.steps.valid & self.steps.ready & _gives(self.steps.payload))
        self._collect(m, placed, self._windows(m, placed, len(bounds)), queue)
        wiring.connect(m, queue.output, wiring.flipped(self.outcomes))
        return m

    def _bounds(self, m: Module) -> tuple[list[tuple[Any, Any]], Any]:
        """Begin and end of each place, less the end of the first; and whether they are there yet.

        What can be set is reckoned at the start: bounds enter at the last place and move up, a slide more each cycle.
        """
        width, slide, length = self.design.time_width, self.query.slide, self.query.range
        known = [(place * slide - length, place * slide) for place in range(self.design.modules(self.query))]
        if not self.design.configurable:
            return [(Const(begin, signed(width)), Const(end, signed(width))) for begin, end in known], Const(1, 1)
        bounds = [(Signal(signed(width), reset_less=True), Signal(signed(width), reset_less=True)) for _ in known]
        waiting, begin, end = Signal(range(len(known) + 1)), Signal(signed(width)), Signal(signed(width))
        with m.If(self.start):
            m.d.sync += [waiting.eq(len(known)), begin.eq(-self.settings.range), end.eq(0)]
        with m.Elif(waiting != 0):
            m.d.sync += waiting.eq(waiting - 1)
            for pair, following in zip(bounds, [*bounds[1:], (begin, end)], strict=True):
                m.d.sync += [mine.eq(other) for mine, other in zip(pair, following, strict=True)]
            m.d.sync += [mine.eq(mine + self.settings.slide) for mine in (begin, end)]
        return bounds, (waiting == 0) & ~self.start

    def _place(self, m: Module, bounds: list[tuple[Any, Any]]) -> Any:
        """The step one cycle later: the state of its row, which places hold it, which group it is in."""
        step, state = self.steps.payload, self.accumulators.state
        layout = {
            "valid": 1,
            "step": step.shape(),
            "row": state,
            "holds": len(bounds),
            "moves": 1,
            "group": self.query.groups,
        }
        placed = Signal(data.StructLayout(layout))
        taken = self.steps.valid & self.steps.ready
        is_row = taken & ~_gives(step)
        offset = Value.cast(step.time)[: offset_bits(self.design, self.query)].as_signed()
        m.d.sync += [
            placed.valid.eq(taken),
            placed.step.eq(step),
            placed.row.eq(Mux(is_row, self.accumulators.lift(step.arguments), self.accumulators.neutral)),
            placed.holds.eq(Cat(is_row & (offset >= begin) & (offset < end) for begin, end in bounds)),
            placed.moves.eq(taken & step.close & step.final),
            placed.group.eq(Cat(step.group == group for group in range(self.query.groups))),
        ]
        return placed

    def _windows(self, m: Module, placed: Any, places: int) -> list[Any]:
        """Accumulators for each place and group; those of the first place are given back."""
        state, groups = self.accumulators.state, self.query.groups
        neutral = self.accumulators.neutral
        table = [
            [Signal(state, init=neutral, name=f"window{place}_{group}") for group in range(groups)]
            for place in range(places)
        ]
        missed = Signal(places)
        m.d.sync += missed.eq(0)
        for place, states in enumerate(table):
            following = table[place + 1] if place + 1 < places else [neutral] * groups
            for group, (mine, other) in enumerate(zip(states, following, strict=True)):
                before = data.View(state, Mux(placed.moves, Value.cast(other), Value.cast(mine)))
                combined = self.accumulators.combine(before, placed.row)
                takes = placed.holds[place] & placed.group[group]
                with m.If(placed.moves | takes):
                    m.d.sync += mine.eq(combined.state)
                with m.If(takes & combined.overflow):
                    m.d.sync += missed[place].eq(1)
        self._count_overflow(m, missed, placed)
        return table[0]

    def _count_overflow(self, m: Module, missed: Any, placed: Any) -> None:
        """A cycle later: a value that does not fit into its part, or a sum that no longer does."""
        fits = Signal(init=1)
        m.d.sync += [fits.eq(self.accumulators.fits(placed.step.arguments) | ~placed.holds.any())]
        m.d.sync += self.overflow.eq(missed.any() | ~fits)

    def _collect(self, m: Module, placed: Any, states: list[Any], queue: Any) -> None:
        """The group that closes goes into the queue, if it holds a row; so does the end of the stream."""
        levels = tree_levels(self.design.merge, len(states))
        words = [Cat(mine.nonempty, self.accumulators.results(mine)) for mine in states]
        chosen = choose(m, self.design.merge, list(placed.group), words)
        step = placed.step
        about = Cat(placed.valid & _gives(step), step.done, step.group, step.time)
        gives, done, group, end = _split(delayed(m, about, levels), 1, 1, len(step.group), self.design.time_width)
        m.d.sync += [
            queue.end.eq(gives),
            queue.keep.eq(done | chosen[0]),
            queue.outcome.eq(Cat(done, group, end, chosen[1:])),
        ]


def _gives(step: Any) -> Any:
    """Whether a step may have an outcome."""
    return step.close | step.done


def _split(value: Any, *widths: int) -> list[Any]:
    """The value cut into parts of these widths, from the lowest bits on."""
    return [value[sum(widths[:place]) : sum(widths[: place + 1])] for place in range(len(widths))]
