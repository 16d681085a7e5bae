"""The format `windrow`: rows in Spark's types, and punctuation rows after them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows

from windrow.engines.spark.connect.format import WindrowSource
from windrow.errors import ConfigurationError
from windrow.generate import Lull, bids, trades
from windrow.semantics.progress.policies import END

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TIMES = [10, 30, 20, None, 25, 90]
CLOSE = datetime(2262, 1, 1)


@pytest.fixture
def path(tmp_path: Path) -> str:
    moments = pa.array([None if t is None else t * 10**9 for t in TIMES], pa.timestamp("ns"))
    words = pa.array(["a", "b", None, "a", "b", "a"]).dictionary_encode()
    table = pa.table({"word": words, "t": moments, "n": pa.array(TIMES, pa.int32())})
    pq.write_table(table, tmp_path / "a.parquet")
    return str(tmp_path / "a.parquet")


def moment(seconds: int) -> datetime:
    return datetime(1970, 1, 1, 0, seconds // 60, seconds % 60)


def replayed(source: WindrowSource) -> list[list[dict[str, Any]]]:
    """The rows of every micro-batch, as Spark would take them."""
    stream = source.streamReader(source.schema())
    found, start = [], stream.initialOffset()
    while (end := stream.latestOffset(start, stream.getDefaultReadLimit())) != start:
        pieces = stream.partitions(start, end)
        found.append([row for piece in pieces for batch in stream.read(piece) for row in batch.to_pylist()])
        start = end
    return found


def whole(source: WindrowSource) -> list[dict[str, Any]]:
    reader = source.reader(source.schema())
    return [row for piece in reader.partitions() for batch in reader.read(piece) for row in batch.to_pylist()]


def test_columns_have_the_types_of_spark(path: str) -> None:
    source = WindrowSource({"path": path, "punctuate": "5 s", "time": "t"})

    expected = "struct<word:string,t:timestamp_ntz,n:int,punctuation:timestamp_ntz>"
    assert expected == source.schema().simpleString()


def test_types_that_spark_does_not_have_are_widened(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": pa.array([2**32 - 1, None], pa.uint32())}), tmp_path / "a.parquet")
    source = WindrowSource({"path": str(tmp_path / "a.parquet"), "punctuate": "1", "time": "n"})

    assert "struct<n:bigint,punctuation:bigint>" == source.schema().simpleString()
    assert [2**32 - 1, None, (END,)] == marks(whole(source), "n")


def test_rows_come_in_micro_batches(path: str) -> None:
    found = replayed(WindrowSource({"path": path, "batchRows": "4"}))

    assert [TIMES[:4], TIMES[4:]] == [[row["n"] for row in rows] for rows in found]
    assert {"word": "b", "t": moment(30), "n": 30} == found[0][1]


def test_all_rows_come_at_once(path: str) -> None:
    assert TIMES == [row["n"] for row in whole(WindrowSource({"path": path, "batchrows": "2"}))]


def marks(rows: list[dict[str, Any]], time: str) -> list[Any]:
    """Times of rows, and punctuations in a tuple."""
    return [row[time] if row["punctuation"] is None else (row["punctuation"],) for row in rows]


def test_each_micro_batch_ends_with_the_highest_time_so_far_less_the_slack(path: str) -> None:
    source = WindrowSource({"path": path, "batchRows": "2", "punctuate": "5", "time": "n"})

    expected = [[10, 30, (25,)], [20, None, (25,)], [25, 90, (2**31 - 1,)]]
    assert expected == [marks(rows, "n") for rows in replayed(source)]


def test_moments_are_punctuated_in_microseconds(path: str) -> None:
    source = WindrowSource({"path": path, "batchRows": "5", "punctuate": "500 ms", "time": "t"})

    found = [marks(rows, "t") for rows in replayed(source)]
    assert (datetime(1970, 1, 1, 0, 0, 29, 500_000),) == found[0][-1]
    assert [moment(90), (CLOSE,)] == found[1]


def test_a_row_of_only_a_punctuation_is_null_elsewhere(path: str) -> None:
    rows = whole(WindrowSource({"path": path, "punctuate": "5", "time": "n"}))

    assert {"word": None, "t": None, "n": None, "punctuation": 2**31 - 1} == rows[-1]
    assert 7 == len(rows)


def test_the_last_punctuation_lies_after_all_data(tmp_path: Path) -> None:
    late = pa.array([datetime(3000, 1, 1)], pa.timestamp("us"))
    pq.write_table(pa.table({"t": late, "n": pa.array([5], pa.int64())}), tmp_path / "a.parquet")
    options = {"path": str(tmp_path / "a.parquet"), "punctuate": "0 s", "time": "t"}

    assert [datetime(3000, 1, 1), (datetime(3000, 1, 1, microsecond=1),)] == marks(whole(WindrowSource(options)), "t")
    assert (END,) == marks(whole(WindrowSource({**options, "punctuate": "0", "time": "n"})), "n")[-1]


def test_no_punctuation_comes_before_the_first_time(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": pa.array([None, 3], pa.int64())}), tmp_path / "a.parquet")
    options = {"path": str(tmp_path / "a.parquet"), "punctuate": "1", "time": "n", "batchRows": "1"}

    assert [[None], [3, (END,)]] == [marks(rows, "n") for rows in replayed(WindrowSource(options))]


def test_data_without_rows_ends_with_a_punctuation(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": pa.array([], pa.int64())}), tmp_path / "a.parquet")
    options = {"path": str(tmp_path / "a.parquet"), "punctuate": "1", "time": "n"}

    assert [[(END,)]] == [marks(rows, "n") for rows in replayed(WindrowSource(options))]


def test_punctuations_are_the_same_after_a_restart(path: str) -> None:
    source = WindrowSource({"path": path, "punctuate": "5", "time": "n"})
    first, second = (source.streamReader(source.schema()) for _ in range(2))
    after = first.latestOffset({"rows": 0}, ReadMaxRows(2))

    assert {"rows": 2, "high": 30} == after
    assert {"rows": 3, "high": 30} == second.latestOffset(after, ReadMaxRows(1))
    assert 25 == second.partitions({"rows": 0}, after)[0].value.mark


def test_a_paced_stream_that_waits_keeps_its_offset(path: str) -> None:
    source = WindrowSource({"path": path, "punctuate": "5", "time": "n", "rate": "0.001"})
    stream = source.streamReader(source.schema())

    assert {"rows": 2, "high": 30} == stream.latestOffset({"rows": 2, "high": 30}, ReadMaxRows(2))


def test_generated_rows_are_those_of_the_generator() -> None:
    settings = {"rows": "500", "seed": "7", "disorder": "band 3 s", "keys": "5", "eventRate": "100"}
    source = WindrowSource({"recipe": "trades", "batchRows": "200", "lulls": "1 s for 10 s", **settings})
    expected = trades(500, seed=7, disorder="band 3 s", keys=5, rate=100.0, lulls=[Lull("1 s", "10 s")])
    found = replayed(source)
    assert [200, 200, 100] == [len(rows) for rows in found]
    assert expected.table().to_pylist() == [row for rows in found for row in rows]


def test_a_generated_stream_that_carries_punctuations_is_counted() -> None:
    source = WindrowSource({"recipe": "bids", "rows": "3000", "punctuations": "true", "every": "1 s"})

    expected = bids(3000, punctuations=True, every="1 s").table()
    assert expected.num_rows > 3000
    assert expected.to_pylist() == whole(source)


def test_a_recipe_knows_its_time() -> None:
    source = WindrowSource({"recipe": "bids", "rows": "10", "punctuate": "1 s"})

    assert (CLOSE,) == tuple(row["punctuation"].replace(tzinfo=None) for row in whole(source)[-1:])


def test_a_schema_chooses_columns(path: str) -> None:
    source = WindrowSource({"path": path})
    reader = source.reader(_only(source, "n"))

    assert [{"n": n} for n in TIMES] == [
        row for piece in reader.partitions() for batch in reader.read(piece) for row in batch.to_pylist()
    ]


def _only(source: WindrowSource, *names: str) -> Any:
    from pyspark.sql.types import StructType

    return StructType([field for field in source.schema() if field.name in names])


def test_a_schema_without_the_punctuation_is_refused(path: str) -> None:
    source = WindrowSource({"path": path, "punctuate": "5", "time": "n"})

    with pytest.raises(
        ConfigurationError, match=r"^`schema` must have the column `punctuation`, .*, got n\. Hint: add"
    ):
        source.reader(_only(source, "n"))


def test_spark_reads_the_format(spark: SparkSession, path: str, tmp_path: Path) -> None:
    spark.dataSource.register(WindrowSource)
    reader = spark.readStream.format("windrow").option("path", path).option("batchRows", 4)
    frame = reader.option("punctuate", "5").option("time", "n").load()
    query = frame.writeStream.format("memory").queryName("windrow_format").trigger(availableNow=True)
    query.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    rows = spark.table("windrow_format").collect()

    assert sorted([*TIMES, None, None], key=str) == sorted((row.n for row in rows), key=str)
    assert [25, 2**31 - 1] == sorted(row.punctuation for row in rows if row.punctuation is not None)


def test_spark_reads_the_format_at_once(spark: SparkSession, path: str) -> None:
    spark.dataSource.register(WindrowSource)

    assert TIMES == [row.n for row in spark.read.format("windrow").load(path).collect()]


def test_a_wrong_option_is_told_by_spark(spark: SparkSession) -> None:
    spark.dataSource.register(WindrowSource)
    with pytest.raises(Exception, match=r"`path` or `recipe` must be given, one of the two"):
        spark.read.format("windrow").load()
