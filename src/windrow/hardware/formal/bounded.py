"""Bounded model checking with the solver in Yosys (ABC's bmc3): can `bad` rise within so many cycles after reset?

All inputs are free in every cycle. A proof holds for exactly the cycles that it names and for nothing beyond. What is
found against it is run again in Amaranth's simulator, so that a counterexample does not rest on the solver alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.hdl import ClockDomain, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from windrow.errors import InternalError
from windrow.hardware.tools import Progress, ToolRun, made, yosys
from windrow.hardware.verilog import Port, ports_of, rtlil_text

BAD = "bad"
CLOCK = "clock_without_reset"
PREPARE = (
    "read_rtlil circuit.il; prep -flatten -top top; delete t:$scopeinfo; {hidden}memory_map; opt -full; techmap; "
    "opt -full; dffunmap; simplemap; setundef -init -zero; aigmap; clean; write_aiger -zinit -symbols circuit.aig; "
    "design -reset; read_rtlil other.il; abc -script solve.abc"
)
SOLVE = """write_blif other.blif
read_aiger circuit.aig
scorr
dc2
bmc3 -F {cycles}
write_status status.txt
write_cex -n -f inputs.txt
read_blif other.blif
strash
map
"""
"""Yosys lets ABC loose on gates only, and wants them back: so it is given some others, which come back unchanged."""
OTHER = """module \\other
  wire input 1 \\a
  wire input 2 \\b
  wire output 3 \\y
  cell $_AND_ \\gate
    connect \\A \\a
    connect \\B \\b
    connect \\Y \\y
  end
end
"""
READABLE = 16
BIT = re.compile(r"(?:^|\s)(\w+)(?:\[(\d+)\])?@(\d+)=([01])")


@dataclass(frozen=True)
class Counterexample:
    """The values of all ports of a circuit in each cycle, up to the one in which `bad` rose."""

    ports: tuple[Port, ...]
    cycles: tuple[dict[str, int], ...]

    def table(self, names: Sequence[str] = ()) -> str:
        """A line for each cycle; fields of structures are written with their names, zeros among them left out.

        Numbers that are too wide to be read are shown where they are asked for only.
        """
        shown = [
            port for port in self.ports if (port.name in names if names else port.members or port.bits <= READABLE)
        ]
        head = ["cycle", *(port.name for port in shown)]
        rows = [
            [str(number), *(_spelled(port, values.get(port.name, 0)) for port in shown)]
            for number, values in enumerate(self.cycles)
        ]
        widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]
        lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in [head, *rows])
        return "\n".join(line.rstrip() for line in lines)


@dataclass(frozen=True)
class Proof:
    """What was asked and what came out: nothing bad within `cycles` cycles, or a counterexample."""

    claim: str
    cycles: int
    counterexample: Counterexample | None

    @property
    def holds(self) -> bool:
        return self.counterexample is None

    def __str__(self) -> str:
        if self.counterexample is None:
            return f"{self.claim}: proved for {self.cycles} cycles"
        return f"{self.claim}: wrong\n{self.counterexample.table()}"


def prove(
    harness: wiring.Component,
    claim: str,
    *,
    cycles: int,
    timeout: float = 600.0,
    progress: Progress | None = None,
) -> Proof:
    """Prove that the output `bad` of a circuit is 0 in the first `cycles` cycles, whatever its inputs are."""
    hidden = "".join(f"delete -port top/{port.name}; " for port in ports_of(harness).values() if _is_for_show(port))
    inputs = {
        "circuit.il": rtlil_text(_WithoutReset(harness)),
        "other.il": OTHER,
        "solve.abc": SOLVE.format(cycles=cycles),
        "inputs.txt": "",  # it stays empty where there is no counterexample
    }
    script = PREPARE.format(hidden=hidden)
    run = ToolRun(yosys(), ("-q", "-p", script), inputs, ("status.txt", "inputs.txt"))
    files = made(run, timeout=timeout, progress=progress)
    status = files["status.txt"].read_text(encoding="ascii").split()
    if status[:1] == ["snl_SAT"]:
        return Proof(claim, cycles, replayed(harness, _inputs(files["inputs.txt"]), int(status[4]) + 1))
    if status[:2] != ["snl_UNK", str(cycles - 1)] and status[:1] != ["snl_UNSAT"]:
        raise InternalError(f"the solver did not get through {cycles} cycles: {' '.join(status[:3])}")
    return Proof(claim, cycles, None)


def _is_for_show(port: Port) -> bool:
    """What a proof need not know of."""
    return not port.is_input and port.name != BAD


class _WithoutReset(wiring.Component):
    """A circuit that starts as after a reset and is never reset again."""

    def __init__(self, harness: wiring.Component) -> None:
        self.harness = harness
        super().__init__({**dict(harness.signature.members), CLOCK: In(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.domains.sync = domain = ClockDomain(reset_less=True)
        m.submodules.harness = self.harness
        m.d.comb += domain.clk.eq(getattr(self, CLOCK))
        inside = ports_of(self.harness)
        for name, port in ports_of(self).items():
            if name != CLOCK:
                pair = (inside[name].value, port.value) if port.is_input else (port.value, inside[name].value)
                m.d.comb += pair[0].eq(pair[1])
        return m


def _inputs(path: Path) -> dict[int, dict[str, int]]:
    """What the solver chose, cycle by cycle."""
    found: dict[int, dict[str, int]] = {}
    for name, bit, cycle, value in BIT.findall(path.read_text(encoding="ascii")):
        values = found.setdefault(int(cycle), {})
        values[name] = values.get(name, 0) | int(value) << int(bit or 0)
    return found


def replayed(harness: wiring.Component, inputs: dict[int, dict[str, int]], cycles: int) -> Counterexample:
    """All ports in each cycle, by Amaranth's simulator; an error unless `bad` rises there too."""
    ports = ports_of(harness)
    seen: list[dict[str, int]] = []

    async def testbench(context: Any) -> None:
        for cycle in range(cycles):
            for name, value in inputs.get(cycle, {}).items():
                if name in ports and ports[name].is_input:
                    context.set(ports[name].value, value)
            seen.append({name: context.get(port.value) for name, port in ports.items()})
            await context.tick()

    simulator = Simulator(harness)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    if not seen[-1][BAD]:
        raise InternalError("the simulator does not find what the solver found")
    return Counterexample(tuple(ports.values()), tuple(seen))


def _spelled(port: Port, value: int) -> str:
    """A value as a person reads it."""
    if not port.members:
        return str(value)
    parts: list[tuple[str, Any]] = [(name, value >> low & (1 << bits) - 1) for name, low, bits in port.members]
    return " ".join(f"{name}={number}" for name, number in parts if number) or "0"
