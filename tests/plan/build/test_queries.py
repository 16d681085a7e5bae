from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest

from tests.plan.streams import MINUTE, call, counters, trades, windowed
from windrow.errors import QueryError
from windrow.plan.build.queries import (
    WindowSpec,
    align,
    change_windows,
    choice,
    flatten_union,
    is_aggregated,
    origin_units,
    rename_streams,
)
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import Filter, Late, Node, Project, Strategy, Union
from windrow.semantics.scalars.amounts import Amount, Domain
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Landmark, RowsWindow, Session, SlideBy, SlideByTuple, Sliding, Window

TIME = shape_of(trades())
INTEGER = shape_of(counters())
POSITIVE = call(">", Column("number"), 0)


@pytest.mark.parametrize(
    ("expected", "spec"),
    [
        (Sliding("time", 10 * MINUTE, MINUTE), WindowSpec("10 min", "1 min")),
        (Sliding("time", MINUTE, MINUTE), WindowSpec(timedelta(minutes=1))),
        (Sliding("time", MINUTE, MINUTE, 30), WindowSpec(Amount.of("1 min"), origin="30 us")),
        (Sliding("time", MINUTE, MINUTE, MINUTE), WindowSpec("1 min", origin="1970-01-01 00:01:00")),
        (Sliding("time", MINUTE, 5 * MINUTE), WindowSpec("1 min", "5 min", on="time")),
        (Landmark("time", MINUTE), WindowSpec("unbounded", "1 min")),
        (Landmark("time", MINUTE, 7), WindowSpec("ALL", "1 min", origin="7 us")),
        (Session("time", 30_000_000), WindowSpec(gap="30 s")),
        (RowsWindow(100, 10), WindowSpec("100 rows", "10 rows")),
        (RowsWindow(100, 100, ("symbol",)), WindowSpec("100 rows", partition=("symbol",))),
        (RowsWindow(100, 10), WindowSpec("100 rows", 10)),
        (RowsWindow(9, 1, ("symbol",), "time"), WindowSpec("9 rows", "1 row", partition=("symbol",), order_by="time")),
        (Sliding("time", MINUTE, MINUTE), WindowSpec("1 min", partition=("symbol",))),
        (SlideByTuple("time", MINUTE), WindowSpec("1 min", "1 row")),
        (SlideByTuple("time", MINUTE, 5, SlideBy.RANK), WindowSpec("1 min", "5 rows", by="rank")),
        (SlideByTuple("time", MINUTE, partition=("symbol",)), WindowSpec("1 min", "1 row", partition=("symbol",))),
    ],
)
def test_windows_on_time(expected: Window, spec: WindowSpec) -> None:
    assert expected == spec.window(TIME)


@pytest.mark.parametrize(
    ("expected", "spec"),
    [
        (Sliding("seq", 10, 5), WindowSpec(10, 5)),
        (Sliding("seq", 10, 10, -3), WindowSpec("10", origin=-3)),
        (Sliding("seq", 10, 4, 2), WindowSpec(10, 4, align="start")),
        (Sliding("seq", 10, 4, 1), WindowSpec(10, 4, origin=-1, align="START")),
        (Sliding("seq", 10, 4), WindowSpec(10, 4, align="end")),
        (Sliding("seq", 10, 5), WindowSpec(10, 5, align="start")),
        (Sliding("seq", 10, 0), WindowSpec(10, 0, align="start")),
        (Session("seq", 3), WindowSpec(gap=3)),
    ],
)
def test_windows_on_integers(expected: Window, spec: WindowSpec) -> None:
    assert expected == spec.window(INTEGER)


