"""AdaptWID under arrival-time skew: time and peak state of query 6-8 as the control link lags more and more behind.

In shape figure 6-19 for query 6-8, on data set DS3: the longer windows stay open, the more every strategy keeps. Bars
as in `table_6_2.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from _harness import Settings, begin
from table_6_2 import ROWS, SETS, compare, report, sliding

LAGS = ("0 s", "2 s", "5 s", "10 s")


def main(settings: Settings) -> None:
    rows = settings.rows(ROWS)
    found = {f"lag {lag}": compare(sliding(rows, SETS["DS3"], lag), settings.repeats) for lag in LAGS}
    report(f"Q6-8 on DS3, {rows:,} rows", found)


if __name__ == "__main__":
    main(begin(__doc__))
