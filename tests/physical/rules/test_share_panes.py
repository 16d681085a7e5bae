"""Which windows share panes, and what these keep."""

from __future__ import annotations

from dataclasses import replace

from tests.engines.local.answers.test_oracle import STREAM
from windrow.physical.rules.share_panes import MOST_FINER, pane_groups, shared_node, shared_window
from windrow.plan.nodes import AggregateCall, Late, WindowAggregate
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Landmark, Sliding

X, Y, K = Column("x"), Column("y"), (("k", Column("k")),)
PLAIN = WindowAggregate(STREAM, Sliding("ts", 20, 10), K, (AggregateCall("n", "count"),))


def test_windows_join_the_first_group_they_fit() -> None:
    coarse = replace(PLAIN, window=Sliding("ts", 60, 30))
    whole = replace(PLAIN, keys=())
    half = replace(whole, window=Sliding("ts", 5, 5))
    sides = replace(PLAIN, late=Late.SIDE)
    assert [[PLAIN, coarse], [whole, half]] == pane_groups([PLAIN, sides, whole, coarse, half])


def test_panes_may_be_so_much_finer_and_no_more() -> None:
    size = 10 * MOST_FINER
    long = replace(PLAIN, window=Sliding("ts", size, size))
    near = replace(long, window=Sliding("ts", size, size, origin=10))
    assert [[long, near]] == pane_groups([long, near])
    assert [] == pane_groups([long, replace(long, window=Sliding("ts", size, size, origin=5))])


def test_no_window_begins_or_ends_inside_a_shared_pane() -> None:
    assert Sliding("ts", 5, 5) == shared_window([Sliding("ts", 20, 10), Sliding("ts", 30, 15)])
    assert Sliding("ts", 2, 2, 6) == shared_window([Sliding("ts", 20, 10, 6), Landmark("ts", 30, 4)])


def test_equal_aggregates_are_kept_once() -> None:
    sums = replace(PLAIN, aggregates=(AggregateCall("a", "sum", X), AggregateCall("b", "max", Y)))
    again = replace(sums, window=Sliding("ts", 5, 5), aggregates=(AggregateCall("other", "sum", X),))
    assert ["sum", "max"] == [call.function for call in shared_node([sums, again]).aggregates]
