from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest

from tests.plan.streams import COUNT, MINUTE, call, columns, counters, trades, windowed
from windrow.errors import QueryError
from windrow.physical.explain.plans import describe_bounds, describe_policy, describe_window, explain
from windrow.plan.nodes import (
    AggregateCall,
    Distinct,
    Filter,
    Late,
    Lateness,
    Node,
    OrderedOutput,
    Project,
    Strategy,
    Stream,
    Union,
)
from windrow.semantics.progress.policies import AtEnd, External, Idle, Lead, Ordered, Slack, SlackRows
from windrow.semantics.scalars.amounts import Amount, Domain
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import (
    Align,
    Emit,
    Landmark,
    RowsWindow,
    Session,
    SlideBy,
    SlideByTuple,
    Sliding,
    Window,
)


@dataclass(frozen=True)
class Choice:
    strategy: Strategy
    reasons: tuple[str, ...]


@pytest.fixture(autouse=True)
def planner(monkeypatch: pytest.MonkeyPatch) -> None:
    choice = Choice(Strategy.PANES, ("one reason", "another reason"))
    monkeypatch.setattr(sys.modules["windrow.physical.rules.choose_windows"], "choose", lambda *_: choice)


SCHEMA = columns(symbol=pa.string(), price=pa.int64(), time=pa.timestamp("us", tz="UTC"))


def ticks(name: str = "trades", **settings: Any) -> Stream:
    return Stream(name, SCHEMA, "time", **{"policy": Slack(Amount.of("60 seconds")), **settings})


UBSN = call("=", Column("symbol"), "UBSN")

PAPERS = """
WindowAggregate
│  window    RANGE 10 min SLIDE 1 min on time, each row in up to 10 windows
│  keys      symbol
│  answers   number = count(*)
│  emit      windows that hold a row
│  late      left out of the windows they missed, and counted; they count in the windows still open (generous)
│  strategy  panes
│            - one reason
│            - another reason
└─ Filter (symbol = 'UBSN')
   └─ Stream trades from trades.parquet
         columns   symbol string, price int64, time timestamp[us, tz=UTC]
         progress  on time: rows come at most 1 min behind the largest value seen
         idle      it holds others back by at most 30 s
"""

UNION = """
Project window_end, most = ceil(p50)
└─ WindowAggregate
   │  window    RANGE 1 min SLIDE 10 min on time, each row in at most one window
   │            windows start 9 min after multiples of 10 min and end at multiples of 10 min
   │  keys      none: one result a window
   │  answers   p50 = median(price)
   │  emit      windows that hold a row, and the empty ones between them, up to 1,000,000 in a row
   │  late      corrected results follow, up to 1 h after a window's end; \
a row that missed one window counts in none (consistent)
   │  strategy  panes
   │            - one reason
   │            - another reason
   └─ Union of 2: rows as they come, progress is the least of all inputs
      ├─ Distinct: each different row once
      │  └─ Stream a
      │        columns   symbol string, price int64, time timestamp[us, tz=UTC]
      │        progress  on time: only the end of the input is a promise
      └─ Stream b
            columns   symbol string, price int64, time timestamp[us, tz=UTC]
            progress  on time: rows come at most 1 min behind the largest value seen
            idle      after 30 s of silence by the clock it no longer holds others back

Notes
- SLIDE 10 min is larger than RANGE 1 min: rows between windows are in none of them.
- median(price) keeps the values of its open windows: state grows with the rows in them.
- A union waits for its slowest input; without IDLE, a lull of a holds all results back.
- a says nothing about its progress: windows close, and state is let go, only at the end of the input. \
SLACK, ORDERED or PUNCTUATED lets them close earlier.
"""


def papers() -> Node:
    stream = ticks(idle=Idle(Amount.of("30 s")), origin="trades.parquet")
    return windowed(Filter(stream, UBSN), None, ("symbol",))


def union() -> Node:
    inputs = Union((Distinct(ticks("a", policy=AtEnd())), ticks("b", idle=Idle(Amount.of("30 s"), wall_clock=True))))
    settings: dict[str, Any] = {"emit": Emit.EMPTY, "late": Late.REVISE, "lateness": Lateness.CONSISTENT}
    median = (AggregateCall("p50", "median", Column("price")),)
    window = Sliding("time", MINUTE, 10 * MINUTE)
    node = windowed(inputs, window, (), median, within=Amount.of("60 min"), **settings)
    return Project(node, (("window_end", Column("window_end")), ("most", call("ceil", Column("p50")))))


