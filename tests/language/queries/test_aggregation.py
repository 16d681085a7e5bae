"""Aggregate queries: keys, names, HAVING, suffixes and the columns of the answer."""

from __future__ import annotations

import pytest

from tests.language.streams import MINUTE, PACKETS, SECOND, TRADES, aggregate, complaint, plan, the
from windrow.errors import QueryError, UnsupportedError
from windrow.physical.explain.plans import explain
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import (
    AggregateCall,
    Distinct,
    Filter,
    Late,
    Lateness,
    Project,
    Strategy,
    Union,
    WindowAggregate,
)
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.scalars.expressions import Call, Column, Literal
from windrow.semantics.windows.kinds import Emit, Sliding

WINDOW = Sliding("time", 10 * MINUTE, MINUTE)
FROM = "FROM trades [RANGE 10 MINUTES SLIDE 1 MINUTE WATTR time]"


def names(text: str) -> list[str]:
    return shape_of(plan(text)).schema.names


def test_group_columns_and_aggregates_are_the_aggregation_itself() -> None:
    expected = WindowAggregate(
        Filter(TRADES, Call("=", (Column("symbol"), Literal("UBSN")))),
        WINDOW,
        (("symbol", Column("symbol")),),
        (AggregateCall("number", "count"),),
    )
    assert expected == plan(f"SELECT symbol, count(*) AS number {FROM} WHERE symbol = 'UBSN' GROUP BY symbol")


def test_in_time_a_partition_is_a_group_and_is_explained_as_one() -> None:
    clause = FROM.replace("]", " PATTR symbol]")
    partitioned, grouped = plan(f"SELECT symbol, count(*) {clause}"), plan(f"SELECT symbol, count(*) {FROM} GROUP BY 1")
    assert grouped == partitioned
    assert "│  keys      symbol\n" in explain(partitioned)


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("symbol, count(*) AS n", ["symbol", "window_start", "window_end", "n"]),
        ("count(*) AS n, symbol", ["n", "symbol", "window_start", "window_end"]),
        ("count(*) AS n", ["window_start", "window_end", "n"]),
        ("symbol, window_end, count(*) AS n", ["symbol", "window_start", "window_end", "n"]),
        ("window_start, window_end, symbol, count(*) n", ["window_start", "window_end", "symbol", "n"]),
        ("Symbol AS s, Time, count(*) AS n", ["s", "window_start", "window_end", "Time", "n"]),
        ("upper(symbol) AS u, count(*)", ["window_start", "window_end", "u", "count"]),
        ("SYMBOL, sum(price) / count(*)", ["SYMBOL", "window_start", "window_end", "column_2"]),
        ("symbol, 7 AS seven, max(price)", ["symbol", "window_start", "window_end", "seven", "max_price"]),
    ],
)
def test_columns_of_the_answer(select: str, expected: list[str]) -> None:
    assert expected == names(f"SELECT {select} {FROM} GROUP BY symbol")


def test_the_windowing_attribute_stands_for_the_end_of_the_window() -> None:
    node = the(Project, plan(f"SELECT Time AS t, count(*) AS n {FROM}"))
    assert ("t", Column("window_end")) in node.columns


def test_names_of_aggregates_without_alias() -> None:
    text = f"SELECT count(*), count(*), max(price), max(bid-price), sum(price * 2), count(DISTINCT symbol) {FROM}"
    expected = ["count", "count_2", "max_price", "max_bid_price", "sum", "count_distinct_symbol"]
    assert expected == [call.name for call in aggregate(text).aggregates]


def test_a_default_name_gives_way_to_a_given_one() -> None:
    assert ["count_2", "count"] == [
        c.name for c in aggregate(f"SELECT count(*), max(price) AS count {FROM}").aggregates
    ]


