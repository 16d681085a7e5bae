"""Values of a window that are put together piece by piece are those that are put together at once."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from windrow.aggregates.kinds.base import Values
from windrow.operators.state.groups import NO_CODES
from windrow.operators.state.values import large_windows
from windrow.operators.state.values.large_windows import LargeRuns, LargeWindow
from windrow.operators.state.values.multisets import GroupRuns, Multiset, ValueCodes, total
from windrow.operators.store.row_block import RowBlock
from windrow.semantics.scalars.expressions import Column


def stretch(random: np.random.Generator, codes: int) -> Multiset:
    """Some values of some groups, as a pane has them."""
    rows = random.integers(0, 60)
    drawn = np.stack([random.integers(0, codes, rows), random.integers(-5, 6, rows)])
    (groups, keys), counts = np.unique(drawn, axis=1, return_counts=True)
    return Multiset(groups.astype(NO_CODES.dtype), keys, counts)


def plain(arrays: tuple[Any, ...]) -> list[list[Any]]:
    return [array.tolist() for array in arrays]


@given(
    st.integers(0, 1 << 20), st.sampled_from((1, 3, 40)), st.sampled_from((1, 7, 50, 1 << 21)), st.sampled_from((4, 64))
)
def test_groups_in_any_order_have_their_values(seed: int, codes: int, together: int, block_rows: int) -> None:
    random = np.random.default_rng(seed)
    parts = [stretch(random, codes) for _ in range(random.integers(1, 5))]
    blocks = [RowBlock({"code": p.codes, "key": p.keys, "count": p.counts}).sealed({}, block_rows, {}) for p in parts]
    whole, values = total(parts), ValueCodes(Values(Column("x")), pa.int64())
    sizes = np.bincount(whole.codes, weights=whole.counts, minlength=codes).astype(np.int64)
    asked = random.permutation(np.flatnonzero(sizes))[: random.integers(0, codes + 1)].astype(NO_CODES.dtype)
    with patch.object(large_windows, "TOGETHER", together):
        found = LargeRuns(values, LargeWindow(blocks), asked, sizes[asked])
        expected = GroupRuns(values, whole, asked, sizes[asked])
        assert expected.sizes().tolist() == found.sizes().tolist()
        assert expected.distinct().tolist() == found.distinct().tolist()
        ranks = random.integers(0, np.maximum(sizes[asked], 1))
        last = ranks == sizes[asked] - 1
        for one, other, known in zip(
            expected.numbers_around(ranks), found.numbers_around(ranks), (ranks >= 0, ~last), strict=True
        ):
            assert one[known].tolist() == other[known].tolist()
        assert plain(expected.listed) == plain(found.listed)
        assert expected.at_edge(last=True).equals(found.at_edge(last=True))
        shares = sizes[asked] * random.choice([0.0, 0.2, 0.5])
        assert plain(expected.most_frequent(2, shares)) == plain(found.most_frequent(2, shares))


def test_a_few_of_many_groups_do_not_bring_all_between_them() -> None:
    codes = np.repeat(np.arange(1000), 10).astype(NO_CODES.dtype)
    whole = Multiset(codes, np.tile(np.arange(10), 1000), np.ones(10_000, np.int64))
    window, asked = LargeWindow([]).plus(whole), np.array([999, 0], NO_CODES.dtype)
    runs = LargeRuns(ValueCodes(Values(Column("x")), pa.int64()), window, asked, np.array([10, 10]))
    with (
        patch.object(large_windows, "TOGETHER", 500),
        patch.object(LargeWindow, "multiset", autospec=True, side_effect=LargeWindow.multiset) as read,
    ):
        assert runs.distinct().tolist() == [10, 10]
    assert [(0, 0), (999, 999)] == [call.args[1:] for call in read.call_args_list]
