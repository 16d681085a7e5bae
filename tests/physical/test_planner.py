"""Panes unless RANGE and SLIDE share next to nothing, or statistics say that something else costs less."""

from __future__ import annotations

import re
from dataclasses import replace

import pyarrow as pa
import pytest

from windrow.errors import UnsupportedError
from windrow.operators.state.layout import Layout
from windrow.physical.costs import Statistics, estimates
from windrow.physical.explain.plans import explain
from windrow.physical.planner import CLEARLY, choose, decided, kept_by
from windrow.plan.nodes import AggregateCall, Filter, Late, Strategy, Stream, Union, WindowAggregate, walk
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Emit, Landmark, RowsWindow, Session, Sliding, Window

STREAM = Stream("s", pa.schema([("ts", pa.timestamp("us"))]), "ts")
NUMBERS = Stream("s", pa.schema([("ts", pa.int64())]), "ts")


@pytest.mark.parametrize(
    ("length", "slide", "strategy"),
    [
        (600_000_000, 60_000_000, Strategy.PANES),
        (3_600_000_000, 7_000_001, Strategy.WID),
        (3_600_000_000, 1_001, Strategy.PANES),
        (60, 7, Strategy.PANES),
    ],
)
def test_panes_unless_they_are_too_small(length: int, slide: int, strategy: Strategy) -> None:
    node = WindowAggregate(STREAM, Sliding("ts", length, slide), (), (AggregateCall("n", "count"),))
    assert strategy is choose(node).strategy


def test_the_reason_names_what_they_share() -> None:
    node = WindowAggregate(STREAM, Sliding("ts", 3_600_000_000, 7_000_001), (), (AggregateCall("n", "count"),))
    assert (
        "RANGE and SLIDE share only 1 us, too small for panes: one partial for each open window instead",
    ) == choose(node).reasons


def test_windows_of_rows_have_panes_of_rows() -> None:
    calls = (AggregateCall("n", "count"), AggregateCall("m", "median", Column("ts")))
    chosen = choose(WindowAggregate(NUMBERS, RowsWindow(10, 4), (), calls))
    assert Strategy.PANES is chosen.strategy
    assert (
        "each row goes into one pane of 2 rows, whatever RANGE/SLIDE is; a window is 5 panes",
        "count(*) can subtract: a running difference",
        "median(ts) keeps values: rows, sorted for each window",
    ) == chosen.reasons


@pytest.mark.parametrize("strategy", [Strategy.WID, Strategy.BUFFER, Strategy.ADAPTIVE])
def test_windows_of_rows_have_one_strategy(strategy: Strategy) -> None:
    node = WindowAggregate(NUMBERS, RowsWindow(5, 5), (), (AggregateCall("n", "count"),), strategy=strategy)
    message = r"\A`strategy` must be auto or panes for windows of rows, got .*\. Hint: leave the strategy out\.\Z"
    with pytest.raises(UnsupportedError, match=message):
        choose(node)


def test_windows_of_rows_are_not_corrected() -> None:
    node = WindowAggregate(NUMBERS, RowsWindow(5, 5, (), "ts"), (), (AggregateCall("n", "count"),), late=Late.REVISE)
    message = r"\A`late` is not available for windows of rows \(one of drop, side\), got revise\. Hint: .*\Z"
    with pytest.raises(UnsupportedError, match=message):
        choose(node)


def test_sessions_are_corrected_unless_only_complete_ones_are_reported() -> None:
    node = WindowAggregate(NUMBERS, Session("ts", 5), (), (AggregateCall("n", "count"),), late=Late.REVISE)
    assert Strategy.AUTO is choose(node).strategy
    message = (
        r"\A`late` is not available for EMIT COMPLETE of session windows \(one of drop, side\), got revise\. "
        r"Hint: late='side' gives the late rows as a second output\.\Z"
    )
    with pytest.raises(UnsupportedError, match=message):
        choose(replace(node, emit=Emit.COMPLETE))


def adaptive(window: Window, late: Late = Late.DROP) -> WindowAggregate:
    calls = (AggregateCall("n", "count"),)
    return WindowAggregate(STREAM, window, (), calls, late=late, strategy=Strategy.ADAPTIVE)


def test_adaptive_says_when_a_group_switches() -> None:
    asked, told = choose(adaptive(Sliding("ts", 600_000_000, 60_000_000))).reasons
    assert "asked for with STRATEGY adaptive" == asked
    assert told.startswith("a group keeps its rows, about 3 bytes each, while they cost less than its cells, about 137")