@pytest.mark.parametrize("group", ["upper(symbol)", "u", "1", "UPPER(symbol)", "window_start, window_end, 1"])
def test_ways_to_name_one_key(group: str) -> None:
    expected = (("u", Call("upper", (Column("symbol"),))),)
    assert expected == aggregate(f"SELECT upper(symbol) AS u, count(*) {FROM} GROUP BY {group}").keys


def test_a_column_of_the_input_goes_before_an_alias_in_group_by() -> None:
    found = aggregate(f"SELECT max(price) AS m, volume AS symbol, count(*) {FROM} GROUP BY symbol, volume")
    assert [Column("symbol"), Column("volume")] == [expression for _, expression in found.keys]


def test_key_that_is_not_selected_has_a_name_of_its_own() -> None:
    assert (("key_1", Call("%", (Column("price"), Literal(10)))),) == aggregate(
        f"SELECT count(*) {FROM} GROUP BY price % 10"
    ).keys


def test_grouping_by_the_progressing_attribute_is_a_window_per_value() -> None:
    node = the(Project, plan("SELECT srcIP, ts, count(*) FROM packets GROUP BY srcIP, ts"))
    expected = WindowAggregate(
        PACKETS, Sliding("ts", 1, 1), (("srcIP", Column("srcIP")),), (AggregateCall("count", "count"),)
    )
    assert expected == node.input
    assert ["srcIP", "ts", "window_start", "window_end", "count"] == [name for name, _ in node.columns]
    assert Column("window_start") == dict(node.columns)["ts"]


@pytest.mark.parametrize("group", ["symbol, time", "symbol, TIME", "symbol, 2", "symbol, t", "symbol, trades.time"])
def test_grouping_by_the_progressing_attribute_beside_a_window_is_a_key(group: str) -> None:
    """Each value is a group of its own in every window: different times are not merged."""
    node = aggregate(f"SELECT symbol, time AS t, count(*) AS n {FROM} GROUP BY {group} HAVING t IS NOT NULL")
    assert (("symbol", Column("symbol")), ("t", Column("time"))) == node.keys


def test_a_time_that_is_a_key_means_the_key_everywhere() -> None:
    node = the(Project, plan(f"SELECT time, window_end - time AS left, count(*) AS n {FROM} GROUP BY time"))
    assert {"time", "window_start", "window_end", "left", "n"} == {name for name, _ in node.columns}
    assert "(window_end - time)" == str(dict(node.columns)["left"])
    assert Column("time") == dict(node.columns)["time"]


def test_results_of_one_window_can_be_aggregated_again() -> None:
    inner = "SELECT srcIP, count(*) AS n FROM packets [RANGE 10] GROUP BY srcIP"
    node = the(Project, plan(f"SELECT window_end, max(n) AS m FROM ({inner}) GROUP BY window_end"))
    assert Sliding("window_end", 1, 1) == the(WindowAggregate, node.input).window
    assert Column("window_start") == dict(node.columns)["window_end"]


def test_windows_over_windows_use_the_column_that_carries_the_end() -> None:
    panes = "SELECT max(bid-price) AS p-max, time FROM trades [RANGE 1 minute WATTR time]"
    outer = aggregate(f"SELECT max(p-max) AS w-max, time FROM ({panes}) AS panes [RANGE 4 min SLIDE 1 min WATTR time]")
    assert Sliding("time", 4 * MINUTE, MINUTE) == outer.window
    assert (AggregateCall("w-max", "max", Column("p-max")),) == outer.aggregates


def test_having_shares_aggregates_and_hides_its_own() -> None:
    text = f"SELECT symbol, count(*) AS n {FROM} GROUP BY symbol HAVING count(*) > 2 AND N < 9 AND max(price) > 5"
    node = the(Project, plan(text))
    having = the(Filter, node.input)
    assert ["n", "_1"] == [call.name for call in the(WindowAggregate, having.input).aggregates]
    assert "(((n > 2) AND (n < 9)) AND (_1 > 5))" == str(having.predicate)
    assert ["symbol", "window_start", "window_end", "n"] == [name for name, _ in node.columns]


