from __future__ import annotations

import numpy as np
import pytest

from windrow.operators.kernels.rows.per_row import CLOSES, UNCOUNTED, count_off, insert_rows, insert_states


def test_every_third_of_each_group_over_several_calls() -> None:
    counters = np.zeros(2, np.int64)
    marked = []
    for codes in ([0, 0, 1], [0, 1, 0], [1, 1, 0, 0]):
        marks = np.full(len(codes), UNCOUNTED, np.uint8)
        count_off(np.array(codes, np.int32), 3, counters, marks)
        marked.append((marks == CLOSES).tolist())
    assert [[False] * 3, [True, False, False], [True, False, False, True]] == marked
    assert [0, 1] == counters.tolist()


@pytest.mark.parametrize("columns", [1, 2, 20])
def test_late_rows_go_behind_those_of_their_time(columns: int) -> None:
    times, codes = np.array([1, 3, 3, 8, 0, 0]), np.array([0, 1, 2, 3, 9, 9], np.int32)
    adds = np.repeat(times, columns).reshape(-1, columns)
    late, origins = np.array([3, 5]), np.empty(3, np.int64)
    insert_rows(late, np.array([7, 8], np.int32), times, codes, 4, origins)
    insert_states(origins, 3, np.repeat(late, columns).reshape(-1, columns), adds)
    assert [~0, ~1, 3] == origins.tolist()
    assert [1, 3, 3, 3, 5, 8] == times.tolist()
    assert np.array_equal(np.repeat(times, columns), adds.ravel())
    assert [0, 1, 2, 7, 8, 3] == codes.tolist()
