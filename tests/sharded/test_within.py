"""Aggregates within a bound, with panes made where rows are read: the answer is that of one process."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from tests.acceptance.streams import KINDS, rows
from tests.engines.spark.test_two_levels import Cluster
from tests.strategies import comparable

ROWS = sorted(rows(3, 120), key=lambda row: row["ts"])
TABLE = pa.Table.from_pylist(ROWS, pa.schema(KINDS))


@pytest.mark.parametrize("calls", [{"n": wr.sum("x"), "m": wr.max("x")}, {"m": wr.median("x"), "n": wr.count("x")}])
def test_two_levels_round_alike(calls: dict[str, Any]) -> None:
    plain = wr.stream(TABLE, time="ts", name="s").group_by("k").window(range=30, slide=10).agg(**calls)
    query = plain.compress(within={"x": 2})
    cluster = Cluster(query.plan, plain.plan, shards=2)
    for start in range(0, len(ROWS), 40):
        cluster.micro_batch([ROWS[start : start + 40]] * len(cluster.readings), tasks=2, ends=start + 40 >= len(ROWS))
    found = [comparable(given.results) for given in cluster.given]
    assert [comparable(one.collect().to_pylist()) for one in (query, plain)] == found
    assert found[0] != found[1]
