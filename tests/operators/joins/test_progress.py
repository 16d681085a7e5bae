"""Which times rows meet, on whole arrays: what `semantics.joins` says of one."""

from __future__ import annotations

import numpy as np
import pytest

from windrow.operators.joins.progress import first_met, met_by
from windrow.semantics.joins import LEFT, RIGHT, AsOf, Between, SameWindow, TimeWindow
from windrow.semantics.progress.policies import END, START

WINDOWS: list[TimeWindow] = [
    Between(-3, 5),
    Between(2, 9),
    SameWindow(7, 3),
    AsOf(),
    AsOf(forward=True, strict=True, within=4),
    AsOf(strict=True),
    AsOf(forward=True),
]
TIMES = np.array([-(1 << 60), -8, -1, 0, 3, 4, 10, 1 << 60])


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("side", [LEFT, RIGHT])
def test_arrays_meet_what_single_times_meet(window: TimeWindow, side: int) -> None:
    first, last = met_by(window, side, TIMES)
    meets = window.right_of if side == LEFT else window.left_of
    assert list(zip(first.tolist(), last.tolist(), strict=True)) == [meets(int(t)) for t in TIMES]


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_the_ends_of_time_meet_each_other(window: TimeWindow) -> None:
    assert first_met(window, LEFT, START) == START
    assert first_met(window, RIGHT, END) == END
