"""Cells and clock on an ECP5."""

from __future__ import annotations

from tests.hardware.small_circuits import Running
from windrow.hardware.cost.ecp5 import ecp5_cost


def test_a_small_circuit_is_placed_with_its_clock() -> None:
    cost = ecp5_cost(Running(), seeds=(1, 2))
    assert 80 + 1 + 1 + 32 == cost.registers  # the total is there once, though it has two names
    assert 80 < cost.luts < 800
    assert 2 == len(cost.clocks)
    assert cost.clock is not None
    assert 50 < cost.clock < 800
    assert cost.critical_path
    assert all(delay > 0 for _, delay in cost.critical_path)