def test_expressions_over_aggregates_share_hidden_ones() -> None:
    node = the(Project, plan(f"SELECT sum(price) / count(*) AS r, count(*) * 2 AS d {FROM}"))
    assert "(_1 / _2)" == str(dict(node.columns)["r"])
    assert "(_2 * 2)" == str(dict(node.columns)["d"])


def test_partition_columns_are_keys() -> None:
    text = "SELECT srcIP, max(len) [RANGE 1000 rows, SLIDE 10 rows, WA row-num, PA srcIP] FROM packets"
    assert (("srcIP", Column("srcIP")),) == aggregate(text).keys
    assert (("symbol", Column("symbol")),) == aggregate(f"SELECT symbol, count(*) {FROM[:-1]} PA symbol]").keys


def test_distinct_over_a_window_lists_the_groups() -> None:
    node = the(Distinct, plan("SELECT DISTINCT srcIP FROM packets [RANGE 5]"))
    assert ["srcIP", "window_start", "window_end"] == shape_of(node).schema.names
    assert ["count(*)"] == [str(call) for call in aggregate("SELECT DISTINCT srcIP FROM packets [RANGE 5]").aggregates]


def test_union_of_streams_is_one_input() -> None:
    for source in ("packets union control", "packets UNION ALL control", "(packets ∪ control)"):
        assert Union is type(aggregate(f"SELECT count(*) [RANGE 5] FROM {source} GROUP BY srcIP").input)


def test_suffixes_in_any_order() -> None:
    expected = {
        "emit": Emit.EMPTY,
        "late": Late.REVISE,
        "within": Amount.of("1 hour"),
        "lateness": Lateness.CONSISTENT,
        "strategy": Strategy.PANES,
    }
    parts = ["EMIT EMPTY", "LATE REVISE WITHIN 1 HOUR", "LATENESS CONSISTENT", "STRATEGY panes"]
    for suffix in (" ".join(parts), " ".join(reversed(parts)).lower()):
        found = aggregate(f"SELECT count(*) {FROM} {suffix}")
        assert expected == {field: getattr(found, field) for field in expected}


def test_how_many_empty_windows_follow_each_other() -> None:
    found = aggregate(f"SELECT count(*) {FROM} EMIT EMPTY UP TO 5000000 LATE SIDE")
    assert (Emit.EMPTY, 5_000_000, Late.SIDE) == (found.emit, found.most_empty, found.late)
    assert 1_000_000 == aggregate(f"SELECT count(*) {FROM} EMIT EMPTY").most_empty


def test_suffix_after_a_bare_stream_is_no_alias() -> None:
    assert Late.SIDE is aggregate("SELECT count(*) [RANGE 5] FROM packets LATE SIDE").late
    assert Emit.COMPLETE is aggregate("SELECT count(*) [RANGE 5] FROM packets p EMIT COMPLETE").emit


def test_revision_is_carried_through_the_select_list() -> None:
    assert "revision" == names(f"SELECT Time, count(*) {FROM} LATE REVISE")[-1]


def test_the_kind_of_early_results_is_carried_through_the_select_list() -> None:
    found = f"SELECT Time, count(*) {FROM} EMIT EARLY EVERY 10 SECONDS EMIT COMPLETE"
    assert "kind" == names(found)[-1]
    assert (Amount.of("10 seconds"), Emit.COMPLETE) == (aggregate(found).early, aggregate(found).emit)


def test_amounts_of_a_tumbling_window_in_the_answer_of_another() -> None:
    assert Sliding("time", 5 * SECOND, 5 * SECOND) == aggregate("SELECT count(*) FROM trades [RANGE 5 s]").window


