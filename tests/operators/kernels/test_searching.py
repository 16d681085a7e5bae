from __future__ import annotations

import numpy as np

from windrow.operators.kernels.searching import find_runs


def test_runs_hold_their_low_end_and_not_their_high_one() -> None:
    codes, times = np.array([0, 0, 0, 2, 2], np.int32), np.array([1, 4, 6, 4, 4])
    firsts, lasts = np.empty(4, np.int64), np.empty(4, np.int64)
    wanted, highs = np.array([0, 0, 1, 2], np.int32), np.array([5, 7, 5, 5])
    find_runs(codes, times, wanted, highs - 3, highs, firsts, lasts)
    assert [(1, 2), (1, 3), (3, 3), (3, 5)] == list(zip(firsts.tolist(), lasts.tolist(), strict=True))
