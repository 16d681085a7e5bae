"""What is found while a window slides equals what is found in the list of its values."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.aggregates.kinds.base import Array, Integers, Runs, Values
from windrow.operators.state.values.multisets import ValueCodes
from windrow.operators.windows.rows import sliding_runs
from windrow.operators.windows.rows.sliding_runs import SlidingRuns
from windrow.semantics.scalars.expressions import Column

NUMBERS: tuple[pa.DataType, list[Any]] = (pa.int64(), [-3, 0, 7, 7, 9, 1 << 40])
TEXTS: tuple[pa.DataType, list[Any]] = (pa.string(), ["b", "a", "", "zz", "a"])


class Listed(Runs):
    """The values of other runs, of which only their list is asked."""

    def __init__(self, runs: Runs) -> None:
        self.given = runs.listed

    @property
    def listed(self) -> tuple[Integers, Array, Integers]:
        return self.given

    def sizes(self) -> Integers:
        return np.array([self.counts[a:b].sum() for a, b in pairwise(self.offsets.tolist())], np.int64)


@st.composite
def groups_of_windows(draw: st.DrawFn, kind: pa.DataType, values: list[Any]) -> tuple[Runs, Runs]:
    """Windows over the rows of some groups, in any order: as they slide, and listed."""
    extents: list[tuple[int, int]] = []
    start = 0
    for _ in range(draw(st.integers(1, 3))):
        size, length = draw(st.integers(0, 12)), draw(st.integers(1, 6))
        ends = sorted(draw(st.lists(st.integers(0, size), min_size=1, max_size=6)))
        extents += [(start + max(0, end - length), start + end) for end in ends]
        start += size
    rows = draw(st.lists(st.sampled_from(values), min_size=start, max_size=start))
    codes = ValueCodes(Values(Column("x")), kind)
    keys = codes.keys(pa.array(rows, kind), np.zeros(start, np.int64))
    lows, highs = np.array(draw(st.permutations(extents))).T
    sliding = SlidingRuns(codes, keys, lows, highs)
    return sliding, Listed(sliding)


@pytest.mark.parametrize(("kind", "values"), [NUMBERS, TEXTS], ids=["numbers", "texts"])
@given(data=st.data())
def test_the_answers_of_the_list(kind: pa.DataType, values: list[Any], data: st.DataObject) -> None:
    sliding, listed = data.draw(groups_of_windows(kind, values))
    assert listed.sizes().tolist() == sliding.sizes().tolist()
    assert listed.distinct().tolist() == sliding.distinct().tolist()
    for last in (False, True):
        assert listed.at_edge(last=last).to_pylist() == sliding.at_edge(last=last).to_pylist()
    least = sliding.sizes().astype(np.float64) * data.draw(st.sampled_from((0.0, 0.3, 0.5)))
    most = data.draw(st.integers(1, 4))
    both = [runs.most_frequent(most, least) for runs in (listed, sliding)]
    assert [column.tolist() for column in both[0][::2]] == [column.tolist() for column in both[1][::2]]
    assert both[0][1].to_pylist() == both[1][1].to_pylist()


@given(data=st.data())
def test_ranks(data: st.DataObject) -> None:
    sliding, listed = data.draw(groups_of_windows(*NUMBERS))
    sizes = sliding.sizes()
    ranks = (data.draw(st.floats(0, 0.99)) * sizes).astype(np.int64)
    expected, found = listed.numbers_around(ranks), sliding.numbers_around(ranks)
    for step in (0, 1):
        there = ranks + step < sizes
        assert expected[step][there].tolist() == found[step][there].tolist()


def test_the_most_frequent_in_several_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sliding_runs, "FOUND", 4)
    codes = ValueCodes(Values(Column("x")), pa.int64())
    keys = codes.keys(pa.array([1, 2, 2, 3, 3, 3, 1, 1]), np.zeros(8, np.int64))
    lows, highs = np.array([4, 0, 2, 1, 3]), np.array([8, 4, 6, 5, 7])
    sizes, values, counts = SlidingRuns(codes, keys, lows, highs).most_frequent(2, np.zeros(5))
    assert [2, 2, 2, 2, 2] == sizes.tolist()
    assert [1, 3, 2, 1, 3, 2, 2, 3, 3, 1] == values.to_pylist()
    assert [2, 2, 2, 1, 3, 1, 2, 2, 3, 1] == counts.tolist()
