"""Joins in two levels, without Spark: any kind, predicate, disorder, tasks, shards, restarts equal the definition."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contract.engines import given as bound
from tests.contract.hearing import row_by_row
from tests.contract.reference import Reference, holds, joined_row
from tests.engines.spark.test_two_levels import Cluster, micro_batches
from tests.semantics.join_definitions import three_step
from tests.strategies import EXTREME_FLOATS, SPREAD, comparable
from windrow.plan.checks.joins import joined_names, usual_time
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import (
    AggregateCall,
    Distinct,
    Filter,
    Join,
    Late,
    Node,
    OrderedOutput,
    Stream,
    Union,
    WindowAggregate,
    walk,
)
from windrow.semantics.joins import (
    LEFT,
    RIGHT,
    AsOf,
    Between,
    JoinKind,
    JoinWindow,
    LastRows,
    SameWindow,
    Timed,
    join,
)
from windrow.semantics.progress.policies import START, External, Punctuation
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal
from windrow.semantics.windows.kinds import Sliding

SOAK = bool(os.environ.get("WINDROW_SOAK"))
pytestmark = [pytest.mark.soak] if SOAK else []

KINDS: tuple[dict[str, pa.DataType], ...] = (
    {"ts": pa.int64(), "k": pa.string(), "g": pa.int64(), "x": pa.int64(), "y": pa.float64()},
    {"ts": pa.int64(), "k": pa.large_string(), "g": pa.int32(), "x": pa.int64(), "y": pa.float64()},
)
A, B = (Stream(name, pa.schema(kinds), "ts", External()) for name, kinds in zip("ab", KINDS, strict=True))
NAMES = joined_names([A.schema, B.schema], ("a", "b"))


def call(function: str, *arguments: Any) -> Expression:
    """Texts are columns, numbers are numbers."""
    return Call(function, tuple(_part(argument) for argument in arguments))


def _part(argument: Any) -> Expression:
    if isinstance(argument, str):
        return Column(argument)
    return argument if isinstance(argument, (Call, Column, Literal)) else Literal(argument)


def band(value: str, center: str, low: float, high: float, above: str = "<=") -> Expression:
    return call("and", call(">=", value, call("+", center, low)), call(above, value, call("+", center, high)))


SAME_K = call("=", "a_k", "b_k")
PREDICATES: dict[str, Expression | None] = {
    "every pair": None,
    "equality": SAME_K,
    "whole and double": call("=", "a_g", "b_y"),
    "two equalities": call("and", SAME_K, call("=", "b_g", "a_g")),
    "equality of expressions": call("=", call("+", "a_g", 1), "b_g"),
    "band": band("a_x", "b_x", -3, 2),
    "band the other way": band("b_x", "a_x", -1, 4),
    "band of one point": band("a_x", "b_g", 1, 1),
    "band of floats": band("a_y", "b_y", -0.5, 1.25, "<"),
    "band of both": band("b_y", "a_x", -1.5, 1.5),
    "two bands": call("and", band("a_x", "b_x", -3, 3), band("a_y", "b_y", -1.0, 1.0)),
    "equality and band": call("and", SAME_K, band("a_x", "b_x", -3, 2)),
    "anything": call("<", "a_x", "b_x"),
}
WINDOWS = st.one_of(
    st.builds(Between.of_ranges, st.integers(1, 40), st.integers(1, 40)),
    st.builds(lambda low, length: Between(low, low + length), st.integers(-30, 30), st.integers(0, 30)),
    st.builds(SameWindow, st.integers(1, 40), st.integers(-5, 5)),
)
FLOATS = st.sampled_from((-1.5, -1.0, 0.0, 0.25, 1.0, 1.0, 2.0, 3.75, 1e9, None, *EXTREME_FLOATS))
ROWS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "ts": st.one_of(st.integers(0, 12), st.integers(0, SPREAD)),
        "k": st.sampled_from(("p", "q", "", None)),
        "g": st.sampled_from((0, 1, 2, None)),
        "x": st.one_of(st.integers(-8, 8), st.integers(-(10**9), 10**9), st.none()),
        "y": FLOATS,
    }
)


@st.composite
def elements(draw: st.DrawFn, base: int, size: int = 20) -> list[Any]:
    """Rows and promises of one side; promises never go back."""
    parts = draw(st.lists(st.one_of(ROWS, ROWS, ROWS, st.integers(0, 30)), max_size=size))
    bound, made = base, list[Any]()
    for part in parts:
        if isinstance(part, int):
            bound += part
            made.append(Punctuation(bound))
        else:
            made.append({**part, "ts": base + part["ts"]})
    return made


@dataclass(frozen=True)
class Sides:
    """Two streams in micro-batches, and which of their rows come in time: each is judged by its own side alone."""

    batches: tuple[list[list[Any]], list[list[Any]]]

    @property
    def rows(self) -> int:
        return sum(not isinstance(e, Punctuation) for side in self.batches for batch in side for e in batch)

    def timely(self, side: int) -> list[list[Timed]]:
        """By micro-batch."""
        bound, kept = START, []
        for batch in self.batches[side]:
            rows = [element for element in batch if not isinstance(element, Punctuation)]
            kept.append([(row["ts"], row) for row in rows if row["ts"] >= bound])
            bound = max([bound, *(e.value for e in batch if isinstance(e, Punctuation))])
        return kept

    def late(self, side: int) -> list[dict[str, Any]]:
        kept = [id(row) for batch in self.timely(side) for _, row in batch]
        rows = [e for batch in self.batches[side] for e in batch if not isinstance(e, Punctuation)]
        return [row for row in rows if id(row) not in kept]


@st.composite
def sides(draw: st.DrawFn) -> Sides:
    base = draw(st.sampled_from((0, 0, -60, 1 << 50)))
    cuts = st.sets(st.integers(0, 20), max_size=4)
    left, right = (micro_batches(draw(elements(base)), draw(cuts)) for _ in range(2))
    return Sides((left, right))


def drive(cluster: Cluster, batches: Sequence[list[list[Any]]], tasks: int, restarts: set[int]) -> None:
    """The micro-batches of each stream side by side."""
    both = list(zip_longest(*batches, fillvalue=[]))
    for i, pair in enumerate(both):
        cluster.micro_batch(pair, tasks, ends=i == len(both) - 1)
        cluster.save()
        if i in restarts:
            cluster.restart()


def expected(node: Join, given: Sides) -> list[dict[str, Any]]:
    left, right = ([row for batch in given.timely(side) for row in batch] for side in (LEFT, RIGHT))
    assert not isinstance(node.window, LastRows)
    return [joined_row(node, pair) for pair in join(left, right, node.window, node.kind, holds(node))]


def joined(kind: JoinKind, window: JoinWindow, on: Expression | None, **others: Any) -> Join:
    return Join(A, B, kind, window, on, NAMES, ("a", "b"), usual_time(kind), **others)


SHARDS, TASKS = st.integers(1, 5), st.integers(1, 3)
RESTARTS = st.sets(st.integers(0, 8))


@settings(max_examples=20_000 if SOAK else 100, deadline=None)
@given(data=st.data(), given_=sides(), window=WINDOWS)
def test_joins_in_two_levels_are_the_defined_ones(data: st.DataObject, given_: Sides, window: JoinWindow) -> None:
    on = PREDICATES[data.draw(st.sampled_from(sorted(PREDICATES)))]
    late = data.draw(st.sampled_from((Late.DROP, Late.SIDE)))
    node = joined(data.draw(st.sampled_from(JoinKind)), window, on, late=late)
    cluster = Cluster(node, shards=data.draw(SHARDS), seed=data.draw(st.integers(0, 99)))
    drive(cluster, given_.batches, data.draw(TASKS), data.draw(RESTARTS))
    assert comparable(expected(node, given_)) == comparable(cluster.results)
    missed = [named(node, side, row) for side in (LEFT, RIGHT) for row in given_.late(side)]
    assert (len(missed), 0) == (cluster.total("late"), cluster.total("filtered"))
    assert (len(cluster.results), 0) == (cluster.total("results"), cluster.total("stored"))
    if late is Late.SIDE:
        assert comparable(missed) == comparable({c.name: row[c.name] for c in NAMES} for row in cluster.late)


def named(node: Join, side: int, row: dict[str, Any]) -> dict[str, Any]:
    """A row of one side under the names of the join."""
    return {c.name: row[c.source] if c.side == side else None for c in node.names}


AS_OF = st.builds(
    lambda forward, strict, within: AsOf(forward, strict, 9 if forward and within is None else within),
    st.booleans(),
    st.booleans(),
    st.one_of(st.none(), st.integers(0, 40)),
)


@settings(max_examples=20_000 if SOAK else 30, deadline=None)
@given(data=st.data(), given_=sides(), window=AS_OF)
def test_as_of_joins_in_two_levels_are_the_defined_ones(data: st.DataObject, given_: Sides, window: AsOf) -> None:
    on = PREDICATES[data.draw(st.sampled_from(("every pair", "equality", "two equalities")))]
    kind = data.draw(st.sampled_from((JoinKind.INNER, JoinKind.LEFT)))
    node = joined(kind, window, on)
    cluster = Cluster(node, shards=data.draw(SHARDS), seed=data.draw(st.integers(0, 99)))
    drive(cluster, given_.batches, data.draw(TASKS), data.draw(RESTARTS))
    assert comparable(expected(node, given_)) == comparable(cluster.results)
    assert sum(len(given_.late(side)) for side in (LEFT, RIGHT)) == cluster.total("late")


ROW_WINDOWS = st.builds(LastRows, st.integers(1, 6), st.integers(1, 6))


@settings(max_examples=20_000 if SOAK else 20, deadline=None)
@given(data=st.data(), given_=sides(), window=ROW_WINDOWS)
def test_rows_by_arrival_come_left_before_right(data: st.DataObject, given_: Sides, window: LastRows) -> None:
    """Of a micro-batch, as it is not known which of two streams came first."""
    node = joined(data.draw(st.sampled_from(JoinKind)), window, data.draw(st.sampled_from((None, SAME_K))))
    cluster = Cluster(node, shards=data.draw(SHARDS), seed=data.draw(st.integers(0, 99)))
    drive(cluster, given_.batches, data.draw(TASKS), data.draw(RESTARTS))
    both: list[tuple[list[Any], ...]] = list(zip_longest(*given_.batches, fillvalue=[]))
    arrived = [(side, e) for pair in both for side in (LEFT, RIGHT) for e in pair[side] if isinstance(e, dict)]
    pairs = three_step(arrived, window, node.kind, holds(node))
    assert comparable(joined_row(node, pair) for pair in pairs) == comparable(cluster.results)
    assert 0 == cluster.total("late")


def counted(node: Node, time: str, **keys: str) -> WindowAggregate:
    named = tuple((name, Column(key)) for name, key in keys.items())
    return WindowAggregate(node, Sliding(time, 20, 10), named, (AggregateCall("n", "count"),))


def over(left: Node, right: Node, on: Expression | None, kind: JoinKind = JoinKind.INNER, low: int = -20) -> Join:
    names = joined_names([shape_of(left).schema, shape_of(right).schema], ("a", "b"))
    return Join(left, right, kind, Between(low, 25), on, names, ("a", "b"), usual_time(kind))


C = replace(B, name="c")
A_TOO = replace(A, name="a2")
BY_K = over(A, B, SAME_K)
LEFT_BY_K = over(A, B, SAME_K, JoinKind.LEFT)
BAND = PREDICATES["band"]
FEW = call("=", "g", 1)
PLANS: dict[str, tuple[Node, bool]] = {
    "a window over an equality": (counted(BY_K, "a_ts", k="a_k"), True),
    "a window over the other side of it": (counted(BY_K, "a_ts", k="b_k", g="b_g"), True),
    "a window over something else": (counted(BY_K, "a_ts", g="a_g"), False),
    "a window over everything": (counted(over(A, B, BAND), "a_ts"), False),
    "a window over rows without a partner": (counted(LEFT_BY_K, "a_ts", k="a_k"), True),
    "a window over partners that may be missing": (counted(LEFT_BY_K, "a_ts", k="b_k"), False),
    "windows joined": (over(counted(A, "ts", k="k"), counted(B, "ts", k="k", g="g"), SAME_K), True),
    "windows joined by their ends alone": (
        over(counted(A, "ts", k="k"), counted(B, "ts"), call("=", "a_window_end", "b_window_end")),
        False,
    ),
    "rows joined with windows": (over(A, counted(B, "ts", k="k"), SAME_K, JoinKind.LEFT), True),
    "a join of a join": (over(BY_K, C, call("=", "a_k", "k")), True),
    "a join of a join by another key": (over(BY_K, C, call("=", "a_x", "x")), False),
    "bands over windows": (over(counted(A, "ts", k="k"), B, call("<", "n", "x")), False),
    "a side of two streams": (over(Union((A, A_TOO)), B, BAND, JoinKind.LEFT), True),
    "a stream with itself": (over(A, A, band("a_x", "b_x", -3, 2)), True),
    "joins side by side": (Union((over(A, B, SAME_K), over(A_TOO, C, BAND, low=-5))), True),
    "filters below and above": (Filter(over(Filter(A, FEW), Filter(B, FEW), BAND), call(">", "a_x", 0)), True),
    "different results": (Distinct(BY_K), True),
    "results in order": (OrderedOutput(over(A, B, BAND)), True),
}


@pytest.mark.parametrize("name", PLANS)
@settings(max_examples=2_000 if SOAK else 10, deadline=None)
@given(data=st.data())
def test_joins_with_other_operators(name: str, data: st.DataObject) -> None:
    plan, divided = PLANS[name]
    cluster = Cluster(plan, shards=data.draw(st.integers(2, 5)), seed=data.draw(st.integers(0, 99)))
    assert divided is (cluster.bundle.jobs[0].divided.one_shard is None)
    base, cuts = data.draw(st.sampled_from((0, -60))), st.sets(st.integers(0, 20), max_size=4)
    streams = {node.name: None for node in walk(plan) if isinstance(node, Stream)}
    given_ = {one: in_time(data.draw(elements(base))) for one in streams}
    batches = {one: micro_batches(given_[one], data.draw(cuts)) for one in streams}
    read = [batches[reading[0].exchange.stream.name] for reading in cluster.readings]
    drive(cluster, read, data.draw(TASKS), data.draw(RESTARTS))
    wanted = Reference(bound(plan, given_), lambda heard: row_by_row(heard, 1)).answer(plan)
    assert comparable(wanted.results) == comparable(cluster.results)
    assert (0, wanted.rows_filtered) == (cluster.total("late"), cluster.total("filtered"))


def in_time(elements: list[Any]) -> list[Any]:
    """The same without late rows."""
    bound, made = START, []
    for element in elements:
        if isinstance(element, Punctuation):
            bound = element.value
        made.append({**element, "ts": max(bound, element["ts"])} if isinstance(element, dict) else element)
    return made


@settings(max_examples=2_000 if SOAK else 15, deadline=None)
@given(data=st.data())
def test_queries_that_run_together_read_each_stream_once(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(("equality", "band", "anything")), min_size=2, max_size=3))
    kinds = [data.draw(st.sampled_from((JoinKind.INNER, JoinKind.LEFT))) for _ in names]
    plans: list[Node] = [over(A, B, PREDICATES[name], kind) for name, kind in zip(names, kinds, strict=True)]
    plans.append(counted(A, "ts", k="k"))
    cluster = Cluster(*plans, shards=data.draw(SHARDS), seed=data.draw(st.integers(0, 99)))
    cuts = st.sets(st.integers(0, 20), max_size=4)
    given_ = {name: in_time(data.draw(elements(0))) for name in "ab"}
    assert ["a", "b"] == [reading[0].exchange.stream.name for reading in cluster.readings]
    drive(
        cluster, [micro_batches(given_[name], data.draw(cuts)) for name in "ab"], data.draw(TASKS), data.draw(RESTARTS)
    )
    for plan, found in zip(plans, cluster.given, strict=True):
        wanted = Reference(bound(plan, given_), lambda heard: row_by_row(heard, 1)).answer(plan)
        assert comparable(wanted.results) == comparable(found.results)
