from __future__ import annotations

from windrow.semantics.windows.kinds import Landmark

WINDOW = Landmark("ts", slide=10)
#  t:    -3   5        20       ends: 0 10 20 30; 30 is the first that holds every row
ROWS = [{"ts": 20}, {"ts": -3}, {"ts": 5}]


def test_windows_run_to_the_first_that_holds_every_row() -> None:
    assert [0, 1, 2, 3] == WINDOW.windows(ROWS)
    assert [] == WINDOW.windows([])


def test_each_window_holds_everything_below_its_end() -> None:
    assert [[1], [1, 2], [1, 2], [0, 1, 2]] == [WINDOW.extent(ROWS, wid) for wid in range(4)]
    assert [1, 2, 3] == WINDOW.wids(ROWS, 2)


def test_the_start_is_unbounded() -> None:
    assert (None, 30) == WINDOW.interval(3)
    assert (None, 33) == Landmark("ts", slide=10, origin=3).interval(3)
