"""A thousand groups: count + sum + max over ten minutes, RANGE/SLIDE 10 and 60, by three kinds of key.

Bars for one thread: 50 M rows/s with integer and dictionary keys, 15 M rows/s with plain strings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import _rivals as rivals
import numpy as np
import pyarrow as pa
from _figures import Figure, Unit, amount, ratios
from _harness import Settings, benchmark, side_by_side, verdict

import windrow as wr
from windrow.engines.local import LocalOptions, Receiver, run
from windrow.generate import trades

ROWS = 4_000_000
RATE = 5_000
RANGE = 600_000_000
BARS = {"int64": 50e6, "dictionary": 50e6, "string": 15e6}
RIVALS = ("duckdb 1 thread", "duckdb 2 threads", "polars 1 thread")


def keyed(data: pa.Table, kind: str) -> pa.Table:
    """The trades with their symbol as another type."""
    symbol: Any = data.column("symbol")
    if kind == "string":
        return data.set_column(0, "symbol", symbol.cast(pa.string()))
    if kind == "int64":
        chunks = [chunk.indices.cast(pa.int64()) for chunk in symbol.chunks]
        return data.set_column(0, "symbol", pa.chunked_array(chunks))
    return data


def query(data: pa.Table, ratio: int) -> wr.Query:
    return (
        wr.stream(data, time="time", progress=wr.slack("30 s"))
        .group_by("symbol")
        .window(range=f"{RANGE} us", slide=f"{RANGE // ratio} us")
        .agg(number=wr.count(), volume=wr.sum("volume"), price=wr.max("price"))
    )


def answer(asked: wr.Query, threads: int = 1) -> pa.Table:
    results: list[pa.RecordBatch] = []
    run([asked.plan], asked.sources, Receiver.of_one(results.append), LocalOptions(threads=threads))
    return pa.Table.from_batches(results)


def works(data: pa.Table, ratio: int) -> dict[str, Callable[[], Any]]:
    """What runs side by side."""
    import polars as pl

    slide, asked, frame = RANGE // ratio, query(data, ratio), pl.from_arrow(data)
    one, two = rivals.connect(data, 1), rivals.connect(data, 2)
    return {
        "windrow": lambda: answer(asked),
        "windrow 2 threads": lambda: answer(asked, 2),
        "duckdb 1 thread": lambda: rivals.duckdb_groups(one, "symbol", slide, ratio),
        "duckdb 2 threads": lambda: rivals.duckdb_groups(two, "symbol", slide, ratio),
        "polars 1 thread": lambda: rivals.polars_groups(frame, "symbol", slide, ratio),
    }


def same(answers: list[Any]) -> bool:
    """All answers add up to the same."""
    return len(set(map(_sums, answers))) == 1


def _sums(result: Any) -> tuple[int, ...]:
    """How many results, and the sum of each aggregate over all of them."""
    columns = [np.asarray(result[name]).astype(np.int64) for name in ("number", "volume", "price")]
    return len(columns[0]), *(int(column.sum()) for column in columns)


def line(data: pa.Table, kind: str, ratio: int, repeats: int) -> list[object]:
    rows = data.num_rows
    spreads = side_by_side(works(data, ratio), repeats, same)
    times = ratios(spreads, "windrow")
    ours = spreads["windrow"]
    judged = f"{amount(BARS[kind])} {verdict(rows / ours.median, BARS[kind])}"
    scaling = Figure.once(ours.median / spreads["windrow 2 threads"].median, Unit.GAIN)
    others = [f"{amount(rows / spreads[name].median)} {times[name]:.2f}x" for name in RIVALS]
    over = {name: times[name] for name in RIVALS}
    return [kind, str(ratio), ours.rate(rows, over), judged, scaling, *others]


def main(settings: Settings) -> None:
    data = trades(settings.rows(ROWS), seed=3, disorder="band 30 s", keys=1000, rate=RATE).table()
    lines = []
    for kind in BARS:
        typed = keyed(data, kind)
        lines += [line(typed, kind, ratio, settings.repeats) for ratio in (10, 60)]
    headers = ["key", "RANGE/SLIDE", "windrow rows/s", "bar", "2 threads", *RIVALS]
    title = f"{data.num_rows:,} rows, 1000 groups; for the others rows/s and time as a multiple of windrow's"
    settings.report(title, headers, lines, labels=2)


if __name__ == "__main__":
    rivals.one_thread()
    with benchmark(__doc__) as settings:
        main(settings)