@pytest.mark.parametrize(
    ("message", "spec"),
    [
        (r"`range` must be given\. Hint: window\(range='10 min', slide='1 min'\), or gap='30 s'\.", WindowSpec()),
        (r"`slide` must be given with range='unbounded'\. Hint: say slide='1 min'\.", WindowSpec("unbounded")),
        (r"`range` needs a time unit because the attribute is a timestamp, got 10\. .*", WindowSpec(10, "1 min")),
        (r"`range` does not go with gap, got 1 min\.", WindowSpec("1 min", gap="1 s")),
        (r"`by` does not go with range='unbounded', got rank\.", WindowSpec("all", "1 min", by="rank")),
        (r"`order_by` does not go with a window in time, got time\.", WindowSpec("1 min", order_by="time")),
        (r"`order_by` does not go with gap, got time\.", WindowSpec(gap="1 min", order_by="time")),
        (r"`order_by` does not go with range='unbounded', got time\.", WindowSpec("all", "1 min", order_by="time")),
        (r"`order_by` does not go with slide in rows, got time\.", WindowSpec("1 min", "1 row", order_by="time")),
        (r"`origin` does not go with range in rows, got 5\.", WindowSpec("5 rows", origin=5)),
        (r"`origin` does not go with slide in rows, got 5\.", WindowSpec("1 min", "1 row", origin=5)),
        (r"`slide` must be in rows as well, got 1 min\. Hint: say slide='10 rows'\.", WindowSpec("5 rows", "1 min")),
        (r"`slide` must be a whole number, got 1\.5\. Hint: .*", WindowSpec("5 rows", "1.5 rows")),
        (r"`by` must be a known word \(one of row_num, rank\), got size\.", WindowSpec("1 min", "1 row", by="size")),
        (r"`wen` is not a column of the input\. .*", WindowSpec("1 min", on="wen")),
        (r"`align` must be a known word \(one of start, end\), got left\.", WindowSpec("1 min", align="left")),
        (r"`align` does not go with gap, got start\.", WindowSpec(gap="1 min", align="start")),
        (r"`align` does not go with range='unbounded', got start\.", WindowSpec("all", "1 min", align="start")),
        (r"`align` does not go with range in rows, got start\.", WindowSpec("5 rows", align="start")),
        (r"`align` does not go with slide in rows, got start\.", WindowSpec("1 min", "1 row", align="start")),
    ],
)
def test_windows_that_make_no_sense(message: str, spec: WindowSpec) -> None:
    with pytest.raises(QueryError, match=rf"\A{message}\Z"):
        spec.window(TIME)


def test_a_window_needs_progress() -> None:
    shape = shape_of(Project(trades(), (("price", Column("price")),)))
    message = (
        r"\A`window` needs a progressing attribute, but the input does not keep it, got columns price\. Hint: .*\Z"
    )
    with pytest.raises(QueryError, match=message):
        WindowSpec("1 min").window(shape)


@pytest.mark.parametrize(
    ("expected", "origin"),
    [
        (86_400_000_000, date(1970, 1, 2)),
        (1, datetime(1970, 1, 1, 0, 0, 0, 1)),
        (-3_600_000_000, datetime(1970, 1, 1, tzinfo=timezone(timedelta(hours=1)))),
        (-5_000_000, "-5 s"),
        (60_000_000, timedelta(minutes=1)),
    ],
)
def test_origins_are_moments_or_amounts_after_the_epoch(expected: int, origin: Any) -> None:
    assert expected == origin_units(origin, Domain.TIME)


def test_a_moment_is_no_origin_of_an_integer() -> None:
    message = r"\A`origin` must be a number because the attribute is an integer, got 2024-01-01\.\Z"
    with pytest.raises(QueryError, match=message):
        origin_units("2024-01-01", Domain.INTEGER)


def test_choices_are_words_or_members() -> None:
    assert [Late.SIDE, Late.SIDE] == [choice(Late, " SIDE ", "late"), choice(Late, Late.SIDE, "late")]


def test_settings_reach_the_window_nearest_to_the_answer() -> None:
    inner = windowed(trades())
    outer = windowed(inner, Sliding("window_end", MINUTE, MINUTE))
    changed = windowed(inner, Sliding("window_end", MINUTE, MINUTE), strategy=Strategy.WID)
    assert Filter(changed, POSITIVE) == change_windows(Filter(outer, POSITIVE), strategy=Strategy.WID)


def test_settings_reach_every_side_of_a_union() -> None:
    expected = Union((windowed(trades(), late=Late.SIDE), windowed(trades("more"), late=Late.SIDE)))
    assert expected == change_windows(Union((windowed(trades()), windowed(trades("more")))), late=Late.SIDE)


def test_settings_need_a_window() -> None:
    message = r"\A`late, within` belongs to a window, and this query has none\. Hint: call window\(.*\) first\.\Z"
    with pytest.raises(QueryError, match=message):
        change_windows(trades(), late=Late.SIDE, within=None)


def test_streams_are_renamed_throughout() -> None:
    expected = Union((Filter(trades("trades_2"), POSITIVE), counters()))
    assert expected == rename_streams(Union((Filter(trades(), POSITIVE), counters())), {"trades": "trades_2"})


def test_unions_are_opened_up() -> None:
    expected = Union((trades("a"), trades("b"), trades("c")))
    assert expected == flatten_union(Union((trades("a"), trades("b"))), trades("c"))


def test_columns_are_aligned_only_where_they_are_the_same() -> None:
    names = ["x", "key", "seq"]
    expected = Project(counters(), tuple((name, Column(name)) for name in names))
    assert [expected, counters()] == [align(counters(), names), align(counters(), ["x", "key"])]
    assert counters() == align(counters(), ["key", "seq", "x"])


@pytest.mark.parametrize(
    ("expected", "node"),
    [
        (False, trades()),
        (True, Filter(windowed(trades()), POSITIVE)),
        (False, Union((windowed(trades()), trades()))),
    ],
)
def test_whether_rows_are_results(expected: bool, node: Node) -> None:
    assert expected is is_aggregated(node)
