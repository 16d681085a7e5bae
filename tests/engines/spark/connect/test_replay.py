"""Sources as streams of micro-batches: offsets first, then a real session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from windrow.engines.spark.connect.replay import Replay, ReplayBatch, ReplayStream, replay_class
from windrow.errors import SourceError
from windrow.semantics.progress.policies import Punctuation
from windrow.sources import Element, Source, open_source
from windrow.sources.replayed.spans import Offset, RowSpan
from windrow.sources.replayed.spool import spooled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "first long, last long, ends boolean, total long, punctuations string"


def summary(elements: Iterator[Element], span: RowSpan) -> Iterator[pa.RecordBatch]:
    """One row a span: what it is and what was in it."""
    total = 0
    punctuations: list[str] = []
    for element in elements:
        if isinstance(element, Punctuation):
            punctuations.append(str(element.value))
        else:
            total += sum(int(value) for value in element.column(0).to_pylist() if value is not None)
    columns: dict[str, list[Any]] = {
        "first": [span.first],
        "last": [span.last],
        "ends": [span.ends],
        "total": [total],
        "punctuations": [" ".join(punctuations)],
    }
    yield pa.record_batch(columns)


def numbers(rows: int) -> Source:
    return open_source(pa.table({"a": pa.array(range(rows), pa.int64())}), name="numbers")


def replay(rows: int, **settings: Any) -> Replay:
    return Replay(numbers(rows), summary, **{"batch_rows": 10, **settings})


def offsets(stream: ReplayStream) -> list[Offset]:
    """What Spark is told from the first micro-batch until the offset moves no more."""
    found = [stream.initialOffset()]
    while (after := stream.latestOffset(found[-1], stream.getDefaultReadLimit())) != found[-1]:
        found.append(after)
    return found


@pytest.mark.parametrize(
    ("expected", "rows"),
    [
        ([{"rows": 0}, {"rows": 10}, {"rows": 20}, {"rows": 25, "ended": True}], 25),
        ([{"rows": 0}, {"rows": 10}, {"rows": 20, "ended": True}], 20),
        ([{"rows": 0}, {"rows": 0, "ended": True}], 0),
    ],
)
def test_offsets_go_on_by_batches_until_the_end_is_told_once(expected: list[Offset], rows: int) -> None:
    stream = ReplayStream(replay(rows))

    assert expected == offsets(stream)
    assert expected[-1] == stream.reportLatestOffset()


def test_a_source_that_does_not_know_its_rows_is_counted(tmp_path: Path) -> None:
    pv.write_csv(pa.table({"a": range(25)}), tmp_path / "a.csv")
    stream = ReplayStream(Replay(open_source(tmp_path / "a.csv"), summary, 10))

    assert {"rows": 25, "ended": True} == offsets(stream)[-1]


def test_a_limit_of_spark_is_kept() -> None:
    stream = ReplayStream(replay(25))

    assert {"rows": 3} == stream.latestOffset({"rows": 0}, ReadMaxRows(3))
    assert {"rows": 25, "ended": True} == stream.latestOffset({"rows": 0}, ReadAllAvailable())
    stream.prepareForTriggerAvailableNow()
    assert {"rows": 10} == stream.latestOffset({"rows": 0}, ReadAllAvailable())


def test_rows_that_are_gone_after_a_restart_are_told() -> None:
    with pytest.raises(
        SourceError, match=r"^`numbers` must still have the 30 rows it had before, got Arrow table \(25"
    ):
        ReplayStream(replay(25)).latestOffset({"rows": 30}, ReadMaxRows(10))


def test_a_file_that_is_gone_is_told_when_rows_are_counted(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    stream = ReplayStream(Replay(open_source(tmp_path / "a.parquet"), summary, 10))
    (tmp_path / "a.parquet").unlink()

    with pytest.raises(SourceError, match=r"^`stream` must still be readable \(.*No such file"):
        stream.latestOffset({"rows": 0}, ReadMaxRows(10))


class Clock:
    """Time that passes only when something waits for it."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


def test_a_paced_stream_gives_the_rows_that_are_due() -> None:
    clock = Clock()
    stream = ReplayStream(replay(25, rate=2.0), clock, clock.wait)
    limit = ReadMaxRows(10)

    assert {"rows": 0} == stream.latestOffset({"rows": 0}, limit)
    clock.wait(1.75)
    assert {"rows": 3} == stream.latestOffset({"rows": 0}, limit)
    clock.wait(60)
    assert {"rows": 13} == stream.latestOffset({"rows": 3}, limit)
    assert {"rows": 25, "ended": True} == stream.latestOffset({"rows": 23}, limit)


def test_a_restarted_stream_is_paced_from_where_it_goes_on() -> None:
    clock = Clock()
    stream = ReplayStream(replay(25, rate=2.0), clock, clock.wait)

    assert {"rows": 20} == stream.latestOffset({"rows": 20}, ReadMaxRows(10))
    clock.wait(1)
    assert {"rows": 22} == stream.latestOffset({"rows": 20}, ReadMaxRows(10))


