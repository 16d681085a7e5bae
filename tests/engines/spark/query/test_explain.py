from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import StructField, StructType, TimestampType

from tests.plan.streams import COUNT, MINUTE, call, columns, windowed
from windrow.engines.spark.connect.frame_sources import FrameSource
from windrow.engines.spark.query.explain import explain_spread
from windrow.engines.spark.query.types import WATERMARK
from windrow.plan.checks.joins import joined_names, usual_time
from windrow.plan.nodes import AggregateCall, Filter, Join, Late, Node, Stream, Union
from windrow.semantics.joins import Between, JoinKind
from windrow.semantics.progress.policies import AtEnd, Lead, Slack
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.scalars.expressions import Column, Expression
from windrow.semantics.windows.kinds import Session

SCHEMA = columns(symbol=pa.string(), price=pa.int64(), time=pa.timestamp("us", tz="UTC"))
UBSN = call("=", Column("symbol"), "UBSN")
MEDIAN = (AggregateCall("p50", "median", Column("price")),)


def ticks(name: str = "trades", **settings: Any) -> Stream:
    return Stream(name, SCHEMA, "time", **{"policy": Slack(Amount.of("60 seconds")), **settings})


def frame(name: str, *, streaming: bool, delay: int | None = None) -> FrameSource:
    """A DataFrame as far as an explanation looks at it."""
    metadata = {} if delay is None else {WATERMARK: delay}
    schema = StructType([StructField("time", TimestampType(), True, metadata)])
    conf = {"spark.sql.shuffle.partitions": "6"}
    data: Any = SimpleNamespace(isStreaming=streaming, schema=schema, sparkSession=SimpleNamespace(conf=conf))
    return FrameSource(name, SCHEMA, data)


PANES = """
On Spark
   sent       trades: rows are aggregated into panes before they are sent
   shards     one for each of spark.sql.shuffle.partitions; rows are routed by symbol
   progress   the policy speaks after each micro-batch, about all rows up to there; \
rows are judged by what was promised before their micro-batch
"""

NO_GROUPS = """
On Spark
   sent       a: its rows are sent: median(price) keeps values
              b: its rows are sent: median(price) keeps values
   shards     one: there are no groups
   progress   the policy speaks after each micro-batch, about all rows up to there; \
rows are judged by what was promised before their micro-batch
"""

ROUTES = """
On Spark
   sent       a: its rows are sent: session windows have no panes
              b: its rows are sent: LATE SIDE keeps the rows themselves
   shards     one for each of spark.sql.shuffle.partitions; rows are routed by symbol of a; upper(symbol) of b
   progress   the policy speaks after each micro-batch, about all rows up to there; \
rows are judged by what was promised before their micro-batch
"""

ROWS_ALONE = """
On Spark
   sent       trades: its rows are sent
   shards     one: nothing in the query has groups; filters and expressions run there
   progress   the policy speaks after each micro-batch, about all rows up to there; \
rows are judged by what was promised before their micro-batch
"""


LEADING = """
On Spark
   sent       a: its rows are sent: LEAD judges a row by all rows of its micro-batch
              b: rows are aggregated into panes before they are sent
   shards     one for each of spark.sql.shuffle.partitions; rows are routed by symbol
   progress   the policy speaks after each micro-batch, about all rows up to there; \
rows are judged by what was promised before their micro-batch
              a: whether rows are early is judged by all rows of their micro-batch
              b: whether rows are early is judged by the clock of the task that reads them
"""


def leading(name: str, *, wall_clock: bool) -> Stream:
    return ticks(name, policy=Slack(Amount.of("60 s"), Lead(Amount.of("1 h"), wall_clock=wall_clock)))


def two_windows() -> Node:
    visits = windowed(ticks("a"), Session("time", MINUTE), ("symbol",))
    loud = windowed(ticks("b"), None, (), (COUNT,), late=Late.SIDE)
    keys = (("symbol", call("upper", Column("symbol"))),)
    return Union((visits, type(loud)(loud.input, loud.window, keys, loud.aggregates, late=loud.late)))


@pytest.mark.parametrize(
    ("expected", "node"),
    [
        (PANES, windowed(Filter(ticks(), UBSN), None, ("symbol",))),
        (NO_GROUPS, windowed(Union((ticks("a"), ticks("b"))), None, (), MEDIAN)),
        (ROUTES, two_windows()),
        (ROWS_ALONE, Filter(ticks(), UBSN)),
        (LEADING, windowed(Union((leading("a", wall_clock=False), leading("b", wall_clock=True))), None, ("symbol",))),
    ],
)
def test_plans_on_spark_as_text(expected: str, node: Node) -> None:
    assert expected.strip() == explain_spread(node)


