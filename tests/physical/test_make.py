"""From logical plans to physical ones: every node is decided on, and what cannot be is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.engines.local.answers.test_oracle import STREAM
from windrow.errors import ConfigurationError
from windrow.physical.how import Flush, How, When
from windrow.physical.make import make, make_divided
from windrow.physical.nodes import (
    LastRowsWindow,
    PanedWindow,
    Read,
    SessionWindow,
    SharedPanes,
    SmoothedWindow,
    TrialWindow,
)
from windrow.plan.nodes import AggregateCall, Late, WindowAggregate
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import RowsWindow, Session, Sliding

PLAIN = WindowAggregate(STREAM, Sliding("ts", 20, 10), (("k", Column("k")),), (AggregateCall("n", "count"),))
LONGER = replace(PLAIN, window=Sliding("ts", 60, 30))
SLOW = Flush(When.SLOW)


@pytest.mark.parametrize(
    ("expected", "node", "how"),
    [
        (PanedWindow, PLAIN, How()),
        (TrialWindow, PLAIN, How(trial=True)),
        (PanedWindow, replace(PLAIN, late=Late.REVISE), How(trial=True)),
        (SmoothedWindow, PLAIN, How(trial=True, flush=SLOW)),
        (SessionWindow, replace(PLAIN, window=Session("ts", 5)), How(trial=True)),
        (LastRowsWindow, replace(PLAIN, window=RowsWindow(5, 5)), How()),
    ],
)
def test_the_way_depends_on_the_window_and_on_what_the_engine_asks_for(
    expected: type, node: WindowAggregate, how: How
) -> None:
    (answer,) = make([node], how)
    assert expected is type(answer.inputs[0])


def test_equal_queries_share_everything_but_their_answer() -> None:
    first, second = make([PLAIN, replace(PLAIN, late_chosen=True)])
    assert first is not second
    assert first.inputs[0] is second.inputs[0]


def test_queries_that_share_panes_are_computed_by_panes_whatever_the_first_rows_would_say() -> None:
    first, second = (plan.inputs[0] for plan in make([PLAIN, LONGER], How(trial=True)))
    assert isinstance(first, PanedWindow)
    assert ("it shares panes with other queries",) == first.reasons == second.reasons
    (panes,) = first.inputs
    assert isinstance(panes, SharedPanes)
    assert panes is second.inputs[0]
    assert 10 == panes.pane


def test_a_stream_hears_all_queries_and_those_over_several_sources_first() -> None:
    (read,) = {id(node): node for plan in make([PLAIN, LONGER]) for node in plan.inputs[0].inputs[0].inputs}.values()
    assert isinstance(read, Read)
    assert [10, 30] == [grid.step for grid in read.grids if grid is not None]
    assert not read.leads


def test_divided_queries_share_nothing_inside_their_shards() -> None:
    first, second = make_divided([PLAIN, PLAIN])
    assert first == second
    assert first.high is not second.high
    assert first.exchanges[0].merging is not None


def test_what_cannot_be_smoothed_is_refused() -> None:
    message = r"\A`flush` has nothing to smooth: session windows have no panes, got slow\. Hint: .*\Z"
    with pytest.raises(ConfigurationError, match=message):
        make([replace(PLAIN, window=Session("ts", 5))], How(flush=SLOW))