def test_the_one_micro_batch_there_is_takes_all_rows_whatever_the_pace() -> None:
    clock = Clock()
    stream = ReplayStream(replay(25, rate=2.0), clock, clock.wait)
    assert {"rows": 25, "ended": True} == stream.latestOffset({"rows": 0}, ReadAllAvailable())


def test_with_available_now_a_paced_stream_waits_for_rows_until_the_end() -> None:
    clock = Clock()
    stream = ReplayStream(replay(25, rate=64.0), clock, clock.wait)
    stream.prepareForTriggerAvailableNow()

    assert [0, 6, 12, 18, 24, 25] == [one["rows"] for one in offsets(stream)]
    assert 100 + 25 / 64 == clock.now


def test_an_empty_paced_stream_ends_at_once() -> None:
    clock = Clock()
    stream = ReplayStream(replay(0, rate=1.0), clock, clock.wait)
    stream.prepareForTriggerAvailableNow()

    assert [{"rows": 0}, {"rows": 0, "ended": True}] == offsets(stream)
    assert 100.0 == clock.now


def spans(stream: ReplayStream | ReplayBatch, *bounds: Offset) -> list[RowSpan]:
    return [piece.value for piece in stream.partitions(*bounds)]


def test_a_micro_batch_is_cut_into_pieces() -> None:
    stream = ReplayStream(replay(300_000, partitions=2))

    assert [RowSpan(0, 10)] == spans(stream, {"rows": 0}, {"rows": 10})
    expected = [RowSpan(0, 150_000), RowSpan(150_000, 300_000, True)]
    assert expected == spans(stream, {"rows": 0}, {"rows": 300_000, "ended": True})
    assert expected == spans(ReplayBatch(replay(300_000, partitions=2)))
    assert [RowSpan(0, 0, True)] == spans(stream, {"rows": 0}, {"rows": 0, "ended": True})


def test_work_is_done_on_the_elements_of_a_piece() -> None:
    stream = ReplayStream(replay(25))
    (piece,) = stream.partitions({"rows": 3}, {"rows": 6})

    expected = [{"first": 3, "last": 6, "ends": False, "total": 12, "punctuations": ""}]
    assert expected == [row for batch in stream.read(piece) for row in batch.to_pylist()]


def run(spark: SparkSession, name: str, source: Source, checkpoint: Path, batch_rows: int) -> list[tuple[Any, ...]]:
    """What a stream that is run until all is read has put into a table."""
    spark.dataSource.register(replay_class(name, SCHEMA, Replay(source, summary, batch_rows)))
    frame = spark.readStream.format(name).load()
    results, place = str(checkpoint / "results"), str(checkpoint / "checkpoint")
    query = frame.writeStream.format("parquet").option("path", results).option("checkpointLocation", place)
    query.trigger(availableNow=True).start().awaitTermination()
    return sorted(tuple(row) for row in spark.read.parquet(results).collect())


def test_a_stream_in_spark_ends_once_and_a_restart_gives_nothing_twice(spark: SparkSession, tmp_path: Path) -> None:
    elements = [Punctuation(0), pa.table({"a": [1, 2, 3]}), Punctuation(7), pa.table({"a": [4, 5]}), Punctuation(9)]
    source = spooled(open_source(elements), tmp_path / "spool")
    expected = [(0, 3, False, 6, "0 7"), (3, 5, True, 9, "9")]

    assert expected == run(spark, "replay_elements", source, tmp_path, 3)
    assert expected == run(spark, "replay_elements", source, tmp_path, 2)


def test_a_stream_of_text_rows_is_read_on_after_a_failure(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a\n" + "\n".join(str(i) for i in range(4)) + "\nnine\n", "utf-8")
    source = open_source(path, schema=pa.schema({"a": pa.int64()}))
    with pytest.raises(Exception, match=r"`a` must be int64 in .*a\.csv, got 'nine'\. Hint: declare the column"):
        run(spark, "replay_text", source, tmp_path, 2)
    path.write_text("a\n" + "\n".join(str(i) for i in range(5)) + "\n", "utf-8")

    expected = [(0, 2, False, 1, ""), (2, 4, False, 5, ""), (4, 5, True, 4, "")]
    assert expected == run(spark, "replay_text", source, tmp_path, 2)


def test_a_source_without_rows_gives_one_micro_batch(spark: SparkSession, tmp_path: Path) -> None:
    assert [(0, 0, True, 0, "")] == run(spark, "replay_nothing", numbers(0), tmp_path, 2)


def test_rows_behind_the_end_are_refused() -> None:
    pattern = (
        r"^`numbers` must still have the 20 rows it had when the run came to its end, got 25 in .*\. Hint: run the"
    )
    with pytest.raises(SourceError, match=pattern):
        ReplayStream(replay(25)).latestOffset({"rows": 20, "ended": True}, ReadMaxRows(10))
