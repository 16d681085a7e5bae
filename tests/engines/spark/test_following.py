"""Queries over streaming DataFrames, which have no end of their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as parquet

import windrow as wr

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_batches_come_until_the_reader_stops_and_an_answer_ends_with_what_is_there(
    spark: SparkSession, tmp_path: Path
) -> None:
    """
    file 1   1 2    11 |
    file 2             | 12    25
    window  [0    10)[10    20)[20    30)   the last one is open until somebody closes it
    """

    def land(number: int, seconds: list[int]) -> None:
        parquet.write_table(pa.table({"t": seconds}), tmp_path / f".{number}")
        (tmp_path / f".{number}").rename(tmp_path / f"{number}.parquet")

    land(1, [1, 2, 11])
    frame = spark.readStream.schema("t bigint").parquet(str(tmp_path))
    query = wr.stream(frame, time="t", progress=wr.ordered(), name="s").window(range=10).agg(n=wr.count())
    closed = [{"window_start": 0, "window_end": 10, "n": 2}, {"window_start": 10, "window_end": 20, "n": 2}]
    batches = query.batches()
    assert closed[:1] == next(batches).to_pylist()
    assert 1 == len(spark.streams.active)
    land(2, [12, 25])
    assert closed[1:] == next(batches).to_pylist()
    batches.close()  # type: ignore[attr-defined]
    assert [] == spark.streams.active
    assert [*closed, {"window_start": 20, "window_end": 30, "n": 1}] == query.collect().to_pylist()
