"""Scalar expressions: every operator and function, and their errors."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import pyarrow as pa
import pytest

from tests.language.streams import TRADES, complaint, the
from windrow.errors import QueryError, UnsupportedError
from windrow.language import parse_expression
from windrow.language.render.expressions import expression_sql
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal

PRICE, SYMBOL, TIME = Column("price"), Column("symbol"), Column("time")
NOON = Literal(datetime(2024, 1, 31, 12, tzinfo=timezone.utc))


def call(function: str, *arguments: Expression) -> Call:
    return Call(function, arguments)


EXPRESSIONS: list[tuple[str, Expression]] = [
    ("price + 1 * 2", call("+", PRICE, call("*", Literal(1), Literal(2)))),
    ("(price + 1) * 2", call("*", call("+", PRICE, Literal(1)), Literal(2))),
    ("price - volume / 2 % 3", call("-", PRICE, call("%", call("/", Column("volume"), Literal(2)), Literal(3)))),
    ("price <> 1.5", call("<>", PRICE, Literal(1.5))),
    ("price != 1e3", call("<>", PRICE, Literal(1000.0))),
    ("price >= -5", call(">=", PRICE, Literal(-5))),
    ("- price < +5", call("<", call("neg", PRICE), Literal(5))),
    ("symbol || 'x' LIKE '%x'", call("like", call("||", SYMBOL, Literal("x")), Literal("%x"))),
    ("symbol NOT LIKE 'a_'", call("not", call("like", SYMBOL, Literal("a_")))),
    ("symbol ILIKE 'A%'", call("like", call("lower", SYMBOL), call("lower", Literal("A%")))),
    ("symbol NOT ILIKE 'A%'", call("not", call("like", call("lower", SYMBOL), call("lower", Literal("A%"))))),
    ("symbol IS NULL", call("is_null", SYMBOL)),
    ("symbol IS NOT NULL", call("not", call("is_null", SYMBOL))),
    ("(price > 1) IS TRUE", call("coalesce", call(">", PRICE, Literal(1)), Literal(False))),
    ("(price > 1) IS FALSE", call("coalesce", call("not", call(">", PRICE, Literal(1))), Literal(False))),
    ("NOT TRUE OR NULL", call("or", call("not", Literal(True)), Literal(None))),
    ("price IN (1, -2)", call("in", PRICE, Literal(1), Literal(-2))),
    ("symbol NOT IN ('a')", call("not", call("in", SYMBOL, Literal("a")))),
    ("price BETWEEN 1 AND 2", call("and", call(">=", PRICE, Literal(1)), call("<=", PRICE, Literal(2)))),
    (
        "price NOT BETWEEN 1 AND 2",
        call("not", call("and", call(">=", PRICE, Literal(1)), call("<=", PRICE, Literal(2)))),
    ),
    ("CASE WHEN price > 1 THEN 'a' END", call("case", call(">", PRICE, Literal(1)), Literal("a"))),
    ("CASE price WHEN 1 THEN 'a' ELSE 'b' END", call("case", call("=", PRICE, Literal(1)), Literal("a"), Literal("b"))),
    ("if(price > 1, 2, 3)", call("case", call(">", PRICE, Literal(1)), Literal(2), Literal(3))),
    ("CAST(price AS VARCHAR)", call("cast", PRICE, Literal("string"))),
    ("price::double", call("cast", PRICE, Literal("double"))),
    ("CAST(symbol AS INT)", call("cast", SYMBOL, Literal("bigint"))),
    ("CAST(symbol AS TIMESTAMP)", call("cast", SYMBOL, Literal("timestamp"))),
    ("time >= TIMESTAMP '2024-01-31 12:00:00'", call(">=", TIME, NOON)),
    ("time >= TIMESTAMP '2024-01-31T13:00:00+01:00'", call(">=", TIME, NOON)),
    ("time >= DATE '2024-01-31'", call(">=", TIME, Literal(datetime(2024, 1, 31, tzinfo=timezone.utc)))),
    ("time > '2024-01-31'", call(">", TIME, Literal("2024-01-31"))),
    ("time - INTERVAL '90' MINUTE", call("-", TIME, Literal(timedelta(minutes=90)))),
    ("time + INTERVAL '1 day 2 hours'", call("+", TIME, Literal(timedelta(days=1, hours=2)))),
    ("time + INTERVAL 1.5 SECONDS", call("+", TIME, Literal(timedelta(seconds=1.5)))),
    ("EXTRACT(HOUR FROM time)", call("hour", TIME)),
    ("year(time)", call("year", TIME)),
    ("coalesce(price, 0)", call("coalesce", PRICE, Literal(0))),
    ("IFNULL(price, 0)", call("coalesce", PRICE, Literal(0))),
    ("nullif(price, 0)", call("nullif", PRICE, Literal(0))),
    ("greatest(price, volume, 1)", call("greatest", PRICE, Column("volume"), Literal(1))),
    ("round(bid-price, 2)", call("round", Column("bid-price"), Literal(2))),
    ("ceiling(price)", call("ceil", PRICE)),
    ("pow(price, 2)", call("power", PRICE, Literal(2))),
    ("mod(price, 2)", call("%", PRICE, Literal(2))),
    ("trim(symbol)", call("trim", SYMBOL)),
    ("char_length(symbol)", call("length", SYMBOL)),
    ("substr(symbol, 2)", call("substring", SYMBOL, Literal(2))),
    ("SUBSTRING(symbol FROM 2 FOR 3)", call("substring", SYMBOL, Literal(2), Literal(3))),
    ("replace(symbol, 'a', 'b')", call("replace", SYMBOL, Literal("a"), Literal("b"))),
    ("starts_with(symbol, 'a')", call("starts_with", SYMBOL, Literal("a"))),
    ("concat(symbol, 'a')", call("concat", SYMBOL, Literal("a"))),
    ('symbol = "UBSN"', call("=", SYMBOL, Literal("UBSN"))),
    ("\"symbol\" = 'UBSN'", call("=", SYMBOL, Literal("UBSN"))),
    ("symbol = 'it''s'", call("=", SYMBOL, Literal("it's"))),
    ("bid-price > 1", call(">", Column("bid-price"), Literal(1))),
    ("BID-PRICE - price", call("-", Column("bid-price"), PRICE)),
    ("volume-price", call("-", Column("volume"), PRICE)),
]


@pytest.mark.parametrize(("text", "expected"), EXPRESSIONS)
def test_expressions(text: str, expected: Expression) -> None:
    assert expected == parse_expression(text, TRADES.schema)


def test_a_hyphen_may_stand_for_an_underscore() -> None:
    schema = TRADES.schema.set(3, TRADES.schema.field(3).with_name("bid_price"))
    assert Column("bid_price") == parse_expression("bid-price", schema)


ERRORS = [
    ("uper(symbol)", "`uper` is not a function. Hint: did you mean upper.", "uper"),
    (
        "frobnicate(symbol)",
        "`frobnicate` is not a function. Hint: see the functions and aggregates in the language reference.",
        "frobnicate",
    ),
    (
        "mean(price) > 5",
        "`mean` is an aggregate and has no place here. Hint: aggregates stand in the select list and in HAVING.",
        "mean",
    ),
    ("symbol = 'a' AND a.price = 1", "`a` is not a stream of this query. Hint: FROM names trades.", "a"),
    (
        "trade.price = 1",
        "`trade` is not a stream of this query. Hint: did you mean trades.",
        "trade",
    ),
    ("round(price, 1, 2) = 1", "`round` takes 1 to 2 arguments, got 3.", "round(price, 1, 2"),
    (
        "CAST(price AS BLOB) = 1",
        "`type` must be a type that CAST can make (one of BOOLEAN, BIGINT, DOUBLE, STRING, TIMESTAMP), got VARBINARY.",
        "price",
    ),
    (
        "time > TIMESTAMP 'yesterday'",
        "`timestamp` must be a moment in ISO 8601, got yesterday. Hint: write it like TIMESTAMP '2024-01-31 12:30:00'.",
        "'yesterday'",
    ),
    (
        "time > time - INTERVAL 'soon'",
        "`interval` must be numbers with units, got soon. Hint: write INTERVAL '10' MINUTE.",
        "'soon'",
    ),
    (
        "time > time - INTERVAL '1' MONTH",
        "`interval` must be a number with a unit (us, ms, s, min, h, d, w or rows), got 1 MONTH. "
        "Hint: write it like '10 min', '250 ms', '5 rows' or 500.",
        "'1'",
    ),
    (
        "price",
        "`where` must be a condition (true or false), got bigint in price. Hint: compare the value, as in price > 0.",
        "price",
    ),
]


@pytest.mark.parametrize(("condition", "message", "pointed"), ERRORS)
def test_what_is_wrong_with_an_expression(condition: str, message: str, pointed: str) -> None:
    assert (message, pointed) == complaint(f"SELECT price FROM trades WHERE {condition}", QueryError)


DAYS: dict[str, pa.DataType] = {"day": pa.date32(), "time": pa.timestamp("us", tz="UTC")}
DAY = Literal(date(2024, 1, 31))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("day = DATE '2024-01-31'", call("=", Column("day"), DAY)),
        ("(DATE '2024-01-31') < day", call("<", DAY, Column("day"))),
        ("day IN (DATE '2024-01-31', NULL)", call("in", Column("day"), DAY, Literal(None))),
        ("time = DATE '2024-01-31'", call("=", TIME, Literal(datetime(2024, 1, 31, tzinfo=timezone.utc)))),
    ],
)
def test_a_date_beside_a_date_is_one(condition: str, expected: Expression) -> None:
    assert expected == parse_expression(condition, pa.schema(DAYS))
    assert expected == parse_expression(expression_sql(expected), pa.schema(DAYS))


@pytest.mark.parametrize("moment", ["TIMESTAMP '2024-01-31 00:00:00'", "DATE '2024-01-31 13:00:00'", "time"])
def test_a_moment_beside_a_date_is_none(moment: str) -> None:
    message = (
        r"\A`=` compares values of one kind, got date and timestamp in \(day = .*\)\. "
        r"Hint: write DATE '2024-01-31' beside a date, or CAST the date AS TIMESTAMP\.\n"
    )
    with pytest.raises(QueryError, match=message):
        parse_expression(f"day = {moment}", pa.schema(DAYS))
    assert "=" == the(Call, parse_expression(f"CAST(day AS TIMESTAMP) = {moment}", pa.schema(DAYS))).function


def test_a_type_error_points_at_the_innermost_expression() -> None:
    _, pointed = complaint("SELECT 1 + (price + 'a') * 2 AS x FROM trades", QueryError)
    assert "price + 'a'" == pointed


UNAVAILABLE = [
    (
        "price IN (SELECT 1)",
        "`in` must be a list of constants. Hint: write x IN (1, 2, 3); lists from another query are not available.",
        "price IN (SELECT 1",
    ),
    (
        "price IN (volume)",
        "`in` must be a list of constants. Hint: write x IN (1, 2, 3); lists from another query are not available.",
        "price IN (volume",
    ),
    ("TRIM(BOTH 'x' FROM symbol) = 'a'", "`trim` takes one argument and trims spaces.", "'x' FROM symbol"),
    (
        "price & 1 = 1",
        "`price & 1` is not available in expressions. Hint: see the functions and operators in the language reference.",
        "price & 1",
    ),
]


@pytest.mark.parametrize(("condition", "message", "pointed"), UNAVAILABLE)
def test_what_expressions_do_not_have(condition: str, message: str, pointed: str) -> None:
    assert (message, pointed) == complaint(f"SELECT price FROM trades WHERE {condition}", UnsupportedError)
