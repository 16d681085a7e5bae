"""Punctuations among elements: moments, microseconds, and what is refused because it can be neither."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import windrow as wr
from windrow.errors import DataError

NINE = datetime(2024, 1, 2, 9, tzinfo=timezone.utc)
SECONDS = int(NINE.timestamp())
SCHEMA = pa.schema({"t": pa.timestamp("us", tz="UTC")})


def rows(*minutes: int) -> pa.RecordBatch:
    return pa.record_batch({"t": pa.array([NINE + timedelta(minutes=m) for m in minutes], SCHEMA.field("t").type)})


MOMENTS = [
    NINE,
    NINE.replace(tzinfo=None),
    NINE.astimezone(timezone(timedelta(hours=5))),
    np.datetime64("2024-01-02T09:00:00"),
    np.datetime64("2024-01-02T09:00:00.000000000"),
    pd.Timestamp("2024-01-02 10:00:00", tz="Europe/Zurich"),
    SECONDS * 1_000_000,
    np.int64(SECONDS * 1_000_000),
]


@pytest.mark.parametrize("moment", MOMENTS, ids=repr)
def test_a_punctuation_is_a_moment_or_microseconds(moment: Any) -> None:
    assert wr.Punctuation(SECONDS * 1_000_000) == wr.Punctuation(moment)


def test_a_date_is_its_midnight() -> None:
    assert wr.Punctuation(datetime(2024, 1, 2), ("a",)) == wr.Punctuation(date(2024, 1, 2), ("a",))


@pytest.mark.parametrize("value", ["2024-01-02", 1.5, True, None])
def test_anything_else_is_no_punctuation(value: Any) -> None:
    message = (
        rf"\A`punctuation` must be a moment or a whole number, got {value}\. "
        r"Hint: for timestamps give a datetime, or microseconds since 1970\.\Z"
    )
    with pytest.raises(DataError, match=message):
        wr.Punctuation(value)


def run(elements: list[Any], policy: Any = None) -> wr.Result:
    stream = wr.stream(iter(elements), time="t", schema=SCHEMA, progress=policy or wr.punctuated(), name="s")
    return stream.window(range="1 min").agg(n=wr.count()).late("side").run(engine="local")


def test_moments_close_windows() -> None:
    #  9:00 is counted, 9:05 promised, so that 9:01 is late
    assert 1 == run([rows(0), wr.Punctuation(NINE + timedelta(minutes=5)), rows(1, 6)]).metrics.rows_late


@pytest.mark.parametrize(
    ("value", "unit"),
    [
        (SECONDS, "seconds"),
        (SECONDS * 1_000, "milliseconds"),
        (SECONDS * 1_000_000_000, "nanoseconds"),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_numbers_in_another_unit_are_refused(value: int, unit: str, first: bool) -> None:
    message = (
        rf"\A`punctuation` must be in microseconds since 1970, like t of s, got {value}, "
        rf"which would be 2024-01-02 09:00:00 in {unit}\. "
        r"Hint: give a datetime, as in wr\.Punctuation\(datetime\(2024, 1, 31, tzinfo=timezone\.utc\)\)\.\Z"
    )
    elements = [rows(0), wr.Punctuation(value), rows(1)]
    with pytest.raises(DataError, match=message):
        run(elements[1:] if first else elements)


def test_small_numbers_may_be_meant() -> None:
    early = pa.record_batch({"t": pa.array([5_000_000, 7_000_000], SCHEMA.field("t").type)})
    assert 0 == run([wr.Punctuation(0), rows(0)]).metrics.rows_late
    assert 0 == run([early, wr.Punctuation(5_000), early]).metrics.rows_late


def test_moments_say_nothing_about_numbers() -> None:
    message = (
        r"\A`punctuation` must be a number, because n of stream is one, got 2024-01-02 09:00:00\+00:00\. "
        r"Hint: give the least value of n that may still come\.\Z"
    )
    schema = pa.schema({"n": pa.int64()})
    stream = wr.stream(iter([{"n": 1}, wr.Punctuation(NINE)]), time="n", schema=schema, progress=wr.punctuated())
    with pytest.raises(DataError, match=message):
        stream.window(range=5).agg(number=wr.count()).collect(engine="local")


@pytest.mark.parametrize("declared", ["CREATE STREAM s PROGRESS ON t PUNCTUATED;", ""])
def test_the_data_of_sql_is_judged_too(declared: str) -> None:
    given = (element for element in [rows(0), wr.Punctuation(SECONDS)])
    query = wr.sql(f"{declared} SELECT count(*) AS n FROM s [RANGE 1 MINUTE]", s=given)
    with pytest.raises(DataError, match=r"\A`punctuation` must be in microseconds since 1970, like t of s, got "):
        query.collect(engine="local")


@pytest.mark.parametrize("value", [10**30, -(10**30)])
def test_a_punctuation_fits_where_times_do(value: int) -> None:
    with pytest.raises(DataError, match=rf"^`punctuation` must fit into 64 bits, got {value}\.$"):
        wr.Punctuation(value)
