from __future__ import annotations

import numpy as np

from windrow.operators.windows.rows.past_ends import PastEnds
from windrow.operators.windows.rows.row_timeline import Ends


def known(*pairs: tuple[int, int]) -> PastEnds:
    past = PastEnds()
    for i, (time, code) in enumerate(pairs):
        past.add(Ends(np.array([time]), np.array([code], np.int32), i))
    return past


def test_what_rows_missed_of_their_own_group() -> None:
    past = known((1, 0), (3, 1), (3, 0), (7, 1), (9, 0))
    times, bounds = np.array([2, 3, 8, 10, 0]), np.array([10, 10, 10, 10, 9])
    counts, firsts, lasts = past.missed(times, bounds, np.array([0, 1, 1, 0, 0], np.int32))
    assert [2, 2, 0, 0, 2] == counts.tolist()
    assert [3, 3, 8, 10, 1] == firsts.tolist()
    assert [9, 7, 8, 10, 3] == lasts.tolist()


def test_numbers_stay_when_ends_are_forgotten() -> None:
    past = known(*((time, 0) for time in range(0, 400, 2)))
    past.forget_below(301)
    assert (151, [302, 398]) == (past.first, past.times_of(np.array([151, 199])).tolist())
    assert (302, None) == (past.from_number(151), past.from_number(200))
    past.forget(1000)
    assert (200, 0) == (past.first, len(past))
    past.add(Ends(np.array([500]), np.array([0], np.int32), 200))
    assert [500] == past.times_of(np.array([200])).tolist()
