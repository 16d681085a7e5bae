"""A checkpoint on Spark goes on with other numbers of shards: same answers, each result once, in every kind of sink."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as dataset
import pytest

import windrow as wr
from tests.soak import queries as cases
from tests.strategies import comparable
from windrow.engines.spark.running.checkpoint import shards_in
from windrow.engines.spark.running.logs import SINK, last
from windrow.engines.spark.running.rescale import fill_gaps, is_rescaling, log_of, partitions_of
from windrow.errors import ConfigurationError
from windrow.pipeline.metrics import Metrics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = "spark.sql.shuffle.partitions"
ROWS = 450
"""Of a micro-batch: there are four of them."""


class Broken(Exception):
    """The run was broken off."""


def breaking(batches: int) -> Callable[[Metrics], None]:
    """Breaks a run off after so many reports; the micro-batch after may have been begun."""
    seen: list[Metrics] = []

    def on_progress(metrics: Metrics) -> None:
        seen.append(metrics)
        if len(seen) >= batches:
            raise Broken

    return on_progress


def of_shards(spark: SparkSession, count: int) -> SparkSession:
    session = spark.newSession()
    session.conf.set(PARTITIONS, str(count))
    return session


def together(folder: Path) -> list[wr.Query]:
    """Kept values, sessions and a join, all over the same two streams; `make soak` has the others."""
    return [case(folder) for case in (cases.median, cases.session, cases.equality)]


def test_shards_may_change_from_run_to_run(spark: SparkSession, tmp_path: Path) -> None:
    options: dict[str, Any] = {"checkpoint": str(tmp_path / "state"), "restore": True, "batch_rows": ROWS}
    expected = [query.run().table.to_pylist() for query in together(tmp_path)]
    for shards, more in ((2, {"max_shards": 4}), (5, {})):
        session = of_shards(spark, shards)
        with pytest.raises(Broken):
            wr.run(together(tmp_path), engine="spark", spark=session, on_progress=breaking(1), **options, **more)
        assert shards == partitions_of(tmp_path / "state" / "spark")
    found = wr.run(together(tmp_path), engine="spark", spark=of_shards(spark, 1), **options)
    for rows, result in zip(expected, found, strict=True):
        assert rows
        assert comparable(rows) == comparable(result.table.to_pylist())


def test_files_that_spark_writes_hold_each_result_once(spark: SparkSession, tmp_path: Path) -> None:
    address = f"parquet:{tmp_path / 'out'}"
    options: dict[str, Any] = {"checkpoint": str(tmp_path / "state"), "restore": True, "batch_rows": ROWS}
    options["output"] = address
    with pytest.raises(Broken):
        _written(cases.partials(tmp_path), of_shards(spark, 1), breaking(1), options)
    _written(cases.partials(tmp_path), of_shards(spark, 2), None, options)
    found = spark.read.parquet(str(tmp_path / "out")).toArrow().to_pylist()
    assert comparable(cases.partials(tmp_path).run().table.to_pylist()) == comparable(found)
    assert dataset.dataset(str(tmp_path / "out")).count_rows() == len(found)


def _written(query: wr.Query, spark: SparkSession, on_progress: Any, options: dict[str, Any]) -> None:
    from windrow.engines.run import Receiver, Requests
    from windrow.engines.spark.running.run import SparkOptions, run

    receiver = Receiver(lambda *_: None, on_progress=on_progress)
    run([query.plan], query.sources, receiver, SparkOptions(spark=spark, **options), Requests())


# The logs


def log(checkpoint: Path, batches: list[tuple[int, int]], done: int) -> None:
    """Offsets of micro-batches that read so many rows among so many partitions; commits of the first of them."""
    for name in ("offsets", "commits"):
        (checkpoint / name).mkdir(parents=True)
    for number, (rows, partitions) in enumerate(batches):
        facts = json.dumps({"batchTimestampMs": number, "conf": {PARTITIONS: str(partitions)}})
        (checkpoint / "offsets" / str(number)).write_text(f'v1\n{facts}\n{{"rows": {rows}}}')
        if number < done:
            (checkpoint / "commits" / str(number)).write_text("v1\n{}")


def test_micro_batches_that_only_move_state(tmp_path: Path) -> None:
    assert partitions_of(tmp_path) is None
    log(tmp_path, [(10, 2), (20, 2), (20, 2), (20, 5), (30, 5)], 5)
    assert 5 == partitions_of(tmp_path)
    assert 2 == partitions_of(tmp_path, 1)
    assert [3] == [batch for batch in range(-1, 7) if is_rescaling(tmp_path, batch)]


@pytest.mark.parametrize(("interval", "name"), [(10, "2"), (3, "2.compact")])
def test_the_log_of_files_has_no_gaps(tmp_path: Path, interval: int, name: str) -> None:
    checkpoint, given = tmp_path / "spark", tmp_path / "given" / SINK
    log(checkpoint, [(10, 2), (20, 2), (20, 5)], 3)
    fill_gaps(checkpoint, given.parent, interval)
    assert not given.exists()
    given.mkdir(parents=True)
    (given / "0").write_text('v1\n{"path": "a"}\n{"path": "b"}')
    (given / "1").write_text('v1\n{"path": "c"}')
    for _ in range(2):
        fill_gaps(checkpoint, given.parent, interval)
    assert {"0", "1", name} == {path.name for path in given.iterdir()}
    entries = '{"path": "a"}\n{"path": "b"}\n{"path": "c"}'
    assert (given / name).read_text() == (f"v1\n{entries}" if interval == 3 else "v1")
    assert 2 == last(given)


def test_an_entry_that_is_lost_is_not_made_up(tmp_path: Path) -> None:
    checkpoint, given = tmp_path / "spark", tmp_path / "given" / SINK
    log(checkpoint, [(10, 2), (20, 2), (20, 5)], 3)
    given.mkdir(parents=True)
    (given / "0").write_text("v1")
    fill_gaps(checkpoint, given.parent)
    assert ["0"] == [path.name for path in given.iterdir()]


def test_the_parts_of_a_run_stay(tmp_path: Path) -> None:
    from windrow.durable.manifests import SPARK_MANIFEST
    from windrow.durable.sealed_files import write_json
    from windrow.sharded.chunks import VERSION

    assert [None, 7] == [shards_in(tmp_path, asked) for asked in (None, 7)]
    write_json(tmp_path / SPARK_MANIFEST, {"version": VERSION, "shards": 4})
    assert [4, 4] == [shards_in(tmp_path, asked) for asked in (None, 4)]
    message = r"^`max_shards` must be the number of the first run, 4: .*, got 7\. Hint: leave it out"
    with pytest.raises(ConfigurationError, match=message):
        shards_in(tmp_path, 7)


def test_files_in_a_store_keep_the_number(tmp_path: Path) -> None:
    log(tmp_path, [(10, 2)], 1)
    for files in (str(tmp_path / "out"), f"file:{tmp_path / 'out'}"):
        assert tmp_path / "out" == log_of(files, tmp_path, 5)
    assert [None, None] == [log_of("s3a://bucket/out", tmp_path, partitions) for partitions in (None, 2)]
    assert log_of("s3a://bucket/out", tmp_path / "new", 5) is None
    message = (
        r"^`shards` must stay while files are written to a store: .*, got 5\. .*Hint: go on with the number there was"
    )
    with pytest.raises(ConfigurationError, match=message):
        log_of("s3a://bucket/out", tmp_path, 5)
