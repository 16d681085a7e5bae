"""Queries without aggregates: select lists, unions, subqueries, WITH, DISTINCT."""

from __future__ import annotations

import pytest

from tests.language.streams import CONTROL, PACKETS, TRADES, complaint, plan
from windrow.errors import QueryError, UnsupportedError
from windrow.plan.nodes import Distinct, Filter, Node, OrderedOutput, Project, Union
from windrow.semantics.scalars.expressions import Call, Column, Literal

SRC = (("srcIP", Column("srcIP")), ("ts", Column("ts")))
BIG = Call(">", (Column("len"), Literal(5)))

PLANS: list[tuple[str, Node]] = [
    ("SELECT * FROM packets", PACKETS),
    ("SELECT p.* FROM packets p", PACKETS),
    ("SELECT * FROM packets WHERE len > 5", Filter(PACKETS, BIG)),
    ("SELECT srcIP, ts FROM packets", Project(PACKETS, SRC)),
    ("SELECT packets.SRCIP, Ts AS t FROM packets", Project(PACKETS, (("SRCIP", SRC[0][1]), ("t", SRC[1][1])))),
    (
        "SELECT len * 2, ts FROM packets",
        Project(PACKETS, (("column_1", Call("*", (Column("len"), Literal(2)))), SRC[1])),
    ),
    (
        "SELECT *, 1 AS one FROM packets",
        Project(PACKETS, (*((name, Column(name)) for name in PACKETS.schema.names), ("one", Literal(1)))),
    ),
    ("SELECT bid-price FROM trades", Project(TRADES, (("bid-price", Column("bid-price")),))),
    ("SELECT * FROM packets union control", Union((PACKETS, CONTROL))),
    ("SELECT * FROM packets UNION (control UNION packets)", Union((PACKETS, CONTROL, PACKETS))),
    ("SELECT * FROM packets UNION ALL SELECT * FROM control", Union((PACKETS, CONTROL))),
    ("(SELECT * FROM packets) UNION ALL (SELECT * FROM control)", Union((PACKETS, CONTROL))),
    ("SELECT * FROM packets UNION SELECT * FROM control", Distinct(Union((PACKETS, CONTROL)))),
    (
        "SELECT * FROM packets UNION ALL SELECT * FROM control UNION ALL SELECT * FROM packets",
        Union((PACKETS, CONTROL, PACKETS)),
    ),
    (
        "SELECT srcIP, ts FROM packets UNION ALL SELECT destIP, ts FROM control",
        Union(
            (
                Project(PACKETS, SRC),
                Project(
                    Project(CONTROL, (("destIP", Column("destIP")), SRC[1])), (("srcIP", Column("destIP")), SRC[1])
                ),
            )
        ),
    ),
    ("SELECT DISTINCT srcIP, ts FROM packets", Distinct(Project(PACKETS, SRC))),
    ("SELECT * FROM packets ORDERED OUTPUT", OrderedOutput(PACKETS)),
    ("(SELECT * FROM packets) ordered output;", OrderedOutput(PACKETS)),
    ("SELECT * FROM packets AS ordered WHERE ordered.len > 5 ORDERED OUTPUT", OrderedOutput(Filter(PACKETS, BIG))),
    ("SELECT * FROM packets ordered", PACKETS),
    ("SELECT ts AS ordered FROM packets", Project(PACKETS, (("ordered", Column("ts")),))),
    (
        "SELECT * FROM packets UNION ALL SELECT * FROM control ORDERED OUTPUT",
        OrderedOutput(Union((PACKETS, CONTROL))),
    ),
    (
        "(SELECT * FROM packets) UNION ALL (SELECT * FROM control) ORDERED OUTPUT",
        OrderedOutput(Union((PACKETS, CONTROL))),
    ),
    ("SELECT * FROM (SELECT srcIP, ts FROM packets) AS q", Project(PACKETS, SRC)),
    ("SELECT srcIP, ts FROM (SELECT * FROM packets WHERE len > 5)", Project(Filter(PACKETS, BIG), SRC)),
    ("WITH big AS (SELECT * FROM packets WHERE len > 5) SELECT srcIP, ts FROM big", Project(Filter(PACKETS, BIG), SRC)),
]


@pytest.mark.parametrize(("text", "expected"), PLANS)
def test_plans(text: str, expected: Node) -> None:
    assert expected == plan(text)


