from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from windrow.operators.state.layout import Layout, Table
from windrow.operators.state.waiting import RowStates, Waiting, joined

LAYOUT = Layout((), pa.schema([]))
NO_FLAGS = np.empty(0, np.bool_)


def rows(times: npt.NDArray[np.int64]) -> RowStates:
    """Rows that carry their own time as state."""
    none = np.empty((len(times), 0), np.int64)
    return RowStates(times, times.astype(np.int32), Table(times.reshape(-1, 1).copy(), none, none), NO_FLAGS)


@pytest.mark.parametrize("batch", [1, 7, 100])
@pytest.mark.parametrize("behind", [0, 30, 400])
def test_rows_leave_sorted_once_the_bound_has_passed_them(batch: int, behind: int) -> None:
    random = np.random.default_rng(batch)
    times = np.arange(1000) + random.integers(0, 50, 1000)
    waiting, left = Waiting(LAYOUT), []
    bound = -1000
    for start in range(0, 1000, batch):
        waiting.add(rows(times[start : start + batch]))
        bound = max(bound, start - behind)
        left.append(waiting.take_below(bound))
        assert (np.diff(left[-1].times) >= 0).all()
        seen = np.sort(times[: start + batch])
        assert int(np.count_nonzero(seen >= bound)) == len(waiting)
        assert len(waiting.runs) <= (1000).bit_length()
    left.append(waiting.take_below(1 << 40))
    assert 0 == len(waiting)
    whole = joined(left)
    assert np.sort(times).tolist() == np.sort(whole.times).tolist()
    assert whole.times.tolist() == whole.codes.tolist() == whole.state.adds[:, 0].tolist()


def test_pieces_keep_equal_times_together() -> None:
    pieces = rows(np.array([1, 1, 2, 2, 2, 3, 4])).pieces(3)
    assert [[1, 1, 2, 2, 2], [3, 4]] == [piece.times.tolist() for piece in pieces]


def test_which_rows_close_windows_moves_with_them() -> None:
    waiting = Waiting(LAYOUT)
    times = np.array([5, 3, 9, 4])
    marked = rows(times)
    waiting.add(RowStates(marked.times, marked.codes, marked.state, np.array([True, False, False, True])))
    left = waiting.take_below(6)
    assert ([3, 4, 5], [False, True, True]) == (left.times.tolist(), left.closes.tolist())
    assert ([9], [False]) == (waiting.content().times.tolist(), waiting.content().closes.tolist())
