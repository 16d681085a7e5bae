"""Whole texts: declarations and queries, comments, and texts that cannot be read."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from tests.language.streams import PACKETS, STREAMS, TRADES, complaint, names_read
from windrow.errors import QueryError
from windrow.language import ParsedScript, parse, parse_expression
from windrow.plan.nodes import Stream
from windrow.semantics.scalars.expressions import Call, Column, Literal

TEXT = """
-- who trades most
CREATE STREAM trades (symbol STRING, time TIMESTAMP) PROGRESS ON time; /* one more */
CREATE STREAM quotes (symbol STRING, time TIMESTAMP) PROGRESS ON time;
SELECT symbol, count(*) AS n FROM quotes union trades [RANGE 1 MINUTE] GROUP BY symbol;

SELECT symbol, time FROM trades WHERE symbol = 'a;b';
-- the end
"""


def test_declarations_and_queries() -> None:
    script = parse(TEXT)
    assert ["trades", "quotes"] == list(script.streams)
    assert 2 == len(script.queries)
    assert ("quotes", "trades") == names_read(script)


@pytest.mark.parametrize("text", ["", " \n", "-- nothing\n", ";", ";;"])
def test_a_text_without_queries(text: str) -> None:
    assert ParsedScript() == parse(text)


def test_given_streams_are_known_and_matched_without_case() -> None:
    script = parse("SELECT * FROM Trades; SELECT * FROM PACKETS", STREAMS)
    assert (TRADES, PACKETS) == script.queries


def test_a_declaration_replaces_a_given_stream() -> None:
    script = parse("CREATE STREAM Trades (a INT) PROGRESS ON a; SELECT * FROM trades", {"trades": TRADES})
    assert {"Trades": Stream("Trades", pa.schema([pa.field("a", pa.int64())]), "a")} == script.streams
    assert ("Trades",) == names_read(script)


ERRORS = [
    ("SELECT symbol count(*) FROM trades", "`query` has text that does not belong here, got (.", "("),
    ("SELECT symbol FROM", "`query` needs the name of a stream here, got the end of the text.", ""),
    (
        "SELECT FROM trades",
        "`select` must name at least one column. Hint: write SELECT *, or the columns you want.",
        "trades",
    ),
    ("SELECT (price FROM trades", "`query` needs ) here, got FROM.", "FROM"),
    ("SELECT price FROM trades WHERE price =", "`query` is not complete here, got the end of the text.", ""),
    ("SELECT symbol FROM trades foo bar", "`query` has text that does not belong here, got bar.", "bar"),
    (
        "SELECT price[1] FROM trades",
        "`query` has a bracket here: a window clause follows a stream or an aggregate, got [.",
        "[",
    ),
    ("INSERT INTO a VALUES (1)", "`statement` must start with SELECT or CREATE STREAM, got INSERT.", "INSERT"),
    ("EXPLAIN SELECT 1", "`statement` must start with SELECT or CREATE STREAM, got EXPLAIN.", "EXPLAIN"),
    ("SELECT 'abc FROM trades", "`query` has a ' that is not closed. Hint: put the closing ' behind it.", "'"),
    ('SELECT "abc FROM trades', '`query` has a " that is not closed. Hint: put the closing " behind it.', '"'),
    ("SELECT count(*) AS p- FROM trades", "`query` needs the rest of the name here, got FROM.", "FROM"),
]


@pytest.mark.parametrize(("text", "message", "pointed"), ERRORS)
def test_texts_that_cannot_be_read(text: str, message: str, pointed: str) -> None:
    assert (message, pointed) == complaint(text, QueryError)


def test_an_error_shows_its_line_and_a_caret() -> None:
    text = "SELECT price,\n       prise\nFROM trades"
    with pytest.raises(QueryError) as caught:
        parse(text, STREAMS)
    expected = (
        "`prise` is not a column of the input. "
        "Hint: did you mean price? The columns are symbol, price, volume, bid-price, time.\n"
        "line 2, column 8:\n"
        "         prise\n"
        "         ^^^^^"
    )
    assert expected == str(caught.value)


_COLUMNS: dict[str, pa.DataType] = {"price": pa.int64(), "symbol": pa.string()}
SCHEMA = pa.schema(_COLUMNS)


def test_an_expression_over_a_schema() -> None:
    expected = Call("and", (Call(">", (Column("price"), Literal(5))), Call("=", (Column("symbol"), Literal("a")))))
    assert expected == parse_expression("Price > 5 AND symbol = 'a'", SCHEMA)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "`expression` must be one expression, got . Hint: write price > 0."),
        ("price; price", "`expression` must be one expression, got price; price. Hint: write price > 0."),
        ("price > 5 foo", "`query` has text that does not belong here, got foo.\nline 1, column 11:"),
        ("prize > 5", "`prize` is not a column of the input. Hint: did you mean price?"),
        ("sum(price) > 5", "`sum` is an aggregate and has no place here. Hint: aggregates stand in the select list"),
    ],
)
def test_expressions_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=r"\A" + re.escape(message)):
        parse_expression(text, SCHEMA)


@pytest.mark.parametrize("expression", ["(" * 3000 + "x" + ")" * 3000, " OR ".join(["x = 1"] * 3000)])
def test_what_is_nested_too_deep_is_refused(expression: str) -> None:
    message = r"^`query` must not be nested so deep\. Hint: write a long list of values as x IN \(\.\.\.\), and leave "
    with pytest.raises(QueryError, match=message):
        parse_expression(expression, pa.schema([("x", pa.int64())]))
    with pytest.raises(QueryError, match=message):
        parse(f"CREATE STREAM s (x BIGINT, t BIGINT) PROGRESS ON t; SELECT t FROM s WHERE {expression} > 0")
