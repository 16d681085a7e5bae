from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import windrow as wr
from windrow.errors import SourceError
from windrow.sources import elements_of, open_source
from windrow.sources.iterables.dict_rows import rows_table

SCHEMA = pa.schema([("time", pa.int64()), ("price", pa.int64())])
WAY_OUT = (
    r"give the columns, like schema=pa\.schema\(\[\('time', pa\.int64\(\)\)\]\): a key that is not there is then null"
)


def read(data: Any, columns: list[str] | None = None, **settings: Any) -> list[dict[str, Any]]:
    source = open_source(data, name="trades", **settings)
    batches = elements_of(source.select(columns or source.schema.names), batch_rows=2)
    return [row for batch in batches if isinstance(batch, pa.RecordBatch) for row in batch.to_pylist()]


def test_where_columns_are_declared_a_key_that_is_not_there_is_null() -> None:
    expected = [{"time": 1, "price": None}, {"time": None, "price": None}]
    assert expected == read(iter([{"time": 1}, {}]), schema=SCHEMA)


@pytest.mark.parametrize("columns", [["time"], ["time", "price"]])
def test_a_key_that_is_no_declared_column_is_named_with_its_row(columns: list[str]) -> None:
    rows = [{"time": 1, "price": 2}, {"time": 1, "price": 2}, {"time": 2, "prise": 3}]
    pattern = (
        r"^`trades` must have no keys but the columns of its schema, got 'prise' in row 2, counted from 0\. "
        r"Hint: did you mean price\? Else declare the column in `schema`, or leave the key out\.$"
    )
    for data in (rows, iter(rows)):
        with pytest.raises(SourceError, match=pattern) as caught:
            read(data, columns, schema=SCHEMA)
        assert 2 == caught.value.used


def test_a_key_that_resembles_none() -> None:
    pattern = r"got 'volume' in row 0, counted from 0\. Hint: declare the column in `schema`, or leave the key out\.$"
    with pytest.raises(SourceError, match=pattern):
        read([{"volume": 1}], schema=SCHEMA)


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ({"time": 2}, r"no 'price' in row 1, counted from 0\. Hint: "),
        ({"time": 2, "prise": 3}, r"'prise' in row 1, counted from 0\. Hint: did you mean price\? Else "),
        ({"time": 2, "price": 3, "note": 4}, r"'note' in row 1, counted from 0\. Hint: "),
    ],
)
def test_where_columns_are_not_declared_all_rows_have_the_same_keys(row: dict[str, int], found: str) -> None:
    pattern = (
        r"^`trades` must have the same keys in every row, because its columns are not declared, got "
        rf"{found}{WAY_OUT}\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        open_source([{"time": 1, "price": 2}, row], name="trades")


def test_as_a_user_types_it() -> None:
    def trades() -> Any:
        yield {"time": 1, "price": 10}
        yield {"time": 2, "prise": 20}

    query = wr.stream(trades(), time="time", schema=SCHEMA, name="trades").window(range=10).agg(top=wr.max("price"))
    with pytest.raises(wr.SourceError, match=r"^`trades` must have no keys but .* got 'prise' in row 1, "):
        query.collect()


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1.5, pa.int64()),
        (Decimal("1.5"), pa.int64()),
        (datetime(2024, 1, 1, 0, 0, 1, 5), pa.timestamp("s")),
        (datetime(2024, 1, 1, 5), pa.date32()),
        (pd.Timestamp("2024-01-01T00:00:00.000000001"), pa.timestamp("us")),
        (timedelta(microseconds=5), pa.duration("ms")),
    ],
)
def test_nothing_is_cut_off_a_value(value: Any, kind: pa.DataType) -> None:
    schema = pa.schema([("x", kind)])
    message = rf"^`x` must be {re.escape(str(kind))} in every row, got {re.escape(repr(value))}\. Hint: declare "
    with pytest.raises(SourceError, match=message):
        rows_table([{"x": None}, {"x": value}], schema)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (2.0, pa.int64()),
        (np.int32(7), pa.int64()),
        (5, pa.timestamp("s")),
        (datetime(2024, 1, 1, tzinfo=timezone.utc), pa.timestamp("s")),
        (pd.Timestamp("2024-01-01T00:00:00.000001"), pa.timestamp("us", "UTC")),
    ],
)
def test_a_value_that_fits_is_taken(value: Any, kind: pa.DataType) -> None:
    assert pa.array([value], kind) == rows_table([{"x": value}], pa.schema([("x", kind)]))["x"].combine_chunks()
