"""Aggregate calls: every name, and what is wrong with the others."""

from __future__ import annotations

from itertools import product

import pytest

from tests.language.streams import aggregate, complaint, plan
from windrow.errors import QueryError, UnsupportedError, WindrowError
from windrow.language.expressions.function_names import INSTEAD
from windrow.plan.nodes import AggregateCall
from windrow.semantics.scalars.expressions import Call, Column, Literal

PRICE, SYMBOL = Column("price"), Column("symbol")
BIG = Call(">", (PRICE, Literal(5)))

CALLS = [
    ("count(*)", AggregateCall("a", "count")),
    ("COUNT(price)", AggregateCall("a", "count", PRICE)),
    ("count(DISTINCT price)", AggregateCall("a", "count_distinct", PRICE)),
    ("max(DISTINCT price)", AggregateCall("a", "max", PRICE)),
    ("sum(price)", AggregateCall("a", "sum", PRICE)),
    ("avg(price)", AggregateCall("a", "avg", PRICE)),
    ("mean(price)", AggregateCall("a", "avg", PRICE)),
    ("min(price)", AggregateCall("a", "min", PRICE)),
    ("max(price)", AggregateCall("a", "max", PRICE)),
    ("variance(price)", AggregateCall("a", "variance", PRICE)),
    ("var_samp(price)", AggregateCall("a", "variance", PRICE)),
    ("var_pop(price)", AggregateCall("a", "var_pop", PRICE)),
    ("stddev(price)", AggregateCall("a", "stddev", PRICE)),
    ("stddev_samp(price)", AggregateCall("a", "stddev", PRICE)),
    ("stddev_pop(price)", AggregateCall("a", "stddev_pop", PRICE)),
    ("first(price)", AggregateCall("a", "first", PRICE)),
    ("first_value(price)", AggregateCall("a", "first", PRICE)),
    ("last(price)", AggregateCall("a", "last", PRICE)),
    ("last_value(price)", AggregateCall("a", "last", PRICE)),
    ("median(price)", AggregateCall("a", "median", PRICE)),
    ("quantile(price, 0.9)", AggregateCall("a", "quantile", PRICE, (0.9,))),
    ("percentile_cont(0.9) WITHIN GROUP (ORDER BY price)", AggregateCall("a", "quantile", PRICE, (0.9,))),
    ("percentile_cont(0.25) WITHIN GROUP (ORDER BY price DESC)", AggregateCall("a", "quantile", PRICE, (0.75,))),
    ("mode(price)", AggregateCall("a", "mode", PRICE)),
    ("mode() WITHIN GROUP (ORDER BY price)", AggregateCall("a", "mode", PRICE)),
    ("top_k(symbol, 3)", AggregateCall("a", "top_k", SYMBOL, (3,))),
    ("heavy_hitters(symbol, 0.05)", AggregateCall("a", "heavy_hitters", SYMBOL, (0.05,))),
    ("collect(price)", AggregateCall("a", "collect", PRICE)),
    ("array_agg(price)", AggregateCall("a", "collect", PRICE)),
    ("sum(price * volume)", AggregateCall("a", "sum", Call("*", (PRICE, Column("volume"))))),
    ("sum(price) FILTER (WHERE price > 5)", AggregateCall("a", "sum", Call("case", (BIG, PRICE)))),
    ("count(*) FILTER (WHERE price > 5)", AggregateCall("a", "count", Call("case", (BIG, Literal(True))))),
]


@pytest.mark.parametrize(("text", "expected"), CALLS)
def test_aggregates(text: str, expected: AggregateCall) -> None:
    assert (expected,) == aggregate(f"SELECT {text} AS a FROM trades [RANGE 5 s]").aggregates
    assert (expected,) == aggregate(f"SELECT {text} [RANGE 5 s] AS a FROM trades").aggregates


