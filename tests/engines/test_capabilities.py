"""The table of capabilities against the engines: every line that can be tried without Spark is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.aggregates import UserAggregate
from windrow.engines.base import engine_named
from windrow.engines.capabilities import TABLE, Feature, No, Yes, page
from windrow.engines.spark.connect.frame_sources import FrameSource
from windrow.engines.spark.query.frames import _refuse_mix
from windrow.errors import WindrowError
from windrow.hardware.planning.options import CircuitOptions
from windrow.hardware.planning.plan import asked_of, plan_circuit, strings_of
from windrow.physical.division.join_routing import Divided
from windrow.physical.make import make_divided
from windrow.physical.pane_cells import why_not_partial
from windrow.pipeline.build import build, connect
from windrow.plan.checks.joins import joined_names, usual_time
from windrow.plan.nodes import Join, Late, Node, Stream, WindowAggregate, map_inputs, walk
from windrow.query.fluent import to_expression
from windrow.semantics.joins import AsOf, Between, JoinKind, JoinWindow, LastRows
from windrow.semantics.progress.policies import AtEnd, Slack
from windrow.semantics.scalars.amounts import Amount

ROOT = Path(__file__).resolve().parents[2]
DATA = pa.table({"k": ["a"], "x": [1], "t": [1], "p": pa.nulls(1, pa.int64())})
MOMENTS = DATA.set_column(2, "t", DATA["t"].cast(pa.timestamp("us")))
FEATURES = {feature.name: feature for rows in TABLE.values() for feature in rows}


class Product(UserAggregate):
    """An aggregate of a user."""

    name = "capable_product"
    result = pa.int64()

    def lift(self, values: Any) -> Any:
        return (values,)

    def combine(self, left: Any, right: Any) -> Any:
        return (np.multiply(left[0], right[0]),)

    def finish(self, state: Any, parameters: Any) -> Any:
        return state[0]


wr.register(Product())


def stream(name: str = "s", **settings: Any) -> wr.Query:
    return wr.stream(DATA, time="t", name=name, **settings)


def windows(query: wr.Query | None = None, **window: Any) -> wr.Query:
    window = window or {"range": 10, "slide": 5}
    return (query or stream()).group_by("k").window(**window).agg(n=wr.count())


def answers(*calls: Any) -> wr.Query:
    return stream().group_by("k").window(range=10).agg(**{f"a{i}": call for i, call in enumerate(calls)})


def again(query: wr.Query, *keys: str) -> wr.Query:
    """A window over the results of windows."""
    return query.group_by(*keys).window(range=20).agg(m=wr.count())


SAME = "a_k = b_k"


def joined(
    on: str | None,
    kind: JoinKind = JoinKind.INNER,
    window: JoinWindow = Between(-3, 3),  # noqa: B008 - frozen
    left: wr.Query | None = None,
    **others: Any,
) -> wr.Query:
    sides = left or stream("a"), stream("b")
    names = joined_names([side.schema for side in sides], ("a", "b"))
    both = pa.schema([(c.name, sides[c.side].schema.field(c.source).type) for c in names])
    plans, predicate = [side.plan for side in sides], None if on is None else to_expression(on, both)
    plan = Join(plans[0], plans[1], kind, window, predicate, names, ("a", "b"), usual_time(kind), **others)
    return wr.Query(plan, {**sides[0].sources, **sides[1].sources})


def over(progress: Any = None, **settings: Any) -> Callable[[], wr.Query]:
    return lambda: windows(stream(progress=progress, **settings))


def sql(text: str) -> Callable[[], wr.Query]:
    return lambda: wr.sql(text, s=stream())


PLANS: dict[str, Callable[[], wr.Query]] = {
    "sliding and tumbling windows, on time or on integers": windows,
    "landmark windows": lambda: windows(range="unbounded", slide=5),
    "session windows": lambda: windows(gap=5),
    "windows of rows (RANGE n ROWS)": lambda: windows(rows=5),
    "windows of rows per key (PATTR)": lambda: windows(rows=5, partition="k"),
    "windows of rows in order of time (ORDER BY)": lambda: windows(rows=5, partition="k", order_by="t"),
    "slide by tuple, by arrival and by rank (SLIDE n ROWS)": lambda: windows(range=5, slide="3 rows", by="rank"),
    "slide by tuple per key (PATTR), and SQL's OVER": sql(
        "SELECT k, sum(x) OVER (PARTITION BY k ORDER BY t RANGE BETWEEN 5 PRECEDING AND CURRENT ROW) AS total FROM s"
    ),
    "count, sum and avg": lambda: answers(wr.count(), wr.sum("x"), wr.avg("x")),
    "variance and stddev": lambda: answers(wr.variance("x"), wr.stddev("x")),
    "min and max of numbers and times": lambda: answers(wr.min("x"), wr.max("t")),
    "first and last of numbers and times": lambda: answers(wr.first("x"), wr.last("x")),
    "min, max, first and last of other values": lambda: answers(wr.min("k"), wr.last("k")),
    "median, quantile, mode, count distinct, top-k, heavy hitters and collect": lambda: answers(
        wr.median("x"),
        wr.quantile("x", 0.1),
        wr.mode("x"),
        wr.count_distinct("x"),
        wr.top_k("x", 2),
        wr.heavy_hitters("x", 0.1),
        wr.collect("x"),
    ),
    "your own aggregates": lambda: answers(wr.aggregate(Product.name, "x")),
    "filters and expressions, below and above windows": lambda: windows(stream().where("x > 1")).where("n > 1"),
    "groups by columns": windows,
    "groups by expressions": lambda: stream().group_by("k", y="x + 1").window(range=5).agg(n=wr.count()),
    "windows without groups": lambda: stream().window(range=5).agg(n=wr.count()),
    "no windows: filters and expressions alone": lambda: stream().where("x > 1").select("t", y="x + 1"),
    "unions of streams": lambda: windows(stream("a").union(stream("b"))),
    "distinct rows": lambda: stream().distinct(),
    "windows over the results of windows, with a key in common": lambda: again(windows(), "k"),
    "windows over the results of windows, without one": lambda: again(windows(), "n"),
    "landmark windows in a nested query": lambda: again(windows(range="unbounded", slide=5), "k"),
    "several windows over one stream, put together with UNION ALL": lambda: windows().union(windows(range=20)),
    "different windows in one SELECT": sql("SELECT count(*) [RANGE 1, WA t] AS a, sum(x) [RANGE 2, WA t] AS b FROM s"),
    "by an equality, of any kind": lambda: joined(SAME, JoinKind.FULL),
    "by a band": lambda: joined("a_x >= b_x - 1 and a_x <= b_x + 1"),
    "by any predicate, or none": lambda: joined("a_x < b_x"),
    "left, right, semi and anti joins without an equality or a band": lambda: joined("a_x < b_x", JoinKind.ANTI),
    "full joins without an equality": lambda: joined("a_x < b_x", JoinKind.FULL),
    "windows of rows, by arrival": lambda: joined(SAME, window=LastRows(3, 3)),
    "joins of unions, windows and joins, by a key in common": lambda: joined(SAME, left=windows()),
    "windows over joins, by a key in common": lambda: again(joined(SAME), "a_k"),
    "windows over joins, without one": lambda: again(joined(SAME), "a_x"),
    "LATE SIDE of joins": lambda: joined(SAME, late=Late.SIDE),
    "joins over early results": lambda: joined(SAME, left=windows().early(5)),
    "joins over results of LATE REVISE": lambda: joined(SAME, left=windows().late("revise")),
    "as-of joins by an equality": lambda: joined(SAME, window=AsOf()),
    "as-of joins without one": lambda: joined(None, window=AsOf()),
    "as-of joins by another predicate": lambda: joined("a_x < b_x", window=AsOf()),
    "those that hold a row": lambda: windows().emit("nonempty"),
    "EMIT EMPTY": lambda: windows().emit("empty"),
    "EMIT EARLY": lambda: windows().early(5),
    "EMIT EARLY of sessions": lambda: windows(gap=5).early(5),
    "EMIT EARLY with LATE REVISE": lambda: windows().early(5).late("revise"),
    "windows over early results": lambda: again(windows().early(5), "k"),
    "ORDERED OUTPUT of windows": lambda: windows().ordered_output(),
    "ORDERED OUTPUT of filters and expressions alone": lambda: stream().where("x > 1").ordered_output(),
    "ORDERED OUTPUT with EMIT EMPTY": lambda: windows().emit("empty").ordered_output(),
    "ORDERED OUTPUT with LATE REVISE": lambda: windows().late("revise").ordered_output(),
    "ORDERED OUTPUT with EMIT EARLY": lambda: windows().early(5).ordered_output(),
    "EMIT COMPLETE": lambda: windows().emit("complete"),
    "LATE DROP, counted": lambda: windows().late("drop"),
    "LATE SIDE": lambda: windows().late("side"),
    "LATE REVISE": lambda: windows().late("revise"),
    "LATE REVISE of sessions": lambda: windows(gap=5).late("revise"),
    "LATE REVISE with EMIT COMPLETE of sessions": lambda: windows(gap=5).late("revise").emit("complete"),
    "LATE REVISE of landmark windows": lambda: windows(range="unbounded", slide=5).late("revise"),
    "LATE REVISE of slide-by-tuple windows": lambda: windows(range=5, slide="1 row").late("revise"),
    "LATE REVISE of windows of rows": lambda: windows(rows=5).late("revise"),
    "LATE REVISE with EMIT EMPTY": lambda: windows().late("revise").emit("empty"),
    "windows over results of LATE REVISE": lambda: again(windows().late("revise"), "k"),
    "generous and consistent": lambda: windows().lateness("consistent"),
    "at the end": lambda: windows(stream("ends")),
    "ordered": over(wr.ordered()),
    "slack in time": over(wr.slack(3)),
    "slack in rows": over(wr.slack("3 rows")),
    "punctuations and heartbeats in a column": over(wr.punctuated("p")),
    "punctuations among the elements of an iterator": over(wr.punctuated()),
    "punctuations for single groups": over(wr.punctuated(per="k")),
    "progress by partition (PER)": over(wr.slack(3, per="k")),
    "lead: rows too far ahead are early": over(wr.slack(3, lead=9)),
    "lead by the clock": lambda: windows(
        wr.stream(MOMENTS, time="t", name="s", progress=wr.ordered(lead=wr.lead("1 h", wall_clock=True))), range="1 s"
    ),
    "idle by stream time": over(idle=3),
    "idle by the clock": over(idle=wr.idle("3 s", wall_clock=True)),
    "strategy panes": lambda: windows().strategy("panes"),
    "strategy wid": lambda: windows().strategy("wid"),
    "strategy buffer": lambda: windows().strategy("buffer"),
    "strategy adaptive": lambda: windows().strategy("adaptive"),
    "COMPRESS off": lambda: windows().compress("off"),
    "COMPRESS blocks": lambda: windows().compress("blocks"),
    "COMPRESS ... WITHIN, for the aggregates of a window": lambda: answers(wr.sum("x")).compress(within={"x": 5}),
    "COMPRESS ... WITHIN of a join": lambda: joined("a_k = b_k").compress(within={"a_x": 5}),
    "strategy adaptive for landmark windows": lambda: windows(range="unbounded", slide=5).strategy("adaptive"),
    "strategy wid for landmark windows": lambda: windows(range="unbounded", slide=5).strategy("wid"),
    "strategy wid or buffer for windows of rows": lambda: windows(rows=5).strategy("wid"),
    "strategy wid, adaptive or buffer with LATE REVISE": lambda: windows().late("revise").strategy("wid"),
    "a strategy for sessions": lambda: windows(gap=5).strategy("panes"),
    "a strategy for slide-by-tuple windows": lambda: windows(range=5, slide="1 row").strategy("wid"),
}
"""A query for each feature that a plan shows."""


def streaming_frame() -> None:
    FrameSource("frame", DATA.schema, SimpleNamespace(isStreaming=True)).open()  # type: ignore[arg-type]


REFUSALS: dict[tuple[str, str], Callable[[], Any]] = {
    ("local", "streaming DataFrames of Spark"): streaming_frame,
    ("spark", "static and streaming DataFrames in one query"): lambda: _refuse_mix(["a"]),
    ("spark", "threads"): lambda: engine_named("spark").options_of({"threads": 2}),
    ("hardware", "streaming DataFrames of Spark"): streaming_frame,
    ("hardware", "static and streaming DataFrames in one query"): streaming_frame,
    ("hardware", "threads"): lambda: engine_named("hardware").options_of({"threads": 2}),
    ("hardware", "shards"): lambda: engine_named("hardware").options_of({"shards": 2}),
    ("hardware", "rate"): lambda: engine_named("hardware").options_of({"rate": 2}),
    ("hardware", "checkpoint and restore"): lambda: engine_named("hardware").options_of({"checkpoint": "folder"}),
    ("hardware", "flush slow and lazy"): lambda: engine_named("hardware").options_of({"flush": "slow"}),
    ("local", "shards"): lambda: engine_named("local").options_of({"shards": 2}),
    ("local", "rate"): lambda: engine_named("local").options_of({"rate": 2}),
}
"""What is refused for reasons that no plan shows."""
ELSEWHERE = (
    "files, Arrow, pandas, Polars",
    "iterators of elements",
    "static DataFrames of Spark",
    "several queries in one pass",
    "checkpoint and restore",
    "flush slow and lazy",
)
"""Features that are about data and runs; each has tests of its own."""


def run_local(query: wr.Query) -> None:
    build(query.plan)


def run_spark(query: wr.Query) -> None:
    connect((make_divided([query.plan])[0].high,))


def run_hardware(query: wr.Query) -> None:
    """Planned with what a run would take from the data; streams promise something, but for the one that must not."""
    plan = progressing(query.plan)
    names = [name for columns in strings_of(asked_of([plan])).values() for _, name in columns]
    times = [node.schema.field(node.time).type for node in walk(plan) if isinstance(node, Stream)]
    ahead = 9 if pa.types.is_integer(times[0]) else None
    plan_circuit([plan], CircuitOptions(dictionaries=dict.fromkeys(names, ("a",)), ahead=ahead))


def progressing(node: Node) -> Node:
    if isinstance(node, Stream):
        waits = isinstance(node.policy, AtEnd) and node.name != "ends"
        return replace(node, policy=Slack(Amount.of(3))) if waits else node
    return map_inputs(node, progressing)


ENGINES: dict[str, Callable[[wr.Query], None]] = {"local": run_local, "spark": run_spark, "hardware": run_hardware}


def answer(feature: Feature, engine: str) -> Yes | No:
    found: Yes | No = getattr(feature, engine)
    return found


def test_every_feature_is_tried_somewhere() -> None:
    assert set(FEATURES) == {*PLANS, *ELSEWHERE, *(name for _, name in REFUSALS)}
    refused = {
        name
        for name in (*ELSEWHERE, *FEATURES)
        if name not in PLANS and isinstance(answer(FEATURES[name], "hardware"), No)
    }
    assert refused == {name for engine, name in REFUSALS if engine == "hardware"}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", PLANS)
def test_the_table_says_what_the_engine_does(name: str, engine: str) -> None:
    said = answer(FEATURES[name], engine)
    if isinstance(said, Yes):
        ENGINES[engine](PLANS[name]())
        return
    with pytest.raises(WindrowError) as caught:
        ENGINES[engine](PLANS[name]())
    assert str(caught.value).replace("`", "").startswith(said.reason)


@pytest.mark.parametrize(("engine", "name"), REFUSALS)
def test_refusals_that_no_plan_shows(engine: str, name: str) -> None:
    said = answer(FEATURES[name], engine)
    assert isinstance(said, No)
    with pytest.raises(WindrowError) as caught:
        REFUSALS[engine, name]()
    assert str(caught.value).replace("`", "").startswith(said.reason)


def remarks(divided: Divided) -> Iterator[str]:
    """What the engine itself says about how a plan is divided."""
    for exchange in divided.exchanges:
        if exchange.reasons[0].startswith("its rows are sent: "):
            yield exchange.reasons[0].removeprefix("its ")
    if divided.one_shard is not None:
        yield f"one shard: {divided.one_shard}"


def general(remark: str) -> str:
    """A remark without the aggregate that it happens to name."""
    head, _, why = remark.partition(": ")
    for end, words in ((") keeps values", "they keep values"), (") keeps a state", "each keeps a state of its own")):
        if end in why:
            return f"{head}: {words}"
    return remark


@pytest.mark.parametrize("name", [name for name in PLANS if isinstance(FEATURES[name].spark, Yes)])
def test_remarks_on_spark_are_what_the_planner_says(name: str) -> None:
    said = answer(FEATURES[name], "spark")
    assert isinstance(said, Yes)
    plan = PLANS[name]().plan
    found = list(dict.fromkeys(map(general, remarks(make_divided([plan])[0]))))
    assert [] == [remark for remark in found if remark not in said.remark]
    assert any(remark.startswith("rows are sent") for remark in found) == ("rows are sent" in said.remark)
    assert any(remark.startswith("one shard") for remark in found) == ("one shard" in said.remark)


def test_every_aggregate_of_the_kept_values_keeps_them() -> None:
    plan = PLANS["median, quantile, mode, count distinct, top-k, heavy hitters and collect"]().plan
    (node,) = (part for part in walk(plan) if isinstance(part, WindowAggregate))
    for call in node.aggregates:
        alone = answers(wr.aggregate(call.function, call.argument, *call.parameters)).plan
        assert isinstance(alone, WindowAggregate)
        assert f"{call} keeps values" == why_not_partial(alone)


def test_the_page_is_current() -> None:
    """When this fails: python -m windrow.engines.capabilities > docs/capabilities.md"""
    assert page() == (ROOT / "docs" / "capabilities.md").read_text(encoding="utf-8")
