"""DataFrames in, DataFrames out: static and streaming, on a classic session and on Spark Connect."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow as wr
from tests.contract.engines import Engine, check, check_late, given, plain, rounded_names, same_on_connect
from tests.contract.hearing import Given, Heard, Row
from tests.contract.reference import Expected, Reference
from tests.contract.streams import ALL, BOUNDED, SCHEMA, SIZE, TIMED, rows, timed
from windrow.errors import UnsupportedError
from windrow.pipeline.metrics import SourceMetrics
from windrow.query import Query
from windrow.query.frames import spark_watch, transform

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = rows(31, 0)
MOMENTS = timed(rows(32, -100))


def whole(streams: Sequence[Given]) -> Heard:
    """Static frames: nothing is promised before their end."""
    return [(one.stream.name, row) for one in streams for row in one.rows]


def batch_answer(query: Query, elements: Sequence[Row]) -> Expected:
    (name,) = query.sources
    return Reference(given(query.plan, {name: elements}), whole).answer(query.plan)


def same(query: Query, expected: Sequence[Row], found: DataFrame) -> None:
    rounded = rounded_names(query.plan)
    assert plain(expected, rounded) == plain(found.toArrow().to_pylist(), rounded)


def static(spark: SparkSession, elements: Sequence[Row], schema: pa.Schema = SCHEMA) -> DataFrame:
    return spark.createDataFrame(pa.Table.from_pylist(list(elements), schema))


def files(folder: Path, elements: Sequence[Row], schema: pa.Schema = SCHEMA) -> Path:
    """A file for each micro-batch, each younger than the one before."""
    folder.mkdir()
    for number, first in enumerate(range(0, len(elements), SIZE)):
        path = folder / f"{number}.parquet"
        pq.write_table(pa.Table.from_pylist(list(elements[first : first + SIZE]), schema), path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return folder


def streaming(spark: SparkSession, folder: Path) -> DataFrame:
    shape = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(shape).option("maxFilesPerTrigger", 1).parquet(str(folder))


def drained(frame: DataFrame, folder: Path) -> DataFrame:
    """Everything a stream gave up to now, from this run and those before it with the same folder."""
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    writer.option("path", str(folder / "given")).trigger(availableNow=True).start().awaitTermination()
    return frame.sparkSession.read.schema(frame.schema).parquet(str(folder / "given"))


def windows(frame: DataFrame, slack: int, aggregates: Any = BOUNDED) -> Query:
    stream = wr.stream(frame, time="ts", progress=wr.slack(slack), name="s")
    return stream.group_by("k").window(range=30, slide=10).late("side").agg(**aggregates)


def test_static_frames(spark: SparkSession) -> None:
    """All rows come before any promise, so nothing is late whatever the policy; every aggregate keeps its type."""
    query = windows(static(spark, ROWS), 5, ALL)
    same(query, batch_answer(query, ROWS).results, query.to_spark())
    assert [] == query.late_to_spark().collect()


def test_static_frames_in_sql_and_in_the_middle_of_a_chain(spark: SparkSession) -> None:
    text = "SELECT k, count(*) AS n FROM trades [GAP 4 SECONDS WATTR ts] WHERE x > 0 GROUP BY k"
    frame = static(spark, MOMENTS, TIMED).drop("at")
    query = wr.sql(text, trades=frame)
    expected = batch_answer(query, MOMENTS).results
    chained = frame.filter("true").transform(transform(text, name="trades", time="ts")).where("k = 'a'")
    total = chained.groupBy("k").sum("n").collect()
    assert [("a", sum(row["n"] for row in expected if row["k"] == "a"))] == [tuple(row) for row in total]
    same(query, expected, query.to_spark())


def test_a_stream_is_closed_from_its_checkpoint_and_equals_the_batch(spark: SparkSession, tmp_path: Path) -> None:
    """First what the slack lets close, then, with `close`, the rest; together the answer over the static frame."""
    frame = streaming(spark, files(tmp_path / "in", ROWS))
    query = windows(frame, 90)
    expected = batch_answer(query, ROWS).results
    bound = max(row["ts"] for row in ROWS) - 90
    closed = [row for row in expected if row["window_end"] <= bound]
    same(query, closed, drained(query.to_spark(), tmp_path / "out"))
    assert 0 < len(closed) < len(expected)
    same(query, expected, drained(query.to_spark(close=True), tmp_path / "out"))
    same(query, expected, windows(static(spark, ROWS), 90).to_spark())


@same_on_connect
def test_a_stream_is_closed_behind_all_that_was_there(spark: SparkSession, tmp_path: Path) -> None:
    """A file a micro-batch, one of them without a row that counts, under either trigger: none comes after the end."""
    out = [{**row, "k": "out"} for row in ROWS[:SIZE]]
    frame = streaming(spark, files(tmp_path / "in", [*ROWS[:SIZE], *out, *ROWS[SIZE:]]))
    query = windows(frame.where("k is distinct from 'out'"), 90)
    expected = batch_answer(query, ROWS).results
    same(query, expected, drained(query.to_spark(close=True), tmp_path / "out"))
    running = query.to_spark(close=True).writeStream.format("memory").queryName("closed").start()
    watch = spark_watch(running)
    while not all(source.ended for source in watch.look().sources.values() or [SourceMetrics()]):
        assert not running.awaitTermination(1)
    running.stop()
    same(query, expected, spark.table("closed"))
    assert (len(ROWS), 0) == (watch.metrics.rows_in, watch.metrics.rows_late)


def test_streaming_frames_with_a_watermark_in_sql(on_frames: Engine, spark: SparkSession, tmp_path: Path) -> None:
    """The delay of the watermark is the slack; Spark's own late filter takes nothing away."""
    frame = streaming(spark, files(tmp_path / "in", MOMENTS, TIMED)).withWatermark("ts", "20 seconds").drop("at")
    text = "SELECT k, count(*) AS n, sum(x) AS total FROM s [RANGE 30 SECONDS SLIDE 10 SECONDS WATTR ts] GROUP BY k"
    expected = check(on_frames, wr.sql(text, s=frame), {"s": MOMENTS}, SIZE)
    assert expected.rows_late > 0


