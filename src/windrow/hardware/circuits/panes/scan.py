"""A window reads all its panes, one a cycle: the paper's way, and right also where its algorithm 3 is not.

Panes wait in the memory while windows are read; windows wait for panes. Each is counted, so that a full memory and an
empty one are not the same, and who closes panes waits while the memory is full.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data

from windrow.hardware.circuits.panes.memory import READ_CYCLES, PaneMemory
from windrow.hardware.circuits.panes.shape import power_of_two
from windrow.hardware.circuits.panes.steps import ON_THE_WAY, OutcomeQueue, PanePlan, SlotCounter, WindowsFromPanes


class ScanWindows(WindowsFromPanes):
    """PPW cycles for each window and group. A word holds a pane and its end, as the paper's does.

    State: `start` is the slot of the first pane of the oldest window that has not been read, `place` how many of its
    panes have been, `pending` such windows are complete. Slots from there to the newest pane are not written.
    """

    def __init__(self, plan: PanePlan) -> None:
        panes = plan.most_panes
        super().__init__(plan, (power_of_two(panes + max(panes, 2 * ON_THE_WAY)) - 1).bit_length())
        self.word = data.StructLayout({"state": plan.algebra.state, "end": plan.design.time_width})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        neutral = self.word.const({"state": self.plan.algebra.neutral})
        m.submodules.memory = self.memory = PaneMemory(self.word, neutral, self.depth)
        m.submodules.slots = self.counter = SlotCounter(self.plan, self.slots)
        m.submodules.queue = self.queue = OutcomeQueue(self.plan)
        m.d.comb += [self.counter.pane.eq(self.pane), *self.emptied(self.memory)]
        m.d.comb += [
            self.memory.write.eq(self.pane.valid),
            self.memory.write_address.eq(self.plan.address(self.counter.slot, self.pane.group)),
            self.memory.write_data.state.eq(self.pane.state),
            self.memory.write_data.end.eq(self.pane.end),
        ]
        self._count_windows(m)
        self._read(m)
        self._combine(m)
        if self.plan.corrects:
            self._correct(m)
        return m

    def _count_windows(self, m: Module) -> None:
        most = ((1 << self.slots) - self.plan.most_panes - ON_THE_WAY) // self.plan.per_slide
        self.pending = Signal(self.slots + 1)
        self.read_one = Signal()
        complete = self.pane.valid & self.pane.closes & self.pane.final
        m.d.sync += [self.pending.eq(self.pending + complete - self.read_one), self.room.eq(self.pending < most)]
        self.groups = Signal.like(self.pane.group)
        with m.If(complete):
            m.d.sync += self.groups.eq(self.pane.group)

    def _read(self, m: Module) -> None:
        """Read the panes of the oldest complete window, for one group after another."""
        following, start, slot = Signal(self.slots), Signal(self.slots), Signal(self.slots)
        place, begun = Signal(self.plan.panes_shape), Signal()
        self.group = Signal.like(self.pane.group)
        self.reading, last = Signal(), Signal()
        m.d.comb += [
            self.memory.read_address.eq(self.plan.address(slot, self.group)),
            self.reading.eq((self.pending != 0) & self.queue.room),
            last.eq(place == self.per_window - 1),
            self.read_one.eq(self.reading & last & (self.group == self.groups)),
            following.eq(start + self.plan.per_slide),
        ]
        with m.If(self.reading):
            m.d.sync += [slot.eq(slot + 1), place.eq(place + 1)]
            with m.If(last):
                m.d.sync += [place.eq(0), slot.eq(start), self.group.eq(self.group + 1)]
            with m.If(self.read_one):
                m.d.sync += [start.eq(following), slot.eq(following), self.group.eq(0)]
        with m.If(self.pane.valid):
            m.d.sync += begun.eq(1)
        with m.Elif(~begun):
            before = self.plan.per_slide - self.per_window
            m.d.sync += [start.eq(before), slot.eq(before)]
        self.flags = Cat(self.reading, self.reading & (place == 0), self.reading & last, self.group)

    def _combine(self, m: Module) -> None:
        """Two cycles after its address a word is there; one cycle after the last one, the window is."""
        algebra, word = self.plan.algebra, self.memory.read_data
        first, second, third = (Signal(len(self.flags), name=f"flags{at}") for at in range(3))
        m.d.sync += [first.eq(self.flags), second.eq(first), third.eq(second)]
        total, end = Signal(algebra.state), Signal(self.plan.design.time_width)
        combined = algebra.combine(total, word.state)
        with m.If(second[0]):
            m.d.sync += [end.eq(word.end), total.eq(combined.state)]
            with m.If(second[1]):
                m.d.sync += total.eq(word.state)
        ending = Signal()
        with m.If(self.pane.done):
            m.d.sync += ending.eq(1)
        m.d.comb += [
            self.overflow.eq(second[0] & ~second[1] & combined.overflow),
            self.idle.eq(~(self.pane.valid | self.pane.done | first[0] | second[0] | third[0]) & (self.pending == 0)),
            self.queue.outcome.end.eq(end),
            self.queue.outcome.group.eq(third[3:]),
            self.queue.outcome.parts.eq(algebra.results(total)),
            self.queue.write.eq(third[2] & total.nonempty),
        ]
        with m.If(ending & self.idle):
            m.d.comb += [self.queue.write.eq(1), self.queue.outcome.done.eq(1)]
            m.d.sync += ending.eq(0)
        m.d.comb += [
            self.outcomes.valid.eq(self.queue.outcomes.valid),
            self.outcomes.payload.eq(self.queue.outcomes.payload),
            self.queue.outcomes.ready.eq(self.outcomes.ready),
        ]

    def _correct(self, m: Module) -> None:
        """Read the pane of a late row, and write it back with the row."""
        algebra, memory = self.plan.algebra, self.memory
        waits = Signal(1 + READ_CYCLES)
        address = self.plan.address((self.counter.next - 1 - self.late.age)[: self.slots], self.late.group)
        m.d.sync += waits.eq(Cat(self.late.valid, waits))
        with m.If(waits.any()):
            m.d.comb += [memory.read_address.eq(address), memory.write_address.eq(address), self.idle.eq(0)]
        with m.If(waits[READ_CYCLES]):
            combined = algebra.combine(memory.read_data.state, self.late.state)
            m.d.comb += [
                memory.write.eq(1),
                memory.write_data.state.eq(combined.state),
                memory.write_data.end.eq(memory.read_data.end),
                self.overflow.eq(combined.overflow),
            ]
