from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from tests.plan.streams import COUNT, MINUTE, call, columns, counters, trades, windowed
from windrow.engines.local.checkpoint import fingerprint
from windrow.errors import InternalError, QueryError, UnsupportedError
from windrow.language import to_sql
from windrow.plan.checks.nodes import check_supported, loses_unasked, shape_of
from windrow.plan.checks.progress import carries_progress
from windrow.plan.checks.windows import check_window
from windrow.plan.nodes import (
    AggregateCall,
    Distinct,
    Filter,
    Late,
    Node,
    OrderedOutput,
    Project,
    Union,
    WindowAggregate,
    walk,
)
from windrow.plan.types.kinds import Shape
from windrow.semantics.progress.policies import External, Idle, Slack, SlackRows
from windrow.semantics.scalars.amounts import Amount, Domain
from windrow.semantics.scalars.expressions import Column, Literal
from windrow.semantics.windows.kinds import Landmark, RowsWindow, Session, SlideByTuple, Sliding

ZURICH = pa.timestamp("us", tz="Europe/Zurich")


def test_a_stream_has_its_own_columns() -> None:
    stream = trades(policy=Slack(Amount.of("60 s")), idle=Idle(Amount.of("30 s")))
    assert Shape(stream.schema, "time") == shape_of(stream)


def test_a_shape_is_derived_once_and_again_when_an_aggregate_is_registered() -> None:
    class Plain(wr.UserAggregate):
        name = "replaced"

        def __init__(self, result: pa.DataType) -> None:
            self.result = result

        def lift(self, values: Any) -> Any:
            return (values,)

        def combine(self, left: Any, right: Any) -> Any:
            return left

        def finish(self, state: Any, parameters: Any) -> Any:
            return state[0]

    node = windowed(trades(), aggregates=(AggregateCall("a", "replaced", Column("price")),))
    wr.register(Plain(pa.int64()))
    shape = shape_of(node)
    assert pa.int64() == shape.schema.field("a").type
    assert shape is shape_of(node)
    wr.register(Plain(pa.string()))
    assert pa.string() == shape_of(node).schema.field("a").type


def test_an_integer_attribute_takes_plain_amounts_and_a_wall_clock_idle() -> None:
    stream = counters(policy=Slack(Amount.of(5)), idle=Idle(Amount.of("30 s"), wall_clock=True))
    assert Domain.INTEGER is shape_of(stream).domain


@pytest.mark.parametrize("policy", [External("promise"), External(), SlackRows(3)])
def test_policies_that_fit(policy: Any) -> None:
    assert "time" == shape_of(trades(policy=policy)).time


@pytest.mark.parametrize(
    ("message", "settings"),
    [
        (
            r"`time` must be a column of the input, got tiem\. Hint: did you mean time\? The columns are .*",
            {"time": "tiem"},
        ),
        (
            r"`time` must be a timestamp or an integer column, got symbol, a string\. "
            r"Hint: cast it: declare the column as TIMESTAMP, or convert it before it comes in\.",
            {"time": "symbol"},
        ),
        (
            r"`trades` has more than one column named 'price'\. Hint: rename one of them in the data; "
            r"after a join of DataFrames, give each an alias of its own\.",
            {"schema": pa.schema([("time", pa.int64()), ("price", pa.int64()), ("price", pa.int64())])},
        ),
        (
            r"`slack` needs a time unit because the attribute is a timestamp, got 5\. .*",
            {"policy": Slack(Amount.of(5))},
        ),
        (r"`slack` must not be negative, got -5 s\.", {"policy": Slack(Amount.of("-5 s"))}),
        (r"`slack` must not be negative, got -5 rows\.", {"policy": SlackRows(-5)}),
        (r"`idle` must be positive, got 0 s\.", {"idle": Idle(Amount.of("0 s"))}),
        (
            r"`punctuated by` must be a column of the input, got promis\. Hint: did you mean promise\? .*",
            {"policy": External("promis")},
        ),
        (
            r"`punctuated by` must be another column of the type of time \(timestamp\), got price, a bigint\. "
            r"Hint: convert it to a timestamp before it comes in\.",
            {"policy": External("price")},
        ),
        (
            r"`punctuated by` must be another column .*, got time, the time column itself\. "
            r"Hint: promises are in a column of their own, NULL in the rows that have a time\.",
            {"policy": External("time")},
        ),
    ],
)
def test_streams_that_make_no_sense(message: str, settings: dict[str, Any]) -> None:
    with pytest.raises(QueryError, match=rf"\A{message}\Z"):
        shape_of(trades(**settings))


