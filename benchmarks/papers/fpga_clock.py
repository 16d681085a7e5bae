"""How fast window circuits can be clocked as RANGE/SLIDE grows: panes and Window-ID, placed and routed on an ECP5.

Figure 7 of the paper on panes, in shape: Virtex-6 has no open place and route, so the MHz are those of another chip and
stand beside each other, not beside the paper's. Panes are ours (repaired, windows put together incrementally); of
Window-ID there are the paper's circuit (a module for each open window, encoder and multiplexer) and ours.

Bars: panes from 64 to 4096 at 200 MHz or more, the slowest at least 0.9 of the fastest.
`--full` adds Window-ID with 61 modules.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from _circuits import Pairs, Size, aggregate, begin, costs, doubled, flatness, megahertz, on_ecp5, tries
from _pictures import Panel, save

sys.path.insert(0, str(Path(__file__).parents[1]))
from _harness import table, verdict

from windrow.hardware.cost.chips import ChipCost
from windrow.hardware.design import CircuitAlgorithm, Variant

LEAST, FLAT = 200.0, 0.9
PAPER = {10: 160, 20: 157, 30: 157, 60: 157, 512: 50}
"""MHz of Window-ID on a Virtex-6 by RANGE/SLIDE: table II of its paper, and what the paper on panes says of 512."""
PANES = 200
"""MHz of panes there, at every RANGE/SLIDE."""


def panes(size: Size) -> dict[int, ChipCost]:
    """Three tries each: those of one circuit differ by some per cent."""
    ratios = size.of((64, 4096), tuple(doubled(64, 4096)))
    designs = {ratio: aggregate(CircuitAlgorithm.PANES, ratio) for ratio in ratios}
    found = costs(partial(on_ecp5, seeds=size.of((1,), (1, 2, 3))), designs)
    _print("panes, repaired", found, dict.fromkeys(found, PANES))
    clocks = [megahertz(cost) for cost in found.values()]
    print(f"slowest {min(clocks):.0f} MHz: {verdict(min(clocks), LEAST)} (bar {LEAST:.0f})")
    print(f"slowest over fastest {flatness(clocks):.2f}: {verdict(flatness(clocks), FLAT)} (bar {FLAT})")
    return found


def window_ids(size: Size, variant: Variant) -> dict[int, ChipCost]:
    ratios = size.of((10,), (10, 20, 30), (60,))
    found = costs(on_ecp5, {ratio: aggregate(CircuitAlgorithm.WID, ratio, variant) for ratio in ratios})
    _print(f"Window-ID, {variant.value}", found, PAPER)
    return found


def _print(title: str, found: Mapping[int, ChipCost], paper: Mapping[int, int]) -> None:
    rows = []
    for ratio, cost in found.items():
        rows.append(
            [ratio, f"{megahertz(cost):.0f}", tries(cost), cost.registers, cost.luts, cost.block_rams, paper[ratio]]
        )
    headers = ("RANGE/SLIDE", "MHz", "tries", "registers", "LUTs", "block RAM", "paper (Virtex-6), MHz")
    table(f"{title}, on ECP5", headers, rows)


def points(found: Mapping[int, ChipCost]) -> Pairs:
    return [(float(ratio), megahertz(cost)) for ratio, cost in found.items()]


def main() -> None:
    size = begin(__doc__)
    lines = {
        "panes, repaired": points(panes(size)),
        "Window-ID, repaired": points(window_ids(size, Variant.REPAIRED)),
    }
    if size is not Size.QUICK:
        lines["Window-ID, literal"] = points(window_ids(size, Variant.LITERAL))
    save([Panel("Figure 7: clock on ECP5", "RANGE/SLIDE", "MHz", lines, log_x=True)])


if __name__ == "__main__":
    main()
