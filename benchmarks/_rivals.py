"""The same windows by what a user would pick on one machine: numpy, DuckDB and polars, in batch.

All of them see the same Arrow table in memory, first count panes and then put windows together from panes, so that
their cost does not grow with RANGE/SLIDE either. They know the whole input: none of them could answer a stream.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import duckdb


def connect(data: pa.Table, threads: int = 1) -> duckdb.DuckDBPyConnection:
    """DuckDB with the table under the name `data`, scanned in place."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {threads}")
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("data", data)
    return connection


def one_thread() -> None:
    """Keep Arrow's and polars' thread pools to one thread; call it before polars is imported."""
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    os.environ["POLARS_MAX_THREADS"] = "1"


def duckdb_count(connection: duckdb.DuckDBPyConnection, where: str, slide: int, ratio: int) -> pa.Table:
    """Rows per window: panes counted, then a frame of RANGE/SLIDE panes moved over all panes."""
    answer: pa.Table = connection.sql(f"""
        WITH panes AS (
            SELECT epoch_us(time) // {slide} AS pane, count(*) AS n FROM data WHERE {where} GROUP BY 1
        ), every AS (
            SELECT unnest(range((SELECT min(pane) FROM panes), (SELECT max(pane) + {ratio} FROM panes))) AS pane
        )
        SELECT (pane + 1) * {slide} AS window_end, sum(n) OVER (ORDER BY pane ROWS {ratio - 1} PRECEDING) AS number
        FROM every LEFT JOIN panes USING (pane)""").to_arrow_table()
    return answer


def polars_count(frame: Any, predicate: Any, slide: int, ratio: int) -> Any:
    """Rows per window: panes counted, then a rolling sum over all panes."""
    import polars as pl

    pane = (pl.col("time").to_physical() // slide).alias("pane")
    panes = frame.lazy().filter(predicate).group_by(pane).agg(pl.len().cast(pl.Int64).alias("n")).collect()
    first, last = panes["pane"].min(), panes["pane"].max()
    every = pl.DataFrame({"pane": pl.int_range(first, last + ratio, eager=True)})
    dense = every.join(panes, on="pane", how="left", maintain_order="left").fill_null(0)
    return dense.select(pl.col("pane").add(1) * slide, number=pl.col("n").rolling_sum(ratio, min_samples=1))


AGGREGATES = "count(*) AS number, sum(volume) AS volume, max(price) AS price"


def duckdb_groups(connection: duckdb.DuckDBPyConnection, key: str, slide: int, ratio: int) -> pa.Table:
    """count, sum and max per window and group: panes, each then copied into its RANGE/SLIDE windows."""
    answer: pa.Table = connection.sql(f"""
        WITH panes AS (SELECT {key}, epoch_us(time) // {slide} AS pane, {AGGREGATES} FROM data GROUP BY 1, 2)
        SELECT {key}, (pane + step + 1) * {slide} AS window_end,
               sum(number) AS number, sum(volume) AS volume, max(price) AS price
        FROM panes, range({ratio}) AS steps(step) GROUP BY 1, 2""").to_arrow_table()
    return answer


def polars_groups(frame: Any, key: str, slide: int, ratio: int) -> Any:
    """count, sum and max per window and group: panes, then polars' own dynamic windows over them."""
    import polars as pl

    pane = (pl.col("time").to_physical() // slide).alias("pane")
    aggregates = (pl.len().cast(pl.Int64).alias("number"), pl.col("volume").sum(), pl.col("price").max())
    panes = frame.lazy().group_by(key, pane).agg(*aggregates).sort("pane")
    windows = panes.group_by_dynamic(
        "pane", every="1i", period=f"{ratio}i", offset=f"-{ratio - 1}i", group_by=key, start_by="window"
    )
    return windows.agg(pl.col("number").sum(), pl.col("volume").sum(), pl.col("price").max()).collect()


def duckdb_windows(connection: duckdb.DuckDBPyConnection, key: str, what: str, slide: int, ratio: int) -> pa.Table:
    """Any aggregate per window and group: every row copied into its RANGE/SLIDE windows."""
    answer: pa.Table = connection.sql(f"""
        SELECT {key}, (epoch_us(time) // {slide} + step + 1) * {slide} AS window_end, {what} AS result
        FROM data, range({ratio}) AS steps(step) GROUP BY 1, 2""").to_arrow_table()
    return answer


def duckdb_last_rows(connection: duckdb.DuckDBPyConnection, key: str, order: str, length: int, slide: int) -> pa.Table:
    """count, sum and max of the last rows of each key, after every `slide` of them: a frame of rows."""
    answer: pa.Table = connection.sql(f"""
        SELECT {key}, n AS window_end, number, volume, price FROM (
            SELECT {key}, row_number() OVER part AS n,
                   count(*) OVER last AS number, sum(volume) OVER last AS volume, max(price) OVER last AS price
            FROM data
            WINDOW part AS (PARTITION BY {key} ORDER BY {order}),
                   last AS (PARTITION BY {key} ORDER BY {order} ROWS BETWEEN {length - 1} PRECEDING AND CURRENT ROW)
        ) WHERE n % {slide} = 0""").to_arrow_table()
    return answer


def polars_last_rows(frame: Any, key: str, order: str | None, length: int, slide: int) -> Any:
    """The same by rolling sums and maxima over each key, of which every `slide`-th is kept."""
    import polars as pl

    ordered = frame.lazy() if order is None else frame.lazy().sort(order, maintain_order=True)
    n = pl.int_range(1, pl.len() + 1)
    columns = {
        "n": n,
        "number": pl.min_horizontal(n, length),
        "volume": pl.col("volume").rolling_sum(length, min_samples=1),
        "price": pl.col("price").rolling_max(length, min_samples=1),
    }
    rolled = ordered.select(key, **{name: column.over(key) for name, column in columns.items()})
    return rolled.filter(pl.col("n") % slide == 0).collect()
