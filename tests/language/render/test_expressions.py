"""Expressions to SQL text and back: any expression, any constant, any name."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.language.streams import TRADES
from windrow.language import parse_expression
from windrow.language.render.expressions import expression_sql, literal_sql, name_sql
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal

NAMES = st.sampled_from(["price", "volume", "bid-price"]).map(Column)
NUMBERS = st.one_of(
    NAMES,
    st.integers(-(2**63) + 1, 2**63 - 1).map(Literal),
    st.floats(allow_nan=False, allow_infinity=False).map(Literal),
)
STRINGS: st.SearchStrategy[Expression] = st.one_of(
    st.just(Column("symbol")), st.text(st.characters(codec="utf-8", exclude_characters="\\\x00")).map(Literal)
)


def _numbers(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        st.builds(Call, st.sampled_from(["+", "-", "*", "/", "%"]), pairs),
        st.builds(Call, st.sampled_from(["greatest", "coalesce", "nullif", "power"]), pairs),
        st.builds(lambda a: Call("neg", (Call("abs", (a,)),)), inner),
        st.builds(lambda a, b, c: Call("case", (Call("<", (a, b)), b, c)), inner, inner, inner),
        st.builds(lambda a: Call("cast", (a, Literal("double"))), inner),
    )


ARITHMETIC = st.recursive(NUMBERS, _numbers, max_leaves=8)
CONDITIONS = st.recursive(
    st.one_of(
        st.builds(Call, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), st.tuples(ARITHMETIC, ARITHMETIC)),
        st.builds(lambda a, b: Call("like", (a, b)), STRINGS, STRINGS),
        st.builds(lambda a: Call("is_null", (a,)), ARITHMETIC),
        st.builds(lambda a, b: Call("in", (a, Literal(b), Literal(-1))), ARITHMETIC, st.integers(0, 9)),
    ),
    lambda inner: st.one_of(
        st.builds(Call, st.sampled_from(["and", "or"]), st.tuples(inner, inner)),
        st.builds(lambda a: Call("not", (a,)), inner),
    ),
    max_leaves=6,
)


@given(CONDITIONS)
def test_expressions_read_back(expression: Expression) -> None:
    assert expression == parse_expression(expression_sql(expression), TRADES.schema)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "NULL"),
        (True, "TRUE"),
        (-5, "-5"),
        (1e300, "1e+300"),
        (float("inf"), "CAST('inf' AS DOUBLE)"),
        ("it's", "'it''s'"),
        (timedelta(days=2), "INTERVAL '2' DAY"),
        (timedelta(microseconds=-5), "INTERVAL '-5' MICROSECOND"),
        (timedelta(0), "INTERVAL '0' MICROSECOND"),
        (datetime(2024, 1, 31, tzinfo=timezone.utc), "TIMESTAMP '2024-01-31 00:00:00+00:00'"),
    ],
)
def test_constants(value: object, expected: str) -> None:
    assert expected == literal_sql(value)


@pytest.mark.parametrize(
    "value", [timedelta(days=-2), timedelta(microseconds=7), datetime(1969, 1, 1, tzinfo=timezone.utc)]
)
def test_moments_and_intervals_read_back(value: object) -> None:
    assert Literal(value) == parse_expression(literal_sql(value), TRADES.schema)


@pytest.mark.parametrize("name", ["price", "time", "timestamp", "p-max", "select", "case", "a b", 'x"y', "1st", "late"])
def test_names_read_back(name: str) -> None:
    assert Column(name) == parse_expression(name_sql(name), pa.schema([pa.field(name, pa.int64())]))
