from __future__ import annotations

from datetime import datetime
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from windrow.errors import ConfigurationError, SourceError
from windrow.sources import Source, elements_of, open_source
from windrow.sources.base import position_of

TABLE = pa.table({"s": ["a", "b", "c"], "x": [1, 2, 3]})


def rows(source: Source, batch_rows: int = 2, skip_rows: int = 0) -> list[list[dict[str, Any]]]:
    batches = elements_of(source, position_of(skip_rows), batch_rows=batch_rows)
    return [batch.to_pylist() for batch in batches if isinstance(batch, pa.RecordBatch)]


def test_a_table_comes_in_batches_and_can_be_read_again() -> None:
    source = open_source(TABLE).select(["x"])
    assert 3 == source.total_rows
    assert "Arrow table (3 rows)" == source.describe()
    for _ in range(2):
        assert [[{"x": 1}, {"x": 2}], [{"x": 3}]] == rows(source)
    assert [[{"x": 3}]] == rows(source, skip_rows=2)


def test_a_batch_is_a_table() -> None:
    assert [[{"s": "a", "x": 1}]] == rows(open_source(TABLE.slice(0, 1).to_batches()[0]))


def test_a_declared_schema_casts_a_table() -> None:
    assert [[{"x": 1.0}, {"x": 2.0}], [{"x": 3.0}]] == rows(open_source(TABLE, schema=pa.schema([("x", pa.float64())])))


def test_a_declared_column_that_is_missing() -> None:
    pattern = r"^`trades` has no column 'y' in the Arrow table \(one of s, x\)\. Hint: .*\.$"
    with pytest.raises(SourceError, match=pattern):
        open_source(TABLE, name="trades", schema=pa.schema([("y", pa.int64())]))


def test_a_reader_can_be_read_once() -> None:
    source = open_source(TABLE.to_reader(), name="trades")
    assert [[{"s": "b", "x": 2}, {"s": "c", "x": 3}]] == rows(source, batch_rows=5, skip_rows=1)
    pattern = (
        r"^`trades` can be read only once, because it is a reader\. "
        r"Hint: give a table, or a new reader for every run\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        rows(source)


def test_pandas_keeps_a_named_index() -> None:
    frame = pd.DataFrame({"t": [datetime(2024, 1, 1)], "s": ["a"]})
    assert ["t", "s"] == open_source(frame).schema.names
    assert {"t", "s"} == set(open_source(frame.set_index("t")).schema.names)
    assert [[{"t": datetime(2024, 1, 1), "s": "a"}]] == rows(open_source(frame))


def test_pandas_columns_of_mixed_types_are_refused() -> None:
    pattern = (
        r"^`trades` must have columns of one type each \(.*column a.*\), got a pandas DataFrame\. "
        r"Hint: convert the column first, for example with astype\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        open_source(pd.DataFrame({"a": [1, "x"]}), name="trades")


def test_polars_in_plain_layouts() -> None:
    frame = pl.DataFrame({"s": ["a", "b"], "c": pl.Series(["u", "v"], dtype=pl.Categorical), "x": [1, 2]})
    source = open_source(frame)
    assert [pa.string(), pa.dictionary(pa.int32(), pa.string()), pa.int64()] == source.schema.types
    assert 2 == source.total_rows
    for _ in range(2):
        assert [[{"s": "a", "c": "u", "x": 1}, {"s": "b", "c": "v", "x": 2}]] == rows(source)


@pytest.mark.parametrize("data", [5, b"a.csv", {"a": [1]}, pl.LazyFrame({"a": [1]})])
def test_anything_else_is_refused(data: object) -> None:
    pattern = (
        r"^`trades` must be a path, an Arrow table or reader, a pandas or polars frame, or an iterable of elements, "
        r"got an object of type \w+\. Hint: collect lazy frames first; wrap columns in pa\.table\(\.\.\.\)\.$"
    )
    with pytest.raises(ConfigurationError, match=pattern):
        open_source(data, name="trades")
