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
