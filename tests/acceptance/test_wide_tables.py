"""Tables of thousands of columns: every step looks a column up, none lists all of them for each."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import windrow as wr

COLUMNS = 2000
WIDE = pa.table({"t": [1, 2, 13], **{f"c{number}": [number, number, number + 1] for number in range(COLUMNS)}})


def stream(data: pa.Table | Path = WIDE) -> wr.Query:
    return wr.stream(data, time="t", progress=wr.ordered(), name="s")


def test_all_columns_some_of_them_and_groups() -> None:
    assert WIDE == wr.sql("SELECT * FROM s", s=stream()).collect()
    assert WIDE.select(["c7", "t"]) == wr.sql("SELECT c7, t FROM s WHERE c9 > 0", s=stream()).collect()
    text = "SELECT c7, count(*) AS n FROM s [RANGE 10 WATTR t] GROUP BY c7"
    assert [(7, 2), (8, 1)] == [(row["c7"], row["n"]) for row in wr.sql(text, s=stream()).collect().to_pylist()]
    assert "c1999" in stream().where("c7 > 0").explain()


def test_every_column_aggregated_and_every_column_a_key() -> None:
    names = WIDE.column_names[1:]
    tops = stream().window(range=100).agg(**{name: wr.max(name) for name in names}).collect()
    assert list(range(1, COLUMNS + 1)) == list(tops.select(names).to_pylist()[0].values())
    assert [2, 1] == stream().group_by(*names).window(range=100).agg(n=wr.count()).collect()["n"].to_pylist()
    assert WIDE == stream().distinct().collect()


def test_files(tmp_path: Path) -> None:
    for name in ("a.parquet", "a.csv", "a.jsonl"):
        stream().write(tmp_path / name)
        assert WIDE == stream(tmp_path / name).collect()
    declared = ", ".join(f"{name} BIGINT" for name in WIDE.column_names)
    text = f"CREATE STREAM s ({declared}) FROM '{tmp_path / 'a.parquet'}' PROGRESS ON t; SELECT * FROM s"
    assert WIDE == wr.sql(text).collect()
