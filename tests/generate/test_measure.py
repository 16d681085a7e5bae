from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.generate.measure import Measured, measure


def test_lateness_counts_over_pieces() -> None:
    pieces = [np.array([10, 4]), np.array([], np.int64), np.array([9, 12])]
    expected = Measured(4, 0.5, timedelta(microseconds=6), timedelta(microseconds=6))
    assert expected == measure(pieces)


def test_nothing_is_not_late() -> None:
    assert Measured(0, 0.0, timedelta(0), timedelta(0)) == measure([])


@given(st.lists(st.integers(0, 1 << 50), min_size=1, max_size=50))
def test_the_quantile_is_at_most_a_thousandth_too_high(times: list[int]) -> None:
    values = np.array(times)
    lateness = np.sort(np.maximum.accumulate(values) - values)
    exact = lateness[int(np.ceil(0.99 * len(times))) - 1]
    p99 = measure([values]).p99 // timedelta(microseconds=1)
    assert exact <= p99 <= exact * 1.001


def test_it_reads_like_the_table_of_real_data() -> None:
    measured = Measured(200, 0.25, timedelta(seconds=97), timedelta(minutes=11))
    assert "25 % of 200 rows late, lateness p99 97 s / max 660 s" == str(measured)


@pytest.mark.parametrize("value", [0, 1, 1023, 1024, 2047, 2048, 10**6, 1 << 40])
def test_one_late_row_is_measured_exactly(value: int) -> None:
    measured = measure([np.array([value, 0])])
    assert timedelta(microseconds=value) == measured.max == measured.p99
