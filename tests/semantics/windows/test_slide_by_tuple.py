from __future__ import annotations

from windrow.semantics.windows.kinds import SlideBy, SlideByTuple

ROWS = [{"ts": t} for t in (10, 4, 7, 7, 12)]


def test_every_row_closes_a_window_and_ties_one_each() -> None:
    window = SlideByTuple("ts", range=3)
    assert [(4, 1), (7, 2), (7, 3), (10, 0), (12, 4)] == window.windows(ROWS)
    assert [2, 3] == window.extent(ROWS, (7, 2))
    assert [2, 3] == window.extent(ROWS, (7, 3))


def test_the_start_is_excluded_and_the_end_included() -> None:
    window = SlideByTuple("ts", range=3)
    assert (7, 10) == window.interval((10, 0))
    assert [0] == window.extent(ROWS, (10, 0))
    assert [(7, 2), (7, 3)] == window.wids(ROWS, 2)


def test_every_nth_by_arrival_or_by_rank() -> None:
    assert [(4, 1), (7, 3)] == SlideByTuple("ts", 3, every=2).windows(ROWS)
    assert [(7, 2), (10, 0)] == SlideByTuple("ts", 3, every=2, by=SlideBy.RANK).windows(ROWS)


def test_a_partition_counts_its_own_rows() -> None:
    rows = [{"ts": t, "k": k} for t, k in ((1, "a"), (2, "b"), (3, "a"), (4, None), (5, "b"), (6, None))]
    window = SlideByTuple("ts", range=4, every=2, partition=("k",))
    assert [(3, 2), (5, 4), (6, 5)] == window.windows(rows)
    assert [0, 2] == window.extent(rows, (3, 2))
    assert [3, 5] == window.extent(rows, (6, 5))
    assert [(5, 4)] == window.wids(rows, 1)
