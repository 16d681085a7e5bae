from __future__ import annotations

import pytest

from windrow.semantics.sliding import extent, interval, wids, wids_at, windows
from windrow.semantics.windows import Sliding


def test_ten_minute_windows_every_minute() -> None:
    #  t = 5 s lies in the ten windows that end at 60 s, ..., 600 s
    window = Sliding("ts", range=600, slide=60)
    assert list(range(1, 11)) == wids_at(window, 5)
    assert (-540, 60) == interval(window, 1)


@pytest.mark.parametrize(
    ("expected", "window", "t"),
    [
        ([0], Sliding("ts", 10, 10), -1),
        ([1], Sliding("ts", 10, 10), 0),
        ([-1], Sliding("ts", 10, 10), -11),
        ([2, 3, 4], Sliding("ts", 10, 4), 6),
        ([0, 1, 2], Sliding("ts", 10, 4), -2),
        ([0, 1], Sliding("ts", 9, 4), -2),
        ([], Sliding("ts", 2, 5), 2),
        ([1], Sliding("ts", 2, 5), 3),
        ([1], Sliding("ts", 10, 10, origin=-3), -3),
        ([0], Sliding("ts", 10, 10, origin=-3), -4),
    ],
)
def test_the_windows_of_a_value(expected: list[int], window: Sliding, t: int) -> None:
    assert expected == wids_at(window, t)


def test_edges_are_half_open() -> None:
    #    0    5    10        [0, 10) holds 0 and 9, not 10
    rows = [{"ts": 10}, {"ts": 0}, {"ts": 9}]
    window = Sliding("ts", range=10, slide=10)
    assert [1, 2] == windows(window, rows)
    assert [1, 2] == extent(window, rows, 1)
    assert [2] == wids(window, rows, 0)


def test_far_from_zero() -> None:
    window = Sliding("ts", range=7, slide=3, origin=1 << 50)
    for wid in wids_at(window, -(1 << 50)):
        start, end = interval(window, wid)
        assert start <= -(1 << 50) < end
