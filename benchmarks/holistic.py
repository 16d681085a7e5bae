"""Exact holistic aggregates over panes: median, count_distinct and top_k, 100 groups, RANGE/SLIDE 10 and 60.

Against DuckDB, one thread, which copies every row into its windows. Bar: as fast as DuckDB, goal 3 times as fast.
"""

from __future__ import annotations

from typing import Any

import _rivals as rivals
import numpy as np
import pyarrow as pa
from _figures import ratios
from _harness import Settings, benchmark, side_by_side, verdict

import windrow as wr
from windrow.engines.local import Receiver, run
from windrow.generate import trades

ROWS = 1_000_000
RATE = 1_000
RANGE = 600_000_000
BAR, GOAL = 1.0, 3.0
AGGREGATES = {
    "median, values repeat": (wr.median("price"), "median(price)", (10,)),
    "median, values differ": (wr.median("value"), "median(value)", (10, 60)),
    "count_distinct": (wr.count_distinct("value"), "count(DISTINCT value)", (10,)),
    "top_k": (wr.top_k("price", 3), "approx_top_k(price, 3)", (10,)),
}
"""Ours, DuckDB's and at which RANGE/SLIDE; its top_k is approximate, so there only the number of answers is compared.

A symbol has 41 different prices; hardly any two rows have the same `value`.
"""


def make(rows: int) -> pa.Table:
    data = trades(rows, seed=5, disorder="band 30 s", keys=100, rate=RATE).table()
    return data.append_column("value", pa.array(np.random.default_rng(5).random(rows)))


def answer(data: pa.Table, spec: Any, ratio: int) -> pa.Table:
    asked = (
        wr.stream(data, time="time", progress=wr.slack("30 s"))
        .group_by("symbol")
        .window(range=f"{RANGE} us", slide=f"{RANGE // ratio} us")
        .agg(result=spec)
    )
    results: list[pa.RecordBatch] = []
    run([asked.plan], asked.sources, Receiver.of_one(results.append))
    return pa.Table.from_batches(results)


def same(answers: list[Any]) -> bool:
    """Both give as many results, and the same ones where both are exact."""
    ours, theirs = (table["result"] for table in answers)
    if pa.types.is_nested(ours.type):
        return len(ours) == len(theirs)
    expected, found = (np.sort(np.asarray(column, np.float64)) for column in (ours, theirs))
    return bool(np.array_equal(expected, found))


def line(data: pa.Table, name: str, ratio: int, repeats: int) -> list[object]:
    spec, text, _ = AGGREGATES[name]
    connection, slide = rivals.connect(data), RANGE // ratio
    works = {
        "windrow": lambda: answer(data, spec, ratio),
        "duckdb": lambda: rivals.duckdb_windows(connection, "symbol", text, slide, ratio),
    }
    spreads = side_by_side(works, repeats, same)
    over, rows = ratios(spreads, "windrow"), data.num_rows
    times = over["duckdb"]
    rates = spreads["windrow"].rate(rows, over), str(spreads["duckdb"].rate(rows))
    return [name, str(ratio), *rates, f"{times:.2f}x", verdict(times, BAR), verdict(times, GOAL)]


def main(settings: Settings) -> None:
    data = make(settings.rows(ROWS))
    asked = [(name, ratio) for name, (_, _, at) in AGGREGATES.items() for ratio in at]
    lines = [line(data, name, ratio, settings.repeats) for name, ratio in asked]
    headers = ["aggregate", "RANGE/SLIDE", "windrow rows/s", "duckdb rows/s", "times duckdb", "bar 1x", "goal 3x"]
    settings.report(f"{data.num_rows:,} rows, 100 groups, 1 thread", headers, lines, labels=2)


if __name__ == "__main__":
    rivals.one_thread()
    with benchmark(__doc__) as settings:
        main(settings)
