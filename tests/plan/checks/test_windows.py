from __future__ import annotations

import pytest

from tests.plan.streams import counters, trades, windowed
from windrow.plan.checks.windows import attribute_of, within_of
from windrow.plan.nodes import Late
from windrow.semantics.scalars.amounts import Amount, Domain
from windrow.semantics.windows.kinds import Landmark, RowsWindow, Session, SlideByTuple, Sliding, Window


@pytest.mark.parametrize(
    ("expected", "window"),
    [(10, Sliding("time", 10, 5)), (7, Session("time", 7)), (5, Landmark("time", 5)), (3, SlideByTuple("time", 3))],
)
def test_results_are_corrected_for_the_length_of_a_window_unless_asked_otherwise(expected: int, window: Window) -> None:
    assert expected == within_of(windowed(trades(), window, late=Late.REVISE), Domain.TIME)
    asked = windowed(trades(), window, late=Late.REVISE, within=Amount.of("1 ms"))
    assert 1000 == within_of(asked, Domain.TIME)


def test_windows_are_corrected_for_whole_slides() -> None:
    for expected, given in ((30, None), (10, Amount.of(1)), (20, Amount.of(20)), (30, Amount.of(21))):
        node = windowed(counters(), Sliding("ts", 25, 10), late=Late.REVISE, within=given)
        assert expected == within_of(node, Domain.INTEGER)


def test_count_windows_are_on_no_attribute() -> None:
    assert ["time", None] == [attribute_of(Sliding("time", 10, 5)), attribute_of(RowsWindow(5, 5))]
