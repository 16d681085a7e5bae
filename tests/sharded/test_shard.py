"""What a shard knows of time: silence by the clock of the tasks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from tests.engines.spark.test_two_levels import Cluster
from windrow.plan.nodes import AggregateCall, Stream, Union, WindowAggregate
from windrow.semantics.progress.policies import Idle, Ordered
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Sliding
from windrow.sharded import pre_aggregate


def test_an_input_that_never_sent_a_row_counts_as_silent_after_its_idle_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    clock   100     104     105
    a       0 31    41      51
    b       (nothing; idle after 5 s)
    """
    kinds: dict[str, pa.DataType] = {"ts": pa.timestamp("us")}
    idle = Idle(Amount.of("5 s"), wall_clock=True)
    streams = [Stream(name, pa.schema(kinds), "ts", Ordered(), idle) for name in "ab"]
    count = (AggregateCall("n", "count", None),)
    cluster = Cluster(WindowAggregate(Union(tuple(streams)), Sliding("ts", 10**7, 10**7), (), count), shards=1)
    found: list[int] = []
    for clock, seconds in ((100.0, [0, 31]), (104.0, [41]), (105.0, [51])):
        monkeypatch.setattr(pre_aggregate, "time", SimpleNamespace(time=lambda now=clock: now))
        rows: list[Any] = [{"ts": second * 1_000_000} for second in seconds]
        cluster.micro_batch([rows, []], 1)
        found.append(len(cluster.results))
        cluster.save()
        cluster.restart()
    assert [0, 0, 3] == found


@pytest.mark.parametrize("aggregate", ["count", "count_distinct"])  # one sends panes, the other rows
def test_an_input_that_sent_rows_is_silent_in_no_shard(monkeypatch: pytest.MonkeyPatch, aggregate: str) -> None:
    """
    clock   100     110     120
    a       31      41      51      (of all groups)
    b       1       2       3       (of one group that lives in one shard; idle after 5 s)
    """
    schema = pa.schema({"key": pa.int64(), "ts": pa.timestamp("us")})
    idle = Idle(Amount.of("5 s"), wall_clock=True)
    streams = tuple(Stream(name, schema, "ts", Ordered(), idle) for name in "ab")
    call = AggregateCall("n", aggregate, None if aggregate == "count" else Column("ts"))
    keys = (("key", Column("key")),)
    cluster = Cluster(WindowAggregate(Union(streams), Sliding("ts", 10**7, 10**7), keys, (call,)), shards=4)
    for clock, of_a, of_b in ((100.0, 31, 1), (110.0, 41, 2), (120.0, 51, 3)):
        monkeypatch.setattr(pre_aggregate, "time", SimpleNamespace(time=lambda now=clock: now))
        everywhere = [{"key": key, "ts": of_a * 1_000_000} for key in range(16)]
        cluster.micro_batch([everywhere, [{"key": 0, "ts": of_b * 1_000_000}]], 1)
    assert [] == cluster.results
