"""A sliding maximum over the last 4,000 rows by SLIDE: window ids and panes against buffering, and reading alone.

In shape figure 6-10: experiment 1 of the thesis, rows in order, RANGE 4,000 rows, SLIDE from 1 to 4,000 rows. Rows are
numbered, and windows are on that number, because the strategies that are compared here are not for windows of rows.
Buffering materializes each window and aggregates it. The recorded stream is a set of metrics. Time is that of the
processor, the least of the rounds.
"""

from __future__ import annotations

import gc
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1]))
from _figures import duration
from _harness import Settings, begin, table
from _in_order import recorded
from _pictures import Panel, save

import windrow as wr
from windrow.engines.local import LocalOptions
from windrow.engines.local.run import Runner
from windrow.generate import bids
from windrow.query import Query

ROWS, RANGE, BATCH_ROWS = 30_000, 4_000, 1 << 14
SLIDES = (1, 4, 16, 64, 250, 1_000, 4_000)
STRATEGIES = ("buffer", "wid", "panes")


def numbered(values: pa.Table, column: str) -> Query:
    """Rows as they come, by number."""
    data = pa.table({"n": pa.array(np.arange(len(values))), "value": values[column].combine_chunks()})
    return wr.stream(data, time="n", progress=wr.ordered(), name="rows")


def seconds(query: Query, repeats: int) -> tuple[float, int]:
    """Seconds of the processor, and the number of answers."""
    taken = []
    for _ in range(repeats):
        runner = Runner(query.plan, query.sources, LocalOptions(batch_rows=BATCH_ROWS))
        gc.collect()
        started = time.process_time()
        metrics = runner.run()
        taken.append(time.process_time() - started)
    return min(taken), metrics.results


def measured(stream: Query, repeats: int) -> dict[int, dict[str, float]]:
    """By slide and strategy; `scan` reads the rows and keeps none."""
    scan, _ = seconds(stream.where("n < 0"), repeats)
    found = {}
    for slide in SLIDES:
        asked = stream.window(range=RANGE, slide=slide)
        runs = {name: seconds(asked.strategy(name).agg(most=wr.max("value")), repeats) for name in STRATEGIES}
        if len({answers for _, answers in runs.values()}) > 1:
            raise SystemExit(f"the answers differ at SLIDE {slide}: {runs}")
        found[slide] = {"scan": scan, **{name: taken for name, (taken, _) in runs.items()}}
    return found


def report(title: str, found: dict[int, dict[str, float]]) -> list[Panel]:
    names = ("scan", *STRATEGIES)
    rows = [
        [slide, *(duration(runs[name]) for name in names), f"{runs['buffer'] / runs['wid']:.2f}"]
        for slide, runs in found.items()
    ]
    table(title, ["SLIDE", *names, "buffer / wid"], rows)
    lines = {name: [(float(slide), runs[name]) for slide, runs in found.items()] for name in names}
    zoomed = {name: [point for point in line if point[0] >= 64] for name, line in lines.items()}
    return [
        Panel(f"{title}, overview", "SLIDE, rows", "time, s", lines, log_x=True),
        Panel(f"{title}, zoomed in", "SLIDE, rows", "time, s", zoomed, log_x=True),
    ]


def main(settings: Settings) -> None:
    rows, repeats = settings.rows(ROWS), 1 if settings.quick else 2
    stream = numbered(bids(rows, seed=1).table(), "bid_price")
    seconds(stream.window(range=RANGE, slide=1_000).agg(most=wr.max("value")), 1)  # compiles, or loads what was
    panels = report(f"{rows:,} bids", measured(stream, repeats))
    metrics = recorded("sensors")
    if metrics is not None:
        panels += report(f"{rows:,} sensor readings", measured(numbered(metrics.slice(0, rows), "value"), repeats))[:1]
    save(panels)


if __name__ == "__main__":
    main(begin(__doc__))
