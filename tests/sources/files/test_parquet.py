from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.errors import SourceError
from windrow.sources import Source, elements_of, open_source
from windrow.sources.base import position_of

TABLE = pa.table({"symbol": [f"s{i % 3}" for i in range(10)], "x": list(range(10))})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    pq.write_table(TABLE, tmp_path / "a.parquet", row_group_size=4)  # row groups of 4, 4 and 2 rows
    return tmp_path / "a.parquet"


def column(source: Source, batch_rows: int = 1 << 17, skip_rows: int = 0, name: str = "x") -> list[list[object]]:
    batches = list(elements_of(source, position_of(skip_rows), batch_rows=batch_rows))
    return [batch[name].to_pylist() for batch in batches if isinstance(batch, pa.RecordBatch)]


def flat(pieces: list[list[object]]) -> list[object]:
    return [value for piece in pieces for value in piece]


def damage(path: Path, group: int) -> None:
    """Overwrite the data of column `x` in one row group."""
    offset = pq.read_metadata(path).row_group(group).column(1).data_page_offset
    data = bytearray(path.read_bytes())
    data[offset : offset + 12] = b"\xff" * 12
    path.write_bytes(bytes(data))


def test_text_is_read_as_dictionary_and_the_rows_are_counted(path: Path) -> None:
    source = open_source(path)
    assert pa.schema([("symbol", pa.dictionary(pa.int32(), pa.string())), ("x", pa.int64())]) == source.schema
    assert 10 == source.total_rows
    assert TABLE["symbol"].to_pylist() == flat(column(source, name="symbol"))


def test_text_stays_plain_without_dictionary(path: Path) -> None:
    assert pa.string() == open_source(path, dictionary=False).schema.field("symbol").type


def test_batches_never_exceed_batch_rows(path: Path) -> None:
    pieces = column(open_source(path).select(["x"]), batch_rows=3)
    assert list(range(10)) == flat(pieces)
    assert 3 == max(map(len, pieces))


@pytest.mark.parametrize("skip", range(11))
@pytest.mark.parametrize("batch_rows", [1, 3, 100])
def test_skipping_rows(path: Path, skip: int, batch_rows: int) -> None:
    assert list(range(skip, 10)) == flat(column(open_source(path).select(["x"]), batch_rows, skip))


@pytest.mark.parametrize("skip", [0, 9, 10, 15, 20])
def test_skipping_over_files(path: Path, skip: int) -> None:
    pq.write_table(TABLE, path.with_name("b.parquet"))
    source = open_source(path.parent)
    assert 20 == source.total_rows
    assert [*range(10), *range(10)][skip:] == flat(column(source, skip_rows=skip))


def test_small_row_groups_are_read_together(path: Path) -> None:
    assert [list(range(10))] == column(open_source(path).select(["x"]))


def test_only_selected_columns_are_read(path: Path) -> None:
    damage(path, 0)  # column x cannot be read any more
    assert TABLE["symbol"].to_pylist() == flat(column(open_source(path).select(["symbol"]), name="symbol"))


def test_a_declared_schema_chooses_and_casts(path: Path) -> None:
    source = open_source(path, schema=pa.schema([("x", pa.float64())]))
    assert [[float(i) for i in range(10)]] == column(source)


def test_a_declared_column_that_is_missing(path: Path) -> None:
    pattern = rf"^`trades` has no column 'y' in {re.escape(str(path))} \(one of symbol, x\)\. Hint: .*\.$"
    with pytest.raises(SourceError, match=pattern):
        open_source(path, name="trades", schema=pa.schema([("y", pa.int64())]))


def test_a_later_file_without_a_column_is_named(path: Path) -> None:
    pq.write_table(TABLE.select(["symbol"]), path.with_name("b.parquet"))
    source = open_source(path.parent, name="trades")
    with pytest.raises(SourceError, match=r"^`trades` has no column 'x' in .*b\.parquet \(one of symbol\)\.") as caught:
        column(source)
    assert 10 == caught.value.used


def test_a_damaged_row_group_is_named_with_the_rows_before_it(path: Path) -> None:
    damage(path, 1)
    pattern = (
        r"^`trades` must be a readable Parquet file \(row group 1 of 3 is damaged, counted from 0\), got "
        rf"{re.escape(str(path))}\. Hint: write the file again from where it came\.$"
    )
    with pytest.raises(SourceError, match=pattern) as caught:
        column(open_source(path, name="trades"), batch_rows=4)
    assert 4 == caught.value.used


def test_a_damaged_row_group_is_found_among_those_read_together(path: Path) -> None:
    damage(path, 1)
    with pytest.raises(SourceError, match=r"^`stream` .* \(row group 1 of 3 is damaged, counted from 0\), got"):
        column(open_source(path))


def test_a_file_cut_off_is_not_readable(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:40])
    pattern = (
        rf"^`trades` must be a readable Parquet file \(.+\), got {re.escape(str(path))}\. "
        r"Hint: check that the file is complete and that its ending says what it holds\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        open_source(path, name="trades")


def test_a_page_that_fails_its_checksum_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    options: Any = {"write_page_checksum": True, "use_dictionary": False, "compression": "none"}
    pq.write_table(pa.table({"x": list(range(100, 110))}), path, **options)
    content = bytearray(path.read_bytes())
    content[content.index((105).to_bytes(8, "little"))] ^= 1
    path.write_bytes(content)
    with pytest.raises(SourceError, match=r"^`s` must be a readable Parquet file \(row group 0 of 1 is damaged"):
        column(open_source(path, name="s"))