ERRORS = [
    ("SELECT symbol FROM trade", "`trade` is not a stream. Hint: did you mean trades.", "trade"),
    ("SELECT symbol FROM xyz", "`xyz` is not a stream. Hint: the streams are trades, packets, control.", "xyz"),
    (
        "SELECT prise FROM trades",
        "`prise` is not a column of the input. "
        "Hint: did you mean price? The columns are symbol, price, volume, bid-price, time.",
        "prise",
    ),
    ("SELECT 1", "`FROM` must be given. Hint: write SELECT ... FROM stream.", "1"),
    (
        "SELECT symbol FROM trades [RANGE 10 SECONDS]",
        "`window` needs an aggregate in the select list. "
        "Hint: write SELECT count(*) ..., or leave the window out to get the rows themselves.",
        "[RANGE 10 SECONDS]",
    ),
    (
        "SELECT symbol FROM trades EMIT EMPTY",
        "`emit` belongs to a window, and this query has none. Hint: leave it out, or put a window after the stream.",
        "EMIT EMPTY",
    ),
    (
        "SELECT DISTINCT symbol FROM trades",
        "`distinct` needs the progressing attribute among its columns, or state would grow without bound, "
        "got columns symbol. Hint: keep the time column in the SELECT DISTINCT list.",
        "symbol",
    ),
    (
        "SELECT price AS a, volume AS a FROM trades",
        "`select` must give every column its own name, got a twice. Hint: rename one of them: ... AS a_2.",
        "volume",
    ),
]


@pytest.mark.parametrize(("text", "message", "pointed"), ERRORS)
def test_what_is_wrong_with_a_query(text: str, message: str, pointed: str) -> None:
    assert (message, pointed) == complaint(text, QueryError)


def test_a_stream_before_any_is_declared() -> None:
    from windrow.language import parse

    pattern = r"\A`s` is not a stream\. Hint: declare it first: CREATE STREAM name \(\.\.\.\) PROGRESS ON time\.\n"
    with pytest.raises(QueryError, match=pattern):
        parse("SELECT * FROM s")


LATER = (
    "is not available in queries over streams. "
    "Hint: results come window by window; sort or cut them where they are read."
)
UNAVAILABLE = [
    ("SELECT symbol FROM trades ORDER BY price", f"`ORDER BY` {LATER}", "price"),
    ("SELECT symbol FROM trades LIMIT 5", f"`LIMIT` {LATER}", "5"),
    (
        "SELECT symbol FROM trades INTERSECT SELECT srcIP FROM packets",
        "`query` must be SELECT or UNION of SELECTs. Hint: write SELECT ... FROM stream.",
        "symbol FROM trades INTERSECT SELECT srcIP FROM packets",
    ),
    ("SELECT DISTINCT ON (symbol) symbol, time FROM trades", "`DISTINCT ON` is not available.", "symbol"),
    (
        "SELECT * FROM range(5)",
        "`FROM` must be a stream, a subquery or a window function. "
        "Hint: the window functions are TUMBLE, HOP, CUMULATE and SESSION.",
        "range(5",
    ),
]


@pytest.mark.parametrize(("text", "message", "pointed"), UNAVAILABLE)
def test_what_queries_do_not_have(text: str, message: str, pointed: str) -> None:
    assert (message, pointed) == complaint(text, UnsupportedError)


LAST = (
    "`ORDERED OUTPUT` must be the last words of a query, and not of a subquery. "
    "Hint: windows do not need their rows in order; say it after everything else."
)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (LAST, "SELECT count(*) AS n FROM (SELECT * FROM packets ORDERED OUTPUT) [RANGE 10]"),
        (LAST, "SELECT * FROM packets ORDERED OUTPUT UNION ALL SELECT * FROM control"),
        (LAST, "SELECT count(*) AS n FROM packets [RANGE 10] ORDERED OUTPUT EMIT EMPTY"),
        (LAST, "WITH p AS (SELECT * FROM packets ORDERED OUTPUT) SELECT * FROM p"),
        (
            "`ordered output` needs the progressing attribute among the columns, or nobody could see the order, "
            "got columns srcIP. Hint: keep the time column (or window_start or window_end) in the SELECT, unchanged.",
            "SELECT srcIP FROM packets ORDERED OUTPUT",
        ),
        (
            "`ordered output` does not go with LATE REVISE: a correction follows results of later windows. "
            "Hint: use LATE SIDE.",
            "SELECT count(*) AS n FROM packets [RANGE 10] LATE REVISE ORDERED OUTPUT",
        ),
        (
            "`ordered output` does not go with EMIT EARLY: a window is reported before earlier ones have closed. "
            "Hint: leave one of them out.",
            "SELECT count(*) AS n FROM packets [RANGE 10] EMIT EARLY EVERY 5 ORDERED OUTPUT",
        ),
    ],
)
def test_ordered_output_where_it_cannot_be(message: str, text: str) -> None:
    assert (message, "ORDERED OUTPUT") == complaint(text)


AFTER_STAR = [
    ("* EXCLUDE (price, VOLUME)", "EXCLUDE", "symbol, bid-price, time"),
    ("* EXCEPT (price)", "EXCEPT", "symbol, volume, bid-price, time"),
    ("trades.* EXCLUDE (price)", "EXCLUDE", "symbol, volume, bid-price, time"),
    ("* REPLACE (price + 1 AS price)", "REPLACE", "symbol, price, volume, bid-price, time"),
]


@pytest.mark.parametrize(("star", "word", "columns"), AFTER_STAR)
def test_what_follows_a_star_is_refused_with_the_columns_to_name(star: str, word: str, columns: str) -> None:
    message, _ = complaint(f"SELECT {star} FROM trades", UnsupportedError)
    assert f"`{word}` is not available after *. Hint: name the columns: SELECT {columns}." == message
