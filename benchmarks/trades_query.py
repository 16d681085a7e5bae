"""The papers' trades query on one thread: one symbol of a hundred counted over ten minutes, RANGE/SLIDE 10 to 4096.

SELECT Time, count(*) FROM Trades [RANGE 600 SECONDS SLIDE 60 SECONDS WATTR Time] WHERE Symbol = 'UBSN'
over Arrow batches in memory that arrive up to 30 seconds out of order. Bar: 200 M rows/s, the rate of the papers'
hardware, at every ratio, and the slowest ratio at least 0.8 of the fastest.
"""

from __future__ import annotations

from typing import Any

import _rivals as rivals
import numpy as np
import pyarrow as pa
from _figures import Figure, Spread, Unit, amount, ratios
from _harness import Settings, benchmark, side_by_side, verdict

import windrow as wr
from windrow.engines.local import Receiver, run
from windrow.generate import trades

ROWS = 20_000_000
RATE = 10_000
"""Rows a second of event time: 2000 seconds of stream."""
RANGE = 600_000_000
RATIOS = (10, 64, 512, 4096)
BAR, EVEN = 200e6, 0.8


def query(data: pa.Table, slide: int, ratio: int) -> wr.Query:
    """The trades query with windows of `ratio` slides; at 4096 that is 1.5 ms less than 600 s."""
    text = f"""
        SELECT time, count(*) AS number
        FROM trades [RANGE {slide * ratio} MICROSECONDS SLIDE {slide} MICROSECONDS WATTR time]
        WHERE symbol = 'UBSN'"""
    return wr.sql(text, trades=wr.stream(data, time="time", progress=wr.slack("30 s")))


def windrow_answer(asked: wr.Query) -> pa.Table:
    results: list[pa.RecordBatch] = []
    run([asked.plan], asked.sources, Receiver.of_one(results.append))
    return pa.Table.from_batches(results)


def numpy_answer(batches: list[pa.RecordBatch], slide: int, ratio: int) -> Any:
    """Filter and pane count in one pass with what numpy has, knowing first and last time."""
    first, counts = 0, np.empty(0, np.int64)
    for batch in batches:
        symbols: Any = batch.column(0)
        times = np.asarray(batch.column(3).cast(pa.int64()))
        wanted = np.asarray(symbols.indices) == symbols.dictionary.index("UBSN").as_py()
        panes = times[wanted] // slide
        if len(counts) == 0:
            first = int(panes.min()) - ratio
        found = np.bincount(panes - first)
        counts = np.concatenate([counts, np.zeros(max(0, len(found) - len(counts)), np.int64)])
        counts[: len(found)] += found
    return np.convolve(counts, np.ones(ratio, np.int64)) if ratio < 100 else _rolled(counts, ratio)


def _rolled(counts: Any, ratio: int) -> Any:
    sums = np.cumsum(np.concatenate([counts, np.zeros(ratio - 1, np.int64)]))
    return sums - np.concatenate([np.zeros(ratio, np.int64), sums[:-ratio]])


def works(data: pa.Table, ratio: int) -> dict[str, Any]:
    """What runs side by side at one ratio."""
    import polars as pl

    slide = round(RANGE / ratio)
    asked, batches, frame = query(data, slide, ratio), data.to_batches(), pl.from_arrow(data)
    connection = rivals.connect(data)
    return {
        "windrow": lambda: windrow_answer(asked),
        "numpy": lambda: numpy_answer(batches, slide, ratio),
        "polars": lambda: rivals.polars_count(frame, pl.col("symbol") == "UBSN", slide, ratio),
        "duckdb": lambda: rivals.duckdb_count(connection, "symbol = 'UBSN'", slide, ratio),
    }


def same(answers: list[Any]) -> bool:
    """All answers hold the same numbers, windows without rows aside."""
    numbers = [np.asarray(a if isinstance(a, np.ndarray) else a["number"]).astype(np.int64) for a in answers]
    first, *others = (np.sort(number[number > 0]) for number in numbers)
    return all(np.array_equal(first, other) for other in others)


def main(settings: Settings) -> None:
    data = trades(settings.rows(ROWS), seed=1, disorder="band 30 s", rate=RATE).table()
    lines: list[list[object]] = []
    ours: dict[int, Spread] = {}
    for ratio in RATIOS:
        spreads = side_by_side(works(data, ratio), settings.repeats, same)
        ours[ratio] = spreads["windrow"]
        times = ratios(spreads, "windrow")
        rate = data.num_rows / ours[ratio].median
        others = [f"{amount(data.num_rows / spreads[n].median)} {times[n]:.2f}x" for n in times]
        lines.append([str(ratio), ours[ratio].rate(data.num_rows, times), verdict(rate, BAR), *others])
    headers = ["RANGE/SLIDE", "windrow rows/s", f"bar {amount(BAR)}", "numpy", "polars", "duckdb"]
    title = f"{data.num_rows:,} rows, 1 thread; for the others rows/s and time as a multiple of windrow's"
    settings.report(title, headers, lines)
    medians = [spread.median for spread in ours.values()]
    even = min(medians) / max(medians)
    line = ["slowest RANGE/SLIDE over fastest", Figure.once(even, Unit.GAIN), verdict(even, EVEN)]
    settings.report("evenness", ["", "rate", f"bar {EVEN}"], [line])


if __name__ == "__main__":
    rivals.one_thread()
    with benchmark(__doc__) as settings:
        main(settings)
