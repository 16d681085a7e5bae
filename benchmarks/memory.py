"""Memory of panes: state and process over 1, 10 and 100 million rows, 1000 groups, RANGE/SLIDE 60, count + sum + max.

Rows are generated batch by batch and never kept. State must be O(groups x panes): it is printed as a multiple of
groups x panes x columns x 8 bytes. Bars: 100 million rows take no more than 1.1 times the state of 10 million, and
under 60 seconds. At 1 million rows the tables, which grow by doubling, have not reached their size.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from _figures import Figure, Unit, amount, duration
from _harness import Settings, benchmark, verdict

import windrow as wr
from windrow.engines.local import LocalOptions
from windrow.engines.local.run import Runner
from windrow.query import Query

SIZES = (1_000_000, 10_000_000, 100_000_000)
GROUPS, RATIO, BATCH_ROWS = 1000, 60, 1 << 17
SLIDE, SLACK = 1_000_000, 1_000_000
RATE = 10_000
"""Rows a second of event time: ten rows a group and pane, and even the fewest rows fill a window."""
COLUMNS = 3
FLAT, TIME_BAR = 1.1, 60.0
SCHEMA = pa.schema([("symbol", pa.int64()), ("price", pa.int64()), ("volume", pa.int64()), ("time", pa.int64())])


def least() -> int:
    """Bytes of the aggregates alone in the panes of one window: what O(groups x panes) is measured against."""
    return GROUPS * RATIO * COLUMNS * 8


def batches(rows: int) -> Iterator[pa.RecordBatch]:
    """Seeded batches whose rows are up to half a slack out of order; a few blocks of chance serve for them all."""
    chance = np.random.default_rng(7)
    step = 1_000_000 // RATE
    ticks = np.arange(BATCH_ROWS) * step
    ranges = (0, GROUPS), (1, 500), (0, SLACK // 2)
    blocks = [[chance.integers(low, high, BATCH_ROWS) for low, high in ranges] for _ in range(16)]
    for number in range(-(-rows // BATCH_ROWS)):
        size = min(BATCH_ROWS, rows - number * BATCH_ROWS)
        keys, values, delays = blocks[number % len(blocks)]
        times = ticks + number * BATCH_ROWS * step - delays + SLACK
        columns: list[Any] = [pa.array(column[:size]) for column in (keys, values, values, times)]
        yield pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def query() -> Query:
    stream = wr.stream([], time="time", progress=wr.slack(SLACK), schema=SCHEMA)
    grouped = stream.group_by("symbol").window(range=RATIO * SLIDE, slide=SLIDE)
    return grouped.agg(number=wr.count(), volume=wr.sum("volume"), price=wr.max("price"))


@dataclass(frozen=True)
class Footprint:
    """What one run took."""

    state: int
    """The most bytes of state after any batch."""
    grown: int
    """Growth of the process' greatest resident size, in bytes, after the first batches."""
    seconds: float
    late: int


def footprint(rows: int) -> Footprint:
    asked = query()
    runner = Runner(asked.plan, asked.sources, LocalOptions())
    state, before, started = 0, 0, time.perf_counter()
    for number, batch in enumerate(batches(rows)):
        runner.feed("stream", batch)
        state = max(state, runner.metrics().state_bytes)
        if number == 3:
            before = _resident()
    return Footprint(state, _resident() - before, time.perf_counter() - started, runner.metrics().rows_late)


def _resident() -> int:
    """The greatest resident size so far; Linux counts in KiB, macOS in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def apart(rows: int) -> Footprint:
    """The same in a process of its own, so that one run's peak does not hide another's."""
    done = subprocess.run([sys.executable, __file__, "--one", str(rows)], capture_output=True, text=True, check=True)
    return Footprint(**json.loads(done.stdout))


def main(settings: Settings) -> None:
    sizes = [settings.rows(size) for size in SIZES]
    found = {rows: apart(rows) for rows in sizes}
    lines = []
    for rows, one in found.items():
        state, grown = (Figure.once(size, Unit.BYTES) for size in (one.state, one.grown))
        rate = Figure.once(rows / one.seconds, Unit.RATE)
        lines.append([f"{rows:,}", state, f"{one.state / least():.1f}", grown, duration(one.seconds), rate, one.late])
    headers = ["rows", "peak state", "x bound", "resident growth", "time", "rows/s", "late rows"]
    title = f"{GROUPS} groups x {RATIO} panes x {COLUMNS} columns x 8 bytes = {amount(least())}B"
    settings.report(title, headers, lines)
    flat, last = found[sizes[-1]].state / found[sizes[-2]].state, found[sizes[-1]].seconds
    growth = f"state over that of {sizes[-2]:,} rows", Figure.once(flat, Unit.COST)
    bars = [
        [*growth, FLAT, verdict(flat, FLAT, at_most=True)],
        ["time", Figure.once(last, Unit.SECONDS), duration(TIME_BAR), verdict(last, TIME_BAR, at_most=True)],
    ]
    settings.report(f"{sizes[-1]:,} rows", ["", "figure", "bar, at most", ""], bars)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(asdict(footprint(int(sys.argv[2])))))
    else:
        with benchmark(__doc__) as settings:
            main(settings)