def joined(on: Expression | None, kind: JoinKind) -> Join:
    left, right = ticks("a"), ticks("b")
    names = joined_names([left.schema, right.schema], ("a", "b"))
    return Join(left, right, kind, Between(0, MINUTE), on, names, ("a", "b"), usual_time(kind))


def near(value: str, center: str) -> Expression:
    low, high = (call(sign, Column(center), 10) for sign in "-+")
    return call("and", call(">=", Column(value), low), call("<=", Column(value), high))


EACH = "one for each of spark.sql.shuffle.partitions"


@pytest.mark.parametrize(
    ("expected", "on", "kind"),
    [
        ([f"{EACH}; rows are routed by symbol"], call("=", Column("a_symbol"), Column("b_symbol")), JoinKind.FULL),
        (
            [f"{EACH}; rows are routed by symbol of a; upper(symbol) of b"],
            call("=", Column("a_symbol"), call("upper", Column("b_symbol"))),
            JoinKind.INNER,
        ),
        (
            [
                EACH,
                "a: divided by cells of price that are 160 wide",
                "b: by the same cells of price, copied into those that the band around a row reaches",
            ],
            near("a_price", "b_price"),
            JoinKind.LEFT,
        ),
        (
            [
                EACH,
                "a: copied to one line of the shards as a table, for there is no equality or band to divide by",
                "b: copied to one column of the shards as a table, for there is no equality or band to divide by",
            ],
            None,
            JoinKind.INNER,
        ),
        (
            [
                EACH,
                "a: copied to every shard",
                "b: divided by a hash of its values, for there is no equality or band to divide by",
            ],
            call("<", Column("a_price"), Column("b_price")),
            JoinKind.RIGHT,
        ),
        (
            ["one: of a full join without an equality, rows of both sides must be in one place each"],
            near("a_price", "b_price"),
            JoinKind.FULL,
        ),
    ],
)
def test_where_rows_of_joins_go(expected: list[str], on: Expression | None, kind: JoinKind) -> None:
    lines = [line.strip() for line in explain_spread(joined(on, kind)).splitlines()]
    first = next(i for i, line in enumerate(lines) if line.startswith("shards"))
    last = next(i for i, line in enumerate(lines) if line.startswith("progress"))
    assert [f"shards     {expected[0]}", *expected[1:]] == lines[first:last]


def last_line(policy: Any, source: FrameSource) -> str:
    plan = windowed(ticks(policy=policy), None, ("symbol",))
    return explain_spread(plan, {"trades": source}).splitlines()[-1].strip()


@pytest.mark.parametrize(
    ("expected", "policy", "delay"),
    [
        (
            "watermark  trades: the delay of the DataFrame's own watermark, 10 s, is the slack; "
            "Spark itself drops no row",
            Slack(Amount.of("10000 ms")),
            10_000,
        ),
        (
            "watermark  trades: the DataFrame's own one (10 s) has no effect here: "
            "Spark drops no row, the policy above decides",
            AtEnd(),
            10_000,
        ),
    ],
)
def test_a_watermark_of_the_frames_own_is_explained(expected: str, policy: Any, delay: int) -> None:
    assert expected == last_line(policy, frame("trades", streaming=True, delay=delay))


def test_without_a_watermark_nothing_is_said_of_one() -> None:
    assert "watermark" not in explain_spread(ticks(), {"trades": frame("trades", streaming=True)})


def test_static_frames_close_at_the_end() -> None:
    expected = "progress   all data is static: nothing is late, and everything closes at the end"
    assert expected == last_line(AtEnd(), frame("trades", streaming=False, delay=10_000))


def test_of_frames_the_number_of_shards_is_told() -> None:
    text = explain_spread(windowed(ticks(), None, ("symbol",)), {"trades": frame("trades", streaming=True)})
    shards = "   shards     6, one for each of spark.sql.shuffle.partitions; rows are routed by symbol"
    assert shards == text.splitlines()[2]


@pytest.mark.parametrize(
    ("expected", "node"),
    [
        ("by Spark's own aggregation", ticks()),
        ("in Python: expressions are evaluated by Windrow", Filter(ticks(), UBSN)),
        ("in Python: rows too far ahead are set aside by Windrow", leading("trades", wall_clock=True)),
    ],
)
def test_who_puts_static_rows_into_panes_is_said(expected: str, node: Node) -> None:
    text = explain_spread(windowed(node, None, ("symbol",)), {"trades": frame("trades", streaming=False)})
    sent = "   sent       trades: rows are aggregated into panes before they are sent, "
    assert sent + expected == text.splitlines()[1]
