"""Kept rows of shards beyond a budget go to the disk of their workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 300_000


def query(mode: str = "auto") -> wr.Query:
    chance = np.random.default_rng(9)
    columns: dict[str, Any] = {"ts": np.arange(ROWS), "k": chance.integers(0, 4, ROWS), "x": chance.random(ROWS)}
    stream = wr.stream(pa.table(columns), time="ts", progress=wr.slack(0), name="rows").group_by("k")
    return stream.window(range=ROWS, slide=ROWS).compress(mode).agg(m=wr.median("x"), q=wr.quantile("x", 0.2))


def test_answers_do_not_depend_on_how_much_is_in_memory(spark: SparkSession) -> None:
    expected = query().collect(engine="local")
    found = query().run(engine="spark", spark=spark, batch_rows=100_000, memory_budget="2 MB")
    assert expected.equals(found.table)
    assert found.metrics.spilled_so_far > 100_000


@pytest.mark.parametrize(
    ("mode", "budget", "message"),
    [
        ("auto", "little", r"^`memory_budget` must be a size, got little\. Hint: "),
        ("auto", 1_000, r"^`memory_budget` must be at least 1 MiB, and below 2\^62 bytes, got 1000\. Hint: "),
        ("off", "1 GB", r"^`memory_budget` needs kept rows in blocks, got COMPRESS off\. Hint: "),
    ],
)
def test_what_is_no_budget_is_refused(mode: str, budget: str | int, message: str, spark: SparkSession) -> None:
    with pytest.raises(ConfigurationError, match=message):
        query(mode).collect(engine="spark", spark=spark, memory_budget=budget)
    with pytest.raises(ConfigurationError, match=message):
        query(mode).to_spark(spark, memory_budget=budget)
