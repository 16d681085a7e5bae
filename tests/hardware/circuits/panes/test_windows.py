"""An engine fed step by step in Amaranth's simulator: small, without a compiler, every way from panes to windows."""

from __future__ import annotations

import pytest

from tests.hardware.circuits.panes.stepping import ALL, Front, Row, design_of, random_front, simulated
from windrow.hardware.circuits.panes.engine import PaneEngine
from windrow.hardware.design import WindowLevel, WindowQuery

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
