"""Every source: from any position a reader gives exactly the rest, whatever the sizes of batches before and after."""

from __future__ import annotations

import gzip
import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.sources.position_laws import LAWS, Law, Make, begun, flat
from windrow.errors import SourceError
from windrow.generate import trades
from windrow.generate.stream import RecipeSource
from windrow.semantics.progress.policies import Punctuation
from windrow.sources import Source, elements_of, open_source
from windrow.sources.replayed.spool import spooled

ROWS = [{"a": number, "s": f"x\n{number}" if number % 3 else None} for number in range(17)]
KINDS: dict[str, pa.DataType] = {"a": pa.int64(), "s": pa.string()}
TABLE = pa.Table.from_pylist(ROWS, pa.schema(KINDS))
ELEMENTS = [
    Punctuation(0),
    Punctuation(1, ("x",)),
    *ROWS[:3],
    TABLE.slice(3, 4),
    Punctuation(5),
    TABLE.slice(0, 0),
    Punctuation(6),
    *ROWS[7:8],
    Punctuation(7, ("x",)),
    *TABLE.slice(8).to_batches(),
    Punctuation(9),
]


def _csv(rows: list[dict[str, Any]], *, gaps: bool = False) -> str:
    lines = [f'{row["a"]},"{row["s"]}"' if row["s"] else f"{row['a']}," for row in rows]
    return "a,s\n" + "".join(f"{line}\n" + "\n" * (gaps and i % 2) for i, line in enumerate(lines))


def _json(rows: list[dict[str, Any]], end: str = "\n") -> str:
    return "".join(json.dumps(row) + (end if i % 2 else "\n") for i, row in enumerate(rows))


def files(folder: Path, **contents: str) -> Make:
    for name, content in contents.items():
        path = folder / name.replace("_", ".")
        path.write_bytes(gzip.compress(content.encode()) if name.endswith("gz") else content.encode())
    return lambda: open_source(folder, name="trades")


def parquet(folder: Path) -> Make:
    pq.write_table(TABLE.slice(0, 7), folder / "a.parquet", row_group_size=3)
    pq.write_table(TABLE.slice(0, 0), folder / "b.parquet")
    pq.write_table(TABLE.slice(7), folder / "c.parquet", row_group_size=2)
    return lambda: open_source(folder, name="trades")


def copied(folder: Path) -> Make:
    copy = spooled(open_source(ELEMENTS, schema=TABLE.schema), folder)
    return lambda: copy


def generated() -> Source:
    stream = trades(17, seed=3, disorder="band 1 s", batch_rows=5)
    return RecipeSource(stream.recipe.name, stream.schema, stream)


SOURCES: dict[str, Callable[[Path], Make]] = {
    "table": lambda folder: lambda: open_source(TABLE),
    "elements": lambda folder: lambda: open_source(ELEMENTS, schema=TABLE.schema),
    "iterator": lambda folder: lambda: open_source(iter(ELEMENTS), schema=TABLE.schema),
    "arrow reader": lambda folder: lambda: open_source(TABLE.to_reader(max_chunksize=4)),
    "polars": lambda folder: lambda: open_source(pl.DataFrame(ROWS)),
    "parquet": parquet,
    "csv": lambda folder: files(folder, a_csv=_csv(ROWS[:7]), b_csv=_csv(ROWS[7:])),
    "csv with empty lines": lambda folder: files(folder, a_csv=_csv(ROWS, gaps=True)),
    "csv, gzipped": lambda folder: files(folder, a_csv_gz=_csv(ROWS)),
    "json lines": lambda folder: files(folder, a_jsonl=_json(ROWS[:7], "\n  \n\n"), b_jsonl=_json(ROWS[7:])),
    "json lines with two objects": lambda folder: files(folder, a_jsonl=_json(ROWS).replace("}\n{", "} {", 3)),
    "json lines, gzipped": lambda folder: files(folder, a_jsonl_gz=_json(ROWS)),
    "copy": copied,
    "generated": lambda folder: generated,
}


