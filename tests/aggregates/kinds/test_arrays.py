from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from windrow.aggregates.kinds.arrays import arrow, lists, of_type, tabled, where_present

SECOND_IS_NULL = np.array([False, True])


def test_arrow_is_null_where_told() -> None:
    assert [1, None] == arrow(np.array([1, 2]), null=SECOND_IS_NULL).to_pylist()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (pa.bool_(), True),
        (pa.int16(), 1),
        (pa.float32(), 1.0),
        (pa.date32(), date(1970, 1, 2)),
        (pa.timestamp("s", "UTC"), datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc)),
    ],
)
def test_storage_values_become_values_of_their_type(kind: pa.DataType, expected: Any) -> None:
    array = of_type(np.array([1, 1]), kind, null=SECOND_IS_NULL)
    assert (kind, [expected, None]) == (array.type, array.to_pylist())


def test_an_index_counts_only_where_present() -> None:
    values = pa.array(["a", "b"])
    index, present = np.array([1, 99, 0]), np.array([True, False, True])
    assert ["b", None, "a"] == where_present(values, index, present).to_pylist()


def test_nothing_is_taken_from_nothing() -> None:
    assert [None] == where_present(pa.array([], pa.string()), np.array([0]), np.array([False])).to_pylist()


def test_lists_have_the_sizes_told() -> None:
    assert [[1, 2], [], [3]] == lists(np.array([2, 0, 1]), pa.array([1, 2, 3])).to_pylist()


def test_tabled_keeps_order_and_types() -> None:
    table = tabled(b=np.array([1], np.int32), a=np.array([0.5]))
    assert (["b", "a"], [pa.int32(), pa.float64()]) == (table.column_names, table.schema.types)
