from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pytest

from windrow.errors import SourceError
from windrow.sources.conform import TEXT, conform, convert, encoded_schema, plain_schema

UTC = pa.timestamp("us", "UTC")


def test_columns_come_in_the_declared_order_and_types() -> None:
    columns: Any = {"a": [1, 2], "b": ["x", "y"], "c": [True, False]}
    raw = pa.record_batch(columns)
    wanted = pa.schema([("b", TEXT), ("a", pa.float64())])
    assert [{"b": "x", "a": 1.0}, {"b": "y", "a": 2.0}] == conform(raw, wanted, "a table").to_pylist()
    assert wanted == conform(raw, wanted, "a table").schema


def test_a_batch_that_fits_is_not_copied() -> None:
    raw = pa.record_batch({"a": [1, 2]})
    assert raw is conform(raw, raw.schema, "a table")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-01", datetime(2024, 1, 1)),
        ("2024-01-01 00:00", datetime(2024, 1, 1)),
        ("2024-01-01T00:00:00.25", datetime(2024, 1, 1, 0, 0, 0, 250_000)),
        ("2024-01-01T00:00:00Z", datetime(2024, 1, 1)),
        ("2024-01-01T01:30:00+01:30", datetime(2024, 1, 1)),
        ("2024-01-01T00:00:00.123456000Z", datetime(2024, 1, 1, 0, 0, 0, 123_456)),
    ],
)
def test_times_in_any_spelling(text: str, expected: datetime) -> None:
    assert [expected.replace(tzinfo=timezone.utc)] == convert(pa.array([text]), UTC).to_pylist()


def test_times_without_a_zone_are_utc() -> None:
    naive = pa.array([datetime(2024, 1, 1)], pa.timestamp("ns"))
    assert [datetime(2024, 1, 1, tzinfo=timezone.utc)] == convert(naive, UTC).to_pylist()


@pytest.mark.parametrize(
    ("array", "kind", "expected"),
    [
        (pa.array(["a", None, "a"], pa.string_view()), pa.string(), ["a", None, "a"]),
        (pa.array(["a", None, "a"], pa.large_string()), TEXT, ["a", None, "a"]),
        (pa.array(["1", "2", "1"]).dictionary_encode(), pa.int64(), [1, 2, 1]),
        (pa.array(["a", "b"], pa.large_string()).dictionary_encode(), TEXT, ["a", "b"]),
        (pa.array([1, 2]), pa.string(), ["1", "2"]),
    ],
)
def test_layouts_and_types(array: pa.Array[Any], kind: pa.DataType, expected: list[Any]) -> None:
    converted = convert(array, kind)
    assert kind == converted.type
    assert expected == converted.to_pylist()


def test_a_value_that_does_not_fit_is_named() -> None:
    pattern = (
        r"^`price` must be int64 in f\.parquet, got 'abc'\. "
        r"Hint: declare the column with another type, or correct the data\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        conform(pa.record_batch({"price": ["1", "abc"]}), pa.schema([("price", pa.int64())]), "f.parquet")


@pytest.mark.parametrize(
    ("array", "unit", "shown"),
    [
        (pa.array(["2024-01-01", "2024-01-01T00:00:00.123456789Z"]), "us", "'2024-01-01T00:00:00.123456789Z'"),
        (pa.array([0, 1_001], pa.timestamp("ns")), "us", "1970-01-01 00:00:00.000001001"),
        (pa.array([0, 1_001], pa.timestamp("ns", "UTC")), "us", "1970-01-01 00:00:00.000001001"),
        (pa.array([0, 1_500], pa.timestamp("ms", "Asia/Tokyo")), "s", "1970-01-01 00:00:01.500"),
    ],
)
def test_times_finer_than_declared_are_refused(array: pa.Array[Any], unit: Any, shown: str) -> None:
    pattern = (
        rf"^`t` must be timestamp\[{unit}, tz=UTC\] in a table, got {re.escape(shown)}\. Hint: round it before the "
        r"query, for example with pyarrow\.compute\.floor_temporal or \.dt\.floor in pandas\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        conform(pa.record_batch({"t": array}), pa.schema([("t", pa.timestamp(unit, "UTC"))]), "a table")


def test_integers_are_not_taken_for_times() -> None:
    pattern = (
        r"^`t` must be timestamp\[us, tz=UTC\] in a table, got int64 \(an integer has no time unit\)\. Hint: .*\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        conform(pa.record_batch({"t": [1]}), pa.schema([("t", UTC)]), "a table")


def test_schemas_lose_layouts_and_gain_dictionaries() -> None:
    number: Any = pa.int32()
    found = pa.schema({"a": pa.large_string(), "b": number}, metadata={"k": "v"})
    assert pa.schema({"a": pa.string(), "b": number}).equals(plain_schema(found), check_metadata=True)
    assert pa.schema([("a", TEXT), ("b", pa.int32())]) == encoded_schema(found)