def test_adaptive_is_refused_where_rows_never_leave() -> None:
    with pytest.raises(
        UnsupportedError, match=r"^`strategy` must be auto, panes or buffer for landmark windows, got adaptive"
    ):
        choose(adaptive(Landmark("ts", 10)))


def test_adaptive_is_refused_where_results_are_corrected() -> None:
    with pytest.raises(UnsupportedError, match=r"^`strategy` must be panes or auto with LATE REVISE, got adaptive"):
        choose(adaptive(Sliding("ts", 10, 5), Late.REVISE))


def grouped(window: Sliding, *functions: str, strategy: Strategy = Strategy.AUTO) -> WindowAggregate:
    calls = tuple(AggregateCall(f"a{i}", f, Column("ts")) for i, f in enumerate(functions))
    return WindowAggregate(NUMBERS, window, (("k", Column("ts")),), calls, strategy=strategy)


ONCE, OFTEN = Statistics(groups=1000, rows=0.01), Statistics(groups=1000, rows=1000)


@pytest.mark.parametrize(
    ("expected", "window", "statistics"),
    [
        (Strategy.ADAPTIVE, Sliding("ts", 10, 10), ONCE),
        (Strategy.PANES, Sliding("ts", 10, 10), OFTEN),
        (Strategy.PANES, Sliding("ts", 1000, 10), OFTEN),
        (Strategy.PANES, Sliding("ts", 10_000, 10), ONCE),
        (Strategy.WID, Sliding("ts", 10_000_019, 10_000_000), Statistics(1000, 0.001)),
    ],
)
def test_statistics_choose_what_costs_least(expected: Strategy, window: Sliding, statistics: Statistics) -> None:
    assert expected is choose(grouped(window, "sum"), statistics).strategy


def test_memory_counts_where_there_is_much_of_it() -> None:
    """Small groups beside a few large ones: adaptive takes as long as panes, in a fraction of their state."""
    window, kinds = Sliding("ts", 100, 10), ((1.0, 0.01), (0.01, 200.0))
    few, many = (
        Statistics(1.01 * n, 2.0, kinds=tuple((n * groups, rows) for groups, rows in kinds)) for n in (1e3, 1e7)
    )
    found = estimates(window, kept_by(grouped(window, "sum")), many)
    assert found[Strategy.ADAPTIVE].time > CLEARLY * found[Strategy.PANES].time
    assert Strategy.PANES is choose(grouped(window, "sum"), few).strategy
    assert Strategy.ADAPTIVE is choose(grouped(window, "sum"), many).strategy


def test_the_reason_tells_the_estimates() -> None:
    told = choose(grouped(Sliding("ts", 10, 10), "sum"), ONCE).reasons
    assert 1 == len(told)
    pattern = (
        r"for 1,000 groups with 0\.01 rows a pane it is estimated to take \S+ us a window, \S+ kB of state; panes: "
    )
    assert re.match(pattern, told[0])
    first, *others = choose(grouped(Sliding("ts", 10, 10), "sum"), OFTEN).reasons
    assert first.startswith("no other is clearly better in time for 1,000 groups with 1e+03 rows a pane: ")
    assert ["RANGE equals SLIDE: each window is one pane"] == others


def test_what_is_asked_for_or_keeps_values_is_not_chosen_by_cost() -> None:
    tumbling = Sliding("ts", 10, 10)
    assert Strategy.WID is choose(grouped(tumbling, "sum", strategy=Strategy.WID), ONCE).strategy
    assert Strategy.PANES is choose(grouped(tumbling, "sum", "median"), ONCE).strategy


def test_a_plan_is_decided_at_every_depth() -> None:
    node = grouped(Sliding("ts", 10, 10), "sum")
    plan = Filter(Union((node, node)), Column("k"))
    fixed = decided(plan, ONCE)
    assert [Strategy.ADAPTIVE] * 2 == [n.strategy for n in walk(fixed) if isinstance(n, WindowAggregate)]
    assert plan is decided(plan, None)


KINDS: dict[str, pa.DataType] = {"ts": pa.int64(), "x": pa.int64(), "y": pa.float64(), "k": pa.string()}
BY_NUMBER = Stream("s", pa.schema(KINDS), "ts")


def plan(*calls: tuple[str, str | None], window: Window | None = None) -> WindowAggregate:
    named = [AggregateCall(f"a{i}", f, None if c is None else Column(c)) for i, (f, c) in enumerate(calls)]
    return WindowAggregate(BY_NUMBER, window or Sliding("ts", 60, 10), (("k", Column("k")),), tuple(named))


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
    assert Layout(node.aggregates, BY_NUMBER.schema).weights == (shape.adds, shape.maxs, shape.pairs)


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
