"""Latency against accuracy under block-sorted disorder: punctuations out of order against consistent slack.

In shape figure 6-12: experiment 3 of the thesis, a count with RANGE 600 s, SLIDE 60 s over rows that are shuffled
within blocks of 490 s, slack from 0 to 600 s; a punctuation follows each block. The recorded stream are DNS log lines,
written when a query ends and stamped when it began, up to 11 minutes late; its punctuations are exact.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from _harness import Settings, begin
from _in_order import Ints, recorded, units, wrong
from _pictures import save
from _slack import Case, Marks, exact_marks, measured, report

import windrow as wr
from windrow.generate import packets
from windrow.plan.nodes import Lateness

RATE, ROWS, BLOCK = 10, 60_000, 490_000_000
DAY = 86_400_000_000
"""A generated stream, and with it the first block, begins at midnight."""
SLACKS = (0, 54.4, 109.1, 218.2, 327.3, 434.2, 490.9, 600)
CONSISTENT = (Lateness.CONSISTENT,)


def block_marks(times: Ints, start: int) -> Marks:
    """A punctuation after each block."""
    blocks = (times - start) // BLOCK
    ends = np.flatnonzero(np.diff(blocks))
    return [(int(place) + 1, start + int(blocks[place] + 1) * BLOCK) for place in ends]


def generated(rows: int) -> Case:
    data = packets(rows, seed=1, rate=RATE, disorder="block 490 s").table().select(["ts"])
    times = units(data)
    marks = block_marks(times, int(times.min()) // DAY * DAY)
    title = f"count, {rows:,} rows, blocks of 490 s"
    clock = np.arange(rows) / RATE
    return Case(title, data, clock, "600 s", "60 s", wr.count(), marks, wrong, "wrong answers", CONSISTENT)


def lookups() -> Case | None:
    found = recorded("zeek_dns")
    if found is None:
        return None
    data = found.select(["ts"])
    high = np.maximum.accumulate(units(data))
    clock, marks = (high - high[0]) / 1e6, exact_marks(units(data), 60_000_000)
    return Case("count, DNS log", data, clock, "600 s", "60 s", wr.count(), marks, wrong, "wrong answers", CONSISTENT)


def main(settings: Settings) -> None:
    cases = [generated(settings.rows(ROWS)), None if settings.quick else lookups()]
    save([report(case, measured(case, SLACKS)) for case in cases if case is not None])


if __name__ == "__main__":
    main(begin(__doc__))
