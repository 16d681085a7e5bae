"""Several queries over one stream on Spark, together and one after the other: 1, 2, 5 and 10 of them.

Bar: ten queries together take at most twice as long as one alone. The queries are those of `sharing.py`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from _harness import Settings, benchmark, side_by_side
from sharing import COUNTS, KEYS, RATE, line, queries, same

import windrow as wr
from windrow.generate import trades

ROWS = 8_000_000


def together(asked: Sequence[wr.Query]) -> Callable[[], list[pa.Table]]:
    return lambda: [result.table for result in wr.run(asked, engine="spark")]


def alone(asked: Sequence[wr.Query]) -> Callable[[], list[pa.Table]]:
    return lambda: [query.collect(engine="spark") for query in asked]


def main(settings: Settings) -> None:
    wr.spark_session(shards=2, memory="2g")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trades.parquet"
        rows = settings.rows(ROWS)
        pq.write_table(trades(rows, seed=5, disorder="band 30 s", keys=KEYS, rate=RATE).table(), path)
        asked = queries(wr.stream(path, time="time", progress=wr.slack("30 s")))
        works: dict[str, Callable[[], list[pa.Table]]] = {}
        for count in COUNTS:
            works[f"{count} together"] = together(asked[:count])
            if count <= 2:  # one by one, more of them only take as many times as long
                works[f"{count} alone"] = alone(asked[:count])
        spreads = side_by_side(works, 1 if settings.quick else 3, lambda found: same(found[:4]))
        one = spreads["1 alone"].median
        headers = ["number", "together", "one by one", "together/one", "one by one/one", "bar"]
        lines = [[str(count), *line(spreads, count, one)] for count in COUNTS]
        settings.report(f"{rows:,} rows, {KEYS} groups, on Spark", headers, lines)


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        main(settings)
