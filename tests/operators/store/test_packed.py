"""Packed columns give back what was put in, in as few bytes as its span needs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.aggregates.kinds.base import Integers
from windrow.operators.store.packed import Packed, joined

MINUTES = st.builds(
    lambda minute, odd: minute * 60_000_000 + odd, st.integers(-1000, 10**6), st.sampled_from((0, 0, 7))
)
"""Times in microseconds, most of them of whole minutes."""
WORDS = st.one_of(
    st.lists(
        st.one_of(st.integers(-5, 300), st.integers(-(1 << 63), (1 << 63) - 1), st.just(1_700_000_000_000_000)),
        max_size=20,
    ),
    st.lists(MINUTES, max_size=20),
)


@given(WORDS)
def test_what_was_packed_is_read(values: list[int]) -> None:
    assert values == Packed.of(np.array(values, np.int64)).read().tolist()


@given(st.lists(WORDS, max_size=4))
def test_joined_columns_follow_one_another(parts: list[list[int]]) -> None:
    whole = joined([Packed.of(np.array(part, np.int64)) for part in parts])
    assert [value for part in parts for value in part] == whole.read().tolist()
    assert sum(map(len, parts)) == whole.size


@given(WORDS, st.data())
def test_rows_are_taken_by_place_by_mask_and_by_slice(values: list[int], data: st.DataObject) -> None:
    packed, plain = Packed.of(np.array(values, np.int64)), np.array(values, np.int64)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))), np.bool_)
    for rows in (mask, np.flatnonzero(mask), slice(1, -1), slice(-1, None)):
        taken = packed.take(rows)
        assert plain[rows].tolist() == taken.read().tolist()
        assert len(plain[rows]) == taken.size


@pytest.mark.parametrize(
    ("expected", "values"),
    [
        (0, [7] * 100),
        (100, range(100)),
        (100, range(10**15, 10**15 + 100)),
        (200, range(0, 30_000, 300)),
        (100, range(0, 10**10, 10**8)),
    ],
)
def test_it_takes_what_the_span_needs(expected: int, values: range | list[int]) -> None:
    assert expected == Packed.of(np.array(values, np.int64)).nbytes


@given(st.one_of(WORDS, st.lists(st.integers(0, 900).map(lambda cents: cents / 100))), st.data())
def test_values_are_picked_at_places(values: list[float], data: st.DataObject) -> None:
    is_float = any(isinstance(value, float) for value in values)
    bits = np.array(values, np.float64).view(np.int64) if is_float else np.array(values, np.int64)
    packed = Packed.of_floats(bits) if is_float else Packed.of(bits)
    places = data.draw(st.lists(st.integers(0, max(0, len(values) - 1)), max_size=9 * bool(values)))
    for kind in (np.int32, np.int64):
        assert bits[places].tolist() == packed.pick(np.array(places, kind)).tolist()


@given(WORDS, st.one_of(st.integers(-10, 400), st.integers(-(1 << 63), (1 << 63) - 1)))
def test_sorted_columns_are_searched_as_they_are(values: list[int], value: int) -> None:
    ordered = sorted(values)
    packed = Packed.of(np.array(ordered, np.int64))
    assert sum(v < value for v in ordered) == packed.search(value)


def test_a_column_whose_least_values_left_is_packed_anew_when_it_grows() -> None:
    """Panes go on for ever: without that, offsets would widen with the age of the stream."""
    column = Packed.of(np.arange(10**9, 10**9 + 10))
    for pane in range(10**9 + 10, 10**9 + 2000):
        column = joined([column.take(slice(1, None)), Packed.constant(pane, 1)])
    assert list(range(10**9 + 1990, 10**9 + 2000)) == column.read().tolist()
    assert 10 == column.nbytes


ODD = (0.0, -0.0, float("nan"), float("inf"), 1e300, 5e-324, 0.1 + 0.2, 9007199254740993.0, -1e18)
DECIMALS = st.builds(lambda number, digits: number / 10**digits, st.integers(-(10**9), 10**9), st.integers(0, 9))
FLOATS = st.one_of(st.lists(DECIMALS), st.lists(st.one_of(DECIMALS, st.sampled_from(ODD), st.floats())))


def bits(values: list[float]) -> Integers:
    return np.array(values, np.float64).view(np.int64)


@given(st.lists(FLOATS, max_size=4))
def test_floats_come_back_to_the_bit(parts: list[list[float]]) -> None:
    packed = [Packed.of_floats(bits(part)) for part in parts]
    assert [bits(part).tolist() for part in parts] == [column.read().tolist() for column in packed]
    assert [bit for part in parts for bit in bits(part).tolist()] == joined(packed).read().tolist()


def test_any_bits_of_a_double_come_back() -> None:
    """The payload of a NaN too, and the sign of a zero among decimals."""
    strange = np.array([0x7FF8000000000123, -1, 1, -(1 << 63), *bits([1.5, 2.25])], np.int64)
    assert strange.tolist() == Packed.of_floats(strange).read().tolist()


@pytest.mark.parametrize(
    ("expected", "values"),
    [
        (400, [(6_183_763 - 60_000 * i) / 100 for i in range(100)]),
        (100, [(268_380 + i) / 100 for i in range(100)]),
        (200, [0.5] * 50 + [655.35] * 50),
        (800, [float(np.sqrt(i)) for i in range(100)]),
        (800, [*range(99), -0.0]),
    ],
    ids=["prices", "close prices", "more digits later", "no decimals", "minus zero"],
)
def test_decimals_take_what_their_integers_need(expected: int, values: list[float]) -> None:
    assert expected == Packed.of_floats(bits(values)).nbytes


def test_decimals_with_more_digits_are_found_beyond_the_sample() -> None:
    values = np.arange(10_000) / 10
    values[7777] = 0.12345
    packed = Packed.of_floats(values.view(np.int64))
    assert (5, 40_000) == (packed.digits, packed.nbytes)
    assert values.tolist() == packed.read().view(np.float64).tolist()


def test_parts_of_decimals_are_decimals() -> None:
    column = Packed.of_floats(bits([1.25, 2.5, 2.5, 600.0]))
    assert [2.5, 2.5] == column.take(slice(1, 3)).read().view(np.float64).tolist()
    both = joined([column.take(slice(2)), column.take(slice(2, None))])
    assert (2, 4 * 2) == (both.digits, both.nbytes)
    constant = Packed.of_floats(bits([0.3] * 5))
    assert [0.3] * 2 == constant.take(np.array([0, 4])).read().view(np.float64).tolist()
    assert 0 == joined([constant, constant]).nbytes
