from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given

from tests import strategies
from windrow.semantics.oracle.arrival import arrivals
from windrow.semantics.oracle.placement import Placement, place
from windrow.semantics.progress.policies import Punctuation
from windrow.semantics.windows.kinds import SlideBy, SlideByTuple, Sliding, Window


def placed(elements: list[Any], window: Window, within: int | None = 0, lateness: str = "generous") -> Placement:
    arrived, _, _ = arrivals(elements, window, (), None)
    return place(window, arrived, within=within, lateness=lateness)


@given(strategies.elements(late=False), strategies.windows())
def test_without_late_rows_the_extents_are_those_of_the_definition(elements: list[Any], window: Window) -> None:
    rows = [element for element in elements if not isinstance(element, Punctuation)]
    found = placed(elements, window)
    assert {} == found.missed
    expected = {wid: window.extent(rows, wid) for wid in window.windows(rows)}
    nonempty = {wid: extent for wid, extent in expected.items() if extent}
    assert nonempty == {wid: sorted(extent) for (_, wid), extent in found.extents.items()}


@given(strategies.elements(), strategies.windows())
def test_waiting_forever_misses_nothing(elements: list[Any], window: Window) -> None:
    rows = [element for element in elements if not isinstance(element, Punctuation)]
    found = placed(elements, window, within=None)
    assert placed(rows, window) == replace(found, late=set())


def test_waiting_delays_the_bound() -> None:
    #  bound 20, window [0, 10): missed, unless it waits more than 10 longer
    elements = [Punctuation(20), {"ts": 5}]
    assert {0: (1,)} == placed(elements, Sliding("ts", 10, 10), within=10).missed
    assert {} == placed(elements, Sliding("ts", 10, 10), within=11).missed


def test_a_late_row_closes_no_slide_by_tuple_window() -> None:
    #  t:  4  8 | bound 7 | 5   9     5 is late: it missed its own window and no other; (9 - 5, 9] is open and holds it
    elements = [{"ts": 4}, {"ts": 8}, Punctuation(7), {"ts": 5}, {"ts": 9}]
    found = placed(elements, SlideByTuple("ts", range=5))
    assert [(4, 0), (8, 1), (9, 2)] == sorted(wid for _, wid in found.extents)
    assert [0, 1, 2] == found.extents[(), (8, 1)]
    assert [(5, 5)] == list(found.missed[2])


def test_late_rows_do_not_count_towards_a_slide() -> None:
    elements = [{"ts": 4}, Punctuation(7), {"ts": 5}, {"ts": 9}]
    found = placed(elements, SlideByTuple("ts", range=5, every=2, by=SlideBy.RANK))
    assert [(9, 1)] == [wid for _, wid in found.extents]
    assert [1, 2] == found.extents[(), (9, 1)]


def test_a_row_a_whole_range_below_the_bound_missed_the_window_it_would_have_closed() -> None:
    #  t:  4  5 | bound 10 | 5  6     5 is 5 below: no open window reaches it; 6 still is in (11 - 5, 11] if that comes
    elements = [{"ts": 4}, {"ts": 5}, Punctuation(10), {"ts": 5}, {"ts": 6}]
    found = placed(elements, SlideByTuple("ts", range=5, every=2))
    assert {2: ((5, 4),)} == found.missed
    assert [[0, 1]] == list(found.extents.values())


def test_a_late_row_missed_the_windows_of_its_partition() -> None:
    elements = [{"ts": 4, "k": "a"}, {"ts": 5, "k": "b"}, Punctuation(7), {"ts": 4, "k": "a"}]
    found = placed(elements, SlideByTuple("ts", range=5, partition=("k",)))
    assert {2: ((4, 0), (4, 4))} == found.missed
