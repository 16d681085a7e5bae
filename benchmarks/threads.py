"""Threads in process: the same query on one thread and on as many as the machine has cores, and in between.

Groups and medians are divided by their key, a count of everything by rows, a join by the value it compares.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from _figures import Figure, Unit, amount
from _harness import Settings, benchmark, side_by_side

import windrow as wr

ROWS = 4_000_000
KEYS = 1_000
WINDOW = {"range": 600, "slide": 60}


def data(rows: int, seed: int) -> pa.Table:
    chance = np.random.default_rng(seed)
    times = np.arange(rows) * 36_000 // rows - chance.integers(0, 30, rows)
    columns: dict[str, Any] = {
        "t": times,
        "k": chance.integers(0, KEYS, rows),
        "x": chance.integers(0, 1_000_000, rows),
        "y": chance.normal(size=rows),
    }
    return pa.table(columns)


def stream(table: pa.Table, name: str = "s") -> Any:
    return wr.stream(table, time="t", progress=wr.slack(30), name=name)


def queries(rows: int) -> dict[str, tuple[int, wr.Query]]:
    """Each with how many rows it reads."""
    table, other = data(rows, 1), data(rows // 8, 2)
    grouped = stream(table).group_by("k").window(**WINDOW)
    joined = stream(table.slice(0, rows // 8), "a").join(stream(other, "b"), ["k"], range=5)
    return {
        "count, filter": (rows, stream(table).where("x > 500000").window(**WINDOW).agg(n=wr.count())),
        "count, sum, max of 1,000 groups": (rows, grouped.agg(n=wr.count(), s=wr.sum("x"), m=wr.max("x"))),
        "variance of 1,000 groups": (rows, grouped.agg(v=wr.variance("y"))),
        "median of 1,000 groups": (rows, grouped.agg(m=wr.median("x"))),
        "equality join": (rows // 4, joined),
    }


def works(query: wr.Query, counts: list[int]) -> dict[str, Callable[[], Any]]:
    def work(threads: int) -> Callable[[], Any]:
        return lambda: query.collect(threads=threads).num_rows

    return {str(threads): work(threads) for threads in counts}


def main(settings: Settings) -> None:
    cores = os.cpu_count() or 1
    counts = [threads for threads in (1, 2, 4, 8, 16, 32) if threads <= max(2, cores)]
    lines: list[list[object]] = []
    made = queries(settings.rows(ROWS))
    for name in settings.chosen(made):
        rows, query = made[name]
        spreads = side_by_side(works(query, counts), settings.repeats, lambda answers: len(set(answers)) == 1)
        one = spreads["1"]
        gains = [Figure.once(one.median / spreads[str(threads)].median, Unit.GAIN) for threads in counts[1:]]
        lines.append([name, amount(rows), one.rate(rows), *gains])
    headers = ["query", "rows", "1 thread, rows/s", *(f"{threads} threads" for threads in counts[1:])]
    settings.report(f"how many times as fast as one thread, on {cores} cores", headers, lines)


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        main(settings)
