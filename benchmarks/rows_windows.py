"""The last rows of each of a thousand keys: count + sum + max, RANGE/SLIDE 10, by arrival and by event time.

Bar for one thread: 20 M rows/s by arrival where a window ends every ten rows or less often. With SLIDE 1 ROW every row
has an answer of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import _rivals as rivals
import numpy as np
import pyarrow as pa
from _figures import amount, ratios
from _harness import Settings, benchmark, side_by_side, verdict

import windrow as wr
from windrow.engines.local import LocalOptions, Receiver, run
from windrow.generate import trades

ROWS = 4_000_000
RATE = 5_000
BAR = 20e6
CASES = [(10, 1, None), (4096, 1, None), (100, 10, None), (1000, 100, None), (100, 10, "time")]
RIVALS = ("duckdb 1 thread", "polars 1 thread")


def numbered(data: pa.Table) -> pa.Table:
    """The trades with their symbol as a number, and the number of each row."""
    symbol: Any = data.column("symbol")
    chunks = [chunk.indices.cast(pa.int64()) for chunk in symbol.chunks]
    keyed = data.set_column(0, "symbol", pa.chunked_array(chunks))
    return keyed.append_column("arrival", pa.array(np.arange(data.num_rows)))


def answer(data: pa.Table, length: int, slide: int, order_by: str | None) -> pa.Table:
    results: list[pa.RecordBatch] = []
    stream = wr.stream(data, time="time", progress=wr.slack("30 s"))
    window = stream.window(rows=length, slide=f"{slide} rows", partition="symbol", order_by=order_by)
    asked = window.agg(number=wr.count(), volume=wr.sum("volume"), price=wr.max("price"))
    run([asked.plan], asked.sources, Receiver.of_one(results.append), LocalOptions())
    return pa.Table.from_batches(results)


def works(data: pa.Table, length: int, slide: int, order_by: str | None) -> dict[str, Callable[[], Any]]:
    """What runs side by side."""
    import polars as pl

    order = "arrival" if order_by is None else f"{order_by}, arrival"
    one, frame = rivals.connect(data, 1), pl.from_arrow(data)
    return {
        "windrow": lambda: answer(data, length, slide, order_by),
        "duckdb 1 thread": lambda: rivals.duckdb_last_rows(one, "symbol", order, length, slide),
        "polars 1 thread": lambda: rivals.polars_last_rows(frame, "symbol", order_by, length, slide),
    }


def same(answers: list[Any]) -> bool:
    """All answers add up to the same."""
    return len({_sums(one) for one in answers}) == 1


def _sums(result: Any) -> tuple[int, ...]:
    columns = [np.asarray(result[name]).astype(np.int64) for name in ("number", "volume", "price")]
    return len(columns[0]), *(int(column.sum()) for column in columns)


def line(data: pa.Table, length: int, slide: int, order_by: str | None, repeats: int) -> list[object]:
    rows = data.num_rows
    spreads = side_by_side(works(data, length, slide, order_by), repeats, same)
    times, ours = ratios(spreads, "windrow"), spreads["windrow"]
    judged = slide >= 10 and order_by is None
    bar = f"{amount(BAR)} {verdict(rows / ours.median, BAR)}" if judged else ""
    others = [f"{amount(rows / spreads[name].median)} {times[name]:.2f}x" for name in RIVALS]
    return [f"{length} rows", f"{slide} rows", order_by or "arrival", ours.rate(rows, times), bar, *others]


def main(settings: Settings) -> None:
    data = numbered(trades(settings.rows(ROWS), seed=3, disorder="band 30 s", keys=1000, rate=RATE).table())
    lines = [line(data, *case, settings.repeats) for case in CASES]
    headers = ["RANGE", "SLIDE", "by", "windrow rows/s", "bar", *RIVALS]
    title = f"{data.num_rows:,} rows, 1000 keys; for the others rows/s and time as a multiple of windrow's"
    settings.report(title, headers, lines, labels=3)


if __name__ == "__main__":
    rivals.one_thread()
    with benchmark(__doc__) as settings:
        main(settings)