def test_a_float_time_is_to_be_cast_to_an_integer() -> None:
    with pytest.raises(QueryError, match=r"\A`time` must be .*, got x, a double\. Hint: cast it: .* as BIGINT, .*\Z"):
        shape_of(counters(time="x"))


def test_a_filter_keeps_the_shape() -> None:
    node = Filter(trades(), call("=", Column("symbol"), "UBSN"))
    assert shape_of(trades()) == shape_of(node)


def test_a_projection_keeps_progress_under_another_name_and_the_encoding_of_what_passes() -> None:
    made = (("symbol", Column("symbol")), ("when", Column("time")), ("twice", call("*", Column("price"), 2)))
    encoded, when = pa.dictionary(pa.int32(), pa.string()), pa.timestamp("ms", tz="Europe/Zurich")
    shape = shape_of(Project(trades(), made))
    assert Shape(columns(symbol=encoded, when=when, twice=pa.int64()), "when") == shape
    assert columns(symbol=pa.string(), when=when, twice=pa.int64()) == shape.answer


def test_a_computed_time_is_no_progress() -> None:
    node = Project(trades(), (("time", call("cast", Column("time"), "timestamp")),))
    assert shape_of(node).time is None


def test_a_window_gives_keys_bounds_and_answers() -> None:
    aggregates = (COUNT, AggregateCall("top", "max", Column("price")))
    expected = columns(symbol=pa.string(), window_start=ZURICH, window_end=ZURICH, number=pa.int64(), top=pa.int32())
    assert Shape(expected, "window_end") == shape_of(windowed(trades(), None, ("symbol",), aggregates))


def test_integer_windows_are_reported_in_64_bits_and_naive_times_stay_naive() -> None:
    naive = trades(schema=columns(time=pa.timestamp("s")))
    ends = [
        shape_of(windowed(counters(), Sliding("seq", 10, 5))).schema.field("window_end").type,
        shape_of(windowed(naive)).schema.field("window_end").type,
        shape_of(windowed(trades(), RowsWindow(5, 5))).schema.field("window_end").type,
    ]
    assert [pa.int64(), pa.timestamp("us"), pa.int64()] == ends


def test_revised_results_carry_their_revision_last() -> None:
    schema = shape_of(windowed(trades(), late=Late.REVISE, within=Amount.of("1 h"))).schema
    assert ("revision", pa.int32()) == (schema.names[-1], schema.field("revision").type)


def test_windows_nest_over_window_end_under_any_of_its_names() -> None:
    inner = windowed(trades(), None, ("symbol",))
    named = Project(
        inner, (("window_end", Column("window_end")), ("time", Column("window_end")), ("n", Column("number")))
    )
    outer = windowed(named, Sliding("time", 60 * MINUTE, 60 * MINUTE), (), (AggregateCall("most", "max", Column("n")),))
    assert "window_end" == shape_of(outer).time
    assert [True, True, False] == [carries_progress(named, name) for name in ("window_end", "time", "n")]


def test_a_union_takes_the_wider_type() -> None:
    other = counters(name="more", schema=columns(key=pa.string(), seq=pa.int64(), x=pa.int64()))
    expected = Shape(columns(key=pa.string(), seq=pa.int64(), x=pa.float64()), "seq")
    assert expected == shape_of(Union((counters(), other)))


def test_distinct_keeps_the_shape() -> None:
    assert shape_of(counters()) == shape_of(Distinct(counters()))


def pair(*names: str) -> Node:
    return Project(trades(), tuple((name, Column(name)) for name in names))


def bare(node: Node) -> Node:
    return Project(node, (("price", Column("price")),))


