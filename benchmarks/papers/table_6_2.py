"""The skewed data sets of table 6-2, as they are generated: shares of the rows in small, medium and large groups.

DS1 to DS5 put 1, 3, 5, 7 and 9 percent of the rows into groups of one row, 20 percent into groups of about 15, the
rest into groups of about 300. What the strategies make of them is in `fig_6_19.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from _pictures import Panel, save

sys.path.insert(0, str(Path(__file__).parents[1]))
from _harness import Settings, begin, table

from windrow.generate import packets

SETS = {"DS1": 1, "DS2": 3, "DS3": 5, "DS4": 7, "DS5": 9}
"""Percent of the rows in groups of one row."""
ROWS, RATE = 1_000_000, 200_000
EDGES = (2, 60)
"""Rows from which on a group is medium, and large."""
SIZES = ("small", "medium", "large")


def data_set(rows: int, percent: int, *, seed: int, rate: int = RATE) -> pa.Table:
    """Packets whose source addresses are the groups."""
    return packets(rows, seed=seed, skew=f"groups {percent}", rate=rate).table()


def kinds(data: pa.Table) -> list[tuple[int, int]]:
    """Groups and rows of each size."""
    sizes = np.asarray(pc.value_counts(data["srcIP"].combine_chunks()).field("counts"))
    kind = np.digitize(sizes, EDGES)
    return [(int((kind == k).sum()), int(sizes[kind == k].sum())) for k in range(len(SIZES))]


def main(settings: Settings) -> None:
    rows = settings.rows(ROWS)
    found = {name: kinds(data_set(rows, percent, seed=percent)) for name, percent in SETS.items()}
    lines = [[name, *(f"{g:,} groups, {r / rows:.1%}" for g, r in of_set)] for name, of_set in found.items()]
    table(f"groups, and their share of {rows:,} rows", ["set", *SIZES], lines)
    shares = {
        size: [(SETS[name], 100 * of_set[k][0] / sum(g for g, _ in of_set)) for name, of_set in found.items()]
        for k, size in enumerate(SIZES)
    }
    save([Panel("Table 6-2: groups by size", "percent of the rows in small groups", "percent of the groups", shares)])


if __name__ == "__main__":
    main(begin(__doc__))
