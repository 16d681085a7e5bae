"""Exact holistic aggregates over panes: median, count_distinct and top_k, 100 groups, RANGE/SLIDE 10 and 60.

Against DuckDB, one thread, which copies every row into its windows. Bar: as fast as DuckDB, goal 3 times as fast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import _rivals as rivals
import numpy as np
import pyarrow as pa
from _harness import Settings, begin, side_by_side, table, verdict

import windrow as wr
from windrow.engines.local import run
from windrow.generate import trades

ROWS = 1_000_000
RATE = 1_000
RANGE = 600_000_000
BAR, GOAL = 1.0, 3.0
AGGREGATES = {
    "median": (wr.median("price"), "median(price)"),
    "count_distinct": (wr.count_distinct("price"), "count(DISTINCT price)"),
    "top_k": (wr.top_k("price", 3), "approx_top_k(price, 3)"),
}
"""Ours and DuckDB's; its top_k is approximate, so that answers are compared for the other two only."""


def answer(data: pa.Table, spec: Any, ratio: int) -> pa.Table:
    asked = (
        wr.stream(data, time="time", progress=wr.slack("30 s"))
        .group_by("symbol")
        .window(range=f"{RANGE} us", slide=f"{RANGE // ratio} us")
        .agg(result=spec)
    )
    results: list[pa.RecordBatch] = []
    run(asked.plan, asked.sources, on_result=results.append)
    return pa.Table.from_batches(results)


def checked(name: str, works: dict[str, Callable[[], pa.Table]]) -> None:
    """Both give as many results, and the same ones where both are exact."""
    ours, theirs = (work() for work in works.values())
    same = len(ours) == len(theirs)
    if name != "top_k":
        same = same and np.array_equal(*(np.sort(np.asarray(t["result"], np.float64)) for t in (ours, theirs)))
    if not same:
        raise SystemExit(f"the answers for {name} differ: the figures would mean nothing")


def line(data: pa.Table, name: str, ratio: int, repeats: int) -> list[str]:
    spec, text = AGGREGATES[name]
    connection, slide = rivals.connect(data), RANGE // ratio
    works = {
        "windrow": lambda: answer(data, spec, ratio),
        "duckdb": lambda: rivals.duckdb_windows(connection, "symbol", text, slide, ratio),
    }
    checked(name, works)
    spreads = side_by_side(works, repeats)
    times = spreads["duckdb"].median / spreads["windrow"].median
    rates = [spread.rate(data.num_rows) for spread in spreads.values()]
    return [name, str(ratio), *rates, f"{times:.2f}x", verdict(times, BAR), verdict(times, GOAL)]


def main(settings: Settings) -> None:
    data = trades(settings.rows(ROWS), seed=5, disorder="band 30 s", keys=100, rate=RATE).table()
    lines = [line(data, name, ratio, settings.repeats) for name in AGGREGATES for ratio in (10, 60)]
    headers = ["aggregate", "RANGE/SLIDE", "windrow rows/s", "duckdb rows/s", "times duckdb", "bar 1x", "goal 3x"]
    table(f"{data.num_rows:,} rows, 100 groups, 1 thread", headers, lines)


if __name__ == "__main__":
    rivals.one_thread()
    main(begin(__doc__))
