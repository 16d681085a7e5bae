"""A running query is one handle on every engine: read it, watch it, stop it, close it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

import windrow as wr
from tests.contract.engines import Engine, check_late, same_on_connect
from windrow.query import Query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS = [*range(60), 5]
"""Six windows of ten rows, and a late one."""
ROWS = pa.table({"t": SECONDS})
WINDOWS = [{"window_start": start, "window_end": start + 10, "n": 10} for start in range(0, 60, 10)]


def counted(stream: Query) -> Query:
    return stream.window(range=10).agg(n=wr.count()).late("side")


def rows_of(batches: list[pa.RecordBatch]) -> list[dict[str, int]]:
    return [row for batch in batches for row in batch.to_pylist()]


@same_on_connect
def test_a_run_is_read_and_watched_and_stopped(engine: Engine) -> None:
    query = counted(wr.stream(ROWS, time="t", progress=wr.ordered(), name="s"))
    options = {**engine.options(10), "batch_rows": 10}
    with query.start(**options) as run:
        given = [next(run)]
        while not run.metrics.rows_in:  # of the first micro-batch, or a moment ago
            given.append(next(run))
        assert run.metrics.rows_in == run.progress["s"].rows
        given += run
        assert (WINDOWS, [5]) == (rows_of(given), [row["t"] for row in rows_of(run.late())])
    assert (61, 60, 1, 6) == (run.metrics.rows_in, run.metrics.rows_used, run.metrics.rows_late, run.metrics.results)
    assert 61 == run.wait().rows_in
    with query.start(**options) as run:
        assert WINDOWS[:1] == rows_of([next(run)])[:1]
    assert run.has_ended
    assert [] == list(run)
    if engine.spark is not None:
        assert [] == engine.spark.streams.active


def land(path: Path, rows: pa.Table) -> None:
    """A file that is there as a whole."""
    hidden = path.with_name(f".{path.name}")
    pq.write_table(rows, hidden)
    hidden.rename(path)


@same_on_connect
def test_a_stream_is_followed_until_it_is_closed(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path / "0.parquet", ROWS.slice(0, 25))
    frame = spark.readStream.schema("t bigint").parquet(str(tmp_path))
    query = counted(wr.stream(frame, time="t", progress=wr.ordered(), name="s"))
    with query.start() as run:
        first = rows_of([next(run)])
        assert not run.has_ended
        land(tmp_path / "1.parquet", ROWS.slice(25, 30))  # after the first results are here
        while len(first) < 5:
            first += rows_of([next(run)])
        run.close()
        assert (WINDOWS[:5], [{**WINDOWS[5], "n": 5}]) == (first, rows_of(list(run)))
    check_late([], rows_of(run.late()), {"s"})
    assert (55, 6) == (run.metrics.rows_in, run.metrics.results)
