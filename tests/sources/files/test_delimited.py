from __future__ import annotations

import gzip
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from windrow.errors import SourceError
from windrow.sources import Source, elements_of, open_source
from windrow.sources.base import position_of

TEXT = pa.dictionary(pa.int32(), pa.string())


def write(folder: Path, text: str, name: str = "a.csv") -> Path:
    (folder / name).write_text(text)
    return folder / name


def rows(source: Source, batch_rows: int = 100, skip_rows: int = 0) -> list[dict[str, Any]]:
    batches = elements_of(source, position_of(skip_rows), batch_rows=batch_rows)
    return [row for batch in batches if isinstance(batch, pa.RecordBatch) for row in batch.to_pylist()]


def test_types_are_found_and_only_empty_cells_are_null(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, 's,x\nNA,1\n,\n"",3\n'))
    assert pa.schema([("s", TEXT), ("x", pa.int64())]) == source.schema
    assert [{"s": "NA", "x": 1}, {"s": None, "x": None}, {"s": "", "x": 3}] == rows(source)
    assert source.total_rows is None


def test_a_quoted_cell_may_hold_line_ends_and_commas(tmp_path: Path) -> None:
    assert [{"s": "a,\nb", "x": 1}] == rows(open_source(write(tmp_path, 's,x\n"a,\nb",1\n')))


def test_tabs_and_gzip(tmp_path: Path) -> None:
    expected = [{"s": "a,b", "x": 1}]
    assert expected == rows(open_source(write(tmp_path, "s\tx\na,b\t1\n", "a.tsv")))
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b's,x\n"a,b",1\n'))
    assert expected == rows(open_source(tmp_path / "b.csv.gz"))


def test_whole_seconds_first_leave_room_for_decimals_later(tmp_path: Path) -> None:
    path = write(tmp_path, "t\n2024-01-01T00:00:00Z\n")
    assert pa.timestamp("us", "UTC") == open_source(path).schema.field("t").type


def test_declared_times_may_be_spelled_in_any_way(tmp_path: Path) -> None:
    path = write(tmp_path, "x,t\n1,2024-01-01 00:00:00\n2,2024-01-01T02:00:00.5+02:00\n3,\n")
    source = open_source(path, schema=pa.schema([("t", pa.timestamp("us", "UTC"))]))
    first = datetime(2024, 1, 1, tzinfo=timezone.utc)
    assert [{"t": first}, {"t": first.replace(microsecond=500_000)}, {"t": None}] == rows(source)


def test_skipping_rows_over_files(tmp_path: Path) -> None:
    write(tmp_path, "x\n1\n2\n", "a.csv")
    write(tmp_path, "x\n3\n4\n", "b.csv")
    assert [{"x": 4}] == rows(open_source(tmp_path), skip_rows=3)


def test_a_cell_that_does_not_parse_names_file_column_and_value(tmp_path: Path) -> None:
    path = write(tmp_path, "s,x\na,1\nb,zz\n")
    schema = pa.schema([("x", pa.int64())])
    pattern = (
        rf"^`x` must be int64 in {re.escape(str(path))}, got 'zz'\. "
        r"Hint: declare the column with another type in `schema`, or correct the cell\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        rows(open_source(path, schema=schema))


def test_a_time_that_does_not_parse_is_named_with_the_rows_before_it(tmp_path: Path) -> None:
    write(tmp_path, "t\n2024-01-01\n", "a.csv")
    write(tmp_path, "t\nhello\n", "b.csv")
    schema = pa.schema([("t", pa.timestamp("us", "UTC"))])
    with pytest.raises(
        SourceError, match=r"^`t` must be timestamp\[us, tz=UTC\] in .*b\.csv, got 'hello'\. Hint: .*\.$"
    ) as caught:
        rows(open_source(tmp_path, schema=schema))
    assert 1 == caught.value.used


def test_a_line_with_too_few_cells(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b\n1,2\n3\n")
    pattern = r"^`trades` must be a readable CSV file \(CSV parse error: Expected 2 columns, got 1: 3\), got .*\.$"
    with pytest.raises(SourceError, match=pattern):
        rows(open_source(path, name="trades"))


def test_an_empty_file_needs_a_schema(tmp_path: Path) -> None:
    path = write(tmp_path, "")
    pattern = (
        r"^`trades` must hold rows, or be given a schema, because an empty file does not tell its columns, got "
        rf"{re.escape(str(path))}\. Hint: declare the columns with `schema`\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        open_source(path, name="trades")
    assert [] == rows(open_source(path, schema=pa.schema([("x", pa.int64())])))


def test_a_header_alone_needs_a_schema(tmp_path: Path) -> None:
    path = write(tmp_path, "ts,price\n")
    pattern = (
        r"^`trades` must hold rows, or be given a schema, because a header alone does not tell the types of its "
        rf"columns, got {re.escape(str(path))}\. "
        r"Hint: declare them: CREATE STREAM trades \(ts TYPE, price TYPE\) in SQL, "
        r"schema=pa\.schema\(\.\.\.\) in Python\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        open_source(path, name="trades")
    assert [] == rows(open_source(path, schema=pa.schema([("ts", pa.timestamp("us"))])))


def test_a_header_alone_leaves_the_types_to_other_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts,price\n")
    (tmp_path / "b.csv").write_text("ts,price\n5,1.5\n")
    assert [{"ts": 5, "price": 1.5}] == rows(open_source(tmp_path))


def test_repeated_headers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"^`stream` has more than one column named 'a'\. Hint: .*\.$"):
        open_source(write(tmp_path, "a,a\n1,2\n"))