@pytest.mark.parametrize(("expected", "node"), [(PAPERS, papers()), (UNION, union())])
def test_plans_as_text(expected: str, node: Node) -> None:
    assert expected.strip() == explain(node)


@pytest.mark.parametrize(("against", "wall_clock"), [("what came before", False), ("the clock", True)])
def test_how_far_rows_may_be_ahead_is_said(against: str, wall_clock: bool) -> None:
    policy = Slack(Amount.of("60 s"), Lead(Amount.of("60 min"), wall_clock))
    expected = (
        f"lead      rows more than 1 h ahead of {against} are early: set aside and counted, they move no progress"
    )
    assert expected in explain(ticks(policy=policy))


@pytest.mark.parametrize(
    ("expected", "wall_clock"),
    [
        ("idle      it holds others back by at most 30 s, and each of its partitions the others of it", False),
        (
            "idle      after 30 s of silence by the clock it no longer holds others back, and each of its partitions "
            "the others of it",
            True,
        ),
    ],
)
def test_what_holds_of_each_partition_is_said(expected: str, wall_clock: bool) -> None:
    policy = Slack(Amount.of("60 s"), Lead(Amount.of("60 min")), ("symbol",))
    text = explain(replace(ticks(policy=policy), idle=Idle(Amount.of("30 s"), wall_clock)))
    assert expected in text
    assert "rows more than 1 h ahead of what came before of the same symbol are early" in text


def test_how_many_empty_windows_are_reported_is_said() -> None:
    assert "empty ones between them, up to 7 in a row" in explain(windowed(ticks(), emit=Emit.EMPTY, most_empty=7))


def test_the_side_output_is_named() -> None:
    assert "late      given out on the side with the windows they missed; they count" in explain(
        windowed(ticks(), late=Late.SIDE, emit=Emit.COMPLETE)
    )


def test_a_landmark_window_keeps_every_group() -> None:
    text = explain(windowed(ticks(), Landmark("time", MINUTE), (), (COUNT,)))
    assert (
        "\n\nNotes\n- RANGE UNBOUNDED keeps every group until the end of the input." == text[text.index("\n\nNotes") :]
    )


def test_strings_have_no_bounded_maximum() -> None:
    text = explain(windowed(ticks(), None, (), (AggregateCall("last", "max", Column("symbol")),)))
    assert "- max(symbol) keeps the values of its open windows: state grows with the rows in them." in text


def test_a_plan_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(QueryError, match=r"\A`range` must be positive, got 0\. .*\Z"):
        explain(windowed(trades(), Sliding("time", 0, 1)))


SECOND, DAY, WEEK = 1_000_000, 24 * 60 * MINUTE, 7 * 24 * 60 * MINUTE


@pytest.mark.parametrize(
    ("expected", "policy"),
    [
        ("rows come in order", Ordered()),
        ("rows come at most 5 behind the largest value seen", Slack(Amount.of(5))),
        (
            "rows of the same symbol, price come in order; the slowest holds back the others",
            Ordered(per=("symbol", "price")),
        ),
        (
            "rows come at most 5 behind the largest value seen of the same symbol; the slowest holds back the others",
            Slack(Amount.of(5), per=("symbol",)),
        ),
        ("rows come at most 100 rows late", SlackRows(100)),
        ("punctuations in column promise", External("promise")),
        ("punctuations among the elements", External()),
    ],
)
def test_policies_in_words(expected: str, policy: Any) -> None:
    assert expected == describe_policy(policy)


@pytest.mark.parametrize(
    ("expected", "window", "domain"),
    [
        ("RANGE 10 SLIDE 10 on seq, each row in one window", Sliding("seq", 10, 10), Domain.INTEGER),
        ("RANGE 9 SLIDE 3 on seq from -1, each row in up to 3 windows", Sliding("seq", 9, 3, -1), Domain.INTEGER),
        ("RANGE 10 SLIDE 3 on seq, each row in up to 4 windows", Sliding("seq", 10, 3, -1), Domain.INTEGER),
        (
            "RANGE 1 min SLIDE 1 min on t from 1970-01-01 00:00:30, each row in one window",
            Sliding("t", MINUTE, MINUTE, 30_000_000),
            Domain.TIME,
        ),
        ("RANGE UNBOUNDED SLIDE 1 min on t", Landmark("t", MINUTE), Domain.TIME),
        ("GAP 1 min on t, a window ends when no row comes for that long", Session("t", MINUTE), Domain.TIME),
        ("RANGE 5 rows SLIDE 2 rows per key, by arrival", RowsWindow(5, 2, ("key",)), Domain.INTEGER),
        (
            "RANGE 1 min on t SLIDE 3 rows, counted by rank",
            SlideByTuple("t", MINUTE, 3, SlideBy.RANK),
            Domain.TIME,
        ),
        (
            "RANGE 1 min on t SLIDE 1 rows per key, counted by row_num",
            SlideByTuple("t", MINUTE, partition=("key",)),
            Domain.TIME,
        ),
    ],
)
def test_windows_in_the_users_units(expected: str, window: Window, domain: Domain) -> None:
    assert expected == describe_window(window, domain)


