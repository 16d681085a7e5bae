"""How many shards there are where nobody says: as many as the settings name cores, whatever runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import windrow as wr
from windrow.engines.spark.session import shard_count
from windrow.engines.spark.session.sessions import PARTITIONS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("expected", "settings"),
    [
        (5, {"spark.master": "local[*]"}),
        (5, {"spark.master": "local[*,4]"}),
        (3, {"spark.master": "local[3,4]"}),
        (1, {"spark.master": "local"}),
        (8, {"spark.master": "local[3]", "spark.default.parallelism": "8"}),
        (12, {"spark.master": "yarn", "spark.executor.instances": "3", "spark.executor.cores": "4"}),
        (24, {"spark.master": "spark://host:7077", "spark.cores.max": "24"}),
        (200, {"spark.cores.max": "5000"}),
        (16, {"spark.master": "yarn", "spark.executor.cores": "4"}),
        (16, {}),
    ],
)
def test_the_number_follows_from_settings(
    expected: int, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_count, "cores", lambda: 5)
    assert expected == shard_count.suggested(settings.get)


def test_a_session_whose_shuffle_partitions_nobody_set(spark: SparkSession) -> None:
    """A stream fixes the number for its session; static data leaves the session alone."""
    session = spark.newSession()
    assert "2" == session.conf.get(PARTITIONS)
    assert "2, one for each of spark.sql.shuffle.partitions" == shard_count.describe(session)
    session.conf.unset(PARTITIONS)
    assert "200" == session.conf.get(PARTITIONS)
    each = "2, one for each core that the settings name, because spark.sql.shuffle.partitions is not set"
    assert each == shard_count.describe(session)

    def query(frame: Any) -> wr.Query:
        return wr.stream(frame, time="timestamp", name="s").group_by("value").window(range="10 s").agg(n=wr.count())

    static = session.sql("SELECT timestamp_seconds(id) AS timestamp, id AS value FROM range(3)")
    query(static).to_spark()
    assert "200" == session.conf.get(PARTITIONS)
    live = session.readStream.format("rate").load()
    assert f"shards     {each}; rows are routed by value" in query(live).explain()
    query(live).to_spark()
    assert "2" == session.conf.get(PARTITIONS)
    session.conf.set(PARTITIONS, "7")
    query(live).to_spark()
    assert "7" == session.conf.get(PARTITIONS)
