"""Panes unless RANGE and SLIDE share next to nothing."""

from __future__ import annotations

import pyarrow as pa
import pytest

from windrow.plan.nodes import AggregateCall, Strategy, Stream, WindowAggregate
from windrow.plan.planner import choose
from windrow.semantics.windows import Sliding

STREAM = Stream("s", pa.schema([("ts", pa.timestamp("us"))]), "ts")


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
