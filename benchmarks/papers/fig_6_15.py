"""Panes over WID for a sliding maximum, by rows a pane and panes a window: measured, and by the thesis' formulas.

In shape figure 6-15: below 1, panes are faster. The formulas (Eq. 6.1 over Eq. 6.3) take the constants that
`windrow calibrate` measured, else the defaults; they know nothing of what a call costs, however few rows it has, and
take no note of the two stacks, which make windows of many panes cheaper than Eq. 6.1 says.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from _pictures import Panel, save

sys.path.insert(0, str(Path(__file__).parents[1]))
from _harness import Settings, begin, table
from strategies import PER_PANE, PER_WINDOW, SHAPE_ROWS, SPACING, by_shape, disordered

from windrow.physical.costs import Statistics, calibrated, thesis_time
from windrow.semantics.windows.kinds import Sliding

AXES = ("rows a pane", "time of panes / time of wid")


def predicted(per_pane: int, per_window: int) -> float:
    """Eq. 6.1 over Eq. 6.3 for one group."""
    slide = per_pane * SPACING
    window, stats, constants = Sliding("ts", per_window * slide, slide), Statistics(1, per_pane), calibrated()
    panes, plain = (
        thesis_time(window, stats, panes=panes, differential=False, constants=constants) for panes in (True, False)
    )
    return panes / plain


def lines(ratio: Callable[[int, int], float]) -> dict[str, list[tuple[float, float]]]:
    """A line for each number of panes a window."""
    return {f"{panes} panes a window": [(rows, ratio(rows, panes)) for rows in PER_PANE] for panes in PER_WINDOW}


def main(settings: Settings) -> None:
    found = by_shape(disordered(settings.rows(SHAPE_ROWS)), settings.repeats)
    headers = ["rows a pane", *(f"{panes} panes a window" for panes in PER_WINDOW)]
    measured = [[rows, *(f"{found[rows, panes]:.2f}" for panes in PER_WINDOW)] for rows in PER_PANE]
    table("time of panes / time of wid, measured", headers, measured)
    formulas = [[rows, *(f"{predicted(rows, panes):.2f}" for panes in PER_WINDOW)] for rows in PER_PANE]
    table("the same by Eq. 6.1 and 6.3", headers, formulas)
    save([
        Panel("Figure 6-15, measured", *AXES, lines(lambda rows, panes: found[rows, panes]), log_x=True),
        Panel("Figure 6-15, by Eq. 6.1 and 6.3", *AXES, lines(predicted), log_x=True),
    ])  # fmt: skip


if __name__ == "__main__":
    main(begin(__doc__))
