from __future__ import annotations

import math
from random import Random

import pytest

from windrow.semantics.windows.kinds import Align, Sliding


def test_ten_minute_windows_every_minute() -> None:
    #  t = 5 s lies in the ten windows that end at 60 s, ..., 600 s
    window = Sliding("ts", range=600, slide=60)
    assert list(range(1, 11)) == window.wids_at(5)
    assert (-540, 60) == window.interval(1)


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
    assert expected == window.wids_at(t)


def starts_as_in_flink(t: int, size: int, slide: int, offset: int) -> list[int]:
    """`SlidingEventTimeWindows.assignWindows`: from the last start at or below t back to the first that reaches it."""
    remainder = math.fmod(t - offset, slide)  # Java's, with the sign of the dividend
    start = t - int(remainder if remainder >= 0 else remainder + slide)
    found = []
    while start > t - size:
        found.append(start)
        start -= slide
    return found[::-1]


def test_aligned_starts_are_those_of_flink() -> None:
    #  RANGE 10 SLIDE 4:  [-8, 2) [-4, 6) [0, 10) [4, 14) ... where ends aligned would be [-10, 0) [-6, 4) [-2, 8) ...
    random = Random(13)
    for _ in range(2_000):
        size, slide, offset = random.randint(1, 40), random.randint(1, 40), random.randint(-100, 100)
        t = random.randint(-200, 200)
        window = Sliding.aligned("ts", size, slide, offset, Align.START)
        assert starts_as_in_flink(t, size, slide, offset) == [window.interval(wid)[0] for wid in window.wids_at(t)]


def test_alignment_matters_only_where_the_slide_does_not_divide_the_range() -> None:
    assert Sliding("ts", 12, 4, 1) == Sliding.aligned("ts", 12, 4, 1, Align.START)
    assert (Sliding("ts", 10, 4, 3), Sliding("ts", 10, 4, 1)) == (
        Sliding.aligned("ts", 10, 4, 1, Align.START),
        Sliding.aligned("ts", 10, 4, 1, Align.END),
    )
    assert (1, 3) == Sliding("ts", 10, 4, 3).phases


def test_edges_are_half_open() -> None:
    #    0    5    10        [0, 10) holds 0 and 9, not 10
    rows = [{"ts": 10}, {"ts": 0}, {"ts": 9}]
    window = Sliding("ts", range=10, slide=10)
    assert [1, 2] == window.windows(rows)
    assert [1, 2] == window.extent(rows, 1)
    assert [2] == window.wids(rows, 0)


def test_far_from_zero() -> None:
    window = Sliding("ts", range=7, slide=3, origin=1 << 50)
    for wid in window.wids_at(-(1 << 50)):
        start, end = window.interval(wid)
        assert start <= -(1 << 50) < end


def test_tumbling_and_windows_with_holes() -> None:
    assert Sliding("ts", 5, 5).is_tumbling
    assert not Sliding("ts", 5, 4).is_tumbling
    assert Sliding("ts", 4, 5).loses_rows
    assert not Sliding("ts", 5, 5).loses_rows
