"""What the papers' window circuits take on their chip: registers, LUTs and block RAM, theirs beside ours.

Tables I and II of the paper on Window-ID for RANGE of 10 to 60 minutes (11 to 61 modules), tables II and III of the
paper on panes for RANGE/SLIDE 64 to 4096: COUNT of the trades of one symbol, tuples of four numbers of 32 bits, SLIDE
and SLACK 60 seconds, both algorithms as written. Yosys maps for Virtex-6, LUTs are counted as the chip needs them
(`windrow/hardware/cost/virtex6.py`). Table I of the second paper says which function panes and windows have; the tests
of the circuits hold it.

Bars: registers within 3 % of table II, LUTs within 15 %, block RAM as in table III.
"""

from __future__ import annotations

import sys
from pathlib import Path

from _circuits import Line, aggregate, begin, costs, doubled, on_virtex6, per_cent
from _pictures import Panel, save

sys.path.insert(0, str(Path(__file__).parents[1]))
from _harness import table, verdict

from windrow.hardware.cost.chips import LX240T, ChipCost
from windrow.hardware.design import CircuitAlgorithm, Variant

REGISTERS, LUTS = "registers", "LUTs"
MODULES = {
    11: (1_855, 1_764),
    21: (3_442, 3_342),
    31: (4_975, 5_011),
    41: (6_453, 6_615),
    51: (8_095, 7_844),
    61: (9_594, 9_241),
}
"""Table II of the paper on Window-ID: registers and LUTs by modules."""
BLOCKS = {64: 1, 128: 1, 256: 1, 512: 2, 1024: 4, 2048: 8, 4096: 17}
"""Table III of the paper on panes: block RAMs of 36 kbit by RANGE/SLIDE."""
MOST_REGISTERS, MOST_LUTS = 3.0, 15.0
"""Per cent."""


def window_ids(counts: tuple[int, ...]) -> dict[int, ChipCost]:
    found = costs(on_virtex6, {n: aggregate(CircuitAlgorithm.WID, n - 1, Variant.LITERAL) for n in counts})
    rows = []
    for modules, cost in found.items():
        registers, luts = MODULES[modules]
        more, more_luts = per_cent(cost.registers, registers), per_cent(cost.luts, luts)
        rows.append(
            [
                *(modules, f"{cost.registers:,}", f"{registers:,}", f"{more:+.1f} %"),
                verdict(abs(more), MOST_REGISTERS, at_most=True),
                *(f"{cost.luts:,}", f"{luts:,}", f"{more_luts:+.1f} %"),
                verdict(abs(more_luts), MOST_LUTS, at_most=True),
            ]
        )
    headers = ("modules", REGISTERS, "paper", "difference", "3 %", LUTS, "paper", "difference", "15 %")
    table("Window-ID on Virtex-6 (table II)", headers, rows)
    return found


def panes(ratios: tuple[int, ...]) -> dict[int, ChipCost]:
    found = costs(on_virtex6, {ratio: aggregate(CircuitAlgorithm.PANES, ratio, Variant.LITERAL) for ratio in ratios})
    rows = []
    for ratio, cost in found.items():
        same = "met" if cost.block_rams == BLOCKS[ratio] else "not met"
        share = f"{100 * cost.luts / LX240T.luts:.2f} %"
        rows.append([ratio, cost.registers, cost.luts, share, f"{cost.block_rams:g}", BLOCKS[ratio], same])
    headers = ("RANGE/SLIDE", REGISTERS, LUTS, "of the chip", "block RAM", "paper", "as in the paper")
    table("panes on Virtex-6 (table III)", headers, rows)
    return found


def compare(windows: dict[int, ChipCost], paned: dict[int, ChipCost]) -> None:
    """Figure 6: LUTs of both by RANGE/SLIDE; those of Window-ID go on as a line."""
    measured = [(float(n - 1), 100 * cost.luts / LX240T.luts) for n, cost in windows.items()]
    lines = {
        "Window-ID": measured,
        "panes": [(float(ratio), 100 * cost.luts / LX240T.luts) for ratio, cost in paned.items()],
    }
    if len(measured) > 1:
        line = Line.through(measured)
        further = [(float(ratio), line.at(ratio)) for ratio in doubled(64, 512)]
        lines["Window-ID, extrapolated"] = further
        print(f"\nWindow-ID, extrapolated linearly: {further[-1][1]:.0f} % of the LUTs at RANGE/SLIDE 512")
    save([Panel("Figure 6: what circuits take", "RANGE/SLIDE", "% of the LUTs", lines, True, True)])


def main() -> None:
    size = begin(__doc__)
    chip = (f"{LX240T.registers:,}", f"{LX240T.luts:,}", LX240T.block_rams)
    table(
        "the chip (table I, table II of the paper on panes)", ("", REGISTERS, LUTS, "block RAM"), [[LX240T.name, *chip]]
    )
    paned = panes(size.of((64, 512), tuple(BLOCKS)))
    compare(window_ids(size.of((11,), tuple(MODULES))), paned)


if __name__ == "__main__":
    main()