@pytest.mark.parametrize(
    ("message", "node"),
    [
        (
            r"`where` must be a condition \(true or false\), got bigint in price\. Hint: compare the value, .*",
            Filter(trades(), Column("price")),
        ),
        (r"`select` must name at least one column\.", Project(trades(), ())),
        (
            r"`select` must give every column its own name, got a twice\. Hint: rename one of them: \.\.\. AS a_2\.",
            Project(trades(), (("a", Literal(1)), ("a", Literal(2)))),
        ),
        (
            r"`columns` must give every column its own name, got window_end twice\. Hint: .*",
            windowed(trades(), aggregates=(AggregateCall("window_end", "count"),)),
        ),
        (
            r"`columns` must give every column its own name, got revision twice\. Hint: .*",
            windowed(trades(), aggregates=(AggregateCall("revision", "count"),), late=Late.REVISE),
        ),
        (
            r"`window` needs a progressing attribute, but the input does not keep it, got columns price\. Hint: .*",
            windowed(bare(trades())),
        ),
        (
            r"`window` must be on the progressing attribute, which is time, got price\. "
            r"Hint: write WATTR time, or declare the stream with PROGRESS ON price\.",
            windowed(trades(), Sliding("price", 10, 10)),
        ),
        (r"`tiem` is not a column .*\. Hint: did you mean time\? .*", windowed(trades(), Sliding("tiem", 10, 10))),
        (r"`who` is not a column of the input\. .*", windowed(trades(), RowsWindow(5, 5, ("who",)))),
        (
            r"`partition` must be among the groups, or results of different keys could not be told apart, got symbol\. "
            r"Hint: group by symbol too\.",
            windowed(trades(), RowsWindow(5, 5, ("symbol",))),
        ),
        (
            r"`order_by` must be the progressing attribute, which is time, got price\. "
            r"Hint: rows wait for its punctuations; leave it out to count rows as they arrive\.",
            windowed(trades(), RowsWindow(5, 5, (), "price")),
        ),
        (
            r"`order_by` must be the progressing attribute, which is not among the columns, got price\. Hint: .*",
            windowed(bare(trades()), RowsWindow(5, 5, (), "price")),
        ),
        (r"`tiem` is not a column of the input\. .*", windowed(trades(), RowsWindow(5, 5, (), "tiem"))),
        (r"`range` must be positive, got 0\. Hint: .*", windowed(trades(), Sliding("time", 0, 10))),
        (
            r"`tags` must group by plain values, got list<.*>\. Hint: group by a field or a CAST of it\.",
            windowed(trades(), None, ("tags",)),
        ),
        (
            r"`sum` needs a number, got string\. Hint: .*",
            windowed(trades(), aggregates=(AggregateCall("s", "sum", Column("symbol")),)),
        ),
        (
            r"`summ` is not an aggregate\. Hint: did you mean sum\.",
            windowed(trades(), aggregates=(AggregateCall("s", "summ"),)),
        ),
        (
            r"`within` says how long results are corrected, which only LATE REVISE does, got 1 h\. Hint: write .*",
            windowed(trades(), within=Amount.of("1 h")),
        ),
        (r"`within` needs a time unit .*", windowed(trades(), late=Late.REVISE, within=Amount.of(1))),
        (
            r"`within` must be positive, got 0 s\. Hint: as in WITHIN 1 HOUR\.",
            windowed(trades(), late=Late.REVISE, within=Amount.of("0 s")),
        ),
        (
            r"`union` needs the same columns on both sides, in the same order, got \(symbol, .*\) and \(key, .*\)\. .*",
            Union((trades(), counters())),
        ),
        (
            r"`union` needs the same columns on both sides, in the same order, got \(price, time\) and .*\. "
            r"Hint: select the columns you want from each side first\.",
            Union((pair("price", "time"), pair("time", "price"))),
        ),
        (
            r"`union` needs the same progressing attribute on both sides, got time and promise\. Hint: rename one: .*",
            Union((trades(), trades(time="promise"))),
        ),
        (
            r"`union` needs the same progressing attribute on both sides, got none and price\. Hint: .*",
            Union((bare(trades()), bare(trades(time="price")))),
        ),
        (
            r"`union` needs one type for the column x, got double and string\. Hint: CAST\(x AS \.\.\.\) .*",
            Union((counters(), counters(schema=columns(key=pa.string(), seq=pa.int32(), x=pa.string())))),
        ),
        (
            r"`union` needs one type for the column seq, got bigint and timestamp\. Hint: .*",
            Union((counters(), counters(schema=columns(key=pa.string(), seq=ZURICH, x=pa.float64())))),
        ),
        (
            r"`distinct` needs the progressing attribute among its columns, or state would grow without bound, "
            r"got columns price\. Hint: keep the time column in the SELECT DISTINCT list\.",
            Distinct(bare(trades())),
        ),
    ],
)
def test_plans_that_make_no_sense(message: str, node: Node) -> None:
    with pytest.raises(QueryError, match=rf"\A{message}\Z"):
        shape_of(node)