@pytest.mark.parametrize(
    ("expected", "window"),
    [
        (
            "windows start 2 s after multiples of 4 s and end at multiples of 4 s",
            Sliding("time", 10 * SECOND, 4 * SECOND),
        ),
        (
            "windows start at multiples of 4 s and end 2 s after multiples of 4 s",
            Sliding.aligned("time", 10 * SECOND, 4 * SECOND, align=Align.START),
        ),
        (
            "windows start 3 s after multiples of 4 s and end 1 s after multiples of 4 s",
            Sliding("time", 10 * SECOND, 4 * SECOND, -3 * SECOND),
        ),
        ("", Sliding("time", 8 * SECOND, 4 * SECOND, SECOND)),
        ("", Session("time", SECOND)),
    ],
)
def test_where_uneven_windows_start_and_end(expected: str, window: Window) -> None:
    assert expected == describe_bounds(window, Domain.TIME)
    assert (f"│            {expected}\n" in explain(windowed(trades(), window))) is bool(expected)


THURSDAY = (
    "- SLIDE 1 w counts weeks from Thursday, 1970-01-01: say ORIGIN DATE '1970-01-05' to have them begin on Monday."
)


@pytest.mark.parametrize(
    ("told", "window"),
    [
        (True, Sliding("time", WEEK, WEEK)),
        (True, Sliding.aligned("time", 10 * DAY, WEEK, align=Align.START)),
        (True, Landmark("time", WEEK)),
        (False, Sliding("time", WEEK, WEEK, 4 * DAY)),
        (False, Sliding("time", WEEK, DAY)),
        (False, Session("time", WEEK)),
    ],
)
def test_the_day_on_which_weeks_begin_is_told(told: bool, window: Window) -> None:
    assert told is (THURSDAY in explain(windowed(trades(), window)).splitlines())


def test_windows_of_rows_are_explained() -> None:
    calls = (AggregateCall("n", "count"), AggregateCall("m", "median", Column("x")))
    node = windowed(counters(), RowsWindow(10, 4), aggregates=calls, emit=Emit.COMPLETE)
    assert """\
WindowAggregate
│  window    RANGE 10 rows SLIDE 4 rows, by arrival
│  keys      none: one result a window
│  answers   n = count(*), m = median(x)
│  emit      only windows that have all their rows
│  late      none: rows count as they come
│  strategy  panes
""" in explain(node)
    assert "says nothing about its progress" not in explain(node)


def test_windows_of_rows_in_order_of_time_wait_for_promises() -> None:
    node = windowed(counters(), RowsWindow(1, 3, ("key",), "seq"), ("key",), late=Late.SIDE)
    text = explain(node)
    assert "RANGE 1 row SLIDE 3 rows per key, in order of seq, ties by arrival" in text
    assert "late      given out on the side; the rows after them are counted already" in text
    assert "late      left out, and counted; the rows after them are counted already" in explain(
        replace(node, late=Late.DROP)
    )
    assert [
        "- SLIDE 3 rows is larger than RANGE 1 row: rows between windows are in none of them.",
        "- The last rows of every key are kept until the end of the input: they leave when new ones come.",
    ] == [line for line in text.splitlines() if line.startswith("- ")][:2]
    assert "says nothing about its progress" in text


def test_encoded_columns_are_shown_as_their_values() -> None:
    assert "columns   symbol string, price int32" in explain(trades())


def test_ordered_output_says_what_it_waits_for() -> None:
    expected = """\
OrderedOutput
│  order  time, then the other columns from left to right
│  waits  each row for the promise of all streams that no smaller time follows
│  late   rows below what was promised are left out, and counted
└─ Stream trades
      columns   symbol string, price int64, time timestamp[us, tz=UTC]
      progress  on time: rows come at most 1 min behind the largest value seen"""
    assert expected == explain(OrderedOutput(ticks()))
    assert "late   rows" not in explain(OrderedOutput(windowed(ticks())))
