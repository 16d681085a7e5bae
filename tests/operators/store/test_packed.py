"""Packed columns give back what was put in, in as few bytes as its span needs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.operators.store.packed import Packed, joined

WORDS = st.lists(
    st.one_of(st.integers(-5, 300), st.integers(-(1 << 63), (1 << 63) - 1), st.just(1_700_000_000_000_000)), max_size=20
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
    [(0, [7] * 100), (100, range(100)), (100, range(10**15, 10**15 + 100)), (200, range(0, 30_000, 300))],
)
def test_it_takes_what_the_span_needs(expected: int, values: range | list[int]) -> None:
    assert expected == Packed.of(np.array(values, np.int64)).nbytes


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
