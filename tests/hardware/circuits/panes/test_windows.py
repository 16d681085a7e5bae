"""An engine fed step by step in Amaranth's simulator: small, without a compiler, every way from panes to windows."""

from __future__ import annotations

import pytest

from tests.hardware.circuits.panes.stepping import (
    ALL,
    Front,
    Row,
    X,
    design_of,
    overflows,
    random_front,
    simulated,
    simulated_in_turn,
)
from windrow.hardware.circuits.panes.engine import PaneEngine
from windrow.hardware.design import CircuitPart, Function, WindowLevel, WindowQuery

SHAPES = {
    "one pane": WindowQuery(3, 3, 4, ALL),
    "a gap between windows": WindowQuery(2, 5, 4, ALL),
    "two panes": WindowQuery(6, 3, 0, ALL, generous=False),
    "two panes of a slide": WindowQuery(7, 3, 5, ALL),
    "stacks": WindowQuery(26, 2, 2, ALL),
    "stacks of an odd number": WindowQuery(27, 4, 2, ALL),
    "groups": WindowQuery(9, 2, 2, ALL[1:3], groups=3),
}


@pytest.mark.parametrize("level", WindowLevel)
@pytest.mark.parametrize("name", SHAPES)
def test_windows_equal_the_brute_force(name: str, level: WindowLevel) -> None:
    design = design_of(SHAPES[name], level)
    front = random_front(design, 1, 150, closes=0.5)
    assert front.outcomes == simulated(PaneEngine(design, SHAPES[name]), front, seed=2, waits=0.3)


@pytest.mark.parametrize("level", WindowLevel)
def test_a_late_row_counts_in_windows_that_are_open_and_in_no_other(level: WindowLevel) -> None:
    """A row at 0, and another one for its pane when two of the four windows have closed."""
    query = WindowQuery(4, 1, 0, ALL[:2])
    design = design_of(query, level)
    front = Front(design)
    front.row(Row(0, 0, 1))
    front.close()
    front.close()
    assert front.row(Row(0, 0, 5))
    front.finish()
    assert [(1, 0, 1, 1), (2, 0, 1, 1), (3, 0, 2, 6), (4, 0, 2, 6)] == front.outcomes
    assert front.outcomes == simulated(PaneEngine(design, query), front)


@pytest.mark.parametrize("level", WindowLevel)
def test_a_row_before_the_first_promise_counts_in_the_first_window(level: WindowLevel) -> None:
    query = WindowQuery(4, 1, 0, ALL[:1])
    design = design_of(query, level)
    front = Front(design)
    assert front.row(Row(-2, 0, 1))
    front.finish()
    assert [(1, 0, 1), (2, 0, 1)] == front.outcomes
    assert front.outcomes == simulated(PaneEngine(design, query), front)


@pytest.mark.parametrize("level", WindowLevel)
def test_nothing_of_a_stream_is_left_after_a_reset(level: WindowLevel) -> None:
    """Block RAM keeps its words over a reset; late rows reach panes that have not been written since."""
    query = SHAPES["stacks"]
    design = design_of(query, level)
    fronts = tuple(random_front(design, seed, 80, closes=0.4, late=0.5) for seed in range(2))
    assert [front.outcomes for front in fronts] == simulated_in_turn(PaneEngine(design, query), fronts)


@pytest.mark.parametrize("level", WindowLevel)
def test_a_sum_that_does_not_fit_is_counted(level: WindowLevel) -> None:
    """Two panes of 100 each are too much for a signed byte, though each of them fits; without the second one, not."""
    query = WindowQuery(2, 1, 0, (CircuitPart(Function.SUM, X, 8, signed=True),))
    design = design_of(query, level)
    for value, expected in ((100, True), (20, False)):
        front = Front(design)
        for time in range(2):
            front.row(Row(time, 0, value))
            front.close()
        front.finish()
        assert expected == overflows(PaneEngine(design, query), front)
