"""What every window algorithm is, and what is refused where one has no meaning for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from windrow.errors import InternalError
from windrow.operators.aggregate.algorithm import windowing_of
from windrow.operators.aggregate.grouping import Grouping
from windrow.operators.state.cells import Cells
from windrow.operators.windows.base import Closed, Windower
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import AggregateCall, Strategy, Stream, WindowAggregate
from windrow.semantics.progress.policies import External
from windrow.semantics.windows.kinds import Landmark, RowsWindow, Session, SlideByTuple, Sliding, Window

STREAM = Stream("s", pa.schema([("t", pa.int64())]), "t", External())


def windower_of(window: Window, strategy: Strategy = Strategy.PANES) -> Windower:
    node = WindowAggregate(STREAM, window, (), (AggregateCall("n", "count"),))
    shape = shape_of(STREAM)
    _, _, make = windowing_of(node, shape, Grouping(node, shape))
    return make(strategy)


def closed_of(windower: Windower, *numbers: int) -> Closed:
    codes = np.zeros(len(numbers), np.int32)
    return Closed(Cells(np.array(numbers), codes, windower.plan.layout.empty(len(numbers))))


@pytest.mark.parametrize("strategy", [strategy for strategy in Strategy if strategy is not Strategy.AUTO])
def test_numbers_of_sliding_windows(strategy: Strategy) -> None:
    windower = windower_of(Sliding("t", 10, 5, origin=1), strategy)
    placed = windower.placed(closed_of(windower, 2, 4))
    assert ([1, 11], [11, 21]) == (np.asarray(placed.starts).tolist(), np.asarray(placed.ends).tolist())
    assert (26, 10) == (windower.end_after(4), windower.length)
    assert [False, True] == windower.is_complete(placed, first=5).tolist()


def test_landmark_windows_have_no_beginning() -> None:
    windower = windower_of(Landmark("t", 10))
    placed = windower.placed(closed_of(windower, 3))
    assert (None, [30]) == (placed.starts, np.asarray(placed.ends).tolist())
    assert [True] == windower.is_complete(placed, first=25).tolist()


def test_windows_of_rows_are_complete_when_they_are_full() -> None:
    windower = windower_of(RowsWindow(4, 2))
    assert [False, True] == windower.is_complete(closed_of(windower, 1, 2), first=0).tolist()


@pytest.mark.parametrize(
    "ask", [lambda one: one.ends_of(np.array([1])), lambda one: one.end_after(1)], ids=["ends", "end"]
)
def test_sessions_have_no_numbers(ask: Callable[[Windower], Any]) -> None:
    sessions = windower_of(Session("t", 3))
    assert not sessions.has_gaps
    with pytest.raises(InternalError, match=r"\A`SessionWindows` must number its windows"):
        ask(sessions)


@pytest.mark.parametrize("window", [Session("t", 3), SlideByTuple("t", 3), RowsWindow(3, 1)], ids=str)
def test_early_results_come_from_panes_or_rows(window: Window) -> None:
    windower = windower_of(window)
    with pytest.raises(InternalError, match=rf"\A`{type(windower).__name__}` must have panes or rows to look into"):
        windower.open_answers(1)
