"""Progress by partition on Spark: both levels without Spark against the oracle, then on Spark itself.

Rows of a micro-batch are judged by what was promised before it; after it each partition is where its rows have brought
it, whatever their order.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import windrow as wr
from tests.acceptance.test_partitions import SCHEMA, rows, said_of_partitions, table
from tests.engines.spark.test_lead import drive, pieces
from tests.engines.spark.test_two_levels import Cluster, MicroBatch
from tests.strategies import comparable
from windrow.engines.spark.query.native_panes import why_not_native
from windrow.pipeline.metrics import Metrics
from windrow.plan.nodes import WindowAggregate
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.progress.lead import EarlyRow, reach
from windrow.semantics.progress.partitions import Partitions
from windrow.semantics.progress.policies import START, Punctuation
from windrow.sharded.signature import signature

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def judged(batches: Sequence[MicroBatch], slack: int, idle: int | None = None, lead: int | None = None) -> list[Any]:
    """The rows of micro-batches, early ones as such, each micro-batch before what is promised after it."""
    partitions, bound, found = Partitions(), START, list[Any]()
    for batch in batches:
        rows = [element for element in batch if not isinstance(element, Punctuation)]
        reaches = {}
        for p in {row["p"] for row in rows}:
            before = partitions.known[p].high if p in partitions.known else START
            reaches[p] = reach([r["ts"] for r in rows if r["p"] == p], 1 << 70 if lead is None else lead, before)
        found += [
            row if row["ts"] <= reaches[row["p"]] else EarlyRow(row, row["ts"] - reaches[row["p"]]) for row in rows
        ]
        for element in batch:
            if isinstance(element, Punctuation):
                assert element.group is not None
                partitions.announce(element.group[0], element.value)
            elif element["ts"] <= reaches[element["p"]]:
                partitions.see(element["p"], element["ts"])
        now = partitions.bound(slack, idle)
        if now > bound:
            bound = now
            found.append(Punctuation(bound))
    return found


def check(cluster: Cluster, node: WindowAggregate, elements: Sequence[Any]) -> None:
    asked: dict[str, Any] = {"keys": node.keys, "aggregates": node.aggregates, "late": node.late.value}
    where = getattr(node.input, "predicate", None)
    expected = oracle.answer(elements, node.window, where=where, **asked)
    assert comparable(expected.results) == comparable(cluster.results)
    account = expected.account
    assert (account.late, account.early, account.filtered) == tuple(map(cluster.total, ("late", "early", "filtered")))


@pytest.mark.parametrize("settings", [{}, {"idle": 25}, {"lead": 90}, {"lead": 110, "idle": 30}])
@pytest.mark.parametrize("seed", range(4))
def test_two_levels_give_the_answer_of_the_oracle(seed: int, settings: dict[str, int]) -> None:
    chance = random.Random(seed)
    given, lead, idle = rows(seed, 150), settings.get("lead"), settings.get("idle")
    for row in given:
        row["ts"] += chance.choice((0, 500)) if chance.random() < 0.04 else 0
    progress = wr.slack(4, per="p", lead=lead)
    stream = wr.stream(table(given), time="ts", progress=progress, idle=idle, name="s")
    filtered = stream.where("x IS NULL OR x <> 5").select("ts", "k", "x") if chance.random() < 0.7 else stream
    asked = (
        filtered.group_by("k").window(range=30, slide=10).agg(n=wr.count(), total=wr.sum("x"), middle=wr.median("x"))
    )
    node = asked.late("drop").plan
    assert isinstance(node, WindowAggregate)
    batches = pieces(given, {chance.randrange(150) for _ in range(6)})
    cluster = Cluster(node, shards=chance.randrange(1, 4), seed=seed)
    drive(cluster, [[one] for one in batches], chance.randrange(1, 4), {1, 3})
    elements = judged(batches, 4, idle, lead)
    if filtered is not stream:
        elements = [
            e for e in elements if isinstance(e, Punctuation) or (e.row if isinstance(e, EarlyRow) else e)["x"] != 5
        ]
        node = WindowAggregate(stream.plan, node.window, node.keys, node.aggregates, late=node.late)
        assert len([e for e in elements if isinstance(e, dict)]) > 20
        expected = oracle.answer(elements, node.window, keys=node.keys, aggregates=node.aggregates, late="drop")
        assert comparable(expected.results) == comparable(cluster.results)
        assert (expected.account.late, expected.account.early) == (cluster.total("late"), cluster.total("early"))
    else:
        check(cluster, node, elements)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_said_of_partitions(seed: int) -> None:
    elements = said_of_partitions(seed)
    stream = wr.stream(iter(()), time="ts", schema=SCHEMA, progress=wr.slack(4, per="p"), name="s")
    node = stream.window(range=30, slide=10).agg(n=wr.count()).late("drop").plan
    assert isinstance(node, WindowAggregate)
    batches, size = [], 15
    for start in range(0, len(elements), size):  # said before the rows of a micro-batch, as `Cluster` has it
        batch = elements[start : start + size]
        batches.append(sorted(batch, key=lambda element: not isinstance(element, Punctuation)))
    cluster = Cluster(node, shards=2, seed=seed)
    drive(cluster, [[one] for one in batches], 1, {1, 2})
    check(cluster, node, judged(batches, 4))


def test_state_of_other_partitions_is_another() -> None:
    def lines(**policy: Any) -> list[str]:
        stream = wr.stream(table([]), time="ts", progress=wr.slack(4, **policy), name="s")
        cluster = Cluster(stream.window(range=9).agg(n=wr.count()).plan, shards=1)
        return signature(cluster.bundle.jobs[0].divided)

    assert ["stream s", "stream s per (p int64)", "stream s per (k string)"] == [
        lines(per=per)[0] for per in ((), "p", "k")
    ]


def test_panes_are_not_made_by_sparks_own_aggregation() -> None:
    stream = wr.stream(table([]), time="ts", progress=wr.slack(4, per="p"), name="s")
    cluster = Cluster(stream.group_by("x").window(range=9).agg(n=wr.count()).plan, shards=1)
    assert "how far each partition is, is reported by Windrow" == why_not_native(cluster.readings[0][0].exchange)


def test_on_spark(spark: SparkSession) -> None:
    """A partition that lags loses no row; metrics name it. A lead is judged within a partition."""
    given = [row for i in range(60) for row in ({"ts": 10 * i, "p": 1, "k": "a"}, {"ts": 2 * i, "p": 2, "k": "b"})]
    kinds: dict[str, pa.DataType] = {"ts": pa.int64(), "p": pa.int64(), "k": pa.string()}
    schema = pa.schema(kinds)
    data = pa.Table.from_pylist(given, schema)

    def asked(**policy: Any) -> wr.Query:
        stream = wr.stream(data, time="ts", name="s", progress=wr.ordered(**policy))
        return stream.group_by("k").window(range=40).agg(n=wr.count()).late("drop")

    found: list[Metrics] = []
    options = {"engine": "spark", "spark": spark, "batch_rows": 30}
    apart = asked(per="p").run(on_progress=found.append, **options)
    assert 0 == apart.metrics.rows_late < asked().run().metrics.rows_late
    assert comparable(asked(per="p").collect().to_pylist()) == comparable(apart.table.to_pylist())
    assert "s, partition 2" in {one.held_back_by for one in found}
    assert {2} == {one.sources["s"].partitions for one in found if one.rows_in}
    data = pa.Table.from_pylist([{**row, "ts": 9999} if i == 61 else row for i, row in enumerate(given)], schema)
    metrics = asked(per="p", lead=200).run(**options).metrics
    assert (120, 1, 0) == (metrics.rows_in, metrics.rows_early, metrics.rows_late)
