"""ECP5: mapped, placed and routed with open tools, so there is a clock. Its MHz are for shapes, not for the papers'.

Registers stand in front of every input and behind every output, so that the first and the last stage count in the
clock; they are not counted as cost.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring

from windrow.hardware.cost.chips import ECP5_85, ChipCost
from windrow.hardware.tools import MadeLater, Progress, ToolRun, nextpnr_ecp5, run, summarised, yosys
from windrow.hardware.verilog import ports_of, rtlil_text

SCRIPT = "read_rtlil circuit.il; synth_ecp5 -top top; delete t:$scopeinfo; write_json circuit.json"
PLACE = (
    *("--um5g-85k", "--package", "CABGA756", "--speed", "8", "--json", "circuit.json", "--freq"),
    *("{target}", "--timing-allow-fail", "--out-of-context", "--seed", "{seed}", "--report", "report.json", "-q"),
)
SUMMARY = "ecp5-2"
STEPS = 40
"""Steps of a critical path that are kept."""


class Registered(wiring.Component):
    """A circuit between registers, for timing only: it keeps no rules of valid and ready."""

    def __init__(self, component: wiring.Component) -> None:
        self.component = component
        super().__init__(component.signature)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.circuit = self.component
        inside = ports_of(self.component)
        for name, port in ports_of(self).items():
            held = Signal(port.bits, name=f"edge_{name}", reset_less=True)
            source, drain = (port.value, inside[name].value) if port.is_input else (inside[name].value, port.value)
            m.d.sync += held.eq(source)
            m.d.comb += drain.eq(held)
        return m


def ecp5_cost(
    component: wiring.Component,
    *,
    seeds: Sequence[int] = (1,),
    target: float = 200.0,
    timeout: float = 1800.0,
    progress: Progress | None = None,
) -> ChipCost:
    """Cells and clock of a circuit on an ECP5, placed once for each seed; `target` is the MHz that are aimed at."""
    mapped = _mapping(rtlil_text(Registered(component)), timeout, progress)
    reports = []
    for seed in seeds:
        arguments = tuple(word.format(target=f"{target:g}", seed=seed) for word in PLACE)
        place = ToolRun(nextpnr_ecp5(), arguments, {"circuit.json": mapped}, ("report.json",))
        reports.append(summarised(place, _summary(mapped), SUMMARY, timeout=timeout, progress=progress))
    reports.sort(key=lambda report: float(report["clock"]))
    middle = reports[len(reports) // 2]
    return ChipCost(
        ECP5_85,
        middle["cells"]["TRELLIS_COMB"],
        middle["cells"]["TRELLIS_FF"] - middle["edges"],
        middle["cells"].get("DP16KD", 0),
        4 * middle["cells"].get("TRELLIS_RAMW", 0),
        middle["cells"],
        tuple(report["clock"] for report in reports),
        tuple((name, delay) for name, delay in middle["path"]),
    )


def _mapping(text: str, timeout: float, progress: Progress | None) -> MadeLater:
    """The netlist of a circuit: many megabytes, so that it is made only where a placement is missing."""
    mapping = ToolRun(yosys(), ("-q", "-p", SCRIPT), {"circuit.il": text}, ("circuit.json",))

    @cache
    def content() -> bytes:
        return (run(mapping, timeout=timeout, progress=progress) / "circuit.json").read_bytes()

    return MadeLater(mapping.key, content)


def _summary(mapped: MadeLater) -> Callable[[Path], dict[str, Any]]:
    def summary(folder: Path) -> dict[str, Any]:
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        used = {kind: numbers["used"] for kind, numbers in report["utilization"].items() if numbers["used"]}
        clock = min(numbers["achieved"] for numbers in report["fmax"].values())
        return {"cells": used, "clock": clock, "path": _path(report), "edges": _edges(json.loads(mapped.make()))}

    return summary


def _edges(netlist: dict[str, Any]) -> int:
    """Registers that are there for timing only: straight behind an input of the chip or in front of an output."""
    top = netlist["modules"]["top"]
    ends: dict[str, set[int]] = {"input": set(), "output": set()}
    for port in top["ports"].values():
        ends[port["direction"]].update(port["bits"])
    registers = (cell["connections"] for cell in top["cells"].values() if cell["type"] == "TRELLIS_FF")
    return sum(one["DI"][0] in ends["input"] or one["Q"][0] in ends["output"] for one in registers)


def _path(report: dict[str, Any]) -> list[tuple[str, float]]:
    """The slowest way from register to register: what each step reaches, and how long it takes."""
    paths = [one for one in report["critical_paths"] if "posedge" in one["from"] and "posedge" in one["to"]]
    steps = paths[0]["path"] if paths else []
    return [(_short(step["to"]["cell"]), round(float(step["delay"]), 3)) for step in steps if step["delay"]][:STEPS]


def _short(name: str) -> str:
    """The signal that a cell was made for: Yosys appends the cells on the way to it."""
    for mark in ("_LUT4", "_CCU2C", "_TRELLIS", "_PFUMX", "_L6MUX", "_DP16KD", "$"):
        head, _, _ = name.partition(mark)
        name = head or name
    return name
