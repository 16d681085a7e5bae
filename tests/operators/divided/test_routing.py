"""Equal keys share a shard in every process; different ones are spread evenly."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies as streams
from windrow.operators.divided.routing import shards_of

MANY = 1 << 20
"""So many shards that different keys hardly share one by chance."""


def shards(values: Any, kind: pa.DataType | None = None, *, count: int = MANY) -> list[int]:
    array = values if isinstance(values, pa.Array) else pa.array(values, kind)
    numbers: list[int] = shards_of([array], len(array), count).tolist()
    return numbers


WORDS = ["", "a", "abc", "abcdefgh", "abcdefghi", "\u00e9t\u00e9", None]
PINNED: list[tuple[list[Any], pa.DataType, list[int]]] = [
    ([0, 1, -1, None], pa.int64(), [14714, 908318, 273712, 862448]),
    ([0.0, 1.5, math.nan, -math.inf], pa.float64(), [14714, 1011216, 878218, 643551]),
    (WORDS, pa.string(), [748011, 498652, 759756, 52538, 665979, 680458, 862448]),
    ([Decimal("1.50"), None], pa.decimal128(5, 2), [634260, 862448]),
    ([False, True], pa.bool_(), [14714, 908318]),
    ([0, 1_700_000_000_000_000], pa.timestamp("us", "UTC"), [14714, 812151]),
]


@pytest.mark.parametrize(("values", "kind", "expected"), PINNED, ids=[str(kind) for _, kind, _ in PINNED])
def test_the_assignment_never_changes(values: list[Any], kind: pa.DataType, expected: list[int]) -> None:
    """Saved state lies where these numbers say; a change of them loses it."""
    assert expected == shards(values, kind)


def test_the_assignment_of_several_columns_never_changes() -> None:
    names, numbers = pa.array(["a", "b", "a", None]), pa.array([1, 1, 2, None])
    assert [70117, 823749, 179376, 582338] == shards_of([names, numbers], 4, MANY).tolist()
    assert [704741, 1021496, 824568, 582338] == shards_of([numbers, names], 4, MANY).tolist()


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32()], ids=str)
def test_integers_of_every_width_agree(kind: pa.DataType) -> None:
    assert shards([0, 1, 100, None], pa.int64()) == shards([0, 1, 100, None], kind)


def test_floats_of_either_width_agree() -> None:
    assert shards([0.5, -2.0, math.nan, None], pa.float64()) == shards([0.5, -2.0, math.nan, None], pa.float32())


def test_zeros_and_nans_are_one_value_each() -> None:
    nans = np.array([0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8000000000001], np.uint64).view(np.float64)
    assert 1 == len(set(shards([0.0, -0.0])))
    assert 1 == len(set(shards(pa.array(nans, from_pandas=False))))


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()], ids=str)
def test_text_of_every_type_agrees(kind: pa.DataType) -> None:
    words = [None if word is None else word.encode() for word in WORDS]
    assert shards(WORDS, pa.string()) == shards(pa.array(words, pa.binary()).cast(kind))


def test_null_is_null_whatever_the_type() -> None:
    kinds = (pa.int64(), pa.float64(), pa.string(), pa.null(), pa.decimal128(5, 2), pa.bool_())
    assert {862448} == {shard for kind in kinds for shard in shards([None, None], kind)}


@given(values=st.lists(st.sampled_from(streams.KEYS)), cut=st.integers(0, 5), count=st.integers(1, 9))
def test_a_dictionary_a_slice_and_plain_values_agree(values: list[str | None], cut: int, count: int) -> None:
    expected = shards(values, pa.string(), count=count)
    plain = pa.array(values, pa.string())
    rich = pa.array(["x", "y", "z", *values], pa.string()).dictionary_encode()
    assert expected == shards(plain.dictionary_encode(), count=count)
    assert expected == shards(plain.dictionary_encode(null_encoding="encode"), count=count)
    assert expected == shards(rich.slice(3), count=count)
    assert expected[cut:] == shards(plain.slice(cut), count=count)
    assert all(0 <= shard < count for shard in expected)


def test_without_key_columns_or_with_one_shard_all_is_shard_0() -> None:
    assert [0, 0, 0] == shards_of([], 3, 8).tolist()
    assert [0, 0] == shards([1, 2], count=1)
    assert [] == shards([], pa.string())


NUMBERS = np.arange(40_000)
EVENLY: dict[str, list[Any]] = {
    "in a row": [pa.array(NUMBERS)],
    "far apart": [pa.array(NUMBERS << 20)],
    "below zero": [pa.array(-NUMBERS)],
    "floats": [pa.array(NUMBERS / 8)],
    "text": [pa.array([f"key{number}" for number in NUMBERS])],
    "two equal columns": [pa.array(NUMBERS), pa.array(NUMBERS)],
    "pairs": [pa.array(NUMBERS % 200), pa.array(NUMBERS // 200)],
}


@pytest.mark.parametrize("count", [2, 7, 8])
@pytest.mark.parametrize("keys", EVENLY)
def test_keys_are_spread_evenly(keys: str, count: int) -> None:
    """Within five standard deviations of a fair throw of dice."""
    thrown = np.bincount(shards_of(EVENLY[keys], len(NUMBERS), count), minlength=count)
    fair = len(NUMBERS) / count
    assert count == len(thrown)
    assert np.all(np.abs(thrown - fair) < 5 * math.sqrt(fair * (1 - 1 / count)))
