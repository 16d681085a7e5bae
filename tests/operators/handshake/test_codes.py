"""Codes never leave out a value that lies within bounds, wherever these are and however wide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.operators.handshake.codes import coded_bounds, codes_of, shift_for


@pytest.mark.parametrize("kind", [np.uint32, np.uint64])
@given(data=st.data())
def test_what_bounds_admit_codes_admit(kind: Any, data: st.DataObject) -> None:
    top = int(np.iinfo(kind).max)
    numbers = st.one_of(st.integers(0, top), st.integers(0, 40), st.integers(top - 40, top))
    lows = np.array(data.draw(st.lists(numbers, min_size=1, max_size=5)), kind)
    widths = np.array([data.draw(numbers) for _ in lows], kind)
    offsets = np.array([data.draw(st.integers(0, int(width))) for width in widths], kind)
    shift = shift_for(np.array([data.draw(numbers)], kind))
    first, steps = coded_bounds(lows, widths, shift)
    codes = codes_of(lows + offsets, shift)
    assert ((codes - first) <= steps).all()


def test_codes_leave_out_most_of_what_lies_outside() -> None:
    values = np.arange(1 << 20, dtype=np.uint32)
    widths = np.full(3, 2_000, np.uint32)
    shift = shift_for(widths)
    first, steps = coded_bounds(np.array([0, 50_000, 1_000_000], np.uint32), widths, shift)
    codes = codes_of(values, shift)
    assert all(np.count_nonzero(codes - low <= width) < 2_300 for low, width in zip(first, steps, strict=True))
