"""Early rows on Spark: both levels without Spark against the oracle, then on Spark itself."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from tests import strategies as streams
from tests.engines.local.answers.test_lead import early_cases
from tests.engines.local.answers.test_oracle import SCHEMA, STREAM
from tests.engines.spark.test_two_levels import Cluster, MicroBatch
from windrow.errors import DataError
from windrow.plan.nodes import AggregateCall, Filter, Late, Project, Stream, Union, WindowAggregate
from windrow.semantics.progress.lead import EarlyRow, reach
from windrow.semantics.progress.policies import LIMIT, START, Lead, Ordered, Policy, Punctuation, Slack, bounds
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.scalars.expressions import Call, Column, Literal
from windrow.semantics.windows.kinds import Sliding
from windrow.sharded import pre_aggregate as low

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


SOAK = bool(os.environ.get("WINDROW_SOAK"))
pytestmark = [pytest.mark.soak] if SOAK else []


def judged(batches: Sequence[MicroBatch], policy: Policy, slack: int, lead: int) -> list[Any]:
    """The rows of micro-batches, early ones as such, each micro-batch before what is promised after it."""
    high, bound, counting = START, START, []
    elements: list[Any] = []
    for batch in batches:
        high = reach([row["ts"] for row in batch], lead, high)
        elements += [row if row["ts"] <= high else EarlyRow(row, row["ts"] - high) for row in batch]
        counting += [row["ts"] for row in batch if row["ts"] <= high]
        *_, now = bounds([*counting, 0], policy, slack)
        if now > bound:
            bound = now
            elements.append(Punctuation(bound))
    return elements


def pieces(rows: Sequence[Any], cuts: set[int]) -> list[MicroBatch]:
    places = [0, *sorted(cut for cut in cuts if 0 < cut < len(rows)), len(rows)]
    return [list(rows[start:end]) for start, end in pairwise(places)]


def drive(cluster: Cluster, batches: Sequence[Sequence[MicroBatch]], tasks: int, restarts: set[int]) -> None:
    for i, batch in enumerate(batches):
        cluster.micro_batch(batch, tasks, ends=i == len(batches) - 1)
        cluster.save()
        if i in restarts:
            cluster.restart()


@settings(max_examples=20_000 if SOAK else 60, deadline=None)
@given(data=st.data())
def test_two_levels_set_the_same_rows_aside_as_the_oracle(data: st.DataObject) -> None:
    case = data.draw(early_cases(st.sampled_from((Late.DROP, Late.SIDE))))
    batches = pieces(case.rows, data.draw(st.sets(st.integers(0, 25), max_size=6)))
    cluster = Cluster(case.node, shards=data.draw(st.integers(1, 4)), seed=data.draw(st.integers(0, 99)))
    drive(cluster, [[one] for one in batches], data.draw(st.integers(1, 3)), data.draw(st.sets(st.integers(0, 6))))
    expected = case.answer(judged(batches, case.policy, case.slack, case.lead))
    assert streams.comparable(expected.results) == streams.comparable(cluster.results)
    account = expected.account
    assert (account.late, account.early, account.filtered) == tuple(map(cluster.total, ("late", "early", "filtered")))
    if case.node.late is Late.SIDE:
        early = [row for row in cluster.late if row["late_windows"] == 0]
        assert account.late == len(cluster.late) - len(early)
        assert streams.comparable({n: e.row[n] for n in SCHEMA.names} for e in expected.early) == (
            streams.comparable({n: row[n] for n in SCHEMA.names} for row in early)
        )
        far = sorted(e.by for e in expected.early if e.row["ts"] < LIMIT)
        assert far == sorted(-row["late_by"] for row in early if row["ts"] < LIMIT)


def rows_at(*times: int, k: str = "a") -> list[dict[str, Any]]:
    return [{"ts": t, "k": k, "x": t % 5, "g": 1, "y": 0.5} for t in times]


LEADING = replace(STREAM, policy=Slack(Amount.of(3), Lead(Amount.of(20))))
COUNT = (AggregateCall("n", "count"),)


def test_unions_joins_and_plain_queries_set_rows_aside_once() -> None:
    other = replace(STREAM, name="other", policy=Slack(Amount.of(3)))
    batches = [[rows_at(1, 900, 7), rows_at(2, 8)], [rows_at(20, 30, 800), rows_at(25, k="b")]]
    united = WindowAggregate(Union((LEADING, other)), Sliding("ts", 10, 10), (("k", Column("k")),), COUNT)
    plain = Project(Filter(LEADING, Call("<>", (Column("x"), Literal(2)))), (("ts", Column("ts")), ("k", Column("k"))))
    for plan, early in ((united, 2), (plain, 2)):
        cluster = Cluster(plan, shards=3)
        narrowed = [batch[: len(cluster.readings)] for batch in batches]
        drive(cluster, narrowed, 2, {0})
        assert early == cluster.total("early")
        assert not any(row.get("ts", 0) >= 800 or row.get("window_end", 0) > 800 for row in cluster.results)
    assert [1, 20, 30] == sorted(row["ts"] for row in cluster.results)  # of 1, 7, 20 and 30 all but 7
    assert 1 == cluster.total("filtered")


def test_a_join_whose_rows_are_copied_sets_each_aside_once() -> None:
    left, right = (
        wr.stream(SCHEMA.empty_table(), time="ts", name=name, progress=wr.slack(3, lead=20)) for name in ("one", "two")
    )
    for joined in (left.join(right, "one.x < two.x", between=(-9, 9)), left.join(right, "k", between=(-9, 9))):
        cluster = Cluster(joined.late("side").plan, shards=4)
        drive(cluster, [[rows_at(1, 900, 7), rows_at(2, 950, 8)], [rows_at(12, 700), rows_at(14)]], 2, {0})
        assert (3, 0) == (cluster.total("early"), cluster.total("late"))
        assert sorted([7 - 900, 8 - 950, 12 - 700]) == sorted(row["late_by"] for row in cluster.late)


def test_by_the_clock_tasks_judge_and_still_send_panes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(low, "time", SimpleNamespace(time=lambda: 100.0))
    kinds: dict[str, pa.DataType] = {"ts": pa.timestamp("us"), "k": pa.string()}
    stream = Stream("s", pa.schema(kinds), "ts", Ordered(Lead(Amount.of("5 s"), wall_clock=True)))
    node = WindowAggregate(stream, Sliding("ts", 10**7, 10**7), (("k", Column("k")),), COUNT)
    cluster = Cluster(node, shards=2)
    assert cluster.readings[0][0].exchange.merging is not None
    drive(cluster, [[[{"ts": t, "k": "a"} for t in (1, 99_000_000, 106_000_000, 104_000_000)]]], 2, set())
    assert [1, 1, 1] == [row["n"] for row in cluster.results]
    assert 1 == cluster.total("early")


def test_on_spark(spark: SparkSession) -> None:
    """Replayed in micro-batches, from a static DataFrame, and with a gap that EMIT EMPTY will not fill."""
    start = datetime(2024, 1, 1)
    times = [start + timedelta(seconds=5 * i) for i in range(60)]
    times[20:20] = [datetime(9999, 12, 31)]
    data = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": ["a"] * 61})

    def asked(data: Any, **policy: Any) -> wr.Query:
        stream = wr.stream(data, time="ts", name="s", progress=wr.slack("30 s", **policy))
        return stream.group_by("k").window(range="1 min").agg(n=wr.count()).late("side")

    for source in (data, spark.createDataFrame(data)):
        found = asked(source, lead="1 h").run(engine="spark", spark=spark, batch_rows=40)
        assert [12] * 5 == found.table["n"].to_pylist()
        assert (61, 60, 1, 0) == (
            found.metrics.rows_in,
            found.metrics.rows_used,
            found.metrics.rows_early,
            found.metrics.rows_late,
        )
        (early,) = found.late.to_pylist()
        assert (0, "s", 9999) == (early["late_windows"], early["late_source"], early["ts"].year)
        assert early["late_by"] < timedelta(0)
    with pytest.raises(DataError, match=r"^`EMIT EMPTY` must fill no more than 1,000,000 windows between two rows of"):
        asked(spark.createDataFrame(data)).emit("empty").run(engine="spark", spark=spark)
