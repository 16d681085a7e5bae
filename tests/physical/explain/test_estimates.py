"""State columns as the planner counts them, and estimates in words."""

from __future__ import annotations

import pyarrow as pa
import pytest

from windrow.operators.state.layout import Layout
from windrow.physical.costs import Statistics
from windrow.physical.explain.estimates import kept_by
from windrow.physical.explain.plans import explain
from windrow.plan.nodes import AggregateCall, Stream, WindowAggregate
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Session, Sliding, Window

KINDS: dict[str, pa.DataType] = {"ts": pa.int64(), "x": pa.int64(), "y": pa.float64(), "k": pa.string()}
STREAM = Stream("s", pa.schema(KINDS), "ts")


def plan(*calls: tuple[str, str | None], window: Window | None = None) -> WindowAggregate:
    named = [AggregateCall(f"a{i}", f, None if c is None else Column(c)) for i, (f, c) in enumerate(calls)]
    return WindowAggregate(STREAM, window or Sliding("ts", 60, 10), (("k", Column("k")),), tuple(named))


@pytest.mark.parametrize(
    "calls",
    [
        [("count", None)],
        [("sum", "x"), ("avg", "x"), ("max", "x")],
        [("sum", "y"), ("variance", "y"), ("min", "y"), ("max", "y")],
        [("variance", "x"), ("first", "x"), ("last", "x"), ("first", "y")],
        [("median", "x"), ("count_distinct", "k")],
    ],
)
def test_the_columns_are_those_of_the_layout(calls: list[tuple[str, str | None]]) -> None:
    node = plan(*calls)
    shape = kept_by(node)
    assert Layout(node.aggregates, STREAM.schema).weights == (shape.adds, shape.maxs, shape.pairs)


def test_values_and_arguments_are_counted_once() -> None:
    shape = kept_by(plan(("median", "x"), ("quantile", "x"), ("count_distinct", "k"), ("count", None)))
    assert (2, 2) == (shape.arguments, shape.values)


def test_estimates_come_with_statistics_only() -> None:
    node = plan(("sum", "x"))
    assert "Estimates" not in explain(node)
    lines = explain(node, Statistics(groups=1000, rows=2.0)).splitlines()
    first = lines.index("Estimates") + 1
    found = [line.partition(":")[0] for line in lines[first : first + 4]]
    assert ["- wid", "- panes", "- buffer", "- adaptive"] == found


def test_sessions_have_one_algorithm_and_no_estimates() -> None:
    assert "Estimates" not in explain(plan(("sum", "x"), window=Session("ts", 5)), Statistics(10, 1.0))
