from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from tests.plan.streams import COUNT, MINUTE, call, columns, counters, trades, windowed
from windrow.errors import QueryError, UnsupportedError
from windrow.physical.explain.plans import explain
from windrow.physical.rules.choose_joins import choose_join
from windrow.plan.checks.joins import joined_names, usual_time
from windrow.plan.checks.nodes import check_supported, shape_of
from windrow.plan.checks.progress import carries_progress, timed_by
from windrow.plan.columns import columns_read, prune_together
from windrow.plan.conditions import Conditions
from windrow.plan.nodes import Filter, Join, JoinStrategy, JoinTime, Late, Node, Project, Stream, WindowAggregate
from windrow.semantics.joins import AsOf, Between, JoinKind, LastRows, SameWindow
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Sliding

SAME = call("=", Column("trades_symbol"), Column("quotes_symbol"))
NEAR = call("and", call(">=", Column("trades_price"), Column("bid")), call("<=", Column("trades_price"), Column("ask")))


def quotes() -> Stream:
    schema = columns(symbol=pa.string(), price=pa.int64(), bid=pa.int64(), ask=pa.int64(), time=pa.timestamp("us"))
    return Stream("quotes", schema, "time")


def joined(left: Node | None = None, right: Node | None = None, **settings: Any) -> Join:
    left, right = left or trades(), right or quotes()
    kind = settings.get("kind", JoinKind.INNER)
    return Join(
        **{
            "left": left,
            "right": right,
            "kind": kind,
            "window": Between(-MINUTE, MINUTE),
            "on": SAME,
            "names": joined_names((shape_of(left).schema, shape_of(right).schema), ("trades", "quotes")),
            "aliases": ("trades", "quotes"),
            "time": usual_time(kind),
            **settings,
        }
    )


def test_columns_that_both_sides_have_are_named_after_their_side() -> None:
    shape = shape_of(joined())
    assert shape.time == "trades_time"
    assert shape.schema.names == [
        *("trades_symbol", "trades_price", "tags", "trades_time", "promise"),
        *("quotes_symbol", "quotes_price", "bid", "ask", "quotes_time"),
    ]


def test_a_name_that_two_columns_would_have_is_refused() -> None:
    schemas = columns(ts=pa.int64(), b_ts=pa.int64()), columns(ts=pa.int64())
    with pytest.raises(QueryError, match=r"^`b_ts` would name two columns of the join, got ts of b"):
        joined_names(schemas, ("a", "b"))


@pytest.mark.parametrize("kind", [JoinKind.SEMI, JoinKind.ANTI])
def test_half_joins_give_the_columns_of_the_left(kind: JoinKind) -> None:
    assert shape_of(joined(kind=kind)).schema.names == [
        *("trades_symbol", "trades_price", "tags", "trades_time", "promise")
    ]


@pytest.mark.parametrize(
    ("kind", "time"),
    [(JoinKind.LEFT, "trades_time"), (JoinKind.RIGHT, "quotes_time"), (JoinKind.FULL, "earlier")],
)
def test_progress_is_on_a_time_that_every_result_has(kind: JoinKind, time: str) -> None:
    join = joined(kind=kind)
    assert shape_of(join).time == time
    assert carries_progress(join, time)


@pytest.mark.parametrize(
    ("name", "time"),
    [
        ("trades_time", JoinTime.LEFT),
        ("quotes_time", JoinTime.RIGHT),
        ("earlier", JoinTime.EARLIER),
        ("later", JoinTime.LATER),
        ("bid", JoinTime.LEFT),
    ],
)
def test_progress_goes_to_the_time_that_is_asked_for(name: str, time: JoinTime) -> None:
    found = timed_by(Filter(joined(), SAME), name)
    assert isinstance(found, Filter)
    assert isinstance(found.input, Join)
    assert found.input.time is time


def test_progress_is_found_under_the_name_of_a_projection() -> None:
    plan = Project(joined(), (("at", Column("quotes_time")), ("bid", Column("bid"))))
    assert shape_of(plan).time is None
    assert shape_of(timed_by(plan, "at")).time == "at"


def test_only_what_the_query_needs_is_read_and_given() -> None:
    plan = WindowAggregate(joined(on=call("and", SAME, NEAR)), Sliding("trades_time", MINUTE, MINUTE), (), (COUNT,))
    assert columns_read(plan) == {"trades": ["symbol", "price", "time"], "quotes": ["symbol", "bid", "ask", "time"]}
    below = prune_together([plan])[0]
    assert isinstance(below, WindowAggregate)
    assert shape_of(below.input).schema.names == ["trades_time"]


