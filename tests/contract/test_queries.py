"""Filters, projections, unions, DISTINCT, nested windows, SQL and aggregates of one's own, on every engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from tests.contract.engines import Engine, check, same_on_connect
from tests.contract.streams import SCHEMA, SIZE, punctuated
from windrow.errors import UnsupportedError
from windrow.query import Query
from windrow.semantics.reference import REFERENCE

ELEMENTS = punctuated(21, -30)
OTHERS = punctuated(22, -30)


def stream(elements: list[Any], name: str) -> Query:
    return wr.stream(elements, time="ts", schema=SCHEMA, name=name, progress=wr.punctuated())


@same_on_connect
def test_where_having_and_a_projection_in_sql(engine: Engine) -> None:
    text = """
        SELECT upper(k) AS word, g, window_end, n * 2 AS twice, total
        FROM (SELECT k, g, count(*) AS n, sum(x) AS total
              FROM s [RANGE 30 SLIDE 10 WATTR ts]
              WHERE y > 0 OR k = 'a'
              GROUP BY k, g HAVING count(*) > 1)
    """
    query = wr.sql(text, s=stream(ELEMENTS, "s"))
    expected = check(engine, query, {"s": ELEMENTS}, SIZE)
    assert expected.rows_filtered > 0
    assert expected.rows_late > 0


def test_sql_and_fluent_are_one_query() -> None:
    text = """
        SELECT k, count(*) AS n, median(y) AS middle, max(x) AS most
        FROM s [RANGE 25 SLIDE 10 WATTR ts] WHERE x IS NOT NULL GROUP BY k LATE SIDE
    """
    written = wr.sql(text, s=stream(ELEMENTS, "s"))
    windows = stream(ELEMENTS, "s").where("x is not null").group_by("k").window(range=25, slide=10).late("side")
    assert windows.agg(n=wr.count(), middle=wr.median("y"), most=wr.max("x")).plan == written.plan


def test_windows_over_windows_over_a_union(engine: Engine) -> None:
    """Sums of ten become sums of thirty; DISTINCT leaves each pair once."""
    inner = [
        stream(elements, name).group_by("k", "g").window(range=10).agg(n=wr.count(), most=wr.max("x"))
        for elements, name in ((ELEMENTS, "s"), (OTHERS, "r"))
    ]
    outer = inner[0].union(inner[1]).group_by("k").window(range=30, slide=10, on="window_start")
    query = outer.agg(n=wr.sum("n"), most=wr.max("most")).select("window_end", "n").distinct()
    check(engine, query, {"s": ELEMENTS, "r": OTHERS}, SIZE)


@same_on_connect
def test_rows_without_windows(engine: Engine) -> None:
    query = (
        stream(ELEMENTS, "s")
        .where("x > 0")
        .select("ts", "k", y="x + 1")
        .union(stream(OTHERS, "r").where("g = 1").select("ts", "k", y="x - 1"))
    )
    check(engine, query, {"s": ELEMENTS, "r": OTHERS}, SIZE)


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


def test_an_aggregate_of_ones_own(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REFERENCE, "contract_span", span_by_definition)
    wr.register(span())
    windows = stream(ELEMENTS, "s").group_by("k").window(range=20, slide=10)
    check(engine, windows.agg(n=wr.count(), span=wr.aggregate("contract_span", "x")), {"s": ELEMENTS}, SIZE)


def test_not_yet_windows_over_corrected_results(engine: Engine) -> None:
    inner = stream(ELEMENTS, "s").group_by("k").window(range=10).late("revise").agg(n=wr.count())
    query = inner.group_by("k").window(range=30, on="window_end").agg(n=wr.sum("n"))
    message = r"\Awindows over results that are corrected later are not available yet\. Hint: use LATE DROP .*\Z"
    with pytest.raises(UnsupportedError, match=message):
        engine.run(query, SIZE)
