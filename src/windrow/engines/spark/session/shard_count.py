"""Into how many shards groups go: what the session was told, else what its other settings suggest.

Spark's own default of 200 shuffle partitions would be 200 tasks, each with a state store, in every micro-batch. The
number taken instead follows from settings alone, never from what happens to run, so that a job that is started again
finds its state where it left it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from windrow.engines.spark.session.sessions import PARTITIONS, cores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Setting: TypeAlias = Callable[[str], "str | None"]
MOST = 200
USUAL = 16
"""Where nothing says how large the cluster is."""
_LOCAL = re.compile(r"local(?:\[(\*|\d+)(?:,\s*\d+)?\])?")


def shard_count(spark: SparkSession) -> int:
    """The shuffle partitions that somebody asked for, else as many as the settings name cores."""
    told = spark.conf.get(PARTITIONS, None)
    return int(told) if told is not None else suggested(lambda name: spark.conf.get(name, None))


def keep_shard_count(spark: SparkSession) -> None:
    """Let the streams of this session have that many shuffle partitions; a number that somebody chose stays."""
    if spark.conf.get(PARTITIONS, None) is None:
        spark.conf.set(PARTITIONS, str(shard_count(spark)))


def describe(spark: SparkSession) -> str:
    """The number, and where it comes from."""
    if spark.conf.get(PARTITIONS, None) is not None:
        return f"{shard_count(spark)}, one for each of {PARTITIONS}"
    return f"{shard_count(spark)}, one for each core that the settings name, because {PARTITIONS} is not set"


def suggested(setting: Setting) -> int:
    """The number for a session whose shuffle partitions nobody set.

    >>> suggested({"spark.master": "local[4]"}.get), suggested({"spark.default.parallelism": "12"}.get)
    (4, 12)
    """
    return max(1, min(MOST, _parallelism(setting) or _local(setting) or _executors(setting) or USUAL))


def _parallelism(setting: Setting) -> int | None:
    return _number(setting("spark.default.parallelism"))


def _local(setting: Setting) -> int | None:
    found = _LOCAL.fullmatch(setting("spark.master") or "")
    if found is None:
        return None
    return cores() if found[1] == "*" else int(found[1] or 1)


def _executors(setting: Setting) -> int | None:
    most = _number(setting("spark.cores.max"))
    several, each = _number(setting("spark.executor.instances")), _number(setting("spark.executor.cores"))
    return most or (several * each if several and each else None)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None
