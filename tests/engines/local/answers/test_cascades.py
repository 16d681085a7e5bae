"""Windows over the results of windows, by where these start: against the oracle, and closing as progress moves on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from tests.contract.engines import check, local
from tests.contract.streams import SCHEMA, SIZE, punctuated, punctuated_by_group
from windrow.engines.local import Receiver, run
from windrow.query import Query

INNER: dict[str, dict[str, Any]] = {
    "tumbling": {"range": 10},
    "uneven": {"range": 25, "slide": 10, "align": "start"},
    "with holes": {"range": 4, "slide": 10},
    "slide by tuple": {"range": 15, "slide": "1 row", "partition": "k"},
    "the last rows": {"range": "6 rows", "slide": "2 rows", "partition": "k"},
}


def stream(elements: list[Any], policy: Any = None) -> Query:
    return wr.stream(elements, time="ts", schema=SCHEMA, name="s", progress=policy or wr.punctuated())


@pytest.mark.parametrize("emit", ["nonempty", "empty"])
@pytest.mark.parametrize("inner", INNER)
def test_results_count_where_they_start(inner: str, emit: str) -> None:
    elements = punctuated(31, -40)
    windows = stream(elements).group_by("k").window(**INNER[inner]).emit(emit).agg(n=wr.count(), total=wr.sum("x"))
    cascade = windows.group_by("k").window(range=40, slide=20, on="window_start")
    check(local(), cascade.agg(windows=wr.count(), rows=wr.sum("n"), total=wr.sum("total")), {"s": elements}, SIZE)


@pytest.mark.parametrize("flush", ["slow", "lazy"])
def test_slices_count_where_they_start(flush: str) -> None:
    elements = punctuated(32, 0)
    windows = stream(elements).group_by("k").window(range=20, slide=5).agg(n=wr.count())
    cascade = windows.window(range=30, on="window_start").agg(rows=wr.sum("n"))
    check(local(), cascade, {"s": elements}, SIZE, flush=flush)


def test_promises_for_groups_are_of_starts_too() -> None:
    elements = punctuated_by_group(33, 0)
    windows = stream(elements, wr.punctuated(per="k")).group_by("k").window(range=20, slide=10).agg(n=wr.count())
    cascade = windows.group_by("k").window(range=20, on="window_start").agg(rows=wr.sum("n"))
    check(local(), cascade, {"s": elements}, SIZE)


def test_a_window_closes_when_no_result_to_come_starts_in_it() -> None:
    #  0   10   20   30        after the promise of 20, results to come start at 10 or later: [0, 10) is over
    #  ├────────┤              RANGE 20 SLIDE 10
    #       ├────────┤
    given: list[Any] = []

    def elements() -> Iterator[Any]:
        yield pa.record_batch({"ts": [3, 14]})
        yield wr.Punctuation(19)
        yield pa.record_batch({"ts": [19]})
        assert [-10] == [row["window_start"] for row in given]
        yield wr.Punctuation(20)
        yield pa.record_batch({"ts": [21]})
        assert [-10, 0] == [row["window_start"] for row in given]

    inner = wr.stream(elements(), time="ts", progress=wr.punctuated()).window(range=20, slide=10).agg(n=wr.count())
    query = inner.window(range=10, on="window_start").agg(n=wr.sum("n"))
    run([query.plan], query.sources, Receiver.of_one(lambda batch: given.extend(batch.to_pylist())))
    assert [(-10, 1), (0, 3), (10, 3), (20, 1)] == [(row["window_start"], row["n"]) for row in given]


def test_the_same_in_sql_and_by_value() -> None:
    elements = punctuated(34, 0)
    inner = "(SELECT k, count(*) AS n FROM s [RANGE 10 WATTR ts] GROUP BY k HAVING count(*) > 1)"
    union = f"(SELECT * FROM {inner} UNION ALL SELECT * FROM {inner})"
    for text in (
        f"SELECT sum(n) AS n FROM {inner} [RANGE 30 SLIDE 10 WATTR window_start]",
        f"SELECT began, sum(n) AS n FROM (SELECT window_start AS began, n FROM {inner}) GROUP BY began",
        f"SELECT sum(n) AS n FROM {union} [RANGE 30 WATTR window_start]",
        f"SELECT sum(n) AS n FROM (SELECT DISTINCT n, window_start FROM {inner}) [RANGE 30 WATTR window_start]",
    ):
        query = wr.sql(text, s=stream(elements))
        check(local(), query, {"s": elements}, SIZE)
        assert wr.sql(query.sql(), s=stream(elements)).plan == query.plan


def test_results_join_where_they_start() -> None:
    elements = punctuated(35, 0)
    text = """
        SELECT q.n, s.x, q.window_start
        FROM (SELECT count(*) AS n FROM s [RANGE 10 WATTR ts]) AS q JOIN s
          ON s.ts BETWEEN q.window_start AND q.window_start + 9
    """
    check(local(), wr.sql(text, s=stream(elements)), {"s": elements}, SIZE)
