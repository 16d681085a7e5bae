"""Latency against accuracy under band disorder: punctuations out of order against consistent and generous slack.

In shape figure 6-11: experiment 2 of the thesis, an average with RANGE 64 s, SLIDE 6.4 s, rows up to 3.2 s late, slack
from 0 to 3.2 s. Slack sorts and buffers; punctuations are exact, and windows are computed out of order. The recorded
stream are tracing spans, stamped with their start and written at their end, up to 2.6 s late.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from _harness import Settings, begin
from _in_order import mean_error, recorded, units
from _pictures import save
from _slack import Case, exact_marks, measured, report

import windrow as wr
from windrow.generate import packets

RATE, ROWS = 200, 60_000
SLACKS = (0, 0.32, 0.64, 1.28, 2.56, 3.2)
SLIDE = 6_400_000


def generated(rows: int) -> Case:
    data = packets(rows, seed=1, rate=RATE, disorder="band 3200 ms").table().select(["len", "ts"])
    clock, marks = np.arange(rows) / RATE, exact_marks(units(data), SLIDE)
    title = f"avg, {rows:,} rows, band disorder"
    return Case(title, data, clock, "64 s", "6400 ms", wr.avg("len"), marks, mean_error, "mean error")


def spans() -> Case | None:
    found = recorded("spans")
    if found is None:
        return None
    data = found.select(["duration_ns", "ts"])
    high = np.maximum.accumulate(units(data))
    marks = exact_marks(units(data), SLIDE)
    call = wr.avg("duration_ns")
    return Case(
        "avg, tracing spans", data, (high - high[0]) / 1e6, "64 s", "6400 ms", call, marks, mean_error, "mean error"
    )


def main(settings: Settings) -> None:
    cases = [generated(settings.rows(ROWS)), None if settings.quick else spans()]
    save([report(case, measured(case, SLACKS)) for case in cases if case is not None])


if __name__ == "__main__":
    main(begin(__doc__))