def test_late_rows_of_the_windrow_format(on_frames: Engine, spark: SparkSession, tmp_path: Path) -> None:
    from windrow.engines.spark.connect.format import WindrowSource

    pq.write_table(pa.Table.from_pylist(ROWS, SCHEMA), tmp_path / "rows.parquet")
    spark.dataSource.register(WindrowSource)
    reader = spark.readStream.format("windrow").option("batchRows", SIZE)
    query = windows(reader.option("path", str(tmp_path / "rows.parquet")).load(), 20)
    expected = on_frames.expected(query.plan, {"s": ROWS}, SIZE)
    found = drained(query.late_to_spark(), tmp_path / "out").toArrow().to_pylist()
    assert expected.rows_late == len(found) > 0
    check_late(expected.late, found, {"s"})


def test_never_static_and_streaming_frames_together(spark: SparkSession, tmp_path: Path) -> None:
    moving = wr.stream(streaming(spark, files(tmp_path / "in", ROWS)), time="ts", name="moving")
    query = moving.union(wr.stream(static(spark, ROWS), time="ts", name="fixed"))
    message = r"\A`streams` must all be streams or all be static on Spark, got fixed static, .*\Z"
    with pytest.raises(UnsupportedError, match=message):
        query.window(range=10).agg(n=wr.count()).to_spark()


def test_never_late_rows_that_are_dropped(spark: SparkSession) -> None:
    message = r"\A`query` gives no late rows under LATE DROP\. Hint: say LATE SIDE, or late\('side'\)\.\Z"
    with pytest.raises(UnsupportedError, match=message):
        windows(static(spark, ROWS), 5).late("drop").late_to_spark()


def test_never_streaming_frames_in_process(spark: SparkSession, tmp_path: Path) -> None:
    query = windows(streaming(spark, files(tmp_path / "in", ROWS)), 5)
    message = r"\A`s` is a streaming DataFrame, which the local engine does not read\. Hint: run it .*\Z"
    with pytest.raises(UnsupportedError, match=message):
        query.run(engine="local")
