"""SQL's own windows: OVER with a RANGE frame that ends with the current row."""

from __future__ import annotations

import pytest

from tests.language.streams import MINUTE, aggregate, complaint, plan
from windrow.errors import QueryError, UnsupportedError
from windrow.plan.nodes import AggregateCall, Project, WindowAggregate
from windrow.semantics.scalars.expressions import Call, Column, Literal
from windrow.semantics.windows.kinds import SlideByTuple

TEN = "RANGE BETWEEN INTERVAL '10' MINUTE PRECEDING AND CURRENT ROW"
HINT = f"Hint: write OVER (PARTITION BY symbol ORDER BY ts {TEN})."


@pytest.mark.parametrize(
    "frame",
    [
        TEN,
        "range between interval 10 minutes preceding and current row",
        "RANGE INTERVAL '10 minutes' PRECEDING",
        "RANGE BETWEEN INTERVAL '9 minutes 60 seconds' PRECEDING AND CURRENT ROW",
    ],
)
def test_a_frame_holds_the_row_exactly_its_range_before(frame: str) -> None:
    node = aggregate(f"SELECT symbol, sum(price) OVER (PARTITION BY symbol ORDER BY time {frame}) AS s FROM trades")
    assert SlideByTuple("time", 10 * MINUTE + 1, partition=("symbol",)) == node.window
    assert (("symbol", Column("symbol")),) == node.keys
    assert (AggregateCall("s", "sum", Column("price")),) == node.aggregates


def test_it_is_the_plan_of_the_window_clause() -> None:
    over = "SELECT srcIP, max(len) OVER (PARTITION BY srcIP ORDER BY ts RANGE 9 PRECEDING) AS m FROM packets"
    clause = "RANGE 10 RATTR ts SLIDE 1 ROW SATTR row_num PATTR srcIP"
    assert plan(f"SELECT srcIP, max(len) AS m FROM packets [{clause}] GROUP BY srcIP") == plan(over)


def test_peers_alone() -> None:
    node = aggregate("SELECT count(*) OVER (ORDER BY ts RANGE 0 PRECEDING) FROM packets")
    assert SlideByTuple("ts", 1) == node.window


def test_without_partition_all_rows_are_one() -> None:
    node = aggregate(f"SELECT count(*) OVER (ORDER BY time {TEN}) FROM trades")
    assert (SlideByTuple("time", 10 * MINUTE + 1), ()) == (node.window, node.keys)


def test_the_time_is_the_end_of_the_window() -> None:
    node = plan(f"SELECT time, symbol, count(*) OVER (PARTITION BY symbol ORDER BY time {TEN}) AS n FROM trades")
    assert isinstance(node, Project)
    names = ("time", "symbol", "window_start", "window_end", "n")
    columns = ("window_end", "symbol", "window_start", "window_end", "n")
    assert tuple(zip(names, map(Column, columns), strict=True)) == node.columns


def test_calls_in_expressions_and_with_filter() -> None:
    over = f"OVER (ORDER BY time {TEN})"
    node = plan(f"SELECT sum(price) FILTER (WHERE price > 1) {over} / count(*) {over} AS share FROM trades")
    assert isinstance(node, Project)
    assert ("share", Call("/", (Column("_1"), Column("_2")))) == node.columns[-1]
    assert isinstance(node.input, WindowAggregate)
    chosen = Call("case", (Call(">", (Column("price"), Literal(1))), Column("price")))
    assert (AggregateCall("_1", "sum", chosen), AggregateCall("_2", "count")) == node.input.aggregates


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ("OVER ()", "`OVER` needs ORDER BY the time, ascending."),
        (f"OVER (ORDER BY time DESC {TEN})", "`OVER` needs ORDER BY the time, ascending."),
        (f"OVER (ORDER BY time, price {TEN})", "`OVER` needs ORDER BY the time, ascending."),
        ("OVER (ORDER BY time)", "`OVER` needs a frame in time."),
        ("OVER (ORDER BY time ROWS 5 PRECEDING)", "`OVER` needs a frame in time."),
        ("OVER (ORDER BY time RANGE UNBOUNDED PRECEDING)", "`OVER` needs a frame in time."),
        (
            "OVER (ORDER BY time RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING AND INTERVAL '1' MINUTE FOLLOWING)",
            "`OVER` must end with the current row.",
        ),
        ("OVER w", "`OVER` cannot name a window."),
    ],
)
def test_other_frames(over: str, message: str) -> None:
    assert (f"{message} {HINT}", "sum") == complaint(f"SELECT sum(price) {over} FROM trades", UnsupportedError)


