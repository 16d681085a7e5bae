"""Rounding within a bound: where values go, and that none goes further than it may."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.semantics.scalars.grid import MOST_WHOLE, ValueGrid, limits, rounded, whole_bound

BOUNDS = st.one_of(
    st.sampled_from((0.01, 0.005, 0.3, 1.0, 5.0, 5e-324, 2.5e-310, 1e-200, 1e22, 1e300, 1.7e308)),
    st.floats(5e-324, 1e308),
)
NARROW = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@pytest.mark.parametrize(
    ("expected", "value", "bound"),
    [
        (0.7, 0.7049, 0.005),
        (0.12, 0.11, 0.01),  # 5.5 steps: to the even one
        (0.31, 0.31, 0.01),  # half way, but as doubles both points are further away than 0.01
        (0.0, -0.0, 0.01),
        (0.0, -0.004, 0.01),
        (4.0, 3.0, 1.0),
        (0.0, 1.0, 1.0),
        (10.0, 5.000001, 5.0),
        (1e300, 1e300, 0.01),
        (0.0, 5e-324, 5e-324),
        (math.inf, math.inf, 0.01),
        (-math.inf, -math.inf, 1e300),
        (1.5, 1.5, 1.7e308),  # twice the bound is no double, so there is no grid
    ],
)
def test_doubles_go_to_short_decimals(expected: float, value: float, bound: float) -> None:
    found = rounded(value, bound)
    assert expected == found
    assert math.copysign(1, found) == 1 or found < 0


def test_nan_stays() -> None:
    assert math.isnan(rounded(math.nan, 0.01))


def test_points_are_the_doubles_that_users_write() -> None:
    assert [round(k / 50, 2) for k in range(-200, 200)] == [rounded(k / 50 + 0.004, 0.01) for k in range(-200, 200)]


@pytest.mark.parametrize(
    ("expected", "value", "bound", "kind"),
    [
        (22, 17, 5.0, ""),
        (11, 16, 5.9, ""),
        (0, -5, 5.0, ""),
        (-11, -6, 5.0, ""),
        (7, 7, 0.9, ""),
        (2**63 - 1, 2**63 - 1, 5.0, ""),  # its point would not fit
        (-(2**63), -(2**63), 5.0, ""),
        (127, 127, 5.0, "int8"),
        (255, 255, 6.0, "uint8"),
        (0, 2**62 - 1, 1e300, ""),
    ],
)
def test_whole_numbers_go_to_whole_points(expected: int, value: int, bound: float, kind: str) -> None:
    assert expected == rounded(value, bound, kind)


@given(st.floats(), BOUNDS)
def test_no_double_moves_further_than_its_bound(value: float, bound: float) -> None:
    found = rounded(value, bound)
    if not math.isfinite(value):
        assert found == value or math.isnan(value)
        return
    assert abs(Fraction(found) - Fraction(value)) <= Fraction(bound)


@given(st.floats(-1e15, 1e15), st.sampled_from((0.01, 0.3, 7.5)))
def test_few_values_stay_off_the_grid(value: float, bound: float) -> None:
    """Only those that lie half a step from their points, as near as doubles can tell."""
    found, grid = rounded(value, bound), ValueGrid.of(bound)
    step = Fraction(grid.factor) / Fraction(grid.divisor)
    off = abs(Fraction(found) - round(Fraction(found) / step) * step)
    assert off <= Fraction(math.ulp(found)) or abs(off - step / 2) <= 2 * Fraction(math.ulp(value)) + step / 10**12


@given(st.data(), BOUNDS, st.sampled_from(NARROW))
def test_no_whole_number_moves_further_or_leaves_its_type(data: st.DataObject, bound: float, kind: str) -> None:
    least, greatest = limits(kind)
    value = data.draw(st.one_of(st.integers(least, greatest), st.sampled_from((least, greatest))))
    found = rounded(value, bound, kind)
    assert isinstance(found, int)
    assert least <= found <= greatest
    assert abs(found - value) <= whole_bound(bound) <= MOST_WHOLE
    assert whole_bound(bound) <= Fraction(bound)
    assert found == value or found % (2 * whole_bound(bound) + 1) == 0


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.sampled_from((0.01, 0.3, 7.5)))
def test_order_stays(one: float, other: float, bound: float) -> None:
    low, high = sorted((one, other))
    assert rounded(low, bound) <= rounded(high, bound)
