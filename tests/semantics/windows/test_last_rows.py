from __future__ import annotations

import math

from windrow.semantics.windows.kinds import RowsWindow


def test_leading_windows_are_partial_and_a_started_slide_is_not_reported() -> None:
    rows = [{"x": i} for i in range(7)]
    window = RowsWindow(range=5, slide=2)
    assert [(0, ()), (1, ()), (2, ())] == window.windows(rows)
    assert [[0, 1], [0, 1, 2, 3], [1, 2, 3, 4, 5]] == [window.extent(rows, wid) for wid in window.windows(rows)]
    assert (-3, 2) == window.interval((0, ()))
    assert [] == window.wids(rows, 6)


def test_rows_between_windows_are_in_none() -> None:
    rows = [{"x": i} for i in range(6)]
    assert [[], [(0, ())], [(0, ())]] == [RowsWindow(range=2, slide=3).wids(rows, i) for i in range(3)]


def test_each_partition_counts_its_own_rows() -> None:
    rows = [{"k": k} for k in ("a", "b", "a", None, "b", "a", None)]
    window = RowsWindow(range=2, slide=2, partition=("k",))
    assert [(0, ("a",)), (0, ("b",)), (0, (None,))] == window.windows(rows)
    assert [0, 2] == window.extent(rows, (0, ("a",)))
    assert [(0, (None,))] == window.wids(rows, 3)


def test_nan_is_one_partition() -> None:
    rows = [{"y": math.nan}, {"y": float("nan")}]
    assert 1 == len(RowsWindow(range=2, slide=2, partition=("y",)).windows(rows))


def test_rows_in_order_of_time_are_numbered_by_it() -> None:
    rows = [{"k": k, "ts": ts} for k, ts in (("a", 5), ("b", 2), ("a", 1), ("a", 5), ("b", 1))]
    window = RowsWindow(range=2, slide=1, partition=("k",), order="ts")
    ended = [(k, (key,)) for key in "ab" for k in range(3 if key == "a" else 2)]
    assert ended == window.windows(rows)
    assert [[2], [0, 2], [0, 3], [4], [1, 4]] == [window.extent(rows, wid) for wid in ended]
