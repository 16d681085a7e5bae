"""Streams for Spark, Windrow's queries and Spark's own over them, and what their micro-batches took.

A stream is a folder of Parquet files, one for each micro-batch. Its first file spread over a whole RANGE brings the
state to its size; its last one, in which the end of the input closes all windows, is not counted either.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import windrow as wr
from windrow.engines.spark.running.observing import metrics_of
from windrow.engines.spark.session.sessions import embedded

SLIDE = SLACK = 1_000_000
"""A second each; rows are up to half of it out of order, so none is late."""
BEGIN = 1_700_000_000 * SLIDE
WARM_UP = 2
"""Micro-batches at the beginning of a stream that are not counted."""
ROW_GROUPS = 4
"""Of a file, so that two tasks can share it."""
SCHEMA = pa.schema([("key", pa.int64()), ("value", pa.int64()), ("time", pa.timestamp("us", "UTC"))])


@dataclass(frozen=True)
class Load:
    """A stream and the windows over it."""

    ratio: int
    keys: int
    pane_rows: int
    """Rows of a pane, all keys together."""
    file_rows: int
    files: int
    median: bool = False
    """The exact median instead of count, sum and max."""


def session() -> SparkSession:
    """Two cores, two shuffle partitions, RocksDB with changelogs for every query in it."""
    return embedded(shards=2, memory="4g", **{"spark.master": "local[2]"})


@contextmanager
def written(load: Load, files: int | None = None) -> Iterator[Path]:
    """A folder with the stream, for the time of the block; modification times tell Spark the order of its files."""
    with tempfile.TemporaryDirectory(prefix="windrow-bench-") as folder:
        start = BEGIN
        for number in range(files or load.files):
            span = SLIDE * (load.ratio if number == 0 else max(1, load.file_rows // load.pane_rows))
            path = Path(folder) / f"{number:04}.parquet"
            pq.write_table(_rows(load, number, start, span), path, row_group_size=-(-load.file_rows // ROW_GROUPS))
            os.utime(path, (BEGIN / 1e6 + number, BEGIN / 1e6 + number))
            start += span
        yield Path(folder)


def _rows(load: Load, seed: int, start: int, span: int) -> pa.Table:
    """Rows evenly over a span of time, each up to half the slack too early."""
    chance, rows = np.random.default_rng(seed), load.file_rows
    times = start + np.arange(rows) * span // rows - chance.integers(0, SLACK // 2, rows)
    columns: list[Any] = [chance.integers(0, load.keys, rows), chance.integers(1, 1000, rows), times]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


# The same question, asked in three ways


def native(spark: SparkSession, folder: Path, load: Load) -> DataFrame:
    """Spark's own window(); its answer's columns in Windrow's order."""
    window = sf.window("time", f"{load.ratio * SLIDE} microseconds", f"{SLIDE} microseconds")
    watermarked = _read(spark, folder).withWatermark("time", f"{SLACK} microseconds")
    numbers = [sf.count("*").alias("number"), sf.sum("value").alias("total"), sf.max("value").alias("most")]
    aggregates = [sf.percentile("value", sf.lit(0.5)).alias("middle")] if load.median else numbers
    answer = watermarked.groupBy("key", window).agg(*aggregates)
    return answer.select("key", "window.start", "window.end", *answer.columns[2:])


def through_files(spark: SparkSession, folder: Path, load: Load) -> DataFrame:
    """Windrow's own source reads the files and aggregates what it reads."""
    return asked(f"{folder}/*.parquet", load).to_spark(spark, batch_rows=load.file_rows)


def through_frame(spark: SparkSession, folder: Path, load: Load) -> DataFrame:
    """Spark reads the files; their rows come to Windrow through the JVM."""
    return asked(_read(spark, folder), load).to_spark()


def _read(spark: SparkSession, folder: Path) -> DataFrame:
    columns = "key bigint, value bigint, time timestamp"
    return spark.readStream.schema(columns).option("maxFilesPerTrigger", 1).parquet(str(folder))


def asked(data: Any, load: Load) -> wr.Query:
    """The windows of a load over a path or a DataFrame."""
    numbers = {"number": wr.count(), "total": wr.sum("value"), "most": wr.max("value")}
    return (
        wr.stream(data, time="time", progress=wr.slack(f"{SLACK} us"), name="rows")
        .group_by("key")
        .window(range=f"{load.ratio * SLIDE} us", slide=f"{SLIDE} us")
        .agg(**({"middle": wr.median("value")} if load.median else numbers))
    )


Form = Callable[[SparkSession, Path, Load], DataFrame]
FORMS: dict[str, Form] = {"native": native, "files": through_files, "frame": through_frame}


# Running and measuring


@dataclass(frozen=True)
class Measured:
    """What the counted micro-batches of a stream took."""

    seconds: list[float]
    state: int
    """Bytes in memory at the end of the last of them, as the side itself counts them."""
    written: float
    """Bytes of checkpoint a micro-batch."""


def measure(spark: SparkSession, form: Form, folder: Path, load: Load) -> Measured:
    """Run a stream to the end of its files, into nothing."""
    with tempfile.TemporaryDirectory(prefix="windrow-bench-") as checkpoint:
        progress = drain(form(spark, folder, load), checkpoint, format="noop")
        files = (Path(at) / name for at, _, names in os.walk(checkpoint) for name in names)
        total = sum(path.stat().st_size for path in files)
    counted = [one for one in progress if WARM_UP <= one["batchId"] < load.files - 1]
    if len(counted) != load.files - 1 - WARM_UP:
        raise SystemExit(f"{len(counted)} micro-batches counted, {load.files - 1 - WARM_UP} expected")
    seconds = [one["durationMs"]["triggerExecution"] / 1000 for one in counted]
    return Measured(seconds, _state(counted[-1]), total / len(progress))


def _state(progress: Any) -> int:
    """Windrow's count where it observed one, else Spark's."""
    own = metrics_of(progress).state_bytes
    return own or sum(int(one["memoryUsedBytes"]) for one in progress["stateOperators"])


def drain(frame: DataFrame, checkpoint: str, **how: str) -> list[Any]:
    """The progress of every micro-batch of a stream that runs to its end."""
    writer = frame.writeStream.outputMode("append").options(**{**how, "checkpointLocation": checkpoint})
    query = writer.format(how["format"]).trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()
    by_batch = {one["batchId"]: one for one in query.recentProgress}
    return [by_batch[batch] for batch in sorted(by_batch)]


def answer(spark: SparkSession, form: Form, folder: Path, load: Load) -> pa.Table:
    """The windows that are closed before the end of the input, in order; Spark never closes the others."""
    with tempfile.TemporaryDirectory(prefix="windrow-bench-") as kept:
        drain(form(spark, folder, load), f"{kept}/checkpoint", format="parquet", path=f"{kept}/answer")
        table = spark.read.parquet(f"{kept}/answer").toArrow()
    high = max(
        pq.read_table(path, columns=["time"])["time"].cast(pa.int64()).to_numpy().max() for path in folder.iterdir()
    )
    names = ["key", "start", "end", *table.column_names[3:]]
    table = table.rename_columns(names)
    closed = table.filter(np.asarray(table["end"].cast(pa.int64())) <= high - SLACK)
    return closed.sort_by([("key", "ascending"), ("end", "ascending")])