ERRORS = [
    (
        "SELECT count(*) FROM trades",
        "`window` must be given: without one, state would be unbounded and no result would ever be final. "
        "Hint: write FROM stream [RANGE 10 MINUTES SLIDE 1 MINUTE WATTR time], or group by time.",
        "count(*",
    ),
    (
        "SELECT max(p) FROM (SELECT price AS p FROM trades)",
        "`window` must be given: without one, state would be unbounded and no result would ever be final. "
        "Hint: keep the time column (or window_start or window_end) in the inner SELECT, unchanged, "
        "then put a window on it.",
        "max(p",
    ),
    (
        f"SELECT symbol, count(*) {FROM}",
        "`symbol` must be in GROUP BY or inside an aggregate. Hint: write GROUP BY symbol, or max(symbol).",
        "symbol",
    ),
    (
        f"SELECT bid-price, count(*) {FROM}",
        "`bid-price` must be in GROUP BY or inside an aggregate. Hint: write GROUP BY bid-price, or max(bid-price).",
        "bid-price",
    ),
    (
        f"SELECT simbol, count(*) {FROM}",
        "`simbol` is not a column of the input. "
        "Hint: did you mean symbol? The columns are symbol, price, volume, bid-price, time.",
        "simbol",
    ),
    (
        f"SELECT *, count(*) {FROM}",
        "`*` does not go with aggregates or GROUP BY. Hint: name the group columns and the aggregates.",
        "*",
    ),
    (
        f"SELECT count(*) {FROM} GROUP BY 3",
        "`GROUP BY` must be a position in the select list, from 1 to 1, got 3.",
        "3",
    ),
    (
        f"SELECT count(*) {FROM} EMIT NOTHING",
        "`emit` must be a known word (one of nonempty, empty, complete), got NOTHING.",
        "NOTHING",
    ),
    (
        f"SELECT count(*) {FROM} LATE DROP WITHIN 1 HOUR",
        "`within` says how long results are corrected, which only LATE REVISE does, got 1 hour. "
        "Hint: write LATE REVISE WITHIN ..., or leave it out.",
        "WITHIN 1 HOUR",
    ),
    (
        f"SELECT count(*) {FROM} EMIT EMPTY UP TO 0",
        "`most` must be at least 1, got 0. Hint: as in EMIT EMPTY UP TO 5000000.",
        "UP TO 0",
    ),
    (
        f"SELECT count(*) {FROM} EMIT COMPLETE UP TO 5",
        "`most` says how many empty windows are reported in a row, which only EMIT EMPTY does, got 5. "
        "Hint: write EMIT EMPTY UP TO ... (emit('empty', most=...)), or leave it out.",
        "UP TO 5",
    ),
    (
        f"SELECT count(*) {FROM} EMIT EMPTY UP TO 1.5",
        "`query` needs a whole number of windows (as in EMIT EMPTY UP TO 5000000) here, got 1.5.",
        "1.5",
    ),
    (f"SELECT count(*) {FROM} LATE DROP LATE SIDE", "`late` must be given only once.", "LATE SIDE"),
    (
        f"SELECT count(*) AS n, max(price) AS n {FROM}",
        "`columns` must give every column its own name, got n twice. Hint: rename one of them: ... AS n_2.",
        "count(*) AS n",
    ),
    (
        f"SELECT symbol, count(*) {FROM} GROUP BY symbol HAVING symbol",
        "`where` must be a condition (true or false), got string in symbol. Hint: compare the value, as in price > 0.",
        "symbol",
    ),
]


@pytest.mark.parametrize(("text", "message", "pointed"), ERRORS)
def test_what_is_wrong_with_an_aggregation(text: str, message: str, pointed: str) -> None:
    assert (message, pointed) == complaint(text, QueryError)


def test_grouping_sets_are_refused() -> None:
    expected = (
        "`GROUP BY` must be a list of columns and expressions. "
        "Hint: write one query for each grouping and put UNION ALL between them."
    )
    assert (expected, "price") == complaint(f"SELECT price {FROM} GROUP BY ROLLUP(price)", UnsupportedError)
