"""Windows from what enters and what leaves: one pane a cycle, however many panes a window has."""

from __future__ import annotations

import itertools
from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from windrow.hardware.circuits.panes.difference import RunningDifference
from windrow.hardware.circuits.panes.ladder import Ladder
from windrow.hardware.circuits.panes.shape import power_of_two
from windrow.hardware.circuits.panes.stacks import LEAST_PANES, SteadyStacks
from windrow.hardware.circuits.panes.steps import OutcomeQueue, PanePlan, WindowsFromPanes
from windrow.hardware.design import Function


class IncrementalWindows(WindowsFromPanes):
    """Counts and sums by running difference, least and greatest by stacks, side by side; a window after four cycles."""

    def __init__(self, plan: PanePlan) -> None:
        super().__init__(plan, (power_of_two(max(plan.most_panes, 2)) - 1).bit_length())
        added = (Function.COUNT, Function.SUM)
        places = range(len(plan.query.parts))
        self.added = tuple(place for place in places if plan.query.parts[place].function in added)
        self.compared = tuple(place for place in places if place not in self.added)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        plan = self.plan
        m.submodules.difference = difference = RunningDifference(plan, self.added, self.slots, self.depth)
        levels: list[Any] = [difference]
        if self.compared and self._has_short:
            m.submodules.ladder = ladder = Ladder(plan, self.compared, min(plan.most_panes, LEAST_PANES - 1))
            levels.append(ladder)
        if self.compared and plan.most_panes >= LEAST_PANES:
            m.submodules.stacks = stacks = SteadyStacks(plan, self.compared, self.slots, self.depth)
            levels.append(stacks)
        panes = [self.pane, *(Signal(plan.pane, name=f"pane{at}") for at in range(1, 5))]
        m.d.sync += [after.eq(before) for before, after in itertools.pairwise(panes)]
        for level in levels:
            m.d.comb += [mine.eq(pane) for mine, pane in zip(level.panes, panes, strict=False)]
            m.d.comb += [level.late.eq(self.late), level.per_window.eq(self.per_window)]
            for memory in level.memories:
                m.d.comb += self.emptied(memory)
        on_the_way = reduce(or_, (pane.valid | pane.done for pane in panes))
        m.d.comb += self.idle.eq(~on_the_way & ~reduce(or_, (level.busy for level in levels)))
        self._give(m, panes[-1], self._whole(levels))
        with m.If(panes[-1].valid & panes[-1].closes):
            m.d.comb += self.overflow.eq(difference.overflow & difference.result.nonempty)
        return m

    @property
    def _has_short(self) -> bool:
        """Whether a window may be too short for stacks."""
        return self.plan.design.configurable or self.plan.most_panes < LEAST_PANES

    def _whole(self, levels: list[Any]) -> Any:
        """The state of all parts in their order, put together from those of the levels."""
        difference, *others = (level.result for level in levels)
        compared: Any = others[0] if others else None
        if len(others) > 1:
            is_short = self.per_window < LEAST_PANES
            compared = data.View(others[0].shape(), Mux(is_short, Value.cast(others[0]), Value.cast(others[1])))
        members = [difference.nonempty]
        for place, part in enumerate(self.plan.query.parts):
            result, mine = (difference, self.added) if place in self.added else (compared, self.compared)
            members.append(Value.cast(result[f"value{mine.index(place)}"]))
            if part.is_nullable:
                members.append(result[f"seen{mine.index(place)}"])
        return data.View(self.plan.algebra.state, Cat(*members))

    def _give(self, m: Module, pane: Any, state: Any) -> None:
        m.submodules.queue = queue = OutcomeQueue(self.plan)
        m.d.comb += [
            self.room.eq(queue.room),
            queue.write.eq(pane.valid & pane.closes & state.nonempty | pane.done),
            queue.outcome.done.eq(pane.done),
            queue.outcome.group.eq(pane.group),
            queue.outcome.end.eq(pane.end),
            queue.outcome.parts.eq(self.plan.algebra.results(state)),
            self.outcomes.valid.eq(queue.outcomes.valid),
            self.outcomes.payload.eq(queue.outcomes.payload),
            queue.outcomes.ready.eq(self.outcomes.ready),
        ]
