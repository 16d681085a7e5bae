from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.generate.arrival import punctuate, reorder
from windrow.generate.disorder import Band, BlockSorted, Disorder, InOrder, Lull, Skewed
from windrow.generate.rows import MARK, SOURCE, TIME, Rows, join, take

PATTERNS = [
    InOrder(),
    Band("40 us"),
    Band("0 s"),
    BlockSorted("30 us"),
    Skewed(("0 s", "25 us"), (Lull("20 us", "50 us", source=1),)),
]


def ordered(times: list[int]) -> Rows:
    values = np.sort(np.array(times, np.int64))
    return {TIME: values, SOURCE: np.arange(len(values)) % 2, "row": np.arange(len(values))}


def pieces(rows: Rows, size: int) -> list[Rows]:
    return [take(rows, slice(at, at + size)) for at in range(0, len(rows[TIME]), size)]


def chance() -> np.random.Generator:
    return np.random.default_rng(5)


TIMES = st.lists(st.integers(0, 200), min_size=1, max_size=60)


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
@given(times=TIMES, size=st.integers(1, 20))
def test_cutting_the_rows_changes_no_arrival(pattern: Disorder, times: list[int], size: int) -> None:
    rows = ordered(times)
    whole = join([piece.rows for piece in reorder([rows], pattern, chance())])
    parts = join([piece.rows for piece in reorder(pieces(rows, size), pattern, chance())])
    assert whole["row"].tolist() == parts["row"].tolist()
    assert list(range(len(times))) == sorted(whole["row"].tolist())


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
@given(times=TIMES, size=st.integers(1, 20), every=st.integers(1, 60))
def test_punctuations_are_the_exact_low_watermark(pattern: Disorder, times: list[int], size: int, every: int) -> None:
    rows = join(list(punctuate(reorder(pieces(ordered(times), size), pattern, chance()), every)))
    is_mark = rows[MARK] >= 0
    stretch = 0
    for at in range(len(is_mark)):
        following = rows[TIME][at + 1 :][~is_mark[at + 1 :]]
        if is_mark[at]:
            assert following.min() == rows[MARK][at]
            assert stretch < rows[MARK][at] // every
            stretch = rows[MARK][at] // every
        elif len(following) and not is_mark[at + 1]:
            assert following.min() // every <= stretch


@given(times=TIMES, size=st.integers(1, 20))
def test_band_rows_are_never_later_than_the_band(times: list[int], size: int) -> None:
    arrived = join([piece.rows for piece in reorder(pieces(ordered(times), size), Band("40 us"), chance())])[TIME]
    assert 40 >= (np.maximum.accumulate(arrived) - arrived).max()


@given(times=TIMES)
def test_blocks_stay_in_order(times: list[int]) -> None:
    arrived = join([piece.rows for piece in reorder([ordered(times)], BlockSorted("30 us"), chance())])[TIME]
    blocks = arrived // 30
    assert sorted(blocks.tolist()) == blocks.tolist()


def test_a_source_that_lags_and_falls_silent_stays_in_order() -> None:
    # source 0:  0  2  4  6  8          source 1 is 3 behind and silent from 4 to 10
    # source 1:    1  3  5  7  9   ->   arrives at 10, 10, 10, 10, 12
    rows = ordered(list(range(10)))
    pattern = Skewed(("0 s", "3 us"), (Lull("4 us", "6 us", source=1),))
    arrived = join([piece.rows for piece in reorder(pieces(rows, 3), pattern, chance())])
    assert [0, 2, 4, 6, 8, 1, 3, 5, 7, 9] == arrived[TIME].tolist()