def test_a_frame_leaves_no_rows_out() -> None:
    message = (
        "`EXCLUDE` is not available in OVER: a window holds the row that closes it, and those of its time. "
        "Hint: leave it out."
    )
    text = f"SELECT sum(price) OVER (ORDER BY time {TEN} EXCLUDE TIES) FROM trades"
    assert (message, "sum") == complaint(text, UnsupportedError)


@pytest.mark.parametrize(
    ("text", "message", "pointed"),
    [
        (
            f"SELECT price, sum(volume) OVER (PARTITION BY symbol ORDER BY time {TEN}) FROM trades",
            "`price` must be in PARTITION BY, be the time, or stand inside an aggregate. Hint: a result has its "
            "partition, its window, its aggregates: PARTITION BY price, or last(price).",
            "price",
        ),
        (
            f"SELECT sum(price) OVER (ORDER BY price {TEN}) FROM trades",
            "`order by` must be the progressing attribute, which is time, got price. Hint: write ORDER BY time.",
            "price",
        ),
        (
            f"SELECT sum(price) OVER (ORDER BY time {TEN}), count(*) FROM trades",
            "`count` must have OVER as well, because another aggregate has. "
            "Hint: write the same OVER (...) after each aggregate.",
            "count",
        ),
        (
            f"SELECT sum(price) OVER (ORDER BY time {TEN}) FROM trades GROUP BY symbol",
            "`GROUP BY` does not go with OVER. "
            "Hint: groups are named in PARTITION BY; filter the results in an outer query.",
            "symbol",
        ),
        (
            f"SELECT sum(price) OVER (ORDER BY time {TEN}) FROM trades HAVING count(*) > 1",
            "`HAVING` does not go with OVER. "
            "Hint: groups are named in PARTITION BY; filter the results in an outer query.",
            "count(*) > 1",
        ),
        (
            "SELECT sum(price) OVER (ORDER BY time RANGE INTERVAL '-1' MINUTE PRECEDING) FROM trades",
            "`range` must be positive, got -1 min. Hint: a window holds something, as in RANGE 10 SECONDS.",
            "'-1'",
        ),
        (
            f"SELECT sum(price) OVER (ORDER BY time {TEN}) FROM trades [RANGE 5 MINUTES]",
            "`window` must be the same for all aggregates of a query. Hint: write one query for each window.",
            "sum(price) OVER (ORDER BY time RANGE BETWEEN INTERVAL '10'",
        ),
    ],
)
def test_what_is_wrong_with_a_query(text: str, message: str, pointed: str) -> None:
    assert (message, pointed) == complaint(text, QueryError)


@pytest.mark.parametrize(
    ("text", "message", "pointed"),
    [
        (
            f"SELECT sum(price) OVER (PARTITION BY upper(symbol) ORDER BY time {TEN}) FROM trades",
            "`PARTITION BY` must name columns. "
            "Hint: compute it in a subquery: FROM (SELECT ..., upper(k) AS k FROM s).",
            "upper(symbol",
        ),
        (
            "SELECT row_number() OVER (ORDER BY time) FROM trades",
            "`OVER` is available for aggregates only, got row_number. Hint: write sum(x) "
            + HINT.removeprefix("Hint: write "),
            "row_number",
        ),
    ],
)
def test_what_is_not_available(text: str, message: str, pointed: str) -> None:
    assert (message, pointed) == complaint(text, UnsupportedError)