def test_what_is_no_node_is_our_own_mistake() -> None:
    with pytest.raises(InternalError, match=r"\A`str` is not a plan node\.\Z"):
        shape_of("trades")  # type: ignore[arg-type]
    with pytest.raises(InternalError, match=r"\A`union` must have inputs\.\Z"):
        shape_of(Union(()))


@pytest.mark.parametrize(
    ("message", "window"),
    [
        (
            r"`range` must be positive, got -5 s\. Hint: a window holds something, as in RANGE 10 SECONDS\.",
            Sliding("t", -5_000_000, 1),
        ),
        (r"`slide` must be positive, got 0\. Hint: windows move forward, as in SLIDE 1 SECOND\.", Sliding("t", 5, 0)),
        (r"`slide` must be positive, got 0\. .*", Landmark("t", 0)),
        (
            r"`gap` must be positive, got 0\. Hint: a session ends after a silence, as in GAP 30 SECONDS\.",
            Session("t", 0),
        ),
        (r"`range` must be positive, got 0\. .*", RowsWindow(0, 1)),
        (
            r"`slide` must be positive, got -1\. Hint: every n-th row closes a window, as in SLIDE 1 ROW\.",
            SlideByTuple("t", 5, -1),
        ),
        (
            r"`slide` must be positive, got 0\. Hint: every n-th row closes a window, as in SLIDE 1 ROW\.",
            SlideByTuple("t", 5, 0),
        ),
        (
            r"`range` must be positive, got 0\. Hint: a window holds something, as in RANGE 10 SECONDS\.",
            SlideByTuple("t", 0),
        ),
    ],
)
def test_window_numbers_must_be_positive(message: str, window: Any) -> None:
    with pytest.raises(QueryError, match=rf"\A{message}\Z"):
        check_window(window, Domain.TIME)


def test_a_slide_larger_than_the_range_is_allowed() -> None:
    check_window(Sliding("t", 1, 10))
    assert "window_end" == shape_of(windowed(trades(), Sliding("time", 1, 10))).time


def test_a_partition_of_windows_per_row_is_the_groups() -> None:
    node = windowed(trades(), SlideByTuple("time", 5))
    by_symbol = replace(node, keys=(("s", Column("symbol")),))
    check_supported(by_symbol)
    partitioned = replace(by_symbol, window=SlideByTuple("time", 5, partition=("symbol",)))
    assert shape_of(by_symbol) == shape_of(partitioned)
    with pytest.raises(
        QueryError,
        match=r"\A`partition` must name all group columns, or be left out, got symbol with groups by nothing\. "
        r"Hint: with PATTR, rows close windows for their own group; without, for all groups\.\Z",
    ):
        shape_of(replace(partitioned, keys=()))


@pytest.mark.parametrize("window", [RowsWindow(5, 5), RowsWindow(5, 1, ("symbol",)), RowsWindow(5, 1, (), "time")])
def test_windows_of_rows_end_at_numbers(window: RowsWindow) -> None:
    node = windowed(trades(), window, window.partition)
    check_supported(node)
    assert [pa.int64()] * 2 == [shape_of(node).schema.field(name).type for name in ("window_start", "window_end")]


def test_rows_are_counted_whether_or_not_their_time_is_kept() -> None:
    assert "window_end" == shape_of(windowed(bare(trades()), RowsWindow(5, 5))).time


def test_windows_over_corrected_results_are_refused_at_planning() -> None:
    inner = windowed(trades(), late=Late.REVISE)
    check_supported(inner)
    with pytest.raises(
        UnsupportedError, match=r"\Awindows over results that are corrected .*\. Hint: use LATE DROP .*\Z"
    ):
        check_supported(windowed(inner, Sliding("window_end", 10, 10)))


def early_counts() -> WindowAggregate:
    return windowed(trades(), early=Amount.of("10 s"))


