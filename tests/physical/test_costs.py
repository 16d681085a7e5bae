"""The formulas of the thesis, and the memory model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from windrow.errors import ConfigurationError
from windrow.physical.costs import (
    MEASURED,
    StateShape,
    Statistics,
    calibrated,
    config_file,
    estimates,
    keep,
    state_bytes,
    thesis_time,
)
from windrow.plan.nodes import Strategy
from windrow.semantics.windows.kinds import Sliding

CONSTANTS = replace(MEASURED, row_to_pane=2, pane_out=3, pane_to_window=5, row_to_window=7)
DENSE = Statistics(groups=10, rows=1000)
"""So many rows that every pane has some of every group: G = 10, T/P = 10,000."""


@pytest.mark.parametrize(
    ("expected", "panes", "differential"),
    [
        (2 * 10_000 + 3 * 10 + 5 * 4 * 10, True, False),  # Eq. 6.1: a T/P + b G + c P G
        (2 * 10_000 + 3 * 10 + 2 * 5 * 10, True, True),  # Eq. 6.2: a T/P + b G + 2 c G SLIDE/GCD
        (7 * 40_000, False, False),  # Eq. 6.3: a' T
        (2 * 7 * 10_000, False, True),  # Eq. 6.4: 2 a' SLIDE T/RANGE
    ],
)
def test_the_formulas_of_the_thesis(expected: float, panes: bool, differential: bool) -> None:
    window = Sliding("ts", 40, 10)
    found = thesis_time(window, DENSE, panes=panes, differential=differential, constants=CONSTANTS)
    assert expected == pytest.approx(found)


def test_a_slide_of_several_panes_closes_as_many() -> None:
    """RANGE 9 SLIDE 6: panes of 3, two a slide."""
    found = thesis_time(Sliding("ts", 9, 6), DENSE, panes=True, differential=True, constants=CONSTANTS)
    assert 2 * (2 * 10_000 + 3 * 10) + 2 * 5 * 10 * 2 == pytest.approx(found)


def test_few_rows_are_less_than_cells_and_many_are_more() -> None:
    memory = StateShape(adds=2, arguments=1).memory(Sliding("ts", 10, 10))
    surplus = memory.surplus(np.array([1, 1000]), np.array([1, 1]))
    assert surplus[0] < 0.5 < 1 < surplus[1]


@pytest.mark.parametrize("shape", [StateShape(), StateShape(adds=8, pairs=4, arguments=3)])
@pytest.mark.parametrize("window", [Sliding("ts", 10, 10), Sliding("ts", 60, 10)])
def test_the_least_rows_are_where_the_burden_begins(window: Sliding, shape: StateShape) -> None:
    memory = shape.memory(window)
    least = memory.least_rows(1.0)
    assert 1.0 == pytest.approx(memory.burden(np.array([least]), np.array([1]))[0])


def test_values_that_weigh_more_than_rows_leave_a_group_lazy() -> None:
    memory = StateShape(arguments=1, values=1).memory(Sliding("ts", 10, 10))
    assert float("inf") == memory.least_rows(1.0)
    assert memory.burden(np.array([10**6]), np.array([1]))[0] < 1


def test_rows_that_are_read_for_many_windows_are_a_burden_though_they_are_less() -> None:
    rows = np.array([1000])
    few, many = (StateShape().memory(Sliding("ts", 1000, slide)) for slide in (500, 1))
    assert few.surplus(rows, rows)[0] < 1
    assert few.burden(rows, rows)[0] < 1 < many.burden(rows, rows)[0]


def test_a_known_weight_of_rows_is_taken() -> None:
    assert 17.0 == StateShape().memory(Sliding("ts", 10, 5), row=17.0).row


@pytest.mark.parametrize("rows", [0.01, 0.3, 5.0, 500.0])
@pytest.mark.parametrize("window", [Sliding("ts", 10, 10), Sliding("ts", 100, 10), Sliding("ts", 9, 6)])
def test_adaptive_never_takes_more_than_panes(window: Sliding, rows: float) -> None:
    found = state_bytes(window, StateShape(adds=2, maxs=1, arguments=2), Statistics(1000, rows))
    assert found[Strategy.ADAPTIVE] <= found[Strategy.PANES]


def test_wid_grows_with_range_over_slide_and_panes_do_not() -> None:
    stats = Statistics(groups=1000, rows=0.01)
    few, many = (state_bytes(Sliding("ts", 600, slide), StateShape(), stats) for slide in (60, 10))
    assert 5 * few[Strategy.WID] < many[Strategy.WID]


def test_windows_that_stay_open_longer_keep_more_rows() -> None:
    window = Sliding("ts", 100, 10)
    at_once, lagging = (state_bytes(window, StateShape(), Statistics(100, 3.0, lag)) for lag in (0.0, 5.0))
    assert 15 / 10 == pytest.approx(lagging[Strategy.BUFFER] / at_once[Strategy.BUFFER])


def test_every_strategy_has_an_estimate() -> None:
    found = estimates(Sliding("ts", 600, 10), StateShape(), Statistics(1000, 20.0))
    assert {Strategy.PANES, Strategy.WID, Strategy.BUFFER, Strategy.ADAPTIVE} == set(found)
    assert found[Strategy.PANES].time < found[Strategy.WID].time < found[Strategy.BUFFER].time
    assert found[Strategy.ADAPTIVE] == replace(found[Strategy.PANES], memory=found[Strategy.ADAPTIVE].memory)


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def test_without_a_file_they_are_the_defaults() -> None:
    assert MEASURED == calibrated()


def test_what_was_kept_is_read(folder: Path) -> None:
    mine = replace(MEASURED, row_to_pane=1.25)
    assert folder / "windrow" / "costs.json" == keep(mine)
    assert mine == calibrated()


@pytest.mark.parametrize("text", ["no JSON", "{}", "[]", '{"row_to_pane": null}'])
def test_a_file_of_something_else_is_refused(text: str) -> None:
    keep(MEASURED)
    config_file().write_text(text)
    with pytest.raises(
        ConfigurationError, match=r"^`costs.json` must be what `windrow calibrate` wrote, got .*costs.json. Hint: "
    ):
        calibrated()
