"""Least and greatest of long windows by two stacks in block RAM, whose flip is spread evenly over the panes.

Panes lie in blocks of B, and a window ends inside the newest one. It is made of the end of an older block (front
stack: every word holds its pane and all after it in the block), of whole blocks, and of the beginning of the newest
block (back stack: only what it is as a whole). With each pane that enters, one more pane of the block before is
combined, from its end backwards; when a block is full, the flip of the one before it has been done.

    panes     | c-3        | c-2        | c-1        | c          |
    window           [=====|============|============|=====]          combined: from memory, T2, T1, prefix

A window has PPW = 2 B + o panes with o of 4 or 5: its first pane is o - 1 before the place in block c-2 that the newest
pane has in block c. So the front word of a pane is read o panes after the last one of its block was combined at the
earliest, and it takes four cycles to get there.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal, signed
from amaranth.lib import data

from windrow.hardware.circuits.panes.memory import READ_CYCLES, PaneMemory
from windrow.hardware.circuits.panes.steps import PanePlan, SlotCounter, pick, some_parts, store

LEAST_PANES = 12
"""The shortest window that has such blocks."""
_TO_FRONT = 4


class SteadyStacks(Elaboratable):
    """The last PPW panes of each group combined, four cycles after a pane: one pane a cycle, whatever it holds.

    `back` holds panes, `front` what is combined from the end of each block. State: `place` in the newest block of the
    pane that is there, `scanned` the slot of the pane that is combined with it; for each group `prefix` of the newest
    block, `whole` and `older` of the two before it, and `suffix`: what is combined so far of the block before.
    """

    def __init__(self, plan: PanePlan, places: tuple[int, ...], slots: int, depth: int) -> None:
        self.plan, self.places, self.slots = plan, places, slots
        self.per_window = Signal(plan.panes_shape)
        self.block, self.overlap = Signal(plan.panes_shape), Signal(3)
        self.algebra = plan.algebra_of(places)
        self.panes = [Signal(plan.pane, name=f"pane{at}") for at in range(4)]
        self.late = Signal(plan.late)
        self.busy = Signal()
        self.result = Signal(self.algebra.state)
        self.memories = [PaneMemory(self.algebra.state, self.algebra.neutral, depth) for _ in range(2)]

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        self.back, self.front = self.memories
        m.submodules.back, m.submodules.front = self.back, self.front
        m.submodules.slots = self.counter = SlotCounter(self.plan, self.slots)
        self._declare()
        m.d.comb += self.overlap.eq(_TO_FRONT + self.per_window[0])
        m.d.comb += self.block.eq((self.per_window - self.overlap) >> 1)
        self._follow(m)
        self._push(m)
        self._flip(m)
        self._combine(m)
        if self.plan.corrects:
            self.rewriting: list[Any] = []
            self._correct(m)
            m.d.sync += self.busy.eq(Cat(*self.rewriting).any())
        return m

    def _registers(self, name: str) -> list[Any]:
        state, neutral, groups = self.algebra.state, self.algebra.neutral, self.plan.query.groups
        return [Signal(state, init=neutral, name=f"{name}{group}") for group in range(groups)]

    def _declare(self) -> None:
        self.prefix, self.whole, self.older = (self._registers(name) for name in ("prefix", "whole", "older"))
        self.suffix = self._registers("suffix")
        self.place, self.slide_place = Signal(self.plan.panes_shape), Signal(self.plan.panes_shape)
        self.scanned = Signal(self.slots, init=(1 << self.slots) - 1)
        self.slide_scanned = Signal(self.slots, init=(1 << self.slots) - 1)

    def _mine(self, state: Any) -> Any:
        return data.View(self.algebra.state, some_parts(self.plan.query.parts, self.places, state))

    def _follow(self, m: Module) -> None:
        """Every group of a slide starts at the same place; the final one moves it on."""
        pane, slot = self.panes[0], self.counter.slot
        is_full = self.place == self.block - 1
        place = Mux(is_full, 0, self.place + 1)
        scanned = Mux(is_full, slot, self.scanned - 1)
        m.d.comb += self.counter.pane.eq(pane)
        with m.If(pane.valid):
            with m.If(pane.closes & ~pane.final):
                m.d.sync += [self.place.eq(self.slide_place), self.scanned.eq(self.slide_scanned)]
            with m.Else():
                m.d.sync += [self.place.eq(place), self.scanned.eq(scanned)]
            with m.If(pane.closes & pane.final):
                m.d.sync += [self.slide_place.eq(place), self.slide_scanned.eq(scanned)]
        address = self.plan.address(self.scanned, pane.group)
        self.stages = [Signal(2 + len(address), name=f"stage{at}") for at in range(1, 4)]
        now = Cat(self.place == 0, self.place < self.overlap - 1, address)
        m.d.sync += [after.eq(before) for before, after in zip([now, *self.stages], self.stages, strict=False)]

    def _push(self, m: Module) -> None:
        """A pane onto the back stack, in the first cycle; what the blocks before it are goes along with the pane."""
        pane, slot, state = self.panes[0], self.counter.slot, self.algebra.state
        first = (slot + 1 - self.per_window)[: self.slots]
        enters, group = self._mine(pane.state), pane.group
        m.d.comb += [
            self.back.write.eq(pane.valid),
            self.back.write_address.eq(self.plan.address(slot, group)),
            self.back.write_data.eq(enters),
            self.back.read_address.eq(self.plan.address(self.scanned, group)),
            self.front.read_address.eq(self.plan.address(first, group)),
        ]
        prefix = Signal(state)
        m.d.comb += prefix.eq(self.algebra.combine(pick(state, self.prefix, group), enters).state)
        with m.If(self.place == 0):
            m.d.comb += prefix.eq(enters)
        self.pushed, self.before, self.far = Signal(state), Signal(state), Signal(state)
        m.d.sync += [
            self.pushed.eq(prefix),
            self.before.eq(pick(state, self.whole, group)),
            self.far.eq(pick(state, self.older, group)),
        ]
        with m.If(pane.valid):
            store(m, self.prefix, group, prefix)
            with m.If(self.place == self.block - 1):
                store(m, self.whole, group, prefix)
                store(m, self.older, group, pick(state, self.whole, group))

    def _flip(self, m: Module) -> None:
        """The pane that was read joins those after it in its block, and they go onto the front stack."""
        pane, read, state = self.panes[READ_CYCLES], self.back.read_data, self.algebra.state
        suffix, front = Signal(state), Signal(state)
        m.d.comb += suffix.eq(self.algebra.combine(pick(state, self.suffix, pane.group), read).state)
        with m.If(self.stages[READ_CYCLES - 1][0]):
            m.d.comb += suffix.eq(read)
        with m.If(pane.valid):
            store(m, self.suffix, pane.group, suffix)
        m.d.sync += front.eq(suffix)
        m.d.comb += [
            self.front.write.eq(self.panes[3].valid),
            self.front.write_address.eq(self.stages[2][2:]),
            self.front.write_data.eq(front),
        ]

    def _combine(self, m: Module) -> None:
        state, combine = self.algebra.state, self.algebra.combine
        newer, far, together, front = (Signal(state, name=name) for name in ("newer", "far2", "together", "front3"))
        m.d.sync += [
            newer.eq(combine(self.pushed, self.before).state),
            far.eq(self.far),
            together.eq(newer),
            front.eq(self.front.read_data),
            self.result.eq(combine(together, front).state),
        ]
        with m.If(self.stages[1][1]):
            m.d.sync += together.eq(combine(newer, far).state)

    def _correct(self, m: Module) -> None:
        """A late row enters its pane on the back stack, and all that has been combined with it.

        On the front stack that is its pane and those before it in the block, as far as they have been combined: one a
        cycle. `age` counts back from the newest pane, of which `place` are in the newest block.
        """
        late, block, place = self.late, self.block, self.place
        row, below, pane = self._mine(late.state), Signal(signed(len(late.age) + 2)), Signal(4)
        first = (self.counter.next - 1 - late.age)[: self.slots]
        left, slot, found = Signal(self.plan.panes_shape), Signal(self.slots), Signal()
        # Nothing has moved for some cycles, and where the pane lies takes two of them to find out.
        places = Cat(below < 0, below < block, below < 2 * block, below < place)
        m.d.sync += [below.eq(late.age - place), pane.eq(places), found.eq(late.valid)]
        with m.If(left != 0):
            m.d.sync += [left.eq(left - 1), slot.eq(slot - 1)]
        with m.If(found):
            m.d.sync += slot.eq(first)
            with m.If(pane[0]):
                self._join(m, self.prefix, row)
            with m.Elif(pane[1]):
                self._join(m, self.whole, row)
                with m.If(pane[3]):
                    self._join(m, self.suffix, row)
                    m.d.sync += left.eq(place - below)
            with m.Elif(pane[2]):
                self._join(m, self.older, row)
                m.d.sync += left.eq(2 * block - below)
            with m.Else():
                m.d.sync += left.eq(3 * block - below)
        self.rewriting.append(found)
        self._rewrite(m, self.back, self.plan.address(first, late.group), late.valid, row)
        self._rewrite(m, self.front, self.plan.address(slot, late.group), left != 0, row)

    def _join(self, m: Module, registers: list[Any], row: Any) -> None:
        group, state = self.late.group, self.algebra.state
        store(m, registers, group, self.algebra.combine(pick(state, registers, group), row).state)

    def _rewrite(self, m: Module, memory: PaneMemory, address: Any, wanted: Any, row: Any) -> None:
        """Read the word, and two cycles later write it with the row in it."""
        stages = [Signal(1 + len(address), name=f"rewrite{at}") for at in range(READ_CYCLES)]
        with m.If(wanted):
            m.d.comb += memory.read_address.eq(address)
        m.d.sync += [after.eq(before) for before, after in zip([Cat(wanted, address), *stages], stages, strict=False)]
        with m.If(stages[-1][0]):
            m.d.comb += [
                memory.write.eq(1),
                memory.write_address.eq(stages[-1][1:]),
                memory.write_data.eq(self.algebra.combine(memory.read_data, row).state),
            ]
        self.rewriting.append(Cat(wanted, *(stage[0] for stage in stages)).any())
