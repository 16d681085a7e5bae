from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest

from windrow.errors import QueryError
from windrow.plan.types.expressions import type_of
from windrow.plan.types.functions import RULES
from windrow.semantics.scalars.expressions import FUNCTIONS, Call, Column, Expression, Literal

UTC = pa.timestamp("us", tz="UTC")
SCHEMA = pa.schema(
    {
        "symbol": pa.dictionary(pa.int32(), pa.string()),
        "name": pa.string(),
        "price": pa.int32(),
        "weight": pa.float32(),
        "cost": pa.decimal128(10, 2),
        "good": pa.bool_(),
        "time": pa.timestamp("ns", tz="UTC"),
        "naive": pa.timestamp("ms"),
        "day": pa.date32(),
        "tags": pa.list_(pa.string()),
    }
)


def expression(value: Any) -> Expression:
    if isinstance(value, (Column, Literal, Call)):
        return value
    return Column(value[1:]) if isinstance(value, str) and value.startswith("@") else Literal(value)


def call(function: str, *arguments: Any) -> Call:
    return Call(function, tuple(expression(argument) for argument in arguments))


MINUTE = timedelta(minutes=1)
NOON = datetime(2024, 1, 1, 12, tzinfo=timezone.utc)


def test_every_function_has_a_rule() -> None:
    assert FUNCTIONS.keys() == RULES.keys()


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        (pa.null(), None),
        (pa.bool_(), True),
        (pa.int64(), 1),
        (pa.float64(), 1.0),
        (pa.string(), "a"),
        (UTC, NOON),
        (pa.date32(), date(2024, 1, 1)),
        (pa.duration("us"), MINUTE),
        (pa.string(), "@symbol"),
        (pa.int32(), "@price"),
    ],
)
def test_leaves(expected: pa.DataType, value: Any) -> None:
    assert expected == type_of(expression(value), SCHEMA)


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        (pa.int64(), call("+", "@price", 1)),
        (pa.float64(), call("+", "@price", 1.5)),
        (pa.float64(), call("*", "@price", "@cost")),
        (pa.float64(), call("/", "@price", 2)),
        (pa.int64(), call("%", "@price", 2)),
        (pa.int64(), call("+", "@price", None)),
        (pa.int64(), call("neg", "@price")),
        (pa.duration("us"), call("neg", MINUTE)),
        (pa.duration("us"), call("-", "@time", NOON)),
        (UTC, call("+", "@time", MINUTE)),
        (UTC, call("+", MINUTE, "@time")),
        (pa.timestamp("us"), call("-", "@naive", MINUTE)),
        (pa.duration("us"), call("+", MINUTE, MINUTE)),
        (pa.bool_(), call("=", "@symbol", "UBSN")),
        (pa.bool_(), call("<", "@price", 1.5)),
        (pa.bool_(), call(">", "@time", "2024-01-01 12:00")),
        (pa.bool_(), call(">", "2024-01-01", "@naive")),
        (pa.bool_(), call("=", "@day", "2024-01-01")),
        (pa.bool_(), call("=", "@price", None)),
        (pa.bool_(), call("in", "@symbol", "a", "b", None)),
        (pa.bool_(), call("and", "@good", call("is_null", "@tags"))),
        (pa.bool_(), call("not", None)),
        (pa.float64(), call("case", "@good", "@price", 1.5)),
        (pa.int32(), call("case", "@good", "@price")),
        (pa.string(), call("cast", "@price", "string")),
        (pa.int64(), call("cast", "@time", "bigint")),
        (pa.timestamp("us"), call("cast", "@naive", "timestamp")),
        (UTC, call("cast", "@name", "timestamp")),
        (pa.string(), call("coalesce", "@symbol", "@name", "none")),
        (UTC, call("greatest", "@time", "@naive")),
        (pa.int32(), call("nullif", "@price", 0)),
        (pa.int64(), call("abs", "@price")),
        (pa.float64(), call("round", "@weight", 2)),
        (pa.int64(), call("floor", "@price")),
        (pa.float64(), call("sqrt", "@price")),
        (pa.float64(), call("power", "@price", 2)),
        (pa.bool_(), call("like", "@symbol", "UB%")),
        (pa.string(), call("||", "@symbol", "x")),
        (pa.int64(), call("length", "@name")),
        (pa.string(), call("substring", "@name", 1, 2)),
        (pa.bool_(), call("starts_with", "@name", "a")),
        (pa.int64(), call("hour", "@time")),
        (pa.int64(), call("year", "@day")),
    ],
)
def test_functions(expected: pa.DataType, given: Call) -> None:
    assert expected == type_of(given, SCHEMA)


