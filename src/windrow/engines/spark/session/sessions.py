"""The Spark session a query runs in: the one that is there, else an embedded one."""

from __future__ import annotations

import atexit
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from windrow.durable.temporary_folders import temporary_folder
from windrow.engines.spark.session.faults import not_started
from windrow.engines.spark.session.own_thread import apart
from windrow.engines.spark.session.prerequisites import check_java, check_packages, check_spark_version
from windrow.engines.spark.session.quiet_jvm import (
    HeldOutput,
    Programs,
    hush_accumulators,
    hush_gateway,
    hushed,
    programs_started,
)
from windrow.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = "spark.sql.shuffle.partitions"
MEMORY = "spark.driver.memory"
STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
LOCAL_DIR = "spark.local.dir"
_PATIENCE = 5.0
"""Seconds that the JVM has to end by itself."""

EMBEDDED: Mapping[str, str] = {
    "spark.master": "local[*,4]",  # a task whose worker crashed is tried again, as on a cluster
    "spark.app.name": "windrow",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 17),
    STATE_STORE: ROCKSDB,
    CHANGELOG: "true",
    "spark.python.daemon.module": "windrow.engines.spark.session.daemon",
}
"""Settings of a session that nobody else configured."""


def embedded(*, shards: int | None = None, memory: str | None = None, **conf: str) -> SparkSession:
    """The running session, classic or Connect, else the one the environment asks for, else an embedded one.

    `shards` is the number of shuffle partitions (one for each core unless given), `memory` what the JVM may use,
    such as `4g`. A running session takes over what can still be changed and refuses what cannot.
    """
    wanted = _wanted(shards, memory, conf)
    check_packages()
    spark = running()
    if spark is None and ("PYSPARK_GATEWAY_PORT" in os.environ or "SPARK_REMOTE" in os.environ):
        from pyspark.sql import SparkSession

        spark = SparkSession.builder.getOrCreate()  # that of spark-submit, or of the Connect server
    if spark is None:
        spark = _started(_defaults(wanted))
    else:
        adjust(spark, wanted)
    check(spark)
    return spark


def running() -> SparkSession | None:
    """The active session, or the default one where this thread has none."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return None


def check(spark: SparkSession) -> None:
    """Refuse a session that cannot run the engine; give it the state store that Python state needs."""
    check_spark_version(spark.version)
    if "RocksDB" not in (spark.conf.get(STATE_STORE, None) or ""):
        spark.conf.set(STATE_STORE, ROCKSDB)
        spark.conf.set(CHANGELOG, "true")


def adjust(spark: SparkSession, wanted: Mapping[str, str]) -> None:
    """Bring a running session to these settings, or say which of them comes too late."""
    for name, value in wanted.items():
        if spark.conf.get(name, None) == value:
            continue
        if not spark.conf.isModifiable(name):
            raise ConfigurationError(
                "must be set before Spark starts",
                parameter=name,
                value=value,
                hint="stop the running session with spark.stop(), or give it this setting where it is built",
            )
        spark.conf.set(name, value)


def _wanted(shards: int | None, memory: str | None, conf: Mapping[str, str]) -> dict[str, str]:
    """What the caller asked for, as settings of Spark."""
    if shards is not None and shards < 1:
        raise ConfigurationError("must be at least 1", parameter="shards", value=shards)
    if memory is not None and not re.fullmatch(r"[1-9]\d*[kmgt]b?", memory, re.IGNORECASE):
        raise ConfigurationError(
            "must be a whole number and a unit", parameter="memory", value=memory, hint="write it as 4g or 800m"
        )
    given = {PARTITIONS: None if shards is None else str(shards), MEMORY: memory}
    return {**conf, **{name: value for name, value in given.items() if value is not None}}


def _defaults(wanted: Mapping[str, str]) -> dict[str, str]:
    """All settings of an embedded session; the caller's Java options come after ours, so that they win."""
    folder = temporary_folder("spark")
    logging = Path(__file__).with_name("log4j2.properties").as_uri()  # none, but for what the JVM itself has to say
    java = f"-XX:+DisplayVMOutputToStderr -Dlog4j2.configurationFile={logging}"
    java = f'{java} "-Djava.io.tmpdir={folder}" {wanted.get(JAVA_OPTIONS, "")}'.strip()
    return {**EMBEDDED, PARTITIONS: str(cores()), LOCAL_DIR: str(folder), **wanted, JAVA_OPTIONS: java}


def cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _started(conf: Mapping[str, str]) -> SparkSession:
    """A new JVM and the session in it; what the JVM writes when it fails becomes the error."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    check_java()
    hush_gateway()
    if "spark.pyspark.python" not in conf:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder
    for name, value in conf.items():
        builder = builder.config(name, value)
    with hushed() as output, programs_started() as programs:
        atexit.register(_end, output, programs)
        try:
            spark = apart(
                builder.getOrCreate, programs.give_up
            )  # Spark treats Ctrl-C in its own way on the main thread
        except PySparkRuntimeError as error:
            raise not_started(output.lines() or [str(error)]) from error
    output.let_go()
    hush_accumulators()
    return spark


def _end(output: HeldOutput, programs: Programs) -> None:
    """End the JVM with its program, in silence, before its temporary folder goes."""
    output.close()
    for program in programs:
        with suppress(OSError, subprocess.TimeoutExpired, KeyboardInterrupt):
            if program.stdin is not None:
                program.stdin.close()  # at whose end it ends
            program.wait(_PATIENCE)
        program.kill()
