"""Filters, projections, unions, DISTINCT, nested windows, SQL and aggregates of one's own, on every engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from tests.contract.engines import Engine, check_each
from tests.contract.streams import SCHEMA, SIZE, punctuated
from windrow.errors import UnsupportedError
from windrow.query import Query
from windrow.semantics.oracle.reference import REFERENCE

ELEMENTS = punctuated(21, -30)
OTHERS = punctuated(22, -30)


DATA = {"s": ELEMENTS, "r": OTHERS}


def opened(name: str) -> Query:
    return wr.stream(DATA[name], time="ts", schema=SCHEMA, name=name, progress=wr.punctuated())


S, R = opened("s"), opened("r")
"""Opened once, so that queries which run together read them together."""


def where_having_and_a_projection_in_sql() -> Query:
    text = """
        SELECT upper(k) AS word, g, window_end, n * 2 AS twice, total
        FROM (SELECT k, g, count(*) AS n, sum(x) AS total
              FROM s [RANGE 30 SLIDE 10 WATTR ts]
              WHERE y > 0 OR k = 'a'
              GROUP BY k, g HAVING count(*) > 1)
    """
    return wr.sql(text, s=S)


def windows_over_windows_over_a_union() -> Query:
    """Sums of ten become sums of thirty; DISTINCT leaves each pair once."""
    inner = [one.group_by("k", "g").window(range=10).agg(n=wr.count(), most=wr.max("x")) for one in (S, R)]
    outer = inner[0].union(inner[1]).group_by("k").window(range=30, slide=10, on="window_start")
    return outer.agg(n=wr.sum("n"), most=wr.max("most")).select("window_end", "n").distinct()


def rows_without_windows() -> Query:
    left, right = S.where("x > 0").select("ts", "k", y="x + 1"), R.where("g = 1").select("ts", "k", y="x - 1")
    return left.union(right)


def span() -> wr.UserAggregate:
    """Greatest less least."""

    class Span(wr.UserAggregate):  # defined in here so that it travels by value: workers do not have this module
        name = "contract_span"
        result = pa.float64()

        def lift(self, values: Any) -> Any:
            return values, values

        def combine(self, left: Any, right: Any) -> Any:
            return np.minimum(left[0], right[0]), np.maximum(left[1], right[1])

        def finish(self, state: Any, parameters: tuple[Any, ...]) -> Any:
            return (state[1] - state[0]).astype(np.float64)

    return Span()


def span_by_definition(pairs: list[tuple[int, Any]], parameters: tuple[Any, ...]) -> float | None:
    values = [value for _, value in pairs if value is not None]
    return float(max(values) - min(values)) if values else None


def an_aggregate_of_ones_own() -> Query:
    wr.register(span())
    windows = S.group_by("k").window(range=20, slide=10)
    return windows.agg(n=wr.count(), span=wr.aggregate("contract_span", "x"))


MADE = {
    one.__name__: one
    for one in (
        where_having_and_a_projection_in_sql,
        windows_over_windows_over_a_union,
        rows_without_windows,
        an_aggregate_of_ones_own,
    )
}
CONNECTED = ("windows_over_windows_over_a_union", "an_aggregate_of_ones_own")


def test_queries(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REFERENCE, "contract_span", span_by_definition)
    expected = check_each(engine, {name: make() for name, make in MADE.items()}, DATA, SIZE, CONNECTED)
    if filtered := expected.get("where_having_and_a_projection_in_sql"):
        assert filtered.rows_filtered > 0
        assert filtered.rows_late > 0


def test_sql_and_fluent_are_one_query() -> None:
    text = """
        SELECT k, count(*) AS n, median(y) AS middle, max(x) AS most
        FROM s [RANGE 25 SLIDE 10 WATTR ts] WHERE x IS NOT NULL GROUP BY k LATE SIDE
    """
    written = wr.sql(text, s=S)
    windows = S.where("x is not null").group_by("k").window(range=25, slide=10).late("side")
    assert windows.agg(n=wr.count(), middle=wr.median("y"), most=wr.max("x")).plan == written.plan


def test_not_yet_windows_over_corrected_results(engine: Engine) -> None:
    inner = S.group_by("k").window(range=10).late("revise").agg(n=wr.count())
    query = inner.group_by("k").window(range=30, on="window_end").agg(n=wr.sum("n"))
    message = r"\Awindows over results that are corrected later are not available yet\. Hint: use LATE DROP .*\Z"
    with pytest.raises(UnsupportedError, match=message):
        engine.run(query, SIZE)