def test_late_rows_that_are_given_back_are_read_whole() -> None:
    plan = windowed(joined(late=Late.SIDE), Sliding("trades_time", MINUTE, MINUTE))
    assert columns_read(plan) == {"trades": trades().schema.names, "quotes": quotes().schema.names}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"on": Column("bid")}, r"^`on` must be a condition \(true or false\), got bigint in bid"),
        (
            {"on": call("=", Column("bid"), Column("trades_symbol"))},
            r"^`=` compares values of one kind, got bigint and string",
        ),
        ({"on": call("=", Column("bit"), Column("ask"))}, r"^`bit` is not a column of the input"),
        ({"window": SameWindow(0)}, r"^`range` must be positive, got 0"),
        ({"window": LastRows(3, 0)}, r"^`rows` must be positive, got 0"),
        ({"window": AsOf(within=-1)}, r"^`within` must not be negative, got -1"),
        (
            {"window": Between(1, 0)},
            r"^`window` must hold for some pair of times, got quotes from 1 us after to 0 us after trades\. "
            r"Hint: the lower bound of the interval must not be above the upper one\.$",
        ),
        (
            {"window": Between(-2_999_999, -5_000_001)},
            r"^`window` must hold .*, got quotes from less than 3 s before to more than 5 s before trades\. .*$",
        ),
        ({"window": SameWindow(1 << 60)}, r"^`range` must be below 2\^60 units"),
        ({"window": AsOf(), "kind": JoinKind.RIGHT}, r"^`kind` must be inner or left for an as-of join"),
        ({"kind": JoinKind.FULL, "time": JoinTime.LEFT}, r"^`time` must be a time that every result of a full join"),
        ({"late": Late.REVISE}, r"^`late` cannot be revise for a join"),
        (
            {"left": quotes(), "right": trades(), "on": None, "window": AsOf()},
            r"^`tags` must be a plain value in the right",
        ),
        ({"right": counters(), "on": None}, r"^`join` needs times of one kind on both sides, got time, a timestamp"),
        (
            {"left": Project(trades(), (("price", Column("price")),)), "on": None},
            r"^`join` needs a progressing attribute on both sides, but trades does not keep it",
        ),
    ],
)
def test_what_cannot_be_joined_is_refused(settings: dict[str, Any], message: str) -> None:
    sides = {side: settings.pop(side) for side in ("left", "right") if side in settings}
    with pytest.raises(QueryError, match=message):
        shape_of(joined(**sides, **settings))


@pytest.mark.parametrize(
    ("settings", "what"), [({"late": Late.REVISE}, "corrected later"), ({"early": Amount.of("10 s")}, "taken back")]
)
def test_results_that_are_not_final_are_not_joined(settings: dict[str, Any], what: str) -> None:
    left = windowed(trades(), keys=("symbol",), **settings)
    join = joined(left, on=None)
    with pytest.raises(UnsupportedError, match=rf"^joins over results that are {what} are not available"):
        check_supported(join)


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        (SAME, JoinStrategy.INDEX),
        (None, JoinStrategy.SCAN),
        (call("<>", Column("bid"), Column("trades_price")), JoinStrategy.SCAN),
    ],
)
def test_the_planner_looks_up_what_it_can(on: Any, expected: JoinStrategy) -> None:
    assert choose_join(joined(on=on)).strategy is expected


def test_a_scan_that_is_asked_for_looks_nothing_up() -> None:
    choice = choose_join(joined(on=SAME, strategy=JoinStrategy.SCAN))
    assert choice.conditions == Conditions(rest=SAME)
    assert choice.reasons == ("asked for: scan", "every pair of rows in the window is tried")


def test_a_strategy_that_cannot_answer_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"^`strategy` needs an equality or a band between the sides"):
        choose_join(joined(on=None, strategy=JoinStrategy.INDEX))
    for strategy in (JoinStrategy.HANDSHAKE, JoinStrategy.SCAN):
        with pytest.raises(UnsupportedError, match=rf"must be auto for an as-of join, got {strategy.value}"):
            choose_join(joined(window=AsOf(), strategy=strategy))


@pytest.mark.parametrize(
    ("window", "text"),
    [
        (Between(-MINUTE, 0), "quotes 1 min before trades to the time of trades"),
        (
            Between.of_ranges(MINUTE, 2 * MINUTE),
            "quotes less than 2 min before trades to less than 1 min after trades",
        ),
        (SameWindow(MINUTE), "both in the same window of 1 min"),
        (LastRows(3, 4), "by arrival: the last 3 rows of trades, the last 4 of quotes"),
        (AsOf(), "as of: the last row of quotes up to the time of trades"),
        (AsOf(True, True, MINUTE), "as of: the first row of quotes after the time of trades, at most 1 min apart"),
    ],
)
def test_explain_says_how(window: Any, text: str) -> None:
    told = explain(replace(joined(), window=window))
    assert f"window    {text}" in told
    assert "looked up by hash: trades_symbol = quotes_symbol" in told


def test_an_as_of_join_reads_right_rows_whole_because_ties_are_decided_by_all_of_them() -> None:
    plan = Project(joined(window=AsOf()), (("bid", Column("bid")), ("at", Column("trades_time"))))
    assert columns_read(plan) == {"trades": ["symbol", "time"], "quotes": quotes().schema.names}
