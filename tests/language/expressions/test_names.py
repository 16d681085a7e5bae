"""Double-quoted words: names of columns, text beside text, and nothing else."""

from __future__ import annotations

import pytest

from tests.language.streams import STREAMS, complaint, plan
from windrow.errors import QueryError
from windrow.language import parse, to_sql

COLUMNS = "The columns are symbol, price, volume, bid-price, time"

TEXTS = [
    ('symbol = "UBSN"', "(symbol = 'UBSN')"),
    ('"UBSN" <> symbol', "('UBSN' <> symbol)"),
    ('symbol < ("UBSN")', "(symbol < 'UBSN')"),
    ('upper(symbol) >= "UBSN"', "(upper(symbol) >= 'UBSN')"),
    ("symbol IN (\"UBSN\", 'NESN')", "(symbol IN ('UBSN', 'NESN'))"),
    ('symbol LIKE "U%"', "(symbol LIKE 'U%')"),
    ('symbol BETWEEN "A" AND "B"', "((symbol >= 'A') AND (symbol <= 'B'))"),
    ('CASE symbol WHEN "UBSN" THEN TRUE ELSE FALSE END', "CASE WHEN (symbol = 'UBSN') THEN TRUE ELSE FALSE END"),
    ('"symbol" = "it\'s"', "(symbol = 'it''s')"),
]


@pytest.mark.parametrize(("condition", "expected"), TEXTS)
def test_a_word_compared_with_text_is_text(condition: str, expected: str) -> None:
    assert f"SELECT * FROM trades WHERE {expected}" == to_sql(plan(f"SELECT * FROM trades WHERE {condition}"))


def test_a_word_compared_with_text_above_windows_is_text() -> None:
    text = 'SELECT max(symbol) = "UBSN" AS it FROM trades [RANGE 1 MINUTE] GROUP BY symbol HAVING symbol <> "NESN"'
    quoted = text.replace('"', "'")
    assert parse(quoted, STREAMS).queries == parse(text, STREAMS).queries


LIKE_COLUMNS = [
    ('SELECT count("symbl") AS n FROM trades [RANGE 1 MINUTE]', "symbl", "symbol"),
    ("SELECT price FROM trades WHERE \"prise\" > 'a'", "prise", "price"),
    ('SELECT price FROM trades WHERE symbol = "prise"', "prise", "price"),
    ('SELECT price FROM trades WHERE symbol = "Symbol"', "Symbol", "symbol"),
    ('SELECT price FROM trades WHERE symbol IN ("UBSN", "prices")', "prices", "price"),
    ('SELECT count(*) AS n FROM trades [RANGE 1 MINUTE] GROUP BY "symbl"', "symbl", "symbol"),
    ('SELECT "symbl" FROM trades', "symbl", "symbol"),
    ('SELECT "symbl" AS s, count(*) AS n FROM trades [RANGE 1 MINUTE] GROUP BY symbol', "symbl", "symbol"),
    ('SELECT count(*) AS n FROM trades [RANGE 1 MINUTE] GROUP BY symbol HAVING max("prise") > 1', "prise", "price"),
    ('SELECT sum(price) FILTER (WHERE "volme" > 1) AS n FROM trades [RANGE 1 MINUTE]', "volme", "volume"),
]


@pytest.mark.parametrize(("text", "word", "meant"), LIKE_COLUMNS)
def test_a_word_that_looks_like_a_column_is_never_text(text: str, word: str, meant: str) -> None:
    rule = (
        f"`{word}` is not a column of the input. Hint: did you mean {meant}? {COLUMNS}; as text it is written '{word}'."
    )
    assert (rule, f'"{word}"') == complaint(text, QueryError)


NO_TEXTS = ["price = {}", "{} = 'UBSN'", "{} = {}", "time > {}", "coalesce(symbol, {}) = 'a'", "symbol || {} = 'a'"]


@pytest.mark.parametrize("condition", NO_TEXTS)
def test_a_word_beside_anything_else_is_a_column_that_is_not_there(condition: str) -> None:
    rule = (
        f"`UBSN` is not a column of the input. Hint: {COLUMNS[0].lower()}{COLUMNS[1:]}; as text it is written 'UBSN'."
    )
    text = f"SELECT price FROM trades WHERE {condition.replace('{}', chr(34) + 'UBSN' + chr(34))}"
    assert (rule, '"UBSN"') == complaint(text, QueryError)


def test_having_may_mean_an_alias() -> None:
    text = "SELECT symbol, count(*) AS number FROM trades [RANGE 1 MINUTE] GROUP BY symbol HAVING {} > 1"
    rule = f"is not a column of the input. Hint: did you mean number? {COLUMNS}, number"
    assert (f"`nmber` {rule}; as text it is written 'nmber'.", '"nmber"') == complaint(text.format('"nmber"'))
    assert (f"`nmber` {rule}.", "nmber") == complaint(text.format("nmber"))
    assert plan(text.format("number")) == plan(text.format('"number"'))


JOINED = "FROM packets AS p JOIN control AS c [RANGE TUMBLING 10] ON p.srcIP = c.srcIP"


@pytest.mark.parametrize(
    "query",
    [
        f'SELECT p.len {JOINED} AND c.destIP = "p_dstIP"',
        f'SELECT p.len {JOINED} WHERE c.destIP = "p_dstIP"',
        f'SELECT p.len {JOINED} WHERE p.destIP = "c_dstIP"',
    ],
)
def test_words_in_joins_are_compared_with_the_columns_of_all_sides(query: str) -> None:
    message, pointed = complaint(query, QueryError)
    columns = ", ".join(f"{side}.{name}" for side in "pc" for name in ("srcIP", "destIP", "len", "ts"))
    assert (
        f"`{pointed[1:-1]}` is not a column of the inputs. Hint: did you mean p.destIP or c.destIP? "
        f"The columns are {columns}; as text it is written '{pointed[1:-1]}'."
    ) == message


def test_the_papers_words_in_joins_are_text() -> None:
    text = f'SELECT p.len {JOINED} AND c.destIP = "UBSN" WHERE p.destIP = "NESN"'
    assert plan(text.replace('"', "'")) == plan(text)


def test_names_of_joins_are_listed_as_they_are_told_apart() -> None:
    rule = "`lne` is not a column of the inputs. Hint: did you mean p.len or c.len? The columns are p.srcIP, p.destIP, "
    assert complaint(f"SELECT lne {JOINED}", QueryError)[0].startswith(rule)
    assert complaint(f"SELECT c.len, count(*) [RANGE 5 WATTR lne] AS n {JOINED} GROUP BY c.len")[0].startswith(rule)
    rule = "`lne` is not a column of the input. Hint: did you mean len? The columns are srcIP, destIP, len, ts."
    assert (rule, "p.lne") == complaint(f"SELECT p.lne {JOINED}", QueryError)


ATTRIBUTES = [
    ('SELECT count(*) AS n FROM trades [RANGE 5 ROWS PATTR "symbl"]', "`symbl` is not a column of the input"),
    ('SELECT count(*) AS n FROM trades [RANGE 1 MINUTE WATTR "tme"]', "`tme` is not a column of the input"),
    ('CREATE STREAM s (a INT, ts TIMESTAMP) PROGRESS ON "tss"', "`time` must be a column of the input, got tss"),
]


@pytest.mark.parametrize(("text", "rule"), ATTRIBUTES)
def test_attributes_of_windows_and_streams_are_columns(text: str, rule: str) -> None:
    message, _ = complaint(text, QueryError)
    assert message.startswith(f"{rule}. Hint: did you mean ")
