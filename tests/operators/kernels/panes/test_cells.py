from __future__ import annotations

import numpy as np
import pytest

from windrow.operators.kernels.panes.cells import take_out


@pytest.mark.parametrize("columns", [0, 1, 2, 20])
def test_rows_that_are_taken_out_leave_neutral_ones(columns: int) -> None:
    state, out = np.arange(4 * columns).reshape(4, columns), np.empty((2, columns), np.int64)
    expected = state[[3, 1]].copy()
    take_out(np.array([3, 1], np.int32), -1, state, out)
    assert np.array_equal(expected, out)
    assert np.array_equal([False, True, False, True] if columns else [True] * 4, (state == -1).all(axis=1))
