"""What passes between the pane modules and the windows: closed panes in order, rows that are late, and outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from amaranth.hdl import Array, Cat, Elaboratable, Module, Shape, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.fifo import SyncFIFO

from windrow.hardware.circuits.accumulators import Accumulators
from windrow.hardware.circuits.engine import group_bits, outcome_of
from windrow.hardware.circuits.panes.shape import PaneShape
from windrow.hardware.design import AggregateDesign, CircuitPart, WindowQuery


@dataclass(frozen=True)
class PanePlan:
    """A query over panes: what its parts of a circuit must know of it."""

    design: AggregateDesign
    query: WindowQuery

    @cached_property
    def shape(self) -> PaneShape:
        return PaneShape.of(self.query)

    @cached_property
    def algebra(self) -> Accumulators:
        return Accumulators(self.query.parts, self.design.layout)

    def algebra_of(self, places: tuple[int, ...]) -> Accumulators:
        """Of some of the parts."""
        return Accumulators(tuple(self.query.parts[place] for place in places), self.design.layout)

    @property
    def corrects(self) -> bool:
        """Whether a late row may find its pane closed and a window of it open."""
        return self.query.generous and self.most_panes > self.per_slide

    @property
    def per_slide(self) -> int:
        """Panes of a slide. What is set at run time is always cut in two, of which one may be of no length."""
        return 2 if self.design.configurable else self.shape.per_slide

    @property
    def most_panes(self) -> int:
        """Panes of the longest window there is room for."""
        return 2 * self.query.window_modules + 1 if self.design.configurable else self.shape.per_window

    @property
    def panes_shape(self) -> Shape:
        """Numbers up to the panes of a window."""
        return Shape.cast(range(self.most_panes + 1))

    @property
    def group_words(self) -> int:
        """Words of a memory for each pane."""
        return 1 << group_bits(self.query) if self.query.groups > 1 else 1

    def address(self, slot: Any, group: Any) -> Any:
        """The words of one pane lie side by side."""
        return Cat(group, slot) if self.query.groups > 1 else slot

    @cached_property
    def pane(self) -> data.StructLayout:
        """A closed pane of a group, if `valid`; or `done`.

        The panes of a slide come in order of time. With the last one the window that `closes` is complete; with `final`
        it was the last group, and the next slide follows.
        """
        flags = dict.fromkeys(("valid", "done", "closes", "final"), 1)
        group, end = group_bits(self.query), self.design.time_width
        return data.StructLayout({**flags, "group": group, "end": end, "state": self.algebra.state})

    @cached_property
    def late(self) -> data.StructLayout:
        """A row for a pane that has closed: `age` panes have closed after it. `valid` for one cycle."""
        group = group_bits(self.query)
        return data.StructLayout({"valid": 1, "group": group, "age": self.panes_shape, "state": self.algebra.state})


class WindowsFromPanes(Elaboratable):
    """What all ways from panes to windows have in common.

    `pane` comes from registers and is taken in every cycle; who sends it asks for `room` first, which has place for
    the panes that are on their way. `late` comes only while `idle`, stands still until it is `idle` again, and no pane
    comes before that. All memories are `depth` words deep; they are emptied by `emptying` and `empty_address`.
    """

    def __init__(self, plan: PanePlan, slots: int) -> None:
        self.plan, self.slots = plan, slots
        self.depth = (1 << slots) * plan.group_words
        self.per_window = Signal(plan.panes_shape)
        """PPW, which stands still."""
        self.pane = Signal(plan.pane)
        self.late = Signal(plan.late)
        self.room = Signal()
        self.idle = Signal()
        self.overflow = Signal()
        self.emptying = Signal()
        self.empty_address = Signal((self.depth - 1).bit_length())
        self.outcomes = stream.Signature(outcome_of(plan.design, plan.query)).create()

    def emptied(self, memory: Any) -> list[Any]:
        return [memory.emptying.eq(self.emptying), memory.empty_address.eq(self.empty_address)]


QUEUED = 16
ON_THE_WAY = 8
"""Panes that may still come, each with an outcome, after there was no more room for outcomes."""


class OutcomeQueue(Elaboratable):
    """Outcomes that wait for their reader. With `room` there is place for all that are on their way, and one more."""

    def __init__(self, plan: PanePlan) -> None:
        self.plan = plan
        self.write = Signal()
        self.outcome = Signal(outcome_of(plan.design, plan.query))
        self.room = Signal()
        self.outcomes = stream.Signature(outcome_of(plan.design, plan.query)).create()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        bits = self.outcome.shape().size
        m.submodules.queue = queue = SyncFIFO(width=bits, depth=QUEUED)
        m.d.sync += self.room.eq(queue.w_level < QUEUED - ON_THE_WAY)
        m.d.comb += [
            queue.w_en.eq(self.write),
            queue.w_data.eq(self.outcome),
            self.outcomes.valid.eq(queue.r_rdy),
            Value.cast(self.outcomes.payload).eq(queue.r_data),
            queue.r_en.eq(self.outcomes.ready),
        ]
        return m


class SlotCounter(Elaboratable):
    """Where the panes of a slide go: every group starts at the slot of the slide again, the final one moves it on."""

    def __init__(self, plan: PanePlan, slots: int) -> None:
        self.plan = plan
        self.pane = Signal(plan.pane)
        self.slot = Signal(slots)
        """Of the pane that is there."""
        self.next = Signal(slots)
        """Of the first pane of the next slide; between slides, one after the newest."""

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        offset = Signal(range(self.plan.per_slide))
        m.d.comb += self.slot.eq(self.next + offset)
        with m.If(self.pane.valid):
            m.d.sync += offset.eq(offset + 1)
            with m.If(self.pane.closes):
                m.d.sync += offset.eq(0)
                with m.If(self.pane.final):
                    m.d.sync += self.next.eq(self.next + self.plan.per_slide)
        return m


def pick(layout: data.Layout, registers: list[Any], place: Any) -> Any:
    """The register at a place, as a view: one of the groups."""
    if len(registers) == 1:
        return registers[0]
    return data.View(layout, Array([Value.cast(one) for one in registers])[place])


def store(m: Module, registers: list[Any], place: Any, value: Any) -> None:
    """Set the register at a place at the end of the cycle."""
    for at, register in enumerate(registers):
        with m.If(place == at) if len(registers) > 1 else m.If(1):
            m.d.sync += register.eq(value)


def some_parts(parts: tuple[CircuitPart, ...], places: tuple[int, ...], state: Any) -> Any:
    """The bits of some parts of a state, as the `Accumulators` of those parts have them."""
    members = [state.nonempty]
    for place in places:
        members.append(Value.cast(state[f"value{place}"]))
        if parts[place].is_nullable:
            members.append(state[f"seen{place}"])
    return Cat(*members)
