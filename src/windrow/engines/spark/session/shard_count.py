"""Into how many shards groups go, and under which numbers.

Spark's own default of 200 shuffle partitions would be 200 tasks, each with a state store, in every micro-batch. The
number taken instead follows from settings alone, so that a job that is started again finds its state where it left it.
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
_MASK = 0xFFFFFFFF
_SEED = 42
_LOCAL = re.compile(r"local(?:\[(\*|\d+)(?:,\s*\d+)?\])?")


def shard_count(spark: SparkSession) -> int:
    """The shuffle partitions that somebody asked for, else as many as the settings name cores."""
    chosen = spark.conf.get(PARTITIONS, None)
    return int(chosen) if chosen is not None else suggested(lambda name: spark.conf.get(name, None))


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
    found = _number(setting("spark.default.parallelism")) or _local(setting) or _executors(setting) or USUAL
    return max(1, min(MOST, found))


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


def shard_keys(count: int) -> list[int]:
    """For each of `count` shuffle partitions the least number that Spark puts there.

    With 0, 1, 2, ... as shards, two of them may fall into one partition and leave another without work. The number 0
    is always among them, so that a run with another number of shards meets saved state and is refused.

    >>> [place_of(key, 4) for key in shard_keys(4)]
    [0, 1, 2, 3]
    """
    found: dict[int, int] = {}
    number = 0
    while len(found) < count:
        found.setdefault(place_of(number, count), number)
        number += 1
    return [found[place] for place in range(count)]


def place_of(number: int, count: int) -> int:
    """The partition of a 32-bit integer among `count`: Murmur3 with Spark's seed, as `hash()` in Spark SQL."""
    word = number * 0xCC9E2D51 & _MASK
    word = (word << 15 | word >> 17) & _MASK
    word = word * 0x1B873593 & _MASK
    word ^= _SEED
    word = (word << 13 | word >> 19) & _MASK
    word = (word * 5 + 0xE6546B64) & _MASK
    word ^= 4
    word = (word ^ word >> 16) * 0x85EBCA6B & _MASK
    word = (word ^ word >> 13) * 0xC2B2AE35 & _MASK
    word ^= word >> 16
    signed = word - (1 << 32) if word >= 1 << 31 else word
    return signed % count
