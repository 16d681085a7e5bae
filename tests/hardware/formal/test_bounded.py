"""The solver proves what is so, and shows what is not."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from tests.hardware.small_circuits import ELEMENT
from windrow.hardware.formal.bounded import prove


class ThreeInARow(wiring.Component):
    """`bad` rises when `step` was set three times in a row; `seen` is shown only."""

    def __init__(self) -> None:
        super().__init__({"step": In(1), "element": In(ELEMENT), "seen": Out(2), "bad": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        count = Signal(2)
        m.d.sync += count.eq(0)
        with m.If(self.step & (self.element.value == 5)):
            m.d.sync += count.eq(count + 1)
        m.d.comb += [self.bad.eq(count == 3), self.seen.eq(count)]
        return m


def test_what_cannot_be_in_so_few_cycles_is_proved() -> None:
    proof = prove(ThreeInARow(), "never three", cycles=3)
    assert proof.holds
    assert "never three: proved for 3 cycles" == str(proof)


def test_a_counterexample_is_a_table_of_cycles() -> None:
    proof = prove(ThreeInARow(), "never three", cycles=6)
    assert proof.counterexample is not None
    lines = str(proof).splitlines()
    assert "never three: wrong" == lines[0]
    assert ["cycle", "step", "element", "seen", "bad"] == lines[1].split()
    assert 4 == len(proof.counterexample.cycles)
    assert ["0", "1", "2"] == [line.split()[0] for line in lines[2:5]]
    assert all("value=5" in line for line in lines[2:5])
    assert ["3", "1"] == [lines[5].split()[0], lines[5].split()[-1]]