def test_early_results_keep_their_kind() -> None:
    number, kind = ("number", Column("number")), ("kind", Column("kind"))
    rule = "must keep the column kind, which distinguishes early results from final ones"
    pattern = rf"\A`select` {rule}, got number\. Hint: .*\Z"
    with pytest.raises(QueryError, match=pattern):
        check_supported(Project(early_counts(), (number,)))
    check_supported(Project(early_counts(), (number, kind)))


def test_early_results_are_not_made_distinct() -> None:
    with pytest.raises(UnsupportedError, match=r"\ADISTINCT over early results is not available: .*\Z"):
        check_supported(Distinct(early_counts()))


def test_ordered_output_has_the_columns_of_its_input_as_plain_values() -> None:
    shape = shape_of(OrderedOutput(trades()))
    assert (trades().schema.names, "time") == (shape.schema.names, shape.time)
    assert pa.string() == shape.schema.field("symbol").type


@pytest.mark.parametrize(
    "around",
    [
        lambda node: Filter(node, Literal(True)),
        lambda node: Distinct(node),
        lambda node: Union((trades(), node)),
        lambda node: windowed(node),
        lambda node: OrderedOutput(node),
    ],
)
def test_ordered_output_comes_last(around: Any) -> None:
    message = (
        r"\A`ordered output` must be the last step of a query: what comes after it does not need rows in order\. "
        r"Hint: say it once, after everything else\.\Z"
    )
    with pytest.raises(QueryError, match=message):
        shape_of(around(OrderedOutput(trades())))


@pytest.mark.parametrize(
    ("message", "settings"),
    [
        (
            r"LATE REVISE: a correction follows results of later windows\. Hint: use LATE SIDE\.",
            {"late": Late.REVISE},
        ),
        (
            r"EMIT EARLY: a window is reported before earlier ones have closed\. Hint: leave one of them out\.",
            {"early": Amount.of("5 s")},
        ),
    ],
)
def test_ordered_output_of_results_that_are_not_final(message: str, settings: dict[str, Any]) -> None:
    node = Filter(windowed(trades(), **settings), Literal(True))
    with pytest.raises(UnsupportedError, match=rf"\A`ordered output` does not go with {message}\Z"):
        shape_of(OrderedOutput(node))


def test_ordered_output_needs_the_time() -> None:
    node = Project(trades(), (("price", Column("price")),))
    message = (
        r"\A`ordered output` needs the progressing attribute among the columns, or nobody could see the order, "
        r"got columns price\. Hint: keep the time column \(or window_start or window_end\) in the SELECT, unchanged\.\Z"
    )
    with pytest.raises(QueryError, match=message):
        shape_of(OrderedOutput(node))


TABLE = pa.table({"t": [1]})
ONE, OTHER = wr.stream(TABLE, time="t", name="one"), wr.stream(TABLE, time="t", name="other")


def test_whether_a_policy_was_chosen_is_no_part_of_a_plan() -> None:
    """It is told by what loses rows, and changes neither equality nor what checkpoints are known by."""
    plans = {
        late: wr.sql(f"SELECT count(*) FROM s [RANGE 4 WATTR t] {late}", s=wr.stream(TABLE, time="t")).plan
        for late in ("", "LATE DROP", "LATE SIDE", "LATE REVISE", "LATE REVISE WITHIN 9")
    }
    assert plans[""] == plans["LATE DROP"]
    assert fingerprint(plans[""]) == fingerprint(plans["LATE DROP"])
    assert ["", "LATE REVISE"] == [
        late for late, plan in plans.items() if any(loses_unasked(node, plan) for node in walk(plan))
    ]
    assert ["LATE DROP", "LATE SIDE", "LATE REVISE", "LATE REVISE WITHIN 9"] == [
        late for late, plan in plans.items() if to_sql(plan).endswith(late) and late
    ]


def test_a_join_too() -> None:
    silent, chosen = ONE.join(OTHER, ["t"], range=3), ONE.join(OTHER, ["t"], range=3, late="drop")
    assert silent.plan == chosen.plan == silent.late("drop").plan
    assert [True, False, False] == [
        loses_unasked(query.plan, query.plan) for query in (silent, chosen, silent.late("drop"))
    ]
    assert [False, True] == ["LATE DROP" in to_sql(query.plan) for query in (silent, chosen)]