@pytest.mark.parametrize(
    ("message", "given"),
    [
        (
            r"`prcie` is not a column of the input\. Hint: did you mean price\? The columns are symbol, name, .*",
            "@prcie",
        ),
        (r"`zzz` is not a column of the input\. Hint: the columns are symbol, .*", "@zzz"),
        (r"`number` must fit into 64 bits, got 9223372036854775808\. Hint: .*", 1 << 63),
        (r"`constant` must be NULL, a truth value, a number, .*, got b'x'\.", Literal(b"x")),
        (r"`sqr` is not a function\. Hint: did you mean sqrt\.", call("sqr", 1)),
        (r"`frobnicate` is not a function\. Hint: the functions are and, or, like, .*", call("frobnicate")),
        (r"`round` takes 1 to 2 arguments, got 3\.", call("round", 1, 2, 3)),
        (r"`abs` takes 1 argument, got 2\.", call("abs", 1, 2)),
        (r"`in` takes at least 2 arguments, got 1\.", call("in", 1)),
        (r"`coalesce` takes at least 1 argument, got 0\.", call("coalesce")),
        (
            r"`\+` needs numbers, or a timestamp and an interval, got bigint and string in \(price \+ 'a'\)\. "
            r"Hint: CAST\(column AS DOUBLE\) reads a number from a string\.",
            call("+", "@price", "a"),
        ),
        (r"`\+` needs .*, got string and string in .*\. Hint: use \|\| to join strings\.", call("+", "@name", "a")),
        (
            r"`\+` needs .*, got timestamp and bigint in .*\. Hint: write time \+ INTERVAL '1' MINUTE\.",
            call("+", "@time", 1),
        ),
        (r"`-` needs .*, got interval and timestamp in .*\. Hint: .*", call("-", MINUTE, "@time")),
        (r"`\+` needs .*, got timestamp and timestamp in .*\. Hint: .*", call("+", "@time", "@time")),
        (r"`\*` needs numbers, got bigint and string in \(price \* name\)\. Hint: .*", call("*", "@price", "@name")),
        (r"`NEG` needs numbers, got string in neg\(name\)\. Hint: .*", call("neg", "@name")),
        (
            r"`NOT` needs conditions \(true or false\), got bigint in not\(5\)\. Hint: compare the value, .*",
            call("not", 5),
        ),
        (
            r"`>` compares values of one kind, got string and bigint in \(symbol > 3\)\. "
            r"Hint: quote the constant to compare text, or CAST the column\.",
            call(">", "@symbol", 3),
        ),
        (r"`=` compares .*, got timestamp and string in .*\. Hint: write TIMESTAMP .*", call("=", "@time", "noon")),
        (r"`=` compares .*, got boolean and bigint in .*\. Hint: CAST one side .*", call("=", "@good", 1)),
        (r"`=` compares .*, got list<.*> and list<.*> in .*", call("=", "@tags", "@tags")),
        (r"`IN` compares .*, got bigint and string in .*", call("in", "@price", 1, "a")),
        (r"`CASE` needs conditions .*, got bigint in .*", call("case", "@price", 1)),
        (
            r"`CASE` needs values of one kind, got bigint and string in .*\. Hint: CAST one of them .*",
            call("case", "@good", 1, "a"),
        ),
        (
            r"`GREATEST` needs values that have an order, got list<.*> and null in .*\.",
            call("greatest", "@tags", None),
        ),
        (
            r"`CAST` must name a type \(one of boolean, bigint, double, string, timestamp\), got blob\.",
            call("cast", "@price", "blob"),
        ),
        (r"`CAST` cannot make a timestamp, got boolean in good\.", call("cast", "@good", "timestamp")),
        (
            r"`ROUND` needs a whole number of digits, got double in round\(weight, 0\.5\)\.",
            call("round", "@weight", 0.5),
        ),
        (
            r"`LOWER` needs strings, got bigint in lower\(price\)\. Hint: CAST\(column AS STRING\) .*",
            call("lower", "@price"),
        ),
        (
            r"`SUBSTRING` needs whole numbers for start and length, got string in .*\.",
            call("substring", "@name", "a"),
        ),
        (
            r"`HOUR` needs a timestamp, got string in hour\(name\)\. Hint: CAST\(column AS TIMESTAMP\) .*",
            call("hour", "@name"),
        ),
    ],
)
def test_refusals(message: str, given: Any) -> None:
    with pytest.raises(QueryError, match=rf"\A{message}\Z"):
        type_of(expression(given), SCHEMA)


def test_a_column_that_is_there_twice_is_refused() -> None:
    schema = pa.schema([("a", pa.int64()), ("a", pa.int64())])
    with pytest.raises(QueryError, match=r"\A`a` names several columns of the input, got a\. Hint: .* a, a\.\Z"):
        type_of(Column("a"), schema)
