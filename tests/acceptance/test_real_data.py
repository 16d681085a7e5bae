"""Recorded streams, disorder and all: the answers of other engines, whatever the order and the batches."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import windrow as wr

DATA = Path(__file__).parents[2].parent / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="needs the recorded streams in ../shared/data")

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Recording:
    """A file, its key, a number to aggregate and something to count the different values of."""

    file: str
    key: str
    number: str
    thing: str

    @property
    def path(self) -> Path:
        return DATA / f"{self.file}.parquet"

    def table(self) -> pa.Table:
        return parquet.read_table(self.path, columns=["ts", self.key, self.number, self.thing])

    def times(self) -> Integers:
        return parquet.read_table(self.path, columns=["ts"])["ts"].cast(pa.int64()).to_numpy()


DNS = Recording("zeek_dns", "host", "rtt", "peer")
SPANS = Recording("spans", "service", "duration_ns", "operation")
TRADES = Recording("trades", "symbol", "price", "quantity")
FLIGHTS = Recording("flights", "origin", "delay", "destination")

WINDOWS = [
    (DNS, 5 * MINUTE, MINUTE),
    (DNS, HOUR, HOUR),
    (DNS, 10 * MINUTE, 4 * MINUTE),
    (SPANS, 10 * SECOND, SECOND),
    (SPANS, MINUTE, 25 * SECOND),
    (TRADES, 30 * SECOND, 5 * SECOND),
    (TRADES, MINUTE, MINUTE),
    (FLIGHTS, 72 * HOUR, 24 * HOUR),
]


def aggregates(recording: Recording) -> dict[str, Any]:
    number = recording.number
    return {
        "rows": wr.count(),
        "known": wr.count(number),
        "total": wr.sum(number),
        "mean": wr.avg(number),
        "least": wr.min(number),
        "most": wr.max(number),
        "middle": wr.median(number),
        "different": wr.count_distinct(recording.thing),
    }


def windowed(stream: wr.Query, recording: Recording, range_: int, slide: int) -> wr.Query:
    grouped = stream.group_by(recording.key).window(range=f"{range_} us", slide=f"{slide} us")
    return grouped.agg(**aggregates(recording))


DUCKDB = """
SELECT {key}, window_end - {range} AS window_start, window_end, count(*) AS rows, count({number}) AS known,
       sum({number}) AS total, avg({number}) AS mean, min({number}) AS least, max({number}) AS most,
       median({number}) AS middle, count(DISTINCT {thing}) AS different
