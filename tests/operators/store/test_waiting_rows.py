from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from windrow.operators.state.kinds import ADDS
from windrow.operators.state.layout import Layout, Table
from windrow.operators.store.waiting_rows import RowsOfPartitions, RowStates, Waiting, time_order

LAYOUT = Layout((), pa.schema([]))
NO_MARKS = np.empty(0, np.uint8)


def rows(times: npt.NDArray[np.int64]) -> RowStates:
    """Rows that carry their own time as state."""
    return RowStates(times, times.astype(np.int32), Table({ADDS: times.reshape(-1, 1).copy()}), NO_MARKS)


@pytest.mark.parametrize("batch", [1, 7, 100])
@pytest.mark.parametrize("behind", [0, 30, 400])
def test_rows_leave_sorted_once_the_bound_has_passed_them(batch: int, behind: int) -> None:
    random = np.random.default_rng(batch)
    times = np.arange(1000) + random.integers(0, 50, 1000)
    waiting, left = Waiting(RowStates.nothing(LAYOUT)), []
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
    whole = RowStates.joined(left)
    assert np.sort(times).tolist() == np.sort(whole.times).tolist()
    assert whole.times.tolist() == whole.codes.tolist() == whole.state.adds[:, 0].tolist()


def test_pieces_keep_equal_times_together() -> None:
    pieces = rows(np.array([1, 1, 2, 2, 2, 3, 4])).pieces(3)
    assert [[1, 1, 2, 2, 2], [3, 4]] == [piece.times.tolist() for piece in pieces]


def test_what_rows_do_to_windows_moves_with_them() -> None:
    waiting = Waiting(RowStates.nothing(LAYOUT))
    times = np.array([5, 3, 9, 4])
    waiting.add(replace(rows(times), marks=np.array([1, 0, 2, 1], np.uint8)))
    left = waiting.take_below(6)
    assert ([3, 4, 5], [0, 1, 1]) == (left.times.tolist(), left.marks.tolist())
    assert ([9], [2]) == (waiting.content().times.tolist(), waiting.content().marks.tolist())


def arrived(*triples: tuple[int, int, str]) -> RowsOfPartitions:
    times, codes, names = zip(*triples, strict=True)
    data = pa.RecordBatch.from_pydict({"name": list(names)})
    return RowsOfPartitions(data, np.array(times), np.array(codes, np.int32))


def test_rows_leave_by_partition_and_equal_times_by_arrival() -> None:
    waiting = Waiting(RowsOfPartitions.nothing(pa.schema([("name", pa.string())])))
    waiting.add(arrived((5, 1, "a"), (9, 0, "b"), (5, 0, "c")))
    assert 0 == len(waiting.take_below(3))
    waiting.add(arrived((5, 0, "d"), (4, 1, "e"), (5, 1, "f")))
    assert ["c", "d", "e", "a", "f"] == waiting.take_below(6).data["name"].to_pylist()
    assert ["b"] == waiting.content().data["name"].to_pylist()


def test_rows_of_single_groups_leave_while_others_wait() -> None:
    waiting = Waiting(RowsOfPartitions.nothing(pa.schema([("name", pa.string())])))
    waiting.add(arrived((5, 1, "a"), (9, 0, "b"), (5, 0, "c"), (2, 1, "d")))
    assert ["d", "a"] == waiting.take_groups(np.array([5, 6])).data["name"].to_pylist()
    assert ["c", "b"] == waiting.take_below(20).data["name"].to_pylist()


@pytest.mark.parametrize("apart", [1, 1 << 30, 1 << 60])
def test_equal_times_stay_in_order_however_far_apart_others_are(apart: int) -> None:
    times = np.array([2, -2, 0, 2, 0, -2, 1]) * apart
    assert [1, 5, 2, 4, 6, 0, 3] == time_order(times).tolist()
    assert [] == time_order(times[:0]).tolist()
