"""The session of a query: found, adjusted, or started without noise."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from windrow.engines.spark.session.sessions import (
    CHANGELOG,
    PARTITIONS,
    ROCKSDB,
    STATE_STORE,
    adjust,
    check,
    embedded,
    running,
)
from windrow.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = """
from windrow.engines.spark.session.sessions import embedded
spark = embedded(shards=3, {arguments})
print(spark.range(4).selectExpr("sum(id)").first()[0], spark.conf.get("spark.sql.shuffle.partitions"))
spark.stop()
"""


def start(arguments: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """A session in a process of its own."""
    command = [sys.executable, "-c", START.format(arguments=arguments)]
    env = {**os.environ, "PYTHONPATH": "src", **environment}
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def test_an_embedded_session_starts_in_silence() -> None:
    done = start()
    assert ("6 3\n", "", 0) == (done.stdout, done.stderr, done.returncode)


def test_a_jvm_that_cannot_start() -> None:
    """Its own words are in the error, and nowhere else."""
    done = start('**{"spark.driver.extraJavaOptions": "-agentlib:no_such_agent"}')
    last = done.stderr.splitlines()[-1]
    assert last.startswith("windrow.errors.ConfigurationError: `Spark` did not start (")
    assert "no_such_agent" in last
    assert last.endswith("Hint: check memory, JAVA_HOME and the settings given to Spark.")


def test_the_running_session_is_used(spark: SparkSession) -> None:
    assert spark is running() is embedded()


def test_a_session_has_what_the_engine_needs(spark: SparkSession) -> None:
    names = (STATE_STORE, CHANGELOG, PARTITIONS, "spark.sql.session.timeZone", "spark.ui.enabled", "spark.driver.host")
    assert [ROCKSDB, "true", "2", "UTC", "false", "127.0.0.1"] == [spark.conf.get(name) for name in names]


def test_a_session_of_the_user_gets_the_state_store(spark: SparkSession) -> None:
    other = spark.newSession()
    other.conf.set(STATE_STORE, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    other.conf.set(CHANGELOG, "false")
    check(other)
    assert [ROCKSDB, "true"] == [other.conf.get(STATE_STORE), other.conf.get(CHANGELOG)]


def test_a_session_with_a_rocksdb_of_its_own_keeps_it(spark: SparkSession) -> None:
    other = spark.newSession()
    other.conf.set(STATE_STORE, "com.example.RocksDBStateStoreProvider")
    other.conf.set(CHANGELOG, "false")
    check(other)
    assert ["com.example.RocksDBStateStoreProvider", "false"] == [
        other.conf.get(STATE_STORE),
        other.conf.get(CHANGELOG),
    ]


def test_a_running_session_takes_what_can_be_changed(spark: SparkSession) -> None:
    other = spark.newSession()
    adjust(other, {PARTITIONS: "5", "spark.driver.memory": "1g"})
    assert ("5", "2") == (other.conf.get(PARTITIONS), spark.conf.get(PARTITIONS))


def test_memory_comes_too_late_for_a_running_session(spark: SparkSession) -> None:
    pattern = (
        r"^`spark.driver.memory` must be set before Spark starts, got 7g. Hint: stop the running session with "
        r"spark.stop\(\), or give it this setting where it is built.$"
    )
    with pytest.raises(ConfigurationError, match=pattern):
        embedded(memory="7g")


@pytest.mark.parametrize("memory", ["4", "g", "4 g", "0g", "4x", ""])
def test_memory_is_a_number_and_a_unit(memory: str) -> None:
    pattern = rf"^`memory` must be a whole number and a unit, got {memory}. Hint: write it as 4g or 800m.$"
    with pytest.raises(ConfigurationError, match=pattern):
        embedded(memory=memory)


def test_there_is_at_least_one_shard() -> None:
    with pytest.raises(ConfigurationError, match=r"^`shards` must be at least 1, got 0.$"):
        embedded(shards=0)