ERRORS = [
    (
        "count_if(price > 5)",
        "`count_if` is not a function. Hint: write count(*) FILTER (WHERE price > 5).",
        "count_if",
    ),
    (
        "sum(date_trunc('hour', time))",
        "`date_trunc` is not a function. Hint: a window after the stream does that: FROM s [RANGE 1 HOUR].",
        "date_trunc",
    ),
    ("cont(*)", "`cont` is not a function. Hint: did you mean count.", "cont"),
    ("sum(*)", "`sum` needs a column. Hint: write sum(x) of a column x; only count takes *.", "sum"),
    ("max()", "`max` needs a column. Hint: write max(x) of a column x; only count takes *.", "max"),
    (
        "sum(symbol)",
        "`sum` needs a number, got string. Hint: CAST(column AS DOUBLE), or count it.",
        "sum",
    ),
    (
        "quantile(price, volume)",
        "`quantile` takes constants after its first argument, got volume. "
        "Hint: write a number, as in quantile(x, 0.9).",
        "volume",
    ),
    (
        "percentile_cont(0.9)",
        "`percentile_cont` is written with one ORDER BY. "
        "Hint: write percentile_cont(0.9) WITHIN GROUP (ORDER BY x), or quantile(x, 0.9), of a column x.",
        "percentile_cont",
    ),
    (
        "max(min(price))",
        "`min` is an aggregate and has no place here. Hint: aggregates stand in the select list and in HAVING.",
        "min",
    ),
]


@pytest.mark.parametrize(("call", "message", "pointed"), ERRORS)
def test_what_is_wrong_with_a_call(call: str, message: str, pointed: str) -> None:
    assert (message, pointed) == complaint(f"SELECT {call} FROM trades [RANGE 5 s]", QueryError)


UNAVAILABLE = [
    (
        "sum(DISTINCT price)",
        "`DISTINCT` goes with count, min and max, and not with sum. Hint: group by price in an inner query, which has "
        "each once a window, and take sum(price) in the outer one, with WATTR window_start.",
        "sum",
    ),
    (
        "count(DISTINCT price, volume)",
        "`DISTINCT` takes one column, got 2 of them. Hint: put them into one text, as in count(DISTINCT concat(a, b)).",
        "count",
    ),
    (
        "array_agg(price ORDER BY volume)",
        "`array_agg` cannot be ordered here. Hint: collect is ordered by time.",
        "array_agg(price ORDER BY volume",
    ),
]


def test_distinct_names_the_columns_there_are() -> None:
    rule = "`prise` is not a column of the input. Hint: did you mean price? The columns are "
    assert complaint("SELECT sum(DISTINCT prise) AS n FROM trades [RANGE 5 s]")[0].startswith(rule)


def test_the_sum_of_different_values_is_written_as_the_hint_says() -> None:
    inner = "SELECT price FROM trades [RANGE 5 s WATTR time] GROUP BY price"
    assert aggregate(f"SELECT sum(price) AS n FROM ({inner}) [RANGE 5 s WATTR window_start]").aggregates


@pytest.mark.parametrize("example", sorted({template.format("x", "c") for template in INSTEAD.values()}))
def test_what_is_said_instead_of_functions_of_others_can_be_read(example: str) -> None:
    kinds = ("price", "symbol", "time", "price > 5")
    streams = [f"(SELECT time, {x} AS x, {c} AS c FROM trades)" for x, c in product(kinds, kinds)]
    queries = f"SELECT {example} AS y FROM {{}} [RANGE 5 s]", f"SELECT {example} AS y, time FROM {{}}"
    assert any(_is_read(query.format(stream)) for query in queries for stream in streams)


def _is_read(text: str) -> bool:
    try:
        return plan(text) is not None
    except WindrowError:
        return False


@pytest.mark.parametrize(("call", "message", "pointed"), UNAVAILABLE)
def test_what_calls_do_not_have(call: str, message: str, pointed: str) -> None:
    assert (message, pointed) == complaint(f"SELECT {call} FROM trades [RANGE 5 s]", UnsupportedError)
