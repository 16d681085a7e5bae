"""Panes unless RANGE and SLIDE share next to nothing."""

from __future__ import annotations

import pyarrow as pa
import pytest

from windrow.errors import UnsupportedError
from windrow.plan.nodes import AggregateCall, Late, Strategy, Stream, WindowAggregate
from windrow.plan.planner import choose
from windrow.semantics.expressions import Column
from windrow.semantics.windows import Landmark, Rows, Sliding, Window

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
    chosen = choose(WindowAggregate(NUMBERS, Rows(10, 4), (), calls))
    assert Strategy.PANES is chosen.strategy
    assert (
        "each row goes into one pane of 2 rows, whatever RANGE/SLIDE is; a window is 5 panes",
        "count(*) can subtract: a running difference",
        "median(ts) keeps values: rows, sorted for each window",
    ) == chosen.reasons


@pytest.mark.parametrize("strategy", [Strategy.WID, Strategy.BUFFER])
def test_windows_of_rows_have_one_strategy(strategy: Strategy) -> None:
    node = WindowAggregate(NUMBERS, Rows(5, 5), (), (AggregateCall("n", "count"),), strategy=strategy)
    message = r"\A`strategy` must be auto or panes for windows of rows, got .*\. Hint: leave the strategy out\.\Z"
    with pytest.raises(UnsupportedError, match=message):
        choose(node)


def test_windows_of_rows_are_not_corrected() -> None:
    node = WindowAggregate(NUMBERS, Rows(5, 5, (), "ts"), (), (AggregateCall("n", "count"),), late=Late.REVISE)
    message = r"\A`late` is not available for windows of rows \(one of drop, side\), got revise\. Hint: .*\Z"
    with pytest.raises(UnsupportedError, match=message):
        choose(node)


def adaptive(window: Window, late: Late = Late.DROP) -> WindowAggregate:
    calls = (AggregateCall("n", "count"),)
    return WindowAggregate(STREAM, window, (), calls, late=late, strategy=Strategy.ADAPTIVE)


def test_adaptive_says_when_a_group_switches() -> None:
    asked, told = choose(adaptive(Sliding("ts", 600_000_000, 60_000_000))).reasons
    assert "asked for with STRATEGY adaptive" == asked
    assert told.startswith("a group keeps its rows, about 3 bytes each, while they cost less than its cells, about 108")


def test_adaptive_is_refused_where_rows_never_leave() -> None:
    with pytest.raises(
        UnsupportedError, match=r"^`strategy` must be auto, panes or buffer for landmark windows, got adaptive"
    ):
        choose(adaptive(Landmark("ts", 10)))


def test_adaptive_is_refused_where_results_are_corrected() -> None:
    with pytest.raises(UnsupportedError, match=r"^`strategy` must be panes or auto with LATE REVISE, got adaptive"):
        choose(adaptive(Sliding("ts", 10, 5), Late.REVISE))
