"""Virtex-6, the papers' chip: Yosys maps a circuit to its cells, and LUTs are counted as they are on the chip.

There is no open place and route for it, so no clock. Yosys counts about half of the LUTs that ISE does: it wires
registers straight to the inputs S of a carry chain, which on the chip come from the LUT of their slice only. So a LUT
is counted for each of those that no LUT drives, and for each further chain that a LUT feeds. Wide multiplexers use the
MUXF7 and MUXF8 of the slices, as the chip's own tools do.

A circuit of very many modules can be mapped module by module, equal ones once: nothing is optimised from one into the
next, so it is a little more than the circuit as a whole takes, and it takes as long as one of them.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from amaranth.lib import wiring

from windrow.hardware.cost.chips import LX240T, Chip, ChipCost
from windrow.hardware.cost.equal_modules import instances, is_own, with_equal_modules_once
from windrow.hardware.tools import Progress, ToolRun, summarised, yosys
from windrow.hardware.verilog import rtlil_text

SCRIPT = (
    "read_rtlil circuit.il; synth_xilinx -family xc6v -widemux 5 {flat}-noiopad -noclkbuf -top top; "
    "delete t:$scopeinfo; write_json circuit.json"
)
COUNTING = "virtex6-3"
MEMORY_LUTS = {
    **{"RAM32X1S": 1, "RAM32X1D": 2, "RAM64X1S": 1, "RAM64X1D": 2, "RAM128X1S": 2, "RAM128X1D": 4, "RAM256X1S": 4},
    **{"RAM32M": 4, "RAM64M": 4, "SRL16E": 1, "SRLC32E": 1},
}
"""LUTs that a memory of LUTs takes."""
REGISTERS = ("FDRE", "FDSE", "FDCE", "FDPE", "LDCE", "LDPE")


def virtex6_cost(
    component: wiring.Component,
    *,
    chip: Chip = LX240T,
    by_modules: bool = False,
    timeout: float = 1800.0,
    progress: Progress | None = None,
) -> ChipCost:
    """Registers, LUTs and block RAM of a circuit on a Virtex-6; `by_modules` for one of very many equal modules."""
    text = rtlil_text(component)
    inputs = {"circuit.il": with_equal_modules_once(text) if by_modules else text}
    script = SCRIPT.format(flat="" if by_modules else "-flatten ")
    run = ToolRun(yosys(), ("-q", "-p", script), inputs, ("circuit.json",))
    found = summarised(run, _summary, COUNTING, timeout=timeout, progress=progress)
    cells: dict[str, int] = found["cells"]
    memory = sum(MEMORY_LUTS[kind] * number for kind, number in cells.items() if kind in MEMORY_LUTS)
    return ChipCost(
        chip,
        found["logic_luts"] + memory,
        sum(cells.get(kind, 0) for kind in REGISTERS),
        cells.get("RAMB36E1", 0) + cells.get("RAMB18E1", 0) / 2,
        memory,
        cells,
    )


def _summary(folder: Path) -> dict[str, Any]:
    modules = json.loads((folder / "circuit.json").read_text(encoding="utf-8"))["modules"]
    kinds, luts = Counter[str](), 0
    for name, number in instances(modules).items():
        cells = list(modules[name]["cells"].values())
        luts += number * logic_luts(cells)
        for cell in cells:
            kinds[cell["type"]] += 0 if is_own(cell["type"]) else number
    return {"cells": {kind: number for kind, number in sorted(kinds.items()) if number}, "logic_luts": luts}


def logic_luts(cells: list[dict[str, Any]]) -> int:
    """LUTs of a netlist as the chip needs them, memories not included.

    >>> lut = {"type": "LUT2", "connections": {"O": [7]}}
    >>> chain = {"type": "CARRY4", "connections": {"S": [7, 8, "0", "0"]}}
    >>> logic_luts([lut, chain]), logic_luts([lut, chain, chain])
    (2, 4)
    """
    luts = [cell for cell in cells if cell["type"].startswith("LUT") or cell["type"] == "INV"]
    driven = {cell["connections"]["O"][0] for cell in luts}
    chains = [cell["connections"]["S"] for cell in cells if cell["type"] == "CARRY4"]
    uses = Counter(bit for bits in chains for bit in bits if not isinstance(bit, str))
    through = sum(number for bit, number in uses.items() if bit not in driven)
    copies = sum(number - 1 for bit, number in uses.items() if bit in driven)
    return len(luts) + through + copies
