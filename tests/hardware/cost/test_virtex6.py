"""Cells on a Virtex-6: what a small circuit must take."""

from __future__ import annotations

from tests.hardware.small_circuits import Running
from windrow.hardware.cost.chips import LX760
from windrow.hardware.cost.virtex6 import logic_luts, virtex6_cost


def test_registers_are_those_that_the_circuit_has() -> None:
    cost = virtex6_cost(Running(), chip=LX760)
    assert 80 + 1 + 1 + 32 == cost.registers  # the total is there once, though it has two names
    assert 0 == cost.block_rams
    assert 0 == cost.memory_luts
    assert cost.luts >= sum(number for kind, number in cost.cells.items() if kind.startswith("LUT"))
    assert "XC6VLX760" == cost.chip.name


def test_a_carry_chain_takes_a_lut_for_each_of_its_inputs() -> None:
    chain = {"type": "CARRY4", "connections": {"S": [1, 2, 3, "0"]}}
    lut = {"type": "LUT6", "connections": {"O": [1]}}
    inverter = {"type": "INV", "connections": {"O": [2]}}
    assert 3 == logic_luts([chain])
    assert 3 == logic_luts([chain, lut, inverter])
    assert 4 == logic_luts([chain, lut, inverter, {"type": "CARRY4", "connections": {"S": [1, "1", "1", "1"]}}])
