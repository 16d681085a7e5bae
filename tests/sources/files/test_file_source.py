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
