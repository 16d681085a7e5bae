"""Panes over WID for a sliding maximum, by rows a pane and panes a window: measured, and by the thesis' formulas.

In shape figure 6-15: below 1, panes are faster. The formulas (Eq. 6.1 over Eq. 6.3) take the constants that
`windrow calibrate` measured, else the defaults; they know nothing of what a call costs, however few rows it has, and
take no note of the two stacks, which make windows of many panes cheaper than Eq. 6.1 says.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from _harness import Settings, begin, table
from strategies import PER_PANE, PER_WINDOW, SHAPE_ROWS, SPACING, by_shape, disordered

from windrow.plan.calibration import calibrated
from windrow.plan.costs import Statistics, thesis_time
from windrow.semantics.windows import Sliding


def predicted(per_pane: int, per_window: int) -> float:
    """Eq. 6.1 over Eq. 6.3 for one group."""
    slide = per_pane * SPACING
    window, stats, constants = Sliding("ts", per_window * slide, slide), Statistics(1, per_pane), calibrated()
    panes, plain = (
        thesis_time(window, stats, panes=panes, differential=False, constants=constants) for panes in (True, False)
    )
    return panes / plain


def main(settings: Settings) -> None:
    found = by_shape(disordered(settings.rows(SHAPE_ROWS)), settings.repeats)
    headers = ["rows a pane", *(f"{panes} panes a window" for panes in PER_WINDOW)]
    measured = [[rows, *(f"{found[rows, panes]:.2f}" for panes in PER_WINDOW)] for rows in PER_PANE]
    table("time of panes / time of wid, measured", headers, measured)
    formulas = [[rows, *(f"{predicted(rows, panes):.2f}" for panes in PER_WINDOW)] for rows in PER_PANE]
    table("the same by Eq. 6.1 and 6.3", headers, formulas)


if __name__ == "__main__":
    main(begin(__doc__))
