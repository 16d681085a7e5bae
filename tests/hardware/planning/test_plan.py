"""Queries become designs: layouts, parts, times; and what a circuit cannot do is refused with its reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.errors import ConfigurationError, UnsupportedError, WindrowError
from windrow.hardware.design import (
    AggregateDesign,
    BitLayout,
    CircuitAlgorithm,
    CircuitPart,
    Field,
    Function,
    JoinDesign,
)
from windrow.hardware.planning.joins import JoinPlan
from windrow.hardware.planning.options import CircuitOptions
from windrow.hardware.planning.plan import AggregatePlan, asked_of, plan_circuit, strings_of
from windrow.semantics.scalars.expressions import Call, Column, Literal

_FIELDS: list[pa.Field[Any]] = [
    pa.field("symbol", pa.string()),
    pa.field("price", pa.int32(), nullable=False),
    pa.field("volume", pa.uint16()),
    pa.field("open", pa.bool_()),
    pa.field("day", pa.date32()),
    pa.field("rate", pa.float64()),
    pa.field("time", pa.timestamp("us")),
    pa.field("mark", pa.timestamp("us")),
]
SCHEMA = pa.schema(_FIELDS)
ROWS = SCHEMA.empty_table()
SYMBOLS = {"symbol": ("UBSN", "CSGN", "ABBN")}


def trades(progress: Any = None) -> wr.Query:
    return wr.stream(ROWS, time="time", name="trades", progress=progress or wr.slack("60 s"))


def query(text: str, **streams: Any) -> wr.Query:
    return wr.sql(text, trades=trades(), **streams)


def planned(text: str | wr.Query, **options: Any) -> AggregatePlan:
    made = plan_circuit([(query(text) if isinstance(text, str) else text).plan], CircuitOptions(**options))
    assert isinstance(made, AggregatePlan)
    return made


WINDOW = "[RANGE 10 MINUTES SLIDE 1 MINUTE WATTR time]"


def test_a_query_is_a_layout_filters_and_parts() -> None:
    plan = planned(
        f"SELECT symbol, count(*) AS n, sum(price) AS total, avg(volume) AS mean, min(price * 2 - 1) AS least "
        f"FROM trades {WINDOW} WHERE symbol = 'CSGN' AND volume > 3 GROUP BY symbol",
        dictionaries=SYMBOLS,
    )
    volume, least = Column("volume"), Call("-", (Call("*", (Column("price"), Literal(2))), Literal(1)))
    found = plan.design.queries[0]
    assert (
        BitLayout((Field("symbol", 2, False, True), Field("price", 32), Field("volume", 16, False, True)))
        == plan.design.layout
    )
    assert (Call("=", (Column("symbol"), Literal(1))), Call(">", (volume, Literal(3)))) == found.where
    assert (
        CircuitPart(Function.COUNT, None, 32),
        CircuitPart(Function.SUM, Column("price"), 64, True),
        CircuitPart(Function.SUM, volume, 48, False),
        CircuitPart(Function.COUNT, volume, 32, False),
        CircuitPart(Function.MIN, least, 35, True),
    ) == found.parts
    assert (10, 1, 1, ("symbol",), 4) == (found.range, found.slide, found.slack, found.keys, found.groups)
    assert [(0,), (1,), (2, 3), (4,)] == [answer.parts for answer in plan.queries[0].answers]


def test_what_is_asked_twice_is_kept_once() -> None:
    """A sum of a column without NULLs is counted with the rows."""
    plan = planned(f"SELECT count(*) AS n, avg(price) AS mean, sum(price) AS total FROM trades {WINDOW}")
    assert [Function.COUNT, Function.SUM] == [part.function for part in plan.design.queries[0].parts]
    assert [(0,), (1, 0), (1,)] == [answer.parts for answer in plan.queries[0].answers]


def test_projections_below_and_above() -> None:
    text = f"""SELECT twice + 1 AS more, window_end FROM (
        SELECT max(double) AS twice FROM (SELECT price * 2 AS double, time FROM trades WHERE open) {WINDOW})"""
    plan = planned(text)
    (part,) = plan.design.queries[0].parts
    assert (Call("*", (Column("price"), Literal(2))), (Column("open"),)) == (
        part.argument,
        plan.design.queries[0].where,
    )
    assert 1 == len(plan.queries[0].rows.above)


@pytest.mark.parametrize(
    ("options", "unit", "sizes"),
    [
        ({}, 60_000_000, (10, 1, 1)),
        ({"time_unit": "1 s"}, 1_000_000, (600, 60, 60)),
        ({"time_unit": "30 s", "ahead": "45 s"}, 30_000_000, (20, 2, 2)),
    ],
)
def test_times_in_units(options: dict[str, Any], unit: int, sizes: tuple[int, int, int]) -> None:
    plan = planned(f"SELECT count(*) AS n FROM trades {WINDOW}", **options)
    found = plan.design.queries[0]
    assert (unit, sizes) == (plan.clock.unit, (found.range, found.slide, found.slack))


def test_options_say_widths_rooms_and_ways() -> None:
    plan = planned(
        f"SELECT volume, sum(price) AS total FROM trades {WINDOW} GROUP BY volume STRATEGY wid",
        widths={"price": 12, "total": 40},
        groups=7,
        not_null=("*",),
        time_width=20,
        variant="literal",
    )
    design = plan.design
    assert BitLayout((Field("price", 12), Field("volume", 16, False))) == design.layout
    assert (40, 7, 20, CircuitAlgorithm.WID, "literal") == (
        design.queries[0].parts[0].width,
        design.queries[0].groups,
        design.time_width,
        design.algorithm,
        design.variant.value,
    )
    assert (
        CircuitAlgorithm.PANES
        is planned(f"SELECT count(*) AS n FROM trades {WINDOW} STRATEGY wid", algorithm="panes").design.algorithm
    )


def test_times_dates_and_strings_in_conditions() -> None:
    plan = planned(
        f"SELECT count(*) AS n FROM trades {WINDOW} WHERE time >= '1970-01-02' AND day < DATE '1970-01-11' "
        "AND symbol IN ('ABBN', 'NESN')",
        dictionaries=SYMBOLS,
    )
    calls = [one for one in plan.design.queries[0].where if isinstance(one, Call)]
    numbers = [[one.value for one in call.arguments if isinstance(one, Literal)] for call in calls]
    assert [[86_400_000_000], [10], [2, 3]] == numbers


def test_several_queries_share_a_circuit() -> None:
    texts = (
        f"SELECT count(*) AS n FROM trades {WINDOW}",
        "SELECT sum(price) AS t FROM trades [RANGE 90 SECONDS WATTR time]",
    )
    stream = trades()
    made = plan_circuit([wr.sql(text, trades=stream).plan for text in texts])
    assert isinstance(made, AggregatePlan)
    assert isinstance(made.design, AggregateDesign)
    assert [(20, 2), (3, 3)] == [(one.range, one.slide) for one in made.design.queries]
    assert 30_000_000 == made.clock.step


def test_windows_of_several_queries_need_a_common_end() -> None:
    stream = trades()
    queries = [
        stream.window(range="60 s", origin=origin).agg(n=wr.count()).plan
        for origin in ("1970-01-01", "1970-01-01 00:00:07")
    ]
    with pytest.raises(
        UnsupportedError, match=r"\A`origin` must have one time at which windows of all queries .* end, got"
    ):
        plan_circuit(queries)


def test_a_join_by_arrival_is_an_array() -> None:
    text = """SELECT a.price, b.price AS other FROM trades AS a [RANGE 8 ROWS] JOIN quotes AS b [RANGE 4 ROWS]
        ON a.symbol = b.symbol AND a.price < b.price"""
    asked = query(text, quotes=wr.stream(ROWS, time="time", name="quotes"))
    names = [name for columns in strings_of(asked_of([asked.plan])).values() for _, name in columns]
    made = plan_circuit([asked.plan], CircuitOptions(dictionaries=dict.fromkeys(names, ("x", "y")), cores=2))
    assert isinstance(made, JoinPlan)
    assert isinstance(made.design, JoinDesign)
    assert (8, 4, 2) == (made.design.left_rows, made.design.right_rows, made.design.cores)
    assert {"a_symbol", "a_price", "a_time"} >= {field.name for field in made.design.left.fields}


def over(progress: Any) -> wr.Query:
    return trades(progress).window(range="10 s").agg(n=wr.count())


def of(function: Any) -> wr.Query:
    return trades().window(range="10 s").agg(a=function)


def sql(rest: str) -> Callable[[], wr.Query]:
    return lambda: query(f"SELECT count(*) AS n FROM trades {rest}")


def joined(
    on: str = "a.price = b.price", kind: str = "JOIN", window: str = "[RANGE 4 ROWS]", left: str = "trades"
) -> wr.Query:
    text = f"SELECT a.price FROM {left} AS a {window} {kind} quotes AS b {window} ON {on}"
    return query(text, quotes=wr.stream(ROWS, time="time", name="quotes", progress=wr.slack("1 s")))


REFUSED: dict[str, tuple[Callable[[], wr.Query], str]] = {
    "holistic": (
        lambda: of(wr.median("price")),
        r"`aggregates` must be count, sum, min, max or avg in hardware: .*, got median\(price\)",
    ),
    "strings in aggregates": (lambda: of(wr.max("symbol")), r"`aggregates` of strings must be count in hardware"),
    "floats": (
        lambda: of(wr.sum("rate")),
        r"`rate` is a double column, and hardware computes with whole numbers only\. Hint: scale it",
    ),
    "floats in conditions": (
        sql(f"{WINDOW} WHERE price > 1.5"),
        r"`constants` must be whole numbers, .* in hardware, got 1\.5",
    ),
    "division": (
        sql(f"{WINDOW} WHERE price / 2 > 1"),
        r"`/` is not available in hardware, which has \+ - \*, comparisons",
    ),
    "order of strings": (sql(f"{WINDOW} WHERE symbol > 'A'"), r"`strings` must be compared by =, <> or IN"),
    "computed keys": (
        lambda: trades().group_by(p="price + 1").window(range="5 s").agg(n=wr.count()),
        r"`keys` must be columns in hardware, got",
    ),
    "sessions": (
        lambda: trades().window(gap="5 s").agg(n=wr.count()),
        r"session windows are not available in hardware: .*\. Hint: use RANGE",
    ),
    "landmark": (
        lambda: trades().window(range="unbounded", slide="5 s").agg(n=wr.count()),
        r"landmark windows are not available in hardware",
    ),
    "windows of rows": (
        lambda: trades().window(rows=5).agg(n=wr.count()),
        r"windows of rows are not available in hardware",
    ),
    "slide by tuple": (
        lambda: trades().window(range="5 s", slide="1 row").agg(n=wr.count()),
        r"slide-by-tuple windows are not available in hardware",
    ),
    "late side": (
        lambda: over(None).late("side"),
        r"LATE SIDE is not available in hardware: late rows are counted, and not kept",
    ),
    "late revise": (lambda: over(None).late("revise"), r"LATE REVISE is not available in hardware"),
    "early": (lambda: over(None).early("5 s"), r"EMIT EARLY is not available in hardware"),
    "empty": (lambda: over(None).emit("empty"), r"EMIT EMPTY is not available in hardware"),
    "complete": (lambda: over(None).emit("complete"), r"EMIT COMPLETE is not available in hardware"),
    "strategy": (
        lambda: over(None).strategy("buffer"),
        r"`strategy` must be auto, wid or panes in hardware, got buffer",
    ),
    "no promises": (
        lambda: over(wr.at_end()),
        r"`progress` must say how windows close in hardware: .*, got none for trades",
    ),
    "promises for groups": (
        lambda: over(wr.punctuated("mark", per="symbol")),
        r"punctuations for single groups are not available in hardware",
    ),
    "partitions": (
        lambda: over(wr.slack("5 s", per="symbol")),
        r"progress by partition is not available in hardware: the rows of a circuit have one clock\. "
        r"Hint: leave out PER symbol of trades and give more slack",
    ),
    "nested": (
        lambda: over(None).window(range="20 s").agg(m=wr.count()),
        r"windows over windows are not available in hardware",
    ),
    "unions": (
        lambda: trades().union(trades()).window(range="5 s").agg(n=wr.count()),
        r"unions of streams are not available in hardware",
    ),
    "distinct": (lambda: trades().distinct(), r"DISTINCT is not available in hardware"),
    "no windows": (lambda: trades().where("price > 1"), r"queries without windows are not available in hardware"),
    "joins by time": (lambda: joined(window="[RANGE 5 SECONDS]"), r"joins by time are not available in hardware"),
    "outer joins": (
        lambda: joined(kind="LEFT JOIN"),
        r"left joins are not available in hardware, which gives the pairs that meet",
    ),
    "steps below a join": (
        lambda: joined(left="(SELECT price + 1 AS price, time FROM trades)"),
        r"a join in hardware reads streams as they are",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_circuit_cannot_do(name: str) -> None:
    make, message = REFUSED[name]
    with pytest.raises(UnsupportedError, match=rf"\A{message}") as caught:
        planned(make(), dictionaries=SYMBOLS if "string" in name else {})
    assert str(caught.value).count("\n") == 0


def test_strings_need_a_dictionary() -> None:
    message = r"\A`symbol` is a string column, which hardware reads through a dictionary only\. Hint: list its values"
    with pytest.raises(UnsupportedError, match=message):
        planned(f"SELECT count(*) AS n FROM trades {WINDOW} GROUP BY symbol")


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "ahead": (
        {},
        r"`ahead` must say how far rows may be ahead of the last promise, which punctuations leave open\. Hint: ",
    ),
    "algorithm": ({"algorithm": "fast"}, r"`algorithm` must be known \(one of wid, panes\), got fast\.\Z"),
    "variant": ({"variant": "x"}, r"`variant` must be known \(one of literal, repaired\), got x\.\Z"),
    "width": ({"widths": {"price": 65}}, r"`width of price` must be 1 to 64 bits, got 65\.\Z"),
    "names": (
        {"widths": {"prize": 6}, "ahead": "1 s"},
        r"`widths` must be for columns that the circuit reads, or aggregates, got prize\. Hint: the circuit has price",
    ),
    "groups": ({"groups": 0}, r"`groups` must be at least 1, got 0\.\Z"),
    "time width": ({"time_width": 2}, r"`time_width` must be 4 to 64 bits, got 2\.\Z"),
    "too few bits of time": (
        {"time_width": 8, "time_unit": "1 s", "ahead": "60 s"},
        r"`time_width` must have at least 1\d bits, for RANGE, SLIDE and .*, got 8\. Hint: give more bits",
    ),
    "time unit": (
        {"time_unit": "7 s", "ahead": "1 s"},
        r"`time_unit` must divide RANGE and SLIDE, and so 1 min, got 7 s\.\Z",
    ),
    "dictionary": (
        {"dictionaries": {"symbol": ("a", "a")}},
        r"`dictionary of symbol` must be a list of different strings",
    ),
    "too many modules": (
        {"ahead": "10 d"},
        r"`circuit` would take 14,401 modules, and a chip has room for some 1,024 at most\. Hint: ",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_options_that_do_not_fit(name: str) -> None:
    options, message = WRONG[name]
    stream = trades(wr.punctuated("mark"))
    windows = stream.where("price > 0").window(range="10 min", slide="1 min").agg(n=wr.count())
    with pytest.raises(ConfigurationError, match=rf"\A{message}"):
        planned(windows, **options)


def test_every_refusal_says_a_way_out_or_what_it_got() -> None:
    for make, _ in REFUSED.values():
        with pytest.raises(WindrowError) as caught:
            planned(make(), dictionaries=SYMBOLS)
        assert re.search(r"Hint: |, got ", str(caught.value))
