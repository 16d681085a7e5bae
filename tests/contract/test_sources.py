"""Several streams, the same stream twice, hardly any rows: progress and counts on every engine."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from tests.contract.engines import Engine, check, same_on_connect
from tests.contract.streams import ALL, BOUNDED, SCHEMA, SIZE, punctuated, rows
from windrow.query import Query
from windrow.semantics.progress.policies import Punctuation


def stream(name: str, elements: list[Any], **more: Any) -> Query:
    return wr.stream(elements, time="ts", schema=SCHEMA, name=name, **more)


def lull(elements: list[dict[str, Any]], after: int, pause: int) -> list[dict[str, Any]]:
    """The same rows with a silence in the middle."""
    return elements[:after] + [{**row, "ts": row["ts"] + pause} for row in elements[after:]]


@same_on_connect
def test_three_streams_with_skew_a_lull_and_an_idle_time(engine: Engine) -> None:
    """In process streams are read in order of time; on Spark the one that lags comes late once its idle time is over.

    a  |--------|--------|--------|
    b      |--------|                 |--------|     a lull
    c  |----|----|----|                              slow, idle 50
    """
    elements = {
        "a": rows(11, 100, step=60, spread=40),
        "b": lull(rows(12, 130, step=60, spread=40), SIZE, 300),
        "c": rows(13, 100, step=15, spread=40),
    }
    slack = wr.slack(40)
    streams = [stream("a", elements["a"], progress=slack), stream("b", elements["b"], progress=slack)]
    melded = streams[0].union(streams[1], stream("c", elements["c"], progress=slack, idle=50))
    query = melded.group_by("k").window(range=30, slide=10).agg(**BOUNDED).late("side")
    expected = check(engine, query, elements, SIZE)
    assert (engine.name != "local") == (expected.rows_late > 0)


@same_on_connect
def test_the_same_stream_twice(engine: Engine) -> None:
    """Each branch counts its own rows."""
    elements = punctuated(14, 0)
    once = stream("s", elements, progress=wr.punctuated())
    query = once.where("x > 0").union(once.where("g is null or x <= 0")).window(range=20, slide=10).agg(**ALL)
    expected = check(engine, query, {"s": elements}, SIZE)
    assert 2 * 3 * SIZE == expected.rows_in
    assert expected.rows_late > 0


@same_on_connect
def test_punctuations_in_a_column(engine: Engine) -> None:
    """Rows that carry one are no rows of the stream: they are not counted, and may have no time."""
    elements = [one if isinstance(one, Punctuation) else {**one, "mark": None} for one in punctuated(16, 0)]
    data = [{"mark": one.value} if isinstance(one, Punctuation) else one for one in elements]
    schema = SCHEMA.append(pa.field("mark", pa.int64()))
    marked = wr.stream(data, time="ts", schema=schema, name="s", progress=wr.punctuated("mark"))
    query = marked.where("x is not null").group_by("g").window(range=20, slide=10).agg(**ALL).late("side")
    expected = check(engine, query, {"s": elements}, SIZE, batch_rows=SIZE + 1)
    assert (expected.rows_late > 0) is (expected.rows_filtered > 0) is True


HARDLY_ANYTHING: dict[str, list[Any]] = {
    "no row": [],
    "one row": punctuated(15, 7)[:1],
}


@pytest.mark.parametrize("name", ["no row", pytest.param("one row", marks=same_on_connect)])
def test_hardly_anything(engine: Engine, name: str) -> None:
    elements = HARDLY_ANYTHING[name]
    query = stream("s", elements, progress=wr.punctuated()).group_by("k").window(range=10, slide=5).agg(**ALL)
    expected = check(engine, query, {"s": elements}, SIZE)
    assert 2 * expected.rows_in == len(expected.results)


@same_on_connect
def test_times_finer_than_a_microsecond_are_refused(engine: Engine) -> None:
    data = pa.table({"ts": pa.array([1_000, 1_001], pa.timestamp("ns", "UTC"))})
    query = wr.stream(data, time="ts").window(range="1 s").agg(n=wr.count())
    pattern = r"`ts` must be a whole number of microseconds, .* got 1970-01-01 00:00:00\.000001001 in row 1, counted"
    with pytest.raises(wr.DataError, match=pattern):
        engine.run(query, SIZE)
