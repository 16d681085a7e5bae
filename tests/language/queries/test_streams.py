"""CREATE STREAM: schemas, policies, and who supplies the columns."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.language.streams import TRADES, complaint
from windrow.errors import QueryError
from windrow.language import StreamDeclaration, parse
from windrow.plan.nodes import Stream
from windrow.semantics.progress.policies import AtEnd, External, Idle, Lead, Ordered, Policy, Slack, SlackRows
from windrow.semantics.scalars.amounts import Amount

UTC = pa.timestamp("us", tz="UTC")
SCHEMA = pa.schema([pa.field("a", pa.int64()), pa.field("p", UTC), pa.field("time", UTC)])


def declared(text: str) -> Stream:
    (stream,) = parse(text).streams.values()
    return stream


def test_types() -> None:
    columns = (
        "a STRING, b VARCHAR(10), c TEXT, d INT, e INTEGER, f BIGINT, g SMALLINT, h DOUBLE, i FLOAT, j BOOLEAN, "
        "k TIMESTAMP, l DATE, m DECIMAL(10, 2), n DECIMAL(5), bid-price DOUBLE, timestamp TIMESTAMP"
    )
    expected: dict[str, pa.DataType] = {
        **dict.fromkeys("abc", pa.string()),
        **dict.fromkeys("def", pa.int64()),
        "g": pa.int16(),
        **dict.fromkeys("hi", pa.float64()),
        "j": pa.bool_(),
        "k": UTC,
        "l": pa.date32(),
        "m": pa.decimal128(10, 2),
        "n": pa.decimal128(5, 0),
        "bid-price": pa.float64(),
        "timestamp": UTC,
    }
    assert pa.schema(expected) == declared(f"CREATE STREAM s ({columns}) PROGRESS ON timestamp").schema


@pytest.mark.parametrize(
    ("clauses", "policy", "idle"),
    [
        ("", AtEnd(), None),
        ("ORDERED", Ordered(), None),
        ("SLACK 60 SECONDS", Slack(Amount.of("60 seconds")), None),
        ("SLACK 100 ROWS", SlackRows(100), None),
        ("PUNCTUATED", External(), None),
        ("PUNCTUATED BY P", External("p"), None),
        ("PUNCTUATED BY p PER A", External("p", ("a",)), None),
        ("PUNCTUATED PER a", External(per=("a",)), None),
        ("ORDERED PER A", Ordered(per=("a",)), None),
        ("SLACK 60 SECONDS PER a, P", Slack(Amount.of("60 seconds"), per=("a", "p")), None),
        (
            "IDLE 9 SECONDS SLACK 1 SECOND PER a LEAD 1 HOUR",
            Slack(Amount.of("1 second"), Lead(Amount.of("1 hour")), ("a",)),
            Idle(Amount.of("9 seconds")),
        ),
        ("SLACK 1 MINUTE IDLE 30 SECONDS", Slack(Amount.of("1 minute")), Idle(Amount.of("30 seconds"))),
        ("SLACK 1 MINUTE LEAD 1 HOUR", Slack(Amount.of("1 minute"), Lead(Amount.of("1 hour"))), None),
        ("LEAD 1 HOUR SLACK 9 ROWS", SlackRows(9, Lead(Amount.of("1 hour"))), None),
        ("ORDERED LEAD 1 HOUR WALL CLOCK", Ordered(Lead(Amount.of("1 hour"), wall_clock=True)), None),
        ("IDLE 30 SECONDS WALL CLOCK ORDERED", Ordered(), Idle(Amount.of("30 seconds"), wall_clock=True)),
    ],
)
def test_policies(clauses: str, policy: Policy, idle: Idle | None) -> None:
    for create in ("CREATE STREAM", "create input stream"):
        text = f"{create} s (a INT, p TIMESTAMP, time TIMESTAMP) PROGRESS ON Time {clauses};"
        assert Stream("s", SCHEMA, "time", policy, idle) == declared(text)


def test_a_path_without_an_opener_is_the_origin() -> None:
    assert "x.csv" == declared("CREATE STREAM s (ts INT) FROM 'x.csv' PROGRESS ON ts").origin


def test_the_opener_gets_the_declaration() -> None:
    asked: list[StreamDeclaration] = []

    def opener(declaration: StreamDeclaration) -> Stream:
        asked.append(declaration)
        return Stream(declaration.name, SCHEMA, declaration.time, declaration.policy, declaration.idle, "opened")

    script = parse("CREATE STREAM s FROM 'x.csv' PROGRESS ON TIME ORDERED", open_stream=opener)
    assert [StreamDeclaration("s", None, "x.csv", "TIME", Ordered(), None)] == asked
    assert {"s": Stream("s", SCHEMA, "time", Ordered(), None, "opened")} == script.streams


def test_the_opener_is_not_asked_where_columns_are_declared_and_no_path() -> None:
    def opener(declaration: StreamDeclaration) -> Stream:
        raise AssertionError(declaration)

    assert ["s"] == list(parse("CREATE STREAM s (ts INT) PROGRESS ON ts", open_stream=opener).streams)


def test_a_declaration_without_columns_takes_those_of_the_given_stream() -> None:
    script = parse("CREATE STREAM trades PROGRESS ON Time SLACK 5 SECONDS", {"trades": TRADES})
    assert Stream("trades", TRADES.schema, "time", Slack(Amount.of("5 seconds"))) == script.streams["trades"]


ERRORS = [
    (
        "CREATE STREAM x (a INT, b TIMESTAMP)",
        "`progressing attribute` must be named in CREATE STREAM. "
        "Hint: write CREATE STREAM x ... PROGRESS ON the time column.",
        "x",
    ),
    (
        "CREATE STREAM x (a INT, b TIMESTAMP) PROGRESS ON c",
        "`time` must be a column of the input, got c. Hint: the columns are a, b.",
        "PROGRESS ON c",
    ),
    (
        "CREATE STREAM x (a STRING) PROGRESS ON a",
        "`time` must be a timestamp or an integer column, got a, a string. "
        "Hint: cast it: declare the column as TIMESTAMP, or convert it before it comes in.",
        "PROGRESS ON a",
    ),
    (
        "CREATE STREAM x (b TIMESTAMP) PROGRESS ON b SLACK 60",
        "`slack` needs a time unit because the attribute is a timestamp, got 60. "
        "Hint: write 60 SECONDS, or another unit.",
        "SLACK 60",
    ),
    (
        "CREATE STREAM x (a INT) PROGRESS ON a LEAD 5",
        "`lead` needs SLACK or ORDERED: here nothing before the end moves progress, and not rows, got 5. "
        "Hint: write SLACK 30 SECONDS LEAD 1 HOUR, or leave LEAD out.",
        "LEAD 5",
    ),
    (
        "CREATE STREAM x (a INT) PROGRESS ON a LEAD 5 PUNCTUATED",
        "`lead` needs SLACK or ORDERED: here what the data carries moves progress, and not rows, got 5. "
        "Hint: write SLACK 30 SECONDS LEAD 1 HOUR, or leave LEAD out.",
        "LEAD 5",
    ),
    (
        "CREATE STREAM x (a INT) PROGRESS ON a SLACK 5 LEAD 0",
        "`lead` must be positive, got 0.",
        "LEAD 0",
    ),
    (
        "CREATE STREAM x (b TIMESTAMP) PROGRESS ON b ORDERED LEAD 60",
        "`lead` needs a time unit because the attribute is a timestamp, got 60. "
        "Hint: write 60 SECONDS, or another unit.",
        "LEAD 60",
    ),
    (
        "CREATE STREAM x (a INT) PROGRESS ON a ORDERED LEAD 5 ROWS",
        "`lead` must be a plain number because the attribute is an integer, got 5 rows. "
        "Hint: write 5 without a unit, or window on a timestamp column.",
        "LEAD 5 ROWS",
    ),
    (
        "CREATE STREAM x (a INT) PROGRESS ON a SLACK 5 LEAD 5 SECONDS WALL CLOCK",
        "`lead` must be ahead of the stream where the time is an integer: a clock has no such numbers, "
        "got 5 seconds by the wall clock. "
        "Hint: leave out WALL CLOCK (wall_clock=True), or progress on a timestamp column.",
        "LEAD 5 SECONDS WALL CLOCK",
    ),
    ("CREATE STREAM x (a INT) PROGRESS ON a LEAD 5 ORDERED LEAD 6", "`lead` must be given only once.", "LEAD 6"),
    ("CREATE STREAM x (a INT) PROGRESS ON a SLACK -1", "`slack` must not be negative, got -1.", "SLACK -1"),
    (
        "CREATE STREAM x (a INT) PROGRESS ON a SLACK 1.5 ROWS",
        "`slack` must be a whole number of rows, got 1.5 rows.",
        "1.5 ROWS",
    ),
    (
        "CREATE STREAM x (a INT, b INT) PROGRESS ON a SLACK 9 ROWS PER b",
        "`per` does not go with slack in rows: a partition that brings few of them would wait for as many all the "
        "same, got b. Hint: write SLACK 1 SECOND PER ..., or leave PER out.",
        "PER b",
    ),
    (
        "CREATE STREAM x (a INT, b INT) PROGRESS ON a SLACK 9 PER c",
        "`per` must be a column of the input, got c. Hint: the columns are a, b.",
        "SLACK 9 PER c",
    ),
    (
        "CREATE STREAM x (a INT, b INT) PROGRESS ON a ORDERED PER b, B",
        "`per` must be different columns of plain values, other than the progressing attribute, got b, named twice. "
        "Hint: name the columns that say what has an order of its own: partition, file, device.",
        "ORDERED PER b, B",
    ),
    (
        "CREATE STREAM x (a INT, b INT) PROGRESS ON a ORDERED PER b, a",
        "`per` must be different columns of plain values, other than the progressing attribute, "
        "got a, the progressing attribute. "
        "Hint: name the columns that say what has an order of its own: partition, file, device.",
        "ORDERED PER b, a",
    ),
    (
        "CREATE STREAM x (a INT, b GEOMETRY) PROGRESS ON a",
        "`type` must be a type Windrow knows, got GEOMETRY. "
        "Hint: the types are STRING, INT, BIGINT, SMALLINT, DOUBLE, BOOLEAN, TIMESTAMP, DATE, DECIMAL(p, s).",
        "GEOMETRY",
    ),
    (
        "CREATE STREAM x PROGRESS ON a",
        "`x` must have columns or data. "
        "Hint: write CREATE STREAM x (time TIMESTAMP, ...), name a file with FROM, or bind data to it.",
        "x",
    ),
    ("CREATE STREAM x (a INT, a INT) PROGRESS ON a", "`a` is declared twice.", "a"),
    ("CREATE STREAM x (a INT) PROGRESS ON a ORDERED SLACK 5", "`policy` must be given only once.", "SLACK 5"),
    ("CREATE TABLE x (a INT)", "`query` needs STREAM here, got TABLE.", "TABLE"),
    ("CREATE STREAM x (a INT) PROGRESS ON a FOO", "`query` has text that does not belong here, got FOO.", "FOO"),
    ("CREATE STREAM x (a INT) FROM y PROGRESS ON a", "`query` needs a path in single quotes here, got y.", "y"),
    (
        "CREATE STREAM x (a INT) PROGRESS ON a WITH (b = 1)",
        "`query` has text that does not belong here, got WITH.",
        "WITH",
    ),
]


@pytest.mark.parametrize(("text", "message", "pointed"), ERRORS)
def test_what_is_wrong_with_a_declaration(text: str, message: str, pointed: str) -> None:
    assert (message, pointed) == complaint(text, QueryError)
