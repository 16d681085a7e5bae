"""A handshake join as an array of cores: its clock and its size by the number of cores, and cores against clock.

Section 6 of "How Soccer Players Would do Stream Joins": keys and values of 32 bits, an equality of keys. Figure 18 has
the clock for up to 200 cores that keep eight rows of each side: here on an ECP5, so for its shape only, and the size
on the paper's Virtex-6, where equal cores are mapped once and counted. Table 1 has arrays of 1, 2, 5 and 10 cores with
windows of 100 rows that take in 500,000 rows a second: the clock that needs, from simulated cycles a row; the size; and
an ESTIMATE of dynamic power by the bits that change in the simulation, scaled to the paper's 100 mW at one core.
`repaired` is ours, where rows stay and commands travel, `literal` the paper's, where rows move in lock step.

Bar: from 1 to 32 cores the slowest clock is at least 0.85 of the fastest.
`--full` places 32 cores. `--only clock`, `size` or `cores` is one part of it.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from _circuits import (
    SHARE,
    Asked,
    Line,
    Pairs,
    Size,
    begin_part,
    costs,
    flatness,
    join,
    megahertz,
    on_virtex6,
    per_cent,
    placed,
    tries,
)
from _pictures import Panel, save
from _switching import switched_bits

sys.path.insert(0, str(Path(__file__).parents[1]))
from _harness import table, verdict

from windrow.hardware.circuits.top import circuit_of
from windrow.hardware.cost.chips import LX760, ChipCost
from windrow.hardware.design import JoinDesign, Variant
from windrow.hardware.packing import Words, pack
from windrow.hardware.simulate.interpreted import PERIOD, Interpreted
from windrow.hardware.simulate.trace import Stimulus

FLAT = 0.85
WINDOW, RATE = 100, 500_000
POWER = {1: 100, 2: 64, 5: 62, 10: 68}
"""Table 1: dynamic milliwatts by cores."""
PAPER_CLOCK = {1: 50, 2: 25, 5: 10, 10: 5}
AREA = {1: 1.54, 2: 1.59, 5: 2.01, 10: 2.78}
"""Per cent of the LUTs."""
MEASURED_ROWS = 40
STEPS_A_CYCLE = round(PERIOD * 1e15)
"""A waveform counts in femtoseconds."""


# Figure 18


def clocks(size: Size) -> Pairs:
    counts = size.of((1, 2), (1, 2, 4, 8, 16), (32,))
    found = placed({cores: join(cores, SHARE * cores) for cores in counts}, size.of((1,), (1, 2, 3)))
    rows = [
        [n, f"{megahertz(c):.0f}", tries(c), c.registers, c.luts, f"{100 * c.share:.0f} %"] for n, c in found.items()
    ]
    headers = ("cores", "MHz", "tries", "registers", "LUTs", "chip")
    table("clock on ECP5 (figure 18; the paper: 150 to 170 MHz)", headers, rows)
    flat = flatness([megahertz(cost) for cost in found.values()])
    print(f"slowest over fastest, 1 to {counts[-1]} cores: {flat:.2f}: {verdict(flat, FLAT)} (bar {FLAT})")
    return [(float(cores), megahertz(cost)) for cores, cost in found.items()]


def sizes(size: Size) -> dict[str, Pairs]:
    """LUTs and registers by cores, mapped core by core, and beside it as a whole where that ends soon."""
    counts, whole = size.of((1, 2), (1, 2, 4, 8, 16, 32, 64, 100, 200)), size.of((2,), (4, 16))
    designs = {cores: join(cores, SHARE * cores) for cores in counts}
    found = costs(partial(on_virtex6, chip=LX760, by_modules=True), designs)
    flat = costs(partial(on_virtex6, chip=LX760), {cores: designs[cores] for cores in whole})
    rows = [[n, c.registers, c.luts, f"{100 * c.share:.1f} %", *_beside(c, flat.get(n))] for n, c in found.items()]
    headers = ("cores", "registers", "LUTs", "chip", "registers as a whole", "LUTs as a whole")
    table("size on Virtex-6 LX760, core by core (the paper: 200 cores take over 96 %)", headers, rows)
    registers, luts = (Line.through(points) for points in (_registers(found), _luts(found)))
    print(f"a core takes {registers.slope:.0f} registers and {luts.slope:.0f} LUTs")
    return {"registers": _registers(found), "LUTs": _luts(found)}


def _beside(parts: ChipCost, whole: ChipCost | None) -> list[str]:
    """What a circuit takes that is mapped as a whole, and how much more its parts are."""
    if whole is None:
        return ["", ""]
    pairs = (whole.registers, parts.registers), (whole.luts, parts.luts)
    return [f"{number:,} ({per_cent(more, number):+.1f} %)" for number, more in pairs]


def _registers(found: dict[int, ChipCost]) -> Pairs:
    return [(float(cores), float(cost.registers)) for cores, cost in found.items()]


def _luts(found: dict[int, ChipCost]) -> Pairs:
    return [(float(cores), float(cost.luts)) for cores, cost in found.items()]


# Table 1


@dataclass(frozen=True)
class Activity:
    """Of a row when windows are full: how many cycles it takes, and how many bits change."""

    cycles: float
    changes: float

    @property
    def clock(self) -> float:
        """MHz that the rate needs."""
        return RATE * self.cycles / 1e6


def rows_of(rows: int) -> Words:
    """Rows of both sides in turns, with keys of which few are equal; no end, so that nothing drains."""
    random = np.random.default_rng(1)
    sides = np.arange(rows) % 2 == 1
    keys, values = (random.integers(1, 10_000, rows).astype(np.uint64) for _ in range(2))
    return pack(rows, [(np.zeros(rows, np.bool_), 1), (sides, 1), (keys, 32), (values, 32)])


def activity(design: JoinDesign) -> Activity:
    """Fill both windows, then look at some rows more."""
    fill = 2 * WINDOW
    with tempfile.TemporaryDirectory() as folder:
        waves = Path(folder) / "waves.vcd"
        elements = rows_of(fill + MEASURED_ROWS)
        trace = Interpreted(circuit_of(design), vcd=waves).run(Stimulus(elements, patience=4 * WINDOW))
        start, end = int(trace.taken[fill]), int(trace.taken[-1])
        with waves.open(encoding="utf-8") as lines:
            changes = switched_bits(lines, start * STEPS_A_CYCLE, end * STEPS_A_CYCLE)
    return Activity((end - start) / (MEASURED_ROWS - 1), changes / (MEASURED_ROWS - 1))


def cores_or_clock(size: Size, variant: Variant) -> Pairs:
    counts = size.of((5, 10), tuple(POWER))
    designs = {cores: join(cores, WINDOW, variant) for cores in counts}
    found = {cores: activity(design) for cores, design in designs.items()}
    taken = costs(partial(on_virtex6, chip=LX760), designs)
    least = counts[0]
    rows: list[list[object]] = []
    estimates: Pairs = []
    for cores, one in found.items():
        cost = taken[cores]
        estimate = POWER[least] * one.changes / found[least].changes
        estimates.append((float(cores), estimate))
        pulses = cost.registers * one.clock / (taken[least].registers * found[least].clock)
        rows.append(
            [
                *(cores, f"{one.cycles:.1f}", f"{one.clock:.1f}", PAPER_CLOCK[cores], f"{one.changes:,.0f}"),
                *(f"{estimate:.0f}", POWER[cores], f"{pulses:.2f}", f"{cost.registers:,}", f"{cost.luts:,}"),
                *(f"{100 * cost.luts / LX760.luts:.2f} %", f"{AREA[cores]} %"),
            ]
        )
    headers = (
        *("cores", "cycles a row", "MHz needed", "paper", "bits changed a row", "mW, estimated", "paper"),
        *("clock pulses", "registers", "LUTs", "of the chip", "paper"),
    )
    about = f"{variant.value}: windows of {WINDOW}, {RATE:,} rows/s (table 1; power is an estimate"
    table(f"{about}, that of {least} core{'s' * (least > 1)} set to the paper's)", headers, rows)
    return estimates


def figure_18(asked: Asked) -> list[Panel]:
    panels = []
    if asked.wants("clock"):
        panels.append(Panel("Figure 18: clock on ECP5", "cores", "MHz", {"repaired": clocks(asked.size)}))
    if asked.wants("size"):
        panels.append(Panel("Size on Virtex-6", "cores", "cells", sizes(asked.size)))
    return panels


def table_1(size: Size) -> Panel:
    variants = [Variant.REPAIRED] if size is Size.QUICK else list(Variant)
    power = {f"{variant.value}, estimated": cores_or_clock(size, variant) for variant in variants}
    power["paper"] = [(float(cores), float(milliwatts)) for cores, milliwatts in POWER.items()]
    return Panel("Table 1: dynamic power, an estimate", "cores", "mW", power)


def main() -> None:
    asked = begin_part(__doc__, ("clock", "size", "cores"))
    panels = figure_18(asked)
    save([*panels, *([table_1(asked.size)] if asked.wants("cores") else [])])


if __name__ == "__main__":
    main()