FROM (
  SELECT *, (t // {slide} + 1 + unnest(range(({range} + {slide} - 1) // {slide}))) * {slide} AS window_end
  FROM (SELECT *, epoch_us(ts) AS t FROM rows)
)
WHERE t >= window_end - {range}
GROUP BY ALL ORDER BY window_end, {key}
"""


def from_duckdb(recording: Recording, range_: int, slide: int) -> pa.Table:
    rows = recording.table()  # noqa: F841 - DuckDB finds it by its name
    names = {"key": recording.key, "number": recording.number, "thing": recording.thing}
    found: Any = duckdb.sql(DUCKDB.format(range=range_, slide=slide, **names))
    table: pa.Table = found.to_arrow_table()
    return table


def same(expected: pa.Table, found: pa.Table, names: list[str], *, relative: float = 0.0) -> None:
    """The same columns of numbers; NULL and NaN only where the other has them."""
    for name in names:
        left, right = (table[name].cast(pa.float64()).to_numpy() for table in (expected, found))
        np.testing.assert_allclose(right, left, rtol=relative, atol=0.0, err_msg=name)


@pytest.mark.parametrize(("recording", "range_", "slide"), WINDOWS)
def test_the_answer_of_duckdb(recording: Recording, range_: int, slide: int) -> None:
    found = windowed(wr.stream(recording.path, time="ts"), recording, range_, slide).run()
    expected = from_duckdb(recording, range_, slide)
    assert expected[recording.key].to_pylist() == found.table[recording.key].to_pylist()
    for bound in ("window_start", "window_end"):
        assert expected[bound].to_pylist() == found.table[bound].cast(pa.int64()).to_pylist()
    same(expected, found.table, ["rows", "known", "least", "most", "different"])
    same(expected, found.table, ["total", "mean", "middle"], relative=1e-9)
    rows = parquet.read_metadata(recording.path).num_rows
    assert (rows, rows, 0) == (found.metrics.rows_in, found.metrics.rows_used, found.metrics.rows_late)


def test_sums_are_rounded_once() -> None:
    found = windowed(wr.stream(TRADES.path, time="ts"), TRADES, MINUTE, MINUTE).collect()
    groups: dict[tuple[Any, Any], list[Any]] = {}
    table = TRADES.table()
    columns = TRADES.times().tolist(), table["symbol"].to_pylist(), table["price"].to_pylist()
    for t, symbol, price in zip(*columns, strict=True):
        groups.setdefault((symbol, t // MINUTE * MINUTE + MINUTE), []).append(price)
    places = zip(found["symbol"].to_pylist(), found["window_end"].cast(pa.int64()).to_pylist(), strict=True)
    assert [math.fsum(groups[place]) for place in places] == found["total"].to_pylist()


def promises(times: Integers, chunks: list[slice], ahead: int) -> list[int]:
    """After each chunk, the least time that follows plus `ahead`: with 0 a true promise, else rows come late."""
    least = np.minimum.accumulate(times[::-1])[::-1]
    told = [int(least[c.stop]) + ahead if c.stop < len(times) else int(times.max()) + ahead for c in chunks]
    return [int(promise) for promise in np.maximum.accumulate(told)]


def arranged(
    table: pa.Table, chunks: list[slice], told: list[int], seed: int
) -> Iterator[pa.RecordBatch | wr.Punctuation]:
    """The chunks with their rows permuted and their batches cut at random, each followed by its punctuation."""
    random = np.random.default_rng(seed)
    for chunk, punctuation in zip(chunks, told, strict=True):
        rows = random.permutation(np.arange(chunk.start, chunk.stop))
        inner = np.sort(random.integers(0, len(rows) + 1, random.integers(0, 4)))
        for part in np.split(rows, inner):
            yield from table.take(pa.array(part)).combine_chunks().to_batches()
        yield wr.Punctuation(punctuation)


def cut_anywhere(rows: int, parts: int, seed: int) -> list[slice]:
    inside = np.sort(np.random.default_rng(seed).choice(np.arange(1, rows), parts - 1, replace=False)).tolist()
    return [slice(a, b) for a, b in zip([0, *inside], [*inside, rows], strict=True)]


def in_one_order(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in table.column_names])


@pytest.mark.parametrize("recording", [DNS, SPANS, TRADES], ids=lambda recording: recording.file)
@pytest.mark.parametrize("ahead", [0, 2 * SECOND])
def test_the_order_between_punctuations_and_the_batches_change_nothing(recording: Recording, ahead: int) -> None:
    table, times = recording.table(), recording.times()
    chunks = cut_anywhere(len(times), 60, seed=1)
    told = promises(times, chunks, ahead)
    results = []
    for seed in range(3):
        elements = list(arranged(table, chunks, told, seed))
        stream = wr.stream(elements, time="ts", progress=wr.punctuated(), schema=table.schema)
        results.append(windowed(stream, recording, 10 * SECOND, 4 * SECOND).late("side").run())
    assert (ahead > 0) is (results[0].metrics.rows_late > 0)
    for other in results[1:]:
        assert results[0].table.equals(other.table)
        assert in_one_order(results[0].late).equals(in_one_order(other.late))
        assert results[0].metrics.rows_used == other.metrics.rows_used


def generous(times: Integers, range_: int, slide: int, slack: int) -> tuple[Integers, Integers, npt.NDArray[np.bool_]]:
    """The rows and the ends of the windows they count in, and which rows missed a window."""
    highs = np.maximum.accumulate(times)
    bounds = np.concatenate([[np.iinfo(np.int64).min], highs[:-1] - slack])
    first = times // slide + 1
    counts = (times + range_) // slide - first + 1
    rows = np.repeat(np.arange(len(times)), counts)
    step = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    ends = (first[rows] + step) * slide
    open_ = ends > bounds[rows]
    return rows[open_], ends[open_], (first * slide <= bounds) & (counts > 0)


MOST_ROWS = 40_000
SHORT = [
    (DNS, 5 * MINUTE, MINUTE, 5 * SECOND),
    (DNS, 4 * MINUTE, 3 * MINUTE, 0),
    (SPANS, 2 * SECOND, SECOND // 2, SECOND // 10),
    (TRADES, 5 * SECOND, SECOND, SECOND // 50),
    (FLIGHTS, 6 * HOUR, HOUR, HOUR // 2),
]


@pytest.mark.parametrize("strategy", ["panes", "wid", "buffer"])
@pytest.mark.parametrize(("recording", "range_", "slide", "slack"), SHORT)
def test_with_too_little_slack_rows_count_where_windows_are_open(
    recording: Recording, range_: int, slide: int, slack: int, strategy: str
) -> None:
    table = recording.table().slice(0, MOST_ROWS)
    stream = wr.stream(table, time="ts", progress=wr.slack(f"{slack} us"))
    result = windowed(stream, recording, range_, slide).late("side").strategy(strategy).run()
    rows, ends, late = generous(recording.times()[:MOST_ROWS], range_, slide, slack)
    frame = pl.DataFrame(table)[rows].with_columns(pl.Series("window_end", ends))
    number = pl.col(recording.number)
    expected = (
        frame.group_by("window_end", recording.key)
        .agg(
            pl.len().alias("rows"),
            number.count().alias("known"),
            number.sum().alias("total"),
            number.min().alias("least"),
            number.max().alias("most"),
            number.median().alias("middle"),
            pl.col(recording.thing).n_unique().alias("different"),
        )
        .sort("window_end", recording.key)
        .to_arrow()
    )
    metrics = result.metrics
    assert int(late.sum()) > 0
    assert (int(late.sum()), len(late)) == (metrics.rows_late, metrics.rows_in)
    assert metrics.rows_in == metrics.rows_used + metrics.rows_late + metrics.rows_filtered
    assert int(late.sum()) == len(result.late)
    assert expected["window_end"].to_pylist() == result.table["window_end"].cast(pa.int64()).to_pylist()
    assert expected[recording.key].to_pylist() == result.table[recording.key].to_pylist()
    same(expected, result.table, ["rows", "known", "least", "most", "different"])
    known = np.flatnonzero(expected["known"].to_numpy())  # over no values Polars says 0
    same(expected.take(known), result.table.take(known), ["total", "middle"], relative=1e-9)


def test_filtered_rows_are_never_late() -> None:
    stream = wr.stream(SPANS.path, time="ts", progress=wr.slack("100 ms")).where("duration_ns > 100000")
    metrics = windowed(stream, SPANS, SECOND, SECOND).run().metrics
    table = SPANS.table()
    kept = table["duration_ns"].to_numpy() > 100_000
    *_, late = generous(SPANS.times(), SECOND, SECOND, SECOND // 10)
    late_and_kept = int((late & kept).sum())
    assert (int((~kept).sum()), late_and_kept) == (metrics.rows_filtered, metrics.rows_late)
    assert int(kept.sum()) - late_and_kept == metrics.rows_used


PER_ROW = [(DNS, 5 * MINUTE), (SPANS, 10 * SECOND), (TRADES, 30 * SECOND), (TRADES, SECOND // 100)]
OVER = "OVER (PARTITION BY {key} ORDER BY ts RANGE BETWEEN INTERVAL '{range}' MICROSECOND PRECEDING AND CURRENT ROW)"
ASKED = {
    "rows": "count(*)",
    "known": "count({number})",
    "total": "sum({number})",
    "least": "min({number})",
    "most": "max({number})",
}


def over(recording: Recording, range_: int) -> str:
    names = {"key": recording.key, "number": recording.number, "range": range_}
    calls = [f"{call} {OVER} AS {name}" for name, call in ASKED.items()]
    return f"SELECT {recording.key}, ts, {', '.join(calls)} FROM rows".format(**names)


def sorted_by(table: pa.Table, recording: Recording) -> pa.Table:
    named = table.select([recording.key, "ts", *ASKED])
    return named.sort_by([("ts", "ascending"), (recording.key, "ascending")])


@pytest.mark.parametrize(("recording", "range_"), PER_ROW)
def test_every_row_closes_the_window_that_duckdb_gives_it(recording: Recording, range_: int) -> None:
    """One text for both: OVER gives every row the aggregates of the rows before it, whatever order they came in."""
    rows = recording.table()
    chunks = cut_anywhere(len(rows), 40, seed=2)
    elements = list(arranged(rows, chunks, promises(recording.times(), chunks, 0), seed=2))
    stream = wr.stream(elements, time="ts", progress=wr.punctuated(), schema=rows.schema)
    result = wr.sql(over(recording, range_), rows=stream).run()
    relation: Any = duckdb.sql(over(recording, range_))
    expected = sorted_by(relation.to_arrow_table(), recording)
    found = sorted_by(result.table, recording)
    assert expected[recording.key].to_pylist() == found[recording.key].to_pylist()
    assert expected["ts"].cast(pa.timestamp("us")).equals(found["ts"].cast(pa.timestamp("us")))
    same(expected, found, ["rows", "known", "least", "most"])
    same(expected, found, ["total"], relative=1e-9)
    assert (len(rows), 0) == (result.metrics.rows_used, result.metrics.rows_late)


@pytest.mark.parametrize("recording", [SPANS, TRADES], ids=lambda recording: recording.file)
def test_every_row_closes_the_window_that_polars_rolls(recording: Recording) -> None:
    number = recording.number
    stream = wr.stream(recording.table().slice(0, MOST_ROWS), time="ts", progress=wr.slack("5 min"))
    grouped = stream.group_by(recording.key).window(range="2 s", slide="1 row", partition=recording.key)
    found = grouped.agg(middle=wr.median(number), rows=wr.count(), most=wr.max(number)).collect()
    frame = pl.DataFrame(recording.table().slice(0, MOST_ROWS)).sort("ts")
    expected = (
        frame.rolling("ts", period="2s", closed="right", group_by=recording.key)
        .agg(pl.col(number).median().alias("middle"), pl.len().alias("rows"), pl.col(number).max().alias("most"))
        .sort("ts", recording.key, "rows", "most", "middle")
    )
    order: Any = [(name, "ascending") for name in ("window_end", recording.key, "rows", "most", "middle")]
    ours = found.sort_by(order)
    assert expected["ts"].dt.epoch("us").to_list() == ours["window_end"].cast(pa.int64()).to_pylist()
    assert expected[recording.key].to_list() == ours[recording.key].to_pylist()
    same(expected.to_arrow(), ours, ["rows", "most"])
    same(expected.to_arrow(), ours, ["middle"], relative=1e-12)


LAST_TEN = """
SELECT {key}, n - 10 AS window_start, n AS window_end, rows, known, total, least, most, middle FROM (
  SELECT {key}, row_number() OVER part AS n, count(*) OVER ten AS rows, count({number}) OVER ten AS known,
         sum({number}) OVER ten AS total, min({number}) OVER ten AS least, max({number}) OVER ten AS most,
         median({number}) OVER ten AS middle
  FROM (SELECT *, row_number() OVER () AS arrival FROM rows)
  WINDOW part AS (PARTITION BY {key} ORDER BY {order}),
         ten AS (PARTITION BY {key} ORDER BY {order} ROWS BETWEEN 9 PRECEDING AND CURRENT ROW)
)
WHERE n % {slide} = 0 ORDER BY window_end, {key}
"""


@pytest.mark.parametrize("slide", [1, 4])
@pytest.mark.parametrize("order_by", [None, "ts"])
@pytest.mark.parametrize("recording", [DNS, SPANS, TRADES], ids=lambda recording: recording.file)
def test_the_last_ten_rows_of_each_key(recording: Recording, order_by: str | None, slide: int) -> None:
    rows, number = recording.table(), recording.number
    order = "arrival" if order_by is None else "ts, arrival"
    text = LAST_TEN.format(key=recording.key, number=number, order=order, slide=slide)
    answer: Any = duckdb.sql(text)
    expected = answer.to_arrow_table()
    window = wr.stream(rows, time="ts").window(
        rows=10, slide=f"{slide} rows", partition=recording.key, order_by=order_by
    )
    named = {name: call for name, call in aggregates(recording).items() if name not in ("mean", "different")}
    found = window.agg(**named).run()
    assert (rows.num_rows, 0) == (found.metrics.rows_used, found.metrics.rows_late)
    for name in (recording.key, "window_start", "window_end"):
        assert expected[name].to_pylist() == found.table[name].to_pylist()
    same(expected, found.table, ["rows", "known", "least", "most"])
    same(expected, found.table, ["total", "middle"], relative=1e-9)


@pytest.mark.parametrize("recording", [DNS, SPANS, TRADES], ids=lambda recording: recording.file)
def test_in_order_of_time_the_order_between_punctuations_changes_nothing(recording: Recording) -> None:
    """Rows of equal times count by arrival, so only what their windows have in common is compared."""
    table, times = recording.table(), recording.times()
    chunks = cut_anywhere(len(times), 60, seed=2)
    told = promises(times, chunks, 2 * SECOND)
    results = []
    for seed in range(3):
        elements = list(arranged(table, chunks, told, seed))
        stream = wr.stream(elements, time="ts", progress=wr.punctuated(), schema=table.schema)
        window = stream.window(rows=10, slide="1 row", partition=recording.key, order_by="ts")
        results.append(window.agg(first=wr.min("ts"), last=wr.max("ts"), rows=wr.count()).late("side").run())
    assert results[0].metrics.rows_late > 0
    for other in results[1:]:
        assert results[0].table.equals(other.table)
        assert in_one_order(results[0].late).equals(in_one_order(other.late))
