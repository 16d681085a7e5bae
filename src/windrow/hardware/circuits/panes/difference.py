"""Counts and sums of windows by running difference: what enters is added, what leaves is subtracted."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module, Mux, Shape, Signal, Value, signed, unsigned
from amaranth.lib import data

from windrow.hardware.circuits.panes.memory import READ_CYCLES, PaneMemory
from windrow.hardware.circuits.panes.steps import PanePlan, SlotCounter, pick, some_parts, store


class RunningDifference(Elaboratable):
    """Totals of the last PPW panes of each group, four cycles after a pane: one pane a cycle.

    Whether a window has a row, and whether a sum has a value, cannot be taken back from a bit: panes that have one are
    counted. A sum that may not fit is kept as much wider as the panes of a window can make it.

    `panes` are the pane that is there (stage 0) and the same 1, 2 and 3 cycles later.
    """

    def __init__(self, plan: PanePlan, places: tuple[int, ...], slots: int, depth: int) -> None:
        self.plan, self.places, self.slots = plan, places, slots
        self.algebra = plan.algebra_of(places)
        self.count_bits = plan.most_panes.bit_length()
        self.per_window = Signal(plan.panes_shape)
        self.panes = [Signal(plan.pane, name=f"pane{at}") for at in range(4)]
        self.late = Signal(plan.late)
        self.busy = Signal()
        self.result = Signal(self.algebra.state)
        self.overflow = Signal()
        """With a result: it is not the right one, for want of width."""
        self.memories = [PaneMemory(self.algebra.state, self.algebra.neutral, depth)]

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        (self.memory,) = self.memories
        m.submodules.memory = self.memory
        m.submodules.slots = self.counter = counter = SlotCounter(self.plan, self.slots)
        pane, leaves = self.panes[0], (counter.slot - self.per_window)[: self.slots]
        self.entering = Signal(1 + READ_CYCLES)
        """Of a late row: how far its pane has come on the way from the memory."""
        m.d.comb += [
            counter.pane.eq(pane),
            self.memory.write.eq(pane.valid),
            self.memory.write_address.eq(self.plan.address(counter.slot, pane.group)),
            self.memory.write_data.eq(self._mine(pane.state)),
            self.memory.read_address.eq(self.plan.address(leaves, pane.group)),
        ]
        self._add(m)
        return m

    def _mine(self, state: Any) -> Any:
        return data.View(self.algebra.state, some_parts(self.plan.query.parts, self.places, state))

    def _add(self, m: Module) -> None:
        """The difference in the third cycle, the totals in the fourth: a path through two adders would be too long."""
        layout = self._totals(unsigned(self.count_bits))
        change, after = Signal(self._totals(signed(2))), Signal(layout)
        totals = [Signal(layout, name=f"totals{group}") for group in range(self.plan.query.groups)]
        correcting = Signal()
        group = Mux(correcting, self.late.group, self.panes[3].group)
        total = pick(layout, totals, group)
        m.d.sync += correcting.eq(self.entering[READ_CYCLES])
        enters, leaves = self._mine(self.panes[READ_CYCLES].state), self.memory.read_data
        for name, _ in layout:
            m.d.sync += change[name].eq(enters[name] - leaves[name])
            m.d.comb += after[name].eq(total[name] + change[name])
        if self.plan.corrects:
            self._correct(m, change)
        with m.If(self.panes[3].valid | correcting):
            store(m, totals, group, after)
        self._show(m, after)

    def _totals(self, count: Shape) -> data.StructLayout:
        members: dict[str, Any] = {"nonempty": count}
        for at, part in enumerate(self.algebra.parts):
            more = self.count_bits + 1 if self.algebra.can_overflow(part) else 0
            members[f"value{at}"] = signed(part.width + more)
            if part.is_nullable:
                members[f"seen{at}"] = count
        return data.StructLayout(members)

    def _show(self, m: Module, after: Any) -> None:
        m.d.sync += self.result.nonempty.eq(after.nonempty != 0)
        missed = []
        for at, part in enumerate(self.algebra.parts):
            value = after[f"value{at}"]
            m.d.sync += self.result[f"value{at}"].eq(value)
            if self.algebra.can_overflow(part):
                held = Value.cast(value)[: part.width]
                missed.append((held.as_signed() if part.signed else held) != value)
            if part.is_nullable:
                m.d.sync += self.result[f"seen{at}"].eq(after[f"seen{at}"] != 0)
        m.d.sync += self.overflow.eq(Cat(*missed).any())

    def _correct(self, m: Module, change: Any) -> None:
        """A late row enters its pane and the totals; what is counted by panes only where the pane had none."""
        memory, late = self.memory, self.late
        slot = Signal(self.slots)  # in a register, since `late` and the panes stand still from before it is asked for
        m.d.sync += slot.eq(self.counter.next - 1 - late.age)
        address = self.plan.address(slot, late.group)
        row = self._mine(late.state)
        m.d.sync += self.entering.eq(Cat(late.valid, self.entering))
        m.d.comb += self.busy.eq(self.entering.any())
        with m.If(self.busy):
            m.d.comb += [memory.read_address.eq(address), memory.write_address.eq(address)]
        with m.If(self.entering[READ_CYCLES]):
            m.d.comb += [memory.write.eq(1), memory.write_data.eq(self.algebra.combine(memory.read_data, row).state)]
            for name, _ in self.algebra.state:
                is_value = name.startswith("value")
                m.d.sync += change[name].eq(row[name] if is_value else row[name] & ~memory.read_data[name])
