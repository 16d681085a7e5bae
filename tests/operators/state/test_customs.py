"""Panes of user aggregates, in whatever order they come to the window."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import windrow as wr
from windrow.aggregates.kinds.base import Custom
from windrow.operators.state.customs import CustomCells, CustomState, PanedStates


class Total(wr.UserAggregate):
    name = "test_customs_total"
    result = pa.int64()

    def lift(self, values: Any) -> Any:
        return (values.astype(np.int64),)

    def combine(self, left: Any, right: Any) -> Any:
        return (left[0] + right[0],)

    def finish(self, state: Any, parameters: tuple[Any, ...]) -> Any:
        return state[0]


def cells(places: list[int], values: list[int]) -> CustomCells:
    state = CustomState(Total(), (np.array(values, np.int64),))
    return CustomCells(np.array(places, np.int64), np.zeros(len(places), np.int32), state)


def test_a_late_cell_comes_before_the_panes_of_its_window() -> None:
    """As after a restore, which knows closed panes but not which of them are in the window."""
    store = PanedStates(Custom(None, Total()), 4, forever=False)
    store.add(cells([2, 3, 4, 5], [1, 10, 100, 1000]))
    store.close(6)
    store.amend(cells([5], [7]))
    found = []
    for end in (6, 7, 8, 9):
        found.append(int(store.slide_to(end).state.columns[0][0]))
    assert [1118, 1117, 1107, 1007] == found


def test_stretches_of_any_length_and_overlap() -> None:
    random = np.random.default_rng(2)
    values = random.integers(-9, 9, 100)
    lows = random.integers(0, 100, 50)
    highs = np.minimum(lows + random.integers(0, 70, 50), 100)
    numbers, states = CustomState(Total(), (values,)).over(lows, highs)
    assert np.flatnonzero(highs > lows).tolist() == numbers.tolist()
    assert [int(values[lows[i] : highs[i]].sum()) for i in numbers] == states.columns[0].tolist()
    assert 0 == len(CustomState(Total(), (values,)).over(lows, lows)[1])