@pytest.fixture(scope="module", params=SOURCES)
def make(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Make:
    return SOURCES[request.param](tmp_path_factory.mktemp("source"))


@pytest.mark.parametrize("law", LAWS)
def test_a_position_is_where_reading_goes_on(make: Make, law: Law) -> None:
    law(make)


def test_rows_are_no_position_of_other_data(tmp_path: Path) -> None:
    _, position = begun(parquet(tmp_path)(), 1, 3)
    pattern = (
        r"^`trades` must be the data that was read before, got Arrow table \(17 rows\) in place of a\.parquet\. "
        r"Hint: give the run the data it began with, or begin anew in an empty folder\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        open_source(TABLE, name="trades").open(position)


def _gone(path: Path) -> None:
    path.unlink()


def _shorter(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _touched(path: Path) -> None:
    os.utime(path, ns=(1, 1))


def _joined_by_another(path: Path) -> None:
    (path.parent / "0.csv").write_text("a,s\n1,\n")


CHANGES: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "the file is gone": (_gone, "b.csv", r"b\.csv \(it is not there\)"),
    "the file is shorter": (_shorter, "b.csv", r".*/b\.csv \(\d+ bytes, were \d+\)"),
    "the file was written again": (_touched, "b.csv", r".*/b\.csv \(written again since\)"),
    "a file before it is gone": (_gone, "a.csv", r"b\.csv \(there are others before it than there were\)"),
    "a file before it changed": (
        _shorter,
        "a.csv",
        r".*/b\.csv \(files before it were written again since\)",
    ),
    "a new file lies before it": (
        _joined_by_another,
        "a.csv",
        r"b\.csv \(there are others before it than there were\)",
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_files_that_changed_are_refused_by_name(what: str, tmp_path: Path) -> None:
    change, name, told = CHANGES[what]
    make = files(tmp_path, a_csv=_csv(ROWS[:5]), b_csv=_csv(ROWS[5:9]), c_csv=_csv(ROWS[9:]))
    _, position = begun(make(), 3, 4)
    assert ("b.csv", 4) == (position["file"], position["row"])
    change(tmp_path / name)
    pattern = rf"^`trades` must still be the data that was read before the checkpoint, got ({told})\. Hint: bring the f"
    with pytest.raises(SourceError, match=pattern):
        make().open(position)


def test_what_lies_behind_the_position_may_change(tmp_path: Path) -> None:
    make = files(tmp_path, a_csv=_csv(ROWS[:5]), b_csv=_csv(ROWS[5:9]))
    _, position = begun(make(), 1, 4)
    files(tmp_path, b_csv=_csv(ROWS[9:]), c_csv=_csv(ROWS[:1]))
    assert ROWS[4:5] + ROWS[9:] + ROWS[:1] == flat(elements_of(make(), position))


def test_a_file_that_went_while_nobody_read_is_told(tmp_path: Path) -> None:
    make = files(tmp_path, a_csv=_csv(ROWS))
    source = make()
    _, position = begun(source, 1, 4)
    (tmp_path / "a.csv").unlink()
    with pytest.raises(SourceError, match=r"^`trades` must still be .*, got .*/a\.csv \(no such file or directory\)\."):
        source.open(position)


def test_moved_files_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    _, position = begun(files(tmp_path / "here", a_csv=_csv(ROWS))(), 1, 4)
    (tmp_path / "here").rename(tmp_path / "there")
    assert ROWS[4:] == flat(elements_of(open_source(tmp_path / "there"), position))


def test_only_row_groups_from_the_position_on_are_read(tmp_path: Path) -> None:
    """The damaged one before it would be told."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": range(1000)}), path, row_group_size=500, use_dictionary=False, compression="none")
    content = bytearray(path.read_bytes())
    content[4:40] = itertools.repeat(255, 36)
    _, position = begun(open_source(path), 1, 500)
    path.write_bytes(content)
    position = {**position, "modified": path.stat().st_mtime_ns}
    assert [{"a": number} for number in range(500, 1000)] == flat(elements_of(open_source(path), position))
    with pytest.raises(SourceError, match=r"row group 0 of 2 is damaged"):
        list(elements_of(open_source(path)))
