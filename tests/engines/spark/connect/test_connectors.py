"""Spark's own readers and writers."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.engines.spark.connect.addresses import Address
from windrow.engines.spark.connect.connectors import reader, writer
from windrow.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOON = datetime(2024, 1, 1, 12, tzinfo=timezone.utc)
ROWS: list[dict[str, Any]] = [{"k": "a", "n": 1, "t": NOON}, {"k": None, "n": 2, "t": None}]
KINDS: dict[str, pa.DataType] = {"k": pa.string(), "n": pa.int64(), "t": pa.timestamp("us", "UTC")}
SCHEMA = pa.schema(KINDS)


@pytest.fixture
def rows(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """A stream of two rows."""
    (tmp_path / "in").mkdir()
    pq.write_table(pa.Table.from_pylist(ROWS, SCHEMA), tmp_path / "in" / "a.parquet")
    return reader(spark, str(tmp_path / "in"))


def drain(frame: DataFrame, uri: str, folder: Path) -> None:
    output = writer(frame, uri)
    output.writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    output.start().awaitTermination()


def collected(frame: DataFrame, name: str, folder: Path) -> list[dict[str, Any]]:
    """All rows of a stream, by way of memory."""
    drain(frame, f"memory:{name}", folder / name)
    found = frame.sparkSession.table(name).toArrow().select(SCHEMA.names).to_pylist()
    return sorted(found, key=lambda row: int(row["n"]))


@pytest.mark.parametrize(
    "uri", ["parquet:{}", "{}.parquet", "json:{}", "{}.jsonl", "csv:{}", "{}.csv", "{}.tsv", "{}/"]
)
def test_files_are_written_and_read_again(spark: SparkSession, rows: DataFrame, tmp_path: Path, uri: str) -> None:
    target = uri.format(tmp_path / "out")
    drain(rows, target, tmp_path)
    again = reader(spark, target, SCHEMA)
    assert again.isStreaming
    assert ROWS == collected(again, "again", tmp_path)


def test_columns_are_found_where_none_are_declared(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("k,n,t\na,1,2024-01-01T12:00:00Z\n,2,\n")
    frame = reader(spark, f"csv:{tmp_path}")
    assert ["string", "int", "timestamp"] == [field.dataType.simpleString() for field in frame.schema]
    assert ROWS == collected(frame, "found", tmp_path)


def test_a_single_file(spark: SparkSession, tmp_path: Path) -> None:
    for name, size in (("x[1]*.parquet", 2), ("x1.parquet", 1)):
        pq.write_table(pa.Table.from_pylist(ROWS[:size], SCHEMA), tmp_path / name)
    for uri in (str(tmp_path / "x[1]*.parquet"), f"parquet:{tmp_path / 'x[1]*.parquet'}"):
        assert ROWS == collected(reader(spark, uri, SCHEMA), f"single_{len(uri)}", tmp_path)


def test_a_line_that_cannot_be_read_ends_the_query(spark: SparkSession, tmp_path: Path) -> None:
    from windrow.engines.spark.session.faults import explained

    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text('{"n": 1}\n{broken\n')
    with pytest.raises(Exception, match=r"a\.jsonl") as caught:
        collected(reader(spark, f"json:{tmp_path / 'in'}", SCHEMA), "strict", tmp_path)
    assert str(explained(caught.value)).startswith("`file` cannot be read; it is damaged, incomplete or of another")


def test_options_are_the_users(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a;1;\n")
    frame = reader(spark, f"csv:{tmp_path}?sep=;&Header=false", SCHEMA)
    assert [{"k": "a", "n": 1, "t": None}] == collected(frame, "own", tmp_path)


def test_tables(spark: SparkSession, rows: DataFrame, tmp_path: Path) -> None:
    try:
        drain(rows, f"table:windrow_rows?path={tmp_path / 'table'}", tmp_path)
        again = reader(spark, "table:windrow_rows", SCHEMA)
        assert ROWS == collected(again, "from_table", tmp_path)
    finally:
        spark.sql("DROP TABLE IF EXISTS windrow_rows")


def test_the_rate_source(spark: SparkSession) -> None:
    frame = reader(spark, "rate:?rowsPerSecond=10")
    assert (True, ["timestamp", "value"]) == (frame.isStreaming, frame.columns)
    assert ["value"] == reader(spark, "rate:", pa.schema([("value", pa.int64())])).columns


@pytest.mark.parametrize("uri", ["memory:x", "console:"])
def test_what_can_only_be_written(spark: SparkSession, uri: str) -> None:
    pattern = rf"^`source` can only be written to, got {uri}. Hint: read a table, files, Kafka or rate:.$"
    with pytest.raises(ConfigurationError, match=pattern):
        reader(spark, uri)


def test_what_can_only_be_read(spark: SparkSession) -> None:
    pattern = r"^`output` can only be read from, got rate:. Hint: write to a table, files, Kafka or console:.$"
    with pytest.raises(ConfigurationError, match=pattern):
        writer(reader(spark, "rate:"), "rate:")


@pytest.mark.parametrize("mode", ["update", "Complete"])
def test_only_append_makes_sense(spark: SparkSession, mode: str) -> None:
    pattern = (
        r"^`outputMode` must be append, because a result is given once, when its window closes, and is never "
        rf"replaced, got {mode}. Hint: leave it out; corrections of late rows come as rows of their own with LATE "
        r"REVISE.$"
    )
    frame = reader(spark, "rate:")
    with pytest.raises(ConfigurationError, match=pattern):
        writer(frame, f"console:?outputmode={mode}")
    assert "console" == writer(frame, "console:?outputMode=append").place.format


@pytest.mark.parametrize("uri", ["table:results", "parquet:/answers", "answers.csv", "delta:/answers"])
def test_early_results_do_not_go_where_rows_are_only_appended(spark: SparkSession, uri: str) -> None:
    pattern = r"^`output` must be a place that early results can be taken back from; .*, got .* Hint: leave EMIT EARLY"
    with pytest.raises(ConfigurationError, match=pattern):
        writer(reader(spark, "rate:"), uri, early=True)


def test_early_results_update_what_was_written(spark: SparkSession) -> None:
    frame = reader(spark, "rate:")
    pattern = r"^`outputMode` must be update, because early results are replaced later, got append\."
    with pytest.raises(ConfigurationError, match=pattern):
        writer(frame, "console:?outputMode=append", early=True)
    assert Address("console") == writer(frame, "console:", early=True).place
