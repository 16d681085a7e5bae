"""What goes wrong is said: the parameter, the rule, what came, the way out, and the place in the text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import windrow as wr
from windrow.durable.sealed_files import read_json, write_json
from windrow.errors import SumOverflowError

TRADES = pa.table(
    {
        "symbol": ["a", "b"],
        "price": pa.array([1, 2]),
        "volume": pa.array([1.5, 2.5]),
        "time": pa.array([0, 1], pa.timestamp("us", tz="UTC")),
        "n": pa.array([1, 2]),
    }
)
COUNT = wr.count()


def exactly(text: str) -> str:
    return rf"\A{re.escape(text)}\Z"


def refused(kind: type[Exception], message: str, step: Callable[[], Any]) -> Any:
    with pytest.raises(kind, match=exactly(message)) as caught:
        step()
    return caught.value


def by_time() -> wr.Query:
    return wr.stream(TRADES, time="time", name="trades")


def by_number() -> wr.Query:
    return wr.stream(TRADES, time="n", name="trades")


COLUMNS = "The columns are symbol, price, volume, time, n"
TEXTS = {
    "RANGE 0": (
        "SELECT count(*)\nFROM trades [RANGE 0 SECONDS SLIDE 1 SECOND WATTR time]",
        "`range` must be positive, got 0. Hint: a window holds something, as in RANGE 10 SECONDS.\n"
        "line 2, column 14:\n"
        "  FROM trades [RANGE 0 SECONDS SLIDE 1 SECOND WATTR time]\n"
        "               ^^^^^^^^^^^^^^^",
    ),
    "SLIDE negative": (
        "SELECT count(*)\nFROM trades [RANGE 10 SECONDS SLIDE -1 SECOND WATTR time]",
        "`slide` must be positive, got -1 s. Hint: windows move forward, as in SLIDE 1 SECOND.\n"
        "line 2, column 31:\n"
        "  FROM trades [RANGE 10 SECONDS SLIDE -1 SECOND WATTR time]\n"
        "                                ^^^^^^^^^^^^^^^",
    ),
    "RANGE 0 ROWS": (
        "SELECT count(*)\nFROM trades [RANGE 0 ROWS]",
        "`range` must be positive, got 0. Hint: a window holds something, as in RANGE 10 ROWS.\n"
        "line 2, column 14:\n"
        "  FROM trades [RANGE 0 ROWS]\n"
        "               ^^^^^^^^^^^^",
    ),
    "SLIDE negative ROWS": (
        "SELECT count(*)\nFROM trades [RANGE 5 ROWS SLIDE -5 ROWS]",
        "`slide` must be positive, got -5. Hint: windows move forward, as in SLIDE 1 ROW.\n"
        "line 2, column 27:\n"
        "  FROM trades [RANGE 5 ROWS SLIDE -5 ROWS]\n"
        "                            ^^^^^^^^^^^^^",
    ),
    "unknown partition": (
        "SELECT count(*)\nFROM trades [RANGE 5 ROWS PATTR symbl]",
        f"`symbl` is not a column of the input. Hint: did you mean symbol? {COLUMNS}.\n"
        "line 2, column 33:\n"
        "  FROM trades [RANGE 5 ROWS PATTR symbl]\n"
        "                                  ^^^^^",
    ),
    "rows in order of another column": (
        "SELECT count(*)\nFROM trades [RANGE 5 ROWS PATTR symbol ORDER BY n]",
        "`order_by` must be the progressing attribute, which is time, got n. "
        "Hint: rows wait for its punctuations; leave it out to count rows as they arrive.\n"
        "line 2, column 49:\n"
        "  FROM trades [RANGE 5 ROWS PATTR symbol ORDER BY n]\n"
        "                                                  ^",
    ),
    "unknown column": (
        "SELECT count(*), sum(prize)\nFROM trades [RANGE 10 SECONDS WATTR time]",
        f"`prize` is not a column of the input. Hint: did you mean price? {COLUMNS}.\n"
        "line 1, column 22:\n"
        "  SELECT count(*), sum(prize)\n"
        "                       ^^^^^",
    ),
    "wrong type": (
        "SELECT count(*), sum(symbol)\nFROM trades [RANGE 10 SECONDS WATTR time]",
        "`sum` needs a number, got string. Hint: CAST(column AS DOUBLE), or count it.\n"
        "line 1, column 18:\n"
        "  SELECT count(*), sum(symbol)\n"
        "                   ^^^",
    ),
    "values of two kinds": (
        "SELECT count(*) FROM trades [RANGE 10 SECONDS WATTR time]\nWHERE symbol > 5",
        "`>` compares values of one kind, got string and bigint in (symbol > 5). "
        "Hint: quote the constant to compare text, or CAST the column.\n"
        "line 2, column 7:\n"
        "  WHERE symbol > 5\n"
        "        ^^^^^^^^^^",
    ),
    "no unit for a timestamp": (
        "SELECT count(*)\nFROM trades [RANGE 10 SLIDE 1 WATTR time]",
        "`range` needs a time unit because the attribute is a timestamp, got 10. "
        "Hint: write 10 SECONDS, or another unit.\n"
        "line 2, column 14:\n"
        "  FROM trades [RANGE 10 SLIDE 1 WATTR time]\n"
        "               ^^^^^^^^",
    ),
    "a unit for a number": (
        "SELECT count(*)\nFROM trades [RANGE 10 SECONDS WATTR n]",
        "`range` must be a plain number because the attribute is an integer, got 10 seconds. "
        "Hint: write 10 without a unit, or window on a timestamp column.\n"
        "line 2, column 14:\n"
        "  FROM trades [RANGE 10 SECONDS WATTR n]\n"
        "               ^^^^^^^^^^^^^^^^",
    ),
    "two windows": (
        "SELECT count(*) [RANGE 10 SECONDS WATTR time],\n  sum(price) [RANGE 20 SECONDS WATTR time] FROM trades",
        "`window` must be the same for all aggregates of a query. Hint: write one query for each window.\n"
        "line 2, column 14:\n"
        "    sum(price) [RANGE 20 SECONDS WATTR time] FROM trades\n"
        "               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
    ),
    "every row of none": (
        "SELECT count(*)\nFROM trades [RANGE 10 SECONDS RATTR time SLIDE 0 ROWS SATTR row_num]",
        "`slide` must be positive, got 0. Hint: every n-th row closes a window, as in SLIDE 1 ROW.\n"
        "line 2, column 42:\n"
        "  FROM trades [RANGE 10 SECONDS RATTR time SLIDE 0 ROWS SATTR row_num]\n"
        "                                           ^^^^^^^^^^^^",
    ),
    "rank of another column": (
        "SELECT count(*)\nFROM trades [RANGE 10 SECONDS RATTR time SLIDE 2 ROWS SATTR rank(price)]",
        "`sattr` must be row_num or rank of the range's attribute, got rank(price). "
        "Hint: write SATTR row_num, or SATTR rank(ts) next to RATTR ts.\n"
        "line 2, column 61:\n"
        "  FROM trades [RANGE 10 SECONDS RATTR time SLIDE 2 ROWS SATTR rank(price)]\n"
        "                                                              ^^^^^^^^^^^",
    ),
    "a frame over another column": (
        "SELECT sum(price) OVER (ORDER BY n RANGE 10 PRECEDING)\nFROM trades",
        "`order by` must be the progressing attribute, which is time, got n. Hint: write ORDER BY time.\n"
        "line 1, column 34:\n"
        "  SELECT sum(price) OVER (ORDER BY n RANGE 10 PRECEDING)\n"
        "                                   ^",
    ),
    "a word misspelt": (
        "SELECT count(*)\nFORM trades [RANGE 10 SECONDS]",
        "`query` has text that does not belong here, got trades.\n"
        "line 2, column 6:\n"
        "  FORM trades [RANGE 10 SECONDS]\n"
        "       ^^^^^^",
    ),
    "a bracket left open": (
        "SELECT count(*) FROM trades [RANGE 10 SECONDS WATTR time",
        "`query` needs ] here, got the end of the text.\n"
        "line 1, column 57:\n"
        "  SELECT count(*) FROM trades [RANGE 10 SECONDS WATTR time\n"
        "                                                          ^",
    ),
}


@pytest.mark.parametrize("case", TEXTS)
def test_texts_are_refused_where_they_are_wrong(case: str) -> None:
    text, message = TEXTS[case]
    stream = by_number() if case == "a unit for a number" else by_time()
    refused(wr.QueryError, message, lambda: wr.sql(text, trades=stream))


STEPS: dict[str, tuple[Callable[[], Any], str]] = {
    "range 0": (
        lambda: by_time().window(range="0 s").agg(n=COUNT),
        "`range` must be positive, got 0. Hint: a window holds something, as in RANGE 10 SECONDS.",
    ),
    "slide negative": (
        lambda: by_number().window(range=10, slide=-1).agg(n=COUNT),
        "`slide` must be positive, got -1. Hint: windows move forward, as in SLIDE 1 SECOND.",
    ),
    "unknown group": (
        lambda: by_time().group_by("symbl"),
        f"`symbl` is not a column of the input. Hint: did you mean symbol? {COLUMNS}.",
    ),
    "unknown time": (
        lambda: wr.stream(TRADES, time="tim"),
        f"`time` must be a column of the input, got tim. Hint: did you mean time? {COLUMNS}.",
    ),
    "wrong type": (
        lambda: by_time().window(range="1 s").agg(n=wr.sum("symbol")),
        "`sum` needs a number, got string. Hint: CAST(column AS DOUBLE), or count it.",
    ),
    "a string as time": (
        lambda: wr.stream(TRADES, time="symbol"),
        "`time` must be a timestamp or an integer column, got symbol, a string. Hint: cast it: declare the column as "
        "TIMESTAMP, or convert it before it comes in.",
    ),
    "a float as time": (
        lambda: wr.stream(TRADES, time="volume"),
        "`time` must be a timestamp or an integer column, got volume, a double. Hint: cast it: declare the column as "
        "BIGINT, or convert it before it comes in.",
    ),
    "no unit for a timestamp": (
        lambda: by_time().window(range=10),
        "`range` needs a time unit because the attribute is a timestamp, got 10. "
        "Hint: write 10 SECONDS, or another unit.",
    ),
    "a unit for a number": (
        lambda: by_number().window(range="10 s"),
        "`range` must be a plain number because the attribute is an integer, got 10 s. Hint: write 10 without a unit, "
        "or window on a timestamp column.",
    ),
    "slack without a unit": (
        lambda: wr.stream(TRADES, time="time", progress=wr.slack(5)),
        "`slack` needs a time unit because the attribute is a timestamp, got 5. "
        "Hint: write 5 SECONDS, or another unit.",
    ),
    "slack with a unit": (
        lambda: wr.stream(TRADES, time="n", progress=wr.slack("5 s")),
        "`slack` must be a plain number because the attribute is an integer, got 5 s. Hint: write 5 without a unit, "
        "or window on a timestamp column.",
    ),
}


@pytest.mark.parametrize("case", STEPS)
def test_steps_are_refused_at_once(case: str) -> None:
    step, message = STEPS[case]
    refused(wr.QueryError, message, step)


def test_a_slide_larger_than_the_range_is_allowed_and_said() -> None:
    query = by_number().window(range=1, slide=10).agg(n=COUNT)
    note = "- SLIDE 10 is larger than RANGE 1: rows between windows are in none of them.\n"
    assert note in query.explain()
    assert [] == query.collect().to_pylist()
    assert 2 == query.run().metrics.rows_used


def test_a_time_that_is_null() -> None:
    data = pa.table({"t": pa.array([1, 2, None])})
    message = (
        "`t` must not be null: a row without a time belongs to no window, got null at row 2 of stream. "
        "Hint: filter the source, or fill it: coalesce(t, ...)."
    )
    query = wr.stream(data, time="t").window(range=1).agg(n=COUNT)
    for batch_rows in (1, 2, 10):
        refused(wr.DataError, message, partial(query.collect, batch_rows=batch_rows))


def punctuated(*values: int) -> wr.Query:
    elements = [{"t": 1}, *(wr.Punctuation(value) for value in values), {"t": 50}]
    stream = wr.stream(elements, time="t", progress=wr.punctuated(), schema=pa.schema([("t", pa.int64())]))
    return stream.window(range=10).agg(n=COUNT)


@pytest.mark.parametrize(("last", "value"), [(30, 20), (39, 31)])
def test_a_punctuation_that_goes_back(last: int, value: int) -> None:
    """Also when it goes back by less than a slide."""
    message = (
        f"`punctuation` must never go back (the last one was {last}), got {value}. Hint: a source promised that no row "
        "below the last punctuation follows; merge sources with UNION."
    )
    refused(wr.DataError, message, punctuated(last, value).collect)
    marked = pa.table({"t": [1, 2, 3], "p": [None, last, value]})
    query = wr.stream(marked, time="t", progress=wr.punctuated("p")).window(range=10).agg(n=COUNT)
    refused(wr.DataError, message, query.collect)


@pytest.mark.parametrize("strategy", ["panes", "wid", "buffer"])
def test_a_sum_beyond_64_bits(strategy: str) -> None:
    data = pa.table({"t": [1, 2, 11, 12], "x": [(1 << 63) - 1, 1, (1 << 63) - 1, 0]})
    query = wr.stream(data, time="t").window(range=10).agg(total=wr.sum("x")).strategy(strategy)
    message = (
        "`sum` of integers must fit into 64 bits, got 9223372036854775808. "
        "Hint: sum(CAST(column AS DOUBLE)), or use a shorter window."
    )
    refused(SumOverflowError, message, query.collect)
    fits = wr.stream(data.slice(2), time="t").window(range=10).agg(total=wr.sum("x")).strategy(strategy)
    assert [(1 << 63) - 1] == fits.collect()["total"].to_pylist()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "x.parquet"
    message = (
        f"`x` must be a file, a folder or a glob pattern that exists, got {path}. "
        f"Hint: the folder {tmp_path} exists, nowhere/x.parquet is not in it."
    )
    refused(wr.SourceError, message, lambda: wr.stream(path, time="t"))


def written(folder: Path) -> tuple[Path, bytearray]:
    path = folder / "rows.parquet"
    data = pa.table({"t": pa.array(range(4000)), "x": pa.array([i * 7919 % 4000 for i in range(4000)])})
    parquet.write_table(data, path, row_group_size=1000, compression="snappy", use_dictionary=False)
    return path, bytearray(path.read_bytes())


def test_a_parquet_file_cut_off(tmp_path: Path) -> None:
    path, content = written(tmp_path)
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(wr.SourceError, match=r"\A`rows` must be a readable Parquet file \(.*\), got ") as caught:
        wr.stream(path, time="t")
    end = f"got {path}. Hint: check that the file is complete and that its ending says what it holds."
    assert str(caught.value).endswith(end)
    assert 0 == caught.value.used


def test_a_parquet_file_with_a_damaged_row_group(tmp_path: Path) -> None:
    path, content = written(tmp_path)
    column = parquet.read_metadata(path).row_group(2).column(1)
    for i in range(column.data_page_offset, column.data_page_offset + column.total_compressed_size):
        content[i] ^= 0xFF
    path.write_bytes(content)
    query = wr.stream(path, time="t", progress=wr.ordered()).window(range=100).agg(total=wr.sum("x"))
    message = (
        "`rows` must be a readable Parquet file (row group 2 of 4 is damaged, counted from 0), "
        f"got {path}. Hint: write the file again from where it came."
    )
    for batch_rows in (300, 1000):
        error = refused(wr.SourceError, message, partial(query.collect, batch_rows=batch_rows))
        assert 2000 == error.used
    assert 0 == refused(wr.SourceError, message, query.collect).used  # nothing was handed on of the one great batch


def test_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    query = by_time().window(range="1 s").agg(n=COUNT)
    path = tmp_path / "nowhere" / "x.parquet"
    message = (
        f"`output` must be a file that can be written (no such file or directory), got {path}. "
        "Hint: name a file in a folder that exists and that you may write to."
    )
    refused(wr.ConfigurationError, message, lambda: query.write(path))


def test_checkpoints_of_another_query_or_version(tmp_path: Path) -> None:
    query = by_time().window(range="1 s").agg(n=COUNT)
    query.run(checkpoint=str(tmp_path))
    other = by_time().window(range="2 s").agg(n=COUNT)
    of_another = (
        r"\A`checkpoint` must be of the same query; this one has 'window RANGE 2 s SLIDE 2 s on time, each row in one "
        rf"window', got 'window RANGE 1 s SLIDE 1 s on time, each row in one window' in {re.escape(str(tmp_path))}\. "
        r"Hint: give each query a folder of its own\.\Z"
    )
    with pytest.raises(wr.ConfigurationError, match=of_another):
        other.run(checkpoint=str(tmp_path), restore=True)
    manifest = next(tmp_path.glob("*/manifest.json"))
    told = read_json(manifest)
    of_a_version = (
        rf"\A`checkpoint` must be of format version \d+, got version 99 in {re.escape(str(tmp_path))}\. Hint: run "
        r"the query from the start in an empty folder, or with the Windrow that wrote it\.\Z"
    )
    for write in (write_json, lambda path, content: path.write_text(json.dumps(content))):  # once it had no checksum
        write(manifest, {**told, "version": 99})
        with pytest.raises(wr.ConfigurationError, match=of_a_version):
            query.run(checkpoint=str(tmp_path), restore=True)


def test_windows_per_row_are_final_and_have_one_algorithm() -> None:
    windows = by_number().group_by("symbol").window(range=10, slide="1 row").agg(n=COUNT)
    refused(
        wr.UnsupportedError,
        "`late` is not available for slide-by-tuple windows (one of drop, side), got revise. Hint: a late row would "
        "close a window of its own and change which rows close the later ones; late='side' gives the late rows as a "
        "second output.",
        lambda: windows.late("revise").collect(),
    )
    refused(
        wr.UnsupportedError,
        "`strategy` must be auto for slide-by-tuple windows, got panes. Hint: slide-by-tuple windows have one "
        "algorithm; leave the strategy out.",
        lambda: windows.strategy("panes").collect(),
    )
