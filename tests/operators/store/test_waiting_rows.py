from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from windrow.operators.state.cells import Cells
from windrow.operators.state.kinds import ADDS
from windrow.operators.state.layout import Layout, Table
from windrow.operators.store.cell_rows import cell_rows, converting, no_cell_rows, state_of
from windrow.operators.store.row_block import RowBlock, no_rows
from windrow.operators.store.waiting_rows import WaitingRows, pieces

LAYOUT = Layout((), pa.schema([]))
SCHEMA = pa.schema([("name", pa.string())])


def rows(times: npt.NDArray[np.int64]) -> RowBlock:
    """Rows that carry their own time as state."""
    return cell_rows(Cells(times, times.astype(np.int32), Table({ADDS: times.reshape(-1, 1).copy()})))


@pytest.mark.parametrize("batch", [1, 7, 100])
@pytest.mark.parametrize("behind", [0, 30, 400])
def test_rows_leave_sorted_once_the_bound_has_passed_them(batch: int, behind: int) -> None:
    random = np.random.default_rng(batch)
    times = np.arange(1000) + random.integers(0, 50, 1000)
    waiting, left = WaitingRows(no_cell_rows(LAYOUT)), []
    bound = -1000
    for start in range(0, 1000, batch):
        waiting.append(rows(times[start : start + batch]))
        bound = max(bound, start - behind)
        left.append(waiting.take_below(bound))
        assert (np.diff(left[-1]["place"]) >= 0).all()
        seen = np.sort(times[: start + batch])
        assert int(np.count_nonzero(seen >= bound)) == len(waiting)
        assert len(waiting.runs) <= (1000).bit_length()
    left.append(waiting.take_below(1 << 40))
    assert 0 == len(waiting)
    whole = RowBlock.joined(left)
    assert np.sort(times).tolist() == np.sort(whole["place"]).tolist()
    assert whole["place"].tolist() == whole["code"].tolist() == whole["add"][:, 0].tolist()


def test_pieces_keep_equal_times_together() -> None:
    found = pieces(rows(np.array([1, 1, 2, 2, 2, 3, 4])), 3)
    assert [[1, 1, 2, 2, 2], [3, 4]] == [piece["place"].tolist() for piece in found]


def test_what_rows_do_to_windows_moves_with_them() -> None:
    waiting = WaitingRows(no_cell_rows(LAYOUT))
    times = np.array([5, 3, 9, 4])
    waiting.append(rows(times).having({"marks": np.array([1, 0, 2, 1], np.uint8)}))
    left = waiting.take_below(6)
    assert ([3, 4, 5], [0, 1, 1]) == (left["place"].tolist(), left["marks"].tolist())
    assert ([9], [2]) == (waiting.content()["place"].tolist(), waiting.content()["marks"].tolist())


def arrived(*triples: tuple[int, int, str]) -> RowBlock:
    times, codes, names = zip(*triples, strict=True)
    data = pa.RecordBatch.from_pydict({"name": list(names)})
    return RowBlock({"place": np.array(times), "code": np.array(codes, np.int32)}, data)


def none_waiting() -> WaitingRows:
    nothing: dict[str, Any] = {"place": np.empty(0, np.int64), "code": np.empty(0, np.int32)}
    return WaitingRows(RowBlock(nothing, no_rows(SCHEMA)), by_group=True)


def test_rows_leave_by_partition_and_equal_times_by_arrival() -> None:
    waiting = none_waiting()
    waiting.append(arrived((5, 1, "a"), (9, 0, "b"), (5, 0, "c")))
    assert 0 == len(waiting.take_below(3))
    waiting.append(arrived((5, 0, "d"), (4, 1, "e"), (5, 1, "f")))
    assert ["c", "d", "e", "a", "f"] == waiting.take_below(6).rows["name"].to_pylist()
    assert ["b"] == waiting.content().rows["name"].to_pylist()


def test_rows_of_single_groups_leave_while_others_wait() -> None:
    waiting = none_waiting()
    waiting.append(arrived((5, 1, "a"), (9, 0, "b"), (5, 0, "c"), (2, 1, "d")))
    assert ["d", "a"] == waiting.take_groups(np.array([5, 6])).rows["name"].to_pylist()
    assert ["c", "b"] == waiting.take_below(20).rows["name"].to_pylist()


def test_state_of_rows_that_wait_is_converted() -> None:
    waiting = WaitingRows(no_cell_rows(LAYOUT))
    waiting.append(rows(np.array([5, 3])))
    waiting.take_below(4)
    waiting.append(rows(np.array([7])))
    waiting.change(converting(lambda table: Table({ADDS: 10 * table.adds})))
    assert [50, 70] == state_of(waiting.content()).adds[:, 0].tolist()
