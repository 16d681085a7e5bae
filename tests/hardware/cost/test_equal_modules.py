"""Cores of an array are one module, and counted as often as they are there."""

from __future__ import annotations

import re

from windrow.hardware.circuits.top import circuit_of
from windrow.hardware.cost.equal_modules import with_equal_modules_once
from windrow.hardware.design import BitLayout, Field, JoinDesign
from windrow.hardware.verilog import rtlil_text

LAYOUT = BitLayout((Field("x", 4),))


def modules(text: str) -> list[str]:
    return re.findall(r"^module \\(\S+)", text, re.MULTILINE)


def test_the_cores_in_the_middle_of_a_chain_are_one_module() -> None:
    """The first has no neighbour before it and the last none behind it."""
    design = JoinDesign(LAYOUT, LAYOUT, None, 12, 12, 6)
    whole = rtlil_text(circuit_of(design))
    once = with_equal_modules_once(whole)
    cores = [name for name in modules(once) if re.fullmatch(r"top\.core\d", name)]
    assert 6 == len([name for name in modules(whole) if re.fullmatch(r"top\.core\d", name)])
    assert 3 == len(cores)
    used = re.findall(r"^  cell \\(top\.core\d) ", once, re.MULTILINE)
    assert [1, 1, 4] == sorted(used.count(name) for name in cores)
    assert set(re.findall(r"^  cell \\(top\.\S+) ", once, re.MULTILINE)) <= set(modules(once))


def test_a_circuit_without_equal_modules_stays_as_it_is() -> None:
    whole = rtlil_text(circuit_of(JoinDesign(LAYOUT, BitLayout((Field("y", 5),)), None, 4, 6, 1)))
    assert whole == with_equal_modules_once(whole)
