"""Values as keys: their order, their NULLs, and the way back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.operators.state.keys import (
    array_from_keys,
    as_float64,
    as_int64,
    keys_of_numbers,
    ordered_keys,
    validity,
)

TOP = (1 << 64) - 1


def test_unsigned_integers_keep_their_order() -> None:
    array: Any = pa.array([TOP, 0, 1 << 63, 5, (1 << 63) - 1], pa.uint64())
    keys = ordered_keys(array)
    assert sorted(array.to_pylist()) == [array[int(i)].as_py() for i in np.argsort(keys)]
    assert array.equals(array_from_keys(keys, pa.uint64()))


@pytest.mark.parametrize(
    "array",
    [
        pa.array([3, -2, 0], pa.int64()),
        pa.array([3, 5, (1 << 63) - 1], pa.uint64()),
        pa.array([0.5, -0.0, float("nan"), float("-inf"), -2.25]),
        pa.array([0.5, -1.5], pa.float32()),
    ],
    ids=lambda array: str(array.type),
)
def test_keys_follow_from_numbers(array: Any) -> None:
    is_float = pa.types.is_floating(array.type)
    numbers = as_float64(array).view(np.int64) if is_float else as_int64(array)
    assert ordered_keys(array).tolist() == keys_of_numbers(numbers, array.type).tolist()


def test_groups_and_aggregates_of_unsigned_integers() -> None:
    columns: dict[str, Any] = {"t": [1, 2, 3, 4], "k": pa.array([TOP, 5, TOP, None], pa.uint64())}
    stream = wr.stream(pa.table(columns), time="t")
    groups = stream.group_by("k").window(range=10).agg(n=wr.count()).run().table
    assert {TOP: 2, 5: 1, None: 1} == dict(zip(*groups.select(["k", "n"]).to_pydict().values(), strict=True))
    asked = {
        "low": wr.min("k"),
        "high": wr.max("k"),
        "last": wr.last("k"),
        "all": wr.collect("k"),
        "kinds": wr.count_distinct("k"),
    }
    row = stream.window(range=10).agg(**asked).run().table.to_pylist()[0]
    expected = {"low": 5, "high": TOP, "last": TOP, "all": [TOP, 5, TOP], "kinds": 2}
    assert expected == {name: row[name] for name in asked}


def nulls_within() -> Any:
    """a, NULL, b, NULL, NULL: twice by an entry of the dictionary, once by its index."""
    indices: Any = pa.array([0, 1, 2, 1, None], pa.int32())
    return pa.DictionaryArray.from_arrays(indices, pa.array(["a", None, "b"]))


def test_a_null_entry_of_a_dictionary_is_null() -> None:
    assert [1, 0, 1, 0, 0] == validity(nulls_within()).tolist()


def test_aggregates_leave_out_null_entries_of_a_dictionary() -> None:
    columns: dict[str, Any] = {"t": [1, 2, 3, 4, 5], "k": nulls_within()}
    asked = {
        "n": wr.count("k"),
        "usual": wr.mode("k"),
        "all": wr.collect("k"),
        "kinds": wr.count_distinct("k"),
        "last": wr.last("k"),
    }
    row = wr.stream(pa.table(columns), time="t").window(range=10).agg(**asked).run().table.to_pylist()[0]
    assert {"n": 2, "usual": "a", "all": ["a", "b"], "kinds": 2, "last": "b"} == {name: row[name] for name in asked}
