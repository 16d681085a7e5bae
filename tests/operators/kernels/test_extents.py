from __future__ import annotations

import numpy as np

from windrow.operators.kernels.extents import find_extents, slide_ranks


def test_extents_begin_after_the_start_and_hold_the_end() -> None:
    codes, times = np.array([0, 0, 0, 2, 2], np.int32), np.array([1, 4, 6, 4, 4])
    lows, highs = np.empty(4, np.int64), np.empty(4, np.int64)
    window_codes, ends = np.array([0, 0, 1, 2], np.int32), np.array([4, 6, 4, 4])
    find_extents(codes, times, window_codes, ends, 3, lows, highs)
    assert [(1, 2), (1, 3), (3, 3), (3, 5)] == list(zip(lows.tolist(), highs.tolist(), strict=True))


def test_ranks_in_windows_that_slide() -> None:
    random = np.random.default_rng(3)
    places = random.integers(0, 9, 200)
    lows = np.sort(random.integers(0, 190, 60))
    highs = np.maximum.accumulate(lows + random.integers(1, 12, 60)).clip(max=200)
    ranks = (random.random(60) * (highs - lows)).astype(np.int64)
    out, after = np.empty(60, np.int64), np.empty(60, np.int64)
    slide_ranks(places[lows[0] :], lows, highs, ranks, np.zeros(10, np.int64), out, after)
    inside = [np.sort(places[low:high]) for low, high in zip(lows, highs, strict=True)]
    assert [window[rank] for window, rank in zip(inside, ranks, strict=True)] == out.tolist()
    following = [window[min(rank + 1, len(window) - 1)] for window, rank in zip(inside, ranks, strict=True)]
    assert following == after.tolist()
