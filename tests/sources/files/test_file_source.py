from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.errors import SourceError
from windrow.sources import elements_of, open_source


def test_describe_says_how_many_files_of_which_kind(tmp_path: Path) -> None:
    table = pa.table({"x": [1]})
    pq.write_table(table, tmp_path / "a.parquet")
    assert f"{tmp_path}/a.parquet (Parquet)" == open_source(tmp_path / "a.parquet").describe()
    pq.write_table(table, tmp_path / "b.parquet")
    assert f"{tmp_path} (2 files, Parquet)" == open_source(tmp_path).describe()


def test_a_file_that_vanishes_says_how_far_reading_came(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    (tmp_path / "b.csv").write_text("x\n3\n")
    source = open_source(tmp_path, name="trades")
    (tmp_path / "b.csv").unlink()
    with pytest.raises(SourceError, match=r"^`trades` must be a readable CSV file \(.+\), got .*b\.csv\.") as caught:
        list(elements_of(source))
    assert 2 == caught.value.used


def test_types_of_later_files_follow_the_first(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1.5\n")
    (tmp_path / "b.csv").write_text("x\n2\n")
    batches = [element for element in elements_of(open_source(tmp_path)) if isinstance(element, pa.RecordBatch)]
    assert [[1.5], [2.0]] == [batch["x"].to_pylist() for batch in batches]


UNLIKE = r"^`stream` must have the columns of its first file in all others, because they are not declared, got "
WAY_OUT = r"\. Hint: declare the columns with `schema`, or in CREATE STREAM; others are then passed over\.$"


@pytest.mark.parametrize(
    ("ending", "first", "second"),
    [
        ("csv", "x\n1\n", "x,y\n2,3\n"),
        ("tsv", "x\n1\n", "y\tx\n3\t2\n"),
        ("jsonl", '{"x": 1}\n', '{"x": 2, "y": 3}\n'),
    ],
)
def test_columns_that_only_a_later_file_has_are_declared_or_refused(
    ending: str, first: str, second: str, tmp_path: Path
) -> None:
    (tmp_path / f"a.{ending}").write_text(first)
    (tmp_path / f"b.{ending}").write_text(second)
    with pytest.raises(SourceError, match=rf"{UNLIKE}'y' in .*b\.{ending}{WAY_OUT}") as caught:
        list(elements_of(open_source(tmp_path)))
    assert 1 == caught.value.used
    declared = open_source(tmp_path, schema=pa.schema([("x", pa.int64())]))
    assert [1, 2] == [x for batch in elements_of(declared) for x in batch["x"].to_pylist()]  # type: ignore[index]


def test_columns_of_another_type_in_a_later_file_are_declared_or_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": ["1"], "n": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [2], "n": [2.0]}), tmp_path / "b.parquet")
    with pytest.raises(SourceError, match=rf"{UNLIKE}'x' as bigint, not string, in .*b\.parquet{WAY_OUT}"):
        list(elements_of(open_source(tmp_path)))
    numbers = open_source(tmp_path, schema=pa.schema([("n", pa.int64())]))
    assert [1, 2] == [n for batch in elements_of(numbers) for n in batch["n"].to_pylist()]  # type: ignore[index]
