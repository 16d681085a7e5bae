"""Times finer than a microsecond are refused where a query computes with them, and kept in full where it does not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.plan.nodes import AggregateCall
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Sliding

NS = pa.timestamp("ns")
FIRST = 1_704_067_200_000_000_000
"""2024-01-01 in nanoseconds."""
REFUSED = (
    r"\A`ts` must be a whole number of microseconds, the unit in which times are computed, got "
    r"2024-01-01 00:00:00\.000001500 in row 2, counted from 0\. Hint: round it before the query: "
    r"\.dt\.floor\('us'\) in pandas, \.dt\.truncate\('1us'\) in Polars, "
    r"pyarrow\.compute\.floor_temporal\(column, unit='microsecond'\) in Arrow\.\Z"
)
ANY = r"must be a whole number of microseconds, the unit in which times are computed, got "


def table(*offsets: int, zone: str | None = None) -> pa.Table:
    """Rows at so many nanoseconds after the first moment of 2024."""
    stored = pa.array([FIRST + offset for offset in offsets], pa.int64())
    return pa.table({"ts": stored.cast(pa.timestamp("ns", zone)), "x": list(range(len(offsets)))})


def counted(data: Any) -> wr.Query:
    return wr.stream(data, time="ts").window(range="1 s").agg(n=wr.count(), first=wr.first("x"), last=wr.last("x"))


def as_parquet(data: pa.Table, folder: Path) -> Any:
    pq.write_table(data, folder / "a.parquet")
    return folder / "a.parquet"


def as_csv(data: pa.Table, folder: Path) -> Any:
    columns = data["ts"].cast(pa.string()).to_pylist(), data["x"].to_pylist()
    (folder / "a.csv").write_text("".join(f"{ts},{x}\n" for ts, x in [("ts", "x"), *zip(*columns, strict=True)]))
    return folder / "a.csv"


SOURCES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "table": lambda data, _: data,
    "reader": lambda data, _: data.to_reader(),
    "iterator": lambda data, _: iter(data.to_batches()),
    "pandas": lambda data, _: data.to_pandas(),
    "polars": lambda data, _: pl.from_arrow(data),
    "parquet": as_parquet,
    "csv": as_csv,
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_refuses_a_time_that_is_too_fine(kind: str, tmp_path: Path) -> None:
    whole = counted(SOURCES[kind](table(0, 2_000, 1_000), tmp_path)).collect()
    assert [(3, 0, 1)] == [(row["n"], row["first"], row["last"]) for row in whole.to_pylist()]
    with pytest.raises(wr.DataError, match=REFUSED):
        counted(SOURCES[kind](table(0, 1_000, 1_500), tmp_path)).collect()


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_text_with_nine_digits_that_is_declared_a_time(name: str, tmp_path: Path) -> None:
    text = "2024-01-01T00:00:00.000001500Z"
    (tmp_path / name).write_text(f'{{"ts": "{text}"}}\n' if name == "a.jsonl" else f"ts\n{text}\n")
    stream = wr.stream(tmp_path / name, time="ts", schema=pa.schema([("ts", pa.timestamp("us", "UTC"))]))
    pattern = (
        rf"\A`ts` must be timestamp\[us, tz=UTC\] in .*{name}, got '{text}'\. Hint: round it before the query, "
        r"for example with pyarrow\.compute\.floor_temporal or \.dt\.floor in pandas\.\Z"
    )
    with pytest.raises(wr.SourceError, match=pattern):
        stream.window(range="1 s").agg(n=wr.count()).collect()


def test_dicts_and_a_punctuation_column() -> None:
    schema = pa.schema([("ts", NS), ("mark", NS)])
    rows = [{"ts": FIRST}, {"mark": FIRST + 1}]
    query = wr.stream(rows, time="ts", progress=wr.punctuated("mark"), schema=schema).window(range="1 s")
    with pytest.raises(wr.DataError, match=rf"\A`mark` {ANY}2024-01-01 00:00:00\.000000001\. Hint: "):
        query.agg(n=wr.count()).collect()


def test_columns_that_are_only_passed_on_keep_their_digits() -> None:
    fine = pa.array([FIRST + 1, FIRST + 3, FIRST + 2, None], pa.int64()).cast(NS)
    stream = wr.stream(pa.table({"ts": [1, 2, 3, 4], "at": fine}), time="ts")
    edges = {"first": wr.first("at"), "last": wr.last("at"), "low": wr.min("at"), "high": wr.max("at")}
    answer = stream.window(range=10).agg(**edges).collect()
    found = {name: answer[name].cast(pa.int64())[0].as_py() - FIRST for name in edges}
    assert {"first": 1, "last": 2, "low": 1, "high": 3} == found
    groups = stream.group_by("at").window(range=10).agg(n=wr.count()).collect()
    assert [1, 1, 1, 1] == groups["n"].to_pylist()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a.x FROM a JOIN b ON a.at = b.at AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' SECOND",
        "SELECT count(*) AS n FROM a [RANGE 1 SECOND WATTR ts] WHERE at > TIMESTAMP '2024-01-01'",
        "SELECT second(at) AS s, ts FROM a",
    ],
)
def test_columns_that_are_computed_with_are_refused(text: str) -> None:
    data = table(0).append_column("at", table(1)["ts"])
    streams = {name: wr.stream(data, time="ts", name=name) for name in ("a", "b") if f" {name} " in text + " "}
    with pytest.raises(wr.DataError, match=rf"{ANY}2024-01-01 00:00:00\.000000001\. Hint: "):
        wr.sql(text, **streams).collect()


@pytest.mark.parametrize("literal", ["'{}'", "TIMESTAMP '{}'", "CAST('{}' AS TIMESTAMP)"])
def test_a_literal_in_a_query(literal: str) -> None:
    stream = wr.stream(table(0), time="ts")
    with pytest.raises(wr.WindrowError, match=rf"\A`timestamp` {ANY}2024-01-01 00:00:00\.123456789\. Hint: "):
        stream.where("ts > " + literal.format("2024-01-01 00:00:00.123456789")).collect()
    assert 0 == stream.where("ts > " + literal.format("2024-01-01 00:00:00.123456000")).collect().num_rows


@settings(max_examples=60)
@given(
    offsets=st.lists(st.one_of(st.integers(-9, 9).map(lambda n: n * 1000), st.integers(-9999, 9999)), max_size=8),
    window=st.builds(Sliding, st.just("ts"), st.integers(1, 6), st.integers(1, 4)),
)
def test_whole_microseconds_give_the_answer_of_the_oracle_and_others_are_refused(
    offsets: list[int], window: Sliding
) -> None:
    stream = wr.stream(table(*offsets, zone="UTC"), time="ts")
    windows = stream.window(range=f"{window.range} us", slide=f"{window.slide} us")
    query = windows.agg(n=wr.count(), first=wr.first("x"), last=wr.last("x"))
    if any(offset % 1000 for offset in offsets):
        with pytest.raises(wr.DataError, match=rf"\A`ts` {ANY}"):
            query.collect()
        return
    rows = [{"ts": (FIRST + offset) // 1000, "x": x} for x, offset in enumerate(offsets)]
    calls = [AggregateCall("n", "count", None), *(AggregateCall(name, name, Column("x")) for name in ("first", "last"))]
    expected = [tuple(row.values()) for row in oracle.answer(rows, window, aggregates=calls).results]
    found = [tuple(map(in_units, row.values())) for row in query.collect().to_pylist()]
    assert expected == found


def in_units(value: Any) -> Any:
    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
    return (value - epoch) // timedelta(microseconds=1) if isinstance(value, datetime) else value
