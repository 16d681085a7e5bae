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
from windrow.sources.files import json_lines

TEXT = pa.dictionary(pa.int32(), pa.string())


def write(folder: Path, text: str, name: str = "a.jsonl") -> Path:
    (folder / name).write_text(text)
    return folder / name


def rows(source: Source, batch_rows: int = 2) -> list[dict[str, Any]]:
    batches = elements_of(source, batch_rows=batch_rows)
    return [row for batch in batches if isinstance(batch, pa.RecordBatch) for row in batch.to_pylist()]


def test_types_are_found_and_zoned_text_is_a_time(tmp_path: Path) -> None:
    path = write(tmp_path, '{"t": "2024-01-01T00:00:00Z", "s": "x"}\n{"t": null, "l": [1]}\n')
    source = open_source(path)
    assert pa.schema([("t", pa.timestamp("us", "UTC")), ("s", TEXT), ("l", pa.list_(pa.int64()))]) == source.schema
    expected = [
        {"t": datetime(2024, 1, 1, tzinfo=timezone.utc), "s": "x", "l": None},
        {"t": None, "s": None, "l": [1]},
    ]
    assert expected == rows(source)


@pytest.mark.parametrize("text", ["2024-01-01T01:00:00+01:00", "2024-01-01 00:00:00", "2024-01-01T00:00:00.000"])
def test_times_in_any_spelling_are_utc(tmp_path: Path, text: str) -> None:
    source = open_source(write(tmp_path, f'{{"t": "{text}"}}\n'))
    assert pa.timestamp("us", "UTC") == source.schema.field("t").type
    assert [{"t": datetime(2024, 1, 1, tzinfo=timezone.utc)}] == rows(source)


def test_only_declared_columns_are_read(tmp_path: Path) -> None:
    path = write(tmp_path, '{"a": 1, "b": {"c": 2}}\n{"a": 2, "b": null}\n{"a": 3}\n')
    assert [{"a": 1.0}, {"a": 2.0}, {"a": 3.0}] == rows(open_source(path, schema=pa.schema([("a", pa.float64())])))


def later_field(folder: Path, name: str = "a.jsonl") -> Path:
    """A field that comes up after the first block."""
    text = '{"a": 1, "b": 2}\n' * 70_000 + '{"a": 1, "b": 2, "c": 3}\n'
    if name.endswith(".gz"):
        (folder / name).write_bytes(gzip.compress(text.encode(), 1))
        return folder / name
    return write(folder, text, name)


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_field_after_the_first_block_is_not_lost_unseen(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_lines, "_BLOCK", 1 << 20)
    path = later_field(tmp_path, name)
    pattern = (
        r"^`trades` must have no field that its first 1 MB have not, because its columns are not declared, got 'c' in "
        rf"line 70001 of {re.escape(str(path))}\. "
        r"Hint: declare the columns with `schema`, or in CREATE STREAM; other fields are then passed over\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        for _ in elements_of(open_source(path, name="trades")):
            pass
    kinds = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    assert 70_001 == len(rows(open_source(path, schema=kinds), 1 << 20))
    assert 70_001 == len(rows(open_source(path).select(["b"]), 1 << 20))


def test_a_field_inside_another_after_the_first_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "_BLOCK", 1 << 20)
    path = write(tmp_path, '{"a": {"b": 2}}\n' * 70_000 + '{"a": {"c": 2}}\n')
    with pytest.raises(SourceError, match=r"^`trades` must hold one JSON object a line \(.*unexpected field.*\), got "):
        for _ in elements_of(open_source(path, name="trades")):
            pass


def test_gzip(tmp_path: Path) -> None:
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(b'{"a": 1}\n'))
    assert [{"a": 1}] == rows(open_source(tmp_path / "a.json.gz"))


def test_a_column_of_two_types_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, '{"a": 1}\n{"a": "x"}\n')
    pattern = (
        rf"^`a` must have one type in every line of {re.escape(str(path))} \(changed from number to string\)\. "
        r"Hint: declare the column in `schema`, or correct the lines\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        open_source(path)


def test_a_value_of_another_type_than_declared(tmp_path: Path) -> None:
    path = write(tmp_path, '{"a": 1.5}\n')
    pattern = (
        r"^`trades` must hold values that fit the columns' types \(int64 was expected in "
        rf"{re.escape(str(path))}\), got 1\.5\. "
        r"Hint: declare the column with another type in `schema`, or correct the lines\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        rows(open_source(path, name="trades", schema=pa.schema([("a", pa.int64())])))


@pytest.mark.parametrize("text", ['[{"a": 1}]\n', '{"a" 1}\n'])
def test_what_is_not_an_object_a_line(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    pattern = (
        rf"^`trades` must hold one JSON object a line \(.+\), got {re.escape(str(path))}\. "
        r"Hint: write each object on a line of its own, without brackets or commas around the lines\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        open_source(path, name="trades")


def test_an_empty_file_among_others_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "", "a.jsonl")
    write(tmp_path, '{"a": 1}\n', "b.jsonl")
    assert [{"a": 1}] == rows(open_source(tmp_path))
