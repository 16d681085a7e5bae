from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from windrow.operators.kernels.rows.extents import slide_distinct, slide_frequent, slide_ranks


def windows(seed: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The places of some rows, and where windows over them begin and end; some are empty or the same."""
    random = np.random.default_rng(seed)
    lows = np.sort(random.integers(0, 190, 60))
    highs = np.maximum.accumulate(lows + random.integers(0, 12, 60)).clip(max=200)
    return random.integers(0, 9, 200), lows, highs


def test_different_places_in_windows_that_slide() -> None:
    places, lows, highs = windows(4)
    out = np.empty(60, np.int64)
    slide_distinct(places[lows[0] :], lows, highs, np.zeros(9, np.int64), out)
    assert [len(set(places[a:b].tolist())) for a, b in zip(lows, highs, strict=True)] == out.tolist()


def test_the_most_frequent_places_in_windows_that_slide() -> None:
    places, lows, highs = windows(5)
    counts, best = np.zeros(16, np.int64), np.zeros(32, np.int64)
    best[16:] = np.arange(16)
    for node in range(15, 0, -1):
        best[node] = best[2 * node]
    sizes, out, out_counts = np.empty(60, np.int64), np.empty((60, 3), np.int64), np.empty((60, 3), np.int64)
    slide_frequent(places[lows[0] :], lows, highs, np.full(60, 2.0), counts, best, sizes, out, out_counts)
    for w in range(60):
        frequent = Counter(places[lows[w] : highs[w]].tolist()).items()
        wanted = sorted(((p, n) for p, n in frequent if n >= 2), key=lambda pair: (-pair[1], pair[0]))[:3]
        size = sizes[w]
        assert wanted == list(zip(out[w, :size].tolist(), out_counts[w, :size].tolist(), strict=True))


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
