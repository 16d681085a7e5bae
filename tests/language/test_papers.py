"""The queries of the papers, as printed there, give the plans they describe."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.language.streams import MINUTE, SECOND, names_read
from windrow.language import parse, to_sql
from windrow.plan.conditions import conjuncts
from windrow.plan.nodes import Filter, Join, JoinTime, Project, Stream, Union, WindowAggregate, walk
from windrow.semantics.joins import Between, JoinWindow, SameWindow
from windrow.semantics.scalars.expressions import Call, Column, Literal
from windrow.semantics.windows.kinds import Landmark, RowsWindow, SlideBy, SlideByTuple, Sliding, Window

PAPERS = Path(__file__).parents[1] / "golden" / "papers"

UBSN = Call("=", (Column("Symbol"), Literal("UBSN")))
SOURCES = Call(
    "or",
    (
        Call("=", (Column("srcIP"), Literal("202.101.0.0"))),
        Call("=", (Column("srcIP"), Literal("202.101.0.1"))),
    ),
)
TEN_BY_ONE = Sliding("ts", 10 * MINUTE, MINUTE)
EXPECTED: dict[str, tuple[Window, tuple[str, ...], dict[str, str], tuple[str, ...]]] = {
    "000-q3": (Sliding("Time", 600 * SECOND, 60 * SECOND), (), {"Number": "count(*)"}, ("Trades",)),
    "001-q1": (Sliding("timestamp", 4 * MINUTE, MINUTE), (), {"max_bid_price": "max(bid-price)"}, ("bids",)),
    "001-q2": (Sliding("timestamp", MINUTE, MINUTE), (), {"p-max": "max(bid-price)"}, ("bids",)),
    "001-q3": (Sliding("timestamp", 4 * MINUTE, MINUTE), (), {"w-max": "max(p-max)"}, ("panes",)),
    "001-q4": (Sliding("Time", 600 * SECOND, 60 * SECOND), (), {"Number": "count(*)"}, ("Trades",)),
    "004-q1-1": (TEN_BY_ONE, ("srcIP",), {"count": "count(*)"}, ("M",)),
    "004-q1-2": (Sliding("ts", MINUTE, MINUTE), (), {"count": "count(*)"}, ("Control", "Main1", "Main2")),
    "004-q2-1": (Sliding("ts", 1, 1), ("srcIP",), {"count": "count(*)"}, ("Main1",)),
    "004-q5-1": (TEN_BY_ONE, ("srcIP",), {"count": "count(*)"}, ("Main",)),
    "004-q5-2": (RowsWindow(1000, 10, ("srcIP",)), ("srcIP",), {"max_length": "max(length)"}, ("Main",)),
    "004-q5-3": (RowsWindow(1000, 10), ("srcIP",), {"max_length": "max(length)"}, ("Main",)),
    "004-q5-4": (Landmark("ts", MINUTE), ("srcIP",), {"count": "count(*)"}, ("Main1",)),
    "004-q5-5": (SlideByTuple("ts", 5 * MINUTE, 1), (), {"max_length": "max(length)"}, ("Main",)),
    "004-q5-6": (SlideByTuple("ts", 5 * MINUTE, 5, SlideBy.RANK), (), {"count": "count(*)"}, ("Main",)),
    "004-q6-1": (TEN_BY_ONE, ("srcIP",), {"count": "count(*)"}, ("Main",)),
    "004-q6-2": (Sliding("ts", 4 * MINUTE, MINUTE), (), {"max_length": "max(length)"}, ("Main",)),
    "004-q6-3": (Sliding("ts", 4 * MINUTE, MINUTE), ("srcIP",), {"count": "count(*)"}, ("packets",)),
    "004-q6-4": (TEN_BY_ONE, (), {"heavy_hitters_srcIP": "heavy_hitters(srcIP, 0.05)"}, ("packets",)),
    "004-q6-5": (Sliding("ts", 5 * MINUTE, MINUTE), ("srcIP",), {"count": "count(*)"}, ("M1",)),
    "004-q6-6": (Sliding("ts", 10 * SECOND, SECOND), ("srcIP",), {"sum_len": "sum(len)"}, ("packets",)),
    "004-q6-7": (Sliding("ts", SECOND, SECOND), ("srcIP",), {"sum_len": "sum(len)"}, ("Main",)),
    "004-q6-8": (Sliding("ts", 10 * SECOND, SECOND), ("srcIP",), {"count": "count(*)"}, ("Main2", "Main1", "Control")),
    "004-q8-1": (Sliding("ts", MINUTE, MINUTE), ("srcIP", "destIP"), {"count": "count(*)"}, ("Main",)),
    "004-q8-2": (Sliding("ts", MINUTE, MINUTE), ("srcIP", "destIP"), {"count": "count(*)"}, ("M1", "M2")),
    "004-q8-5": (Sliding("ts", 5 * MINUTE, MINUTE), (), {"count": "count(*)"}, ("M1", "M2", "C")),
}
PREDICATES = {"000-q3": UBSN, "001-q4": UBSN, "004-q2-1": SOURCES}
COLUMNS = {
    "000-q3": {"window_start": "window_start", "window_end": "window_end", "Time": "window_end", "Number": "Number"},
    "004-q2-1": {
        "srcIP": "srcIP",
        "ts": "window_start",
        "window_start": "window_start",
        "window_end": "window_end",
        "count": "count",
    },
    "004-q6-3": {"window_start": "window_start", "window_end": "window_end", "count": "count"},
}


def read(name: str) -> str:
    return (PAPERS / f"{name}.sql").read_text(encoding="utf-8")


def test_every_paper_query_is_expected() -> None:
    assert sorted(EXPECTED) == sorted(path.stem for path in PAPERS.glob("*.sql"))


@pytest.mark.parametrize("name", EXPECTED)
def test_query_gives_its_plan(name: str) -> None:
    script = parse(read(name))
    (node,) = script.queries
    aggregate = node.input if isinstance(node, Project) else node
    assert isinstance(aggregate, WindowAggregate)
    window, keys, calls, streams = EXPECTED[name]
    assert window == aggregate.window
    assert tuple((key, Column(key)) for key in keys) == aggregate.keys
    assert calls == {call.name: str(call) for call in aggregate.aggregates}
    assert streams == names_read(script)


@pytest.mark.parametrize("name", EXPECTED)
def test_where_and_union_stand_below_the_window(name: str) -> None:
    (node,) = parse(read(name)).queries
    aggregate = node.input if isinstance(node, Project) else node
    assert isinstance(aggregate, WindowAggregate)
    source = aggregate.input
    if name in PREDICATES:
        assert isinstance(source, Filter)
        assert PREDICATES[name] == source.predicate
        source = source.input
    assert (Union if len(EXPECTED[name][3]) > 1 else Stream) is type(source)


@pytest.mark.parametrize("name", COLUMNS)
def test_the_answer_has_the_selected_columns_and_the_bounds(name: str) -> None:
    (node,) = parse(read(name)).queries
    assert isinstance(node, Project)
    assert tuple((name, Column(source)) for name, source in COLUMNS[name].items()) == node.columns


@pytest.mark.parametrize("name", EXPECTED)
def test_the_plan_reads_back_from_its_sql(name: str) -> None:
    script = parse(read(name))
    assert script.queries == parse(to_sql(script.queries[0]), script.streams).queries


LINK = "(srcIP STRING, destIP STRING, srcPort INT, destPort INT, type STRING, ts {}) PROGRESS ON ts;"
NETFLOW = ["M1.srcIP = M2.destIP", "M1.destIP = M2.srcIP", "M1.srcPort = M2.destPort", "M1.destPort = M2.srcPort"]
ADDRESSES = ("Main1_srcIP = Main2_destIP",)
PORTS = tuple(condition.replace(".", "_") for condition in NETFLOW)
JOINS: dict[str, tuple[str, JoinWindow, tuple[str, ...], JoinTime]] = {
    "Q3-1": (
        "SELECT * FROM Main1 [WA ts, RANGE 3 min], Main2 [WA ts, RANGE 2 min] WHERE Main1.srcIP = Main2.destIP;",
        Between.of_ranges(3 * MINUTE, 2 * MINUTE),
        ADDRESSES,
        JoinTime.LEFT,
    ),
    "Q5-7": (
        "SELECT Main1.srcIP, Main1.destIP, Main2.srcIP, Main2.destIP, Main2.ts FROM Main1, Main2 "
        "[RANGE TUMBLING 5 minutes, WA ts] WHERE Main1.srcIP = Main2.destIP",
        SameWindow(5 * MINUTE),
        ADDRESSES,
        JoinTime.RIGHT,
    ),
    "Q5-8": (
        "SELECT Main1.srcIP, Main1.destIP, Main2.srcIP, Main2.destIP, Main2.ts FROM Main1 [RANGE 3 minutes, WA ts], "
        "Main2 [RANGE 2 minutes, WA ts] WHERE Main1.srcIP = Main2.destIP",
        Between.of_ranges(3 * MINUTE, 2 * MINUTE),
        ADDRESSES,
        JoinTime.RIGHT,
    ),
    "Q7-1": (
        "SELECT S0.ts, S1.ts, count(*) FROM S0, S1 WHERE S0.srcIP = S1.destIP AND S0.ts - 2 <= S1.ts "
        "AND S1.ts <= S0.ts + 2 AND S0.type = 'SYN' AND S1.type = 'SYN_ACK' GROUP BY S0.ts, S1.ts",
        Between(-2, 2),
        ("S0_srcIP = S1_destIP",),
        JoinTime.LEFT,
    ),
    "Q7-2": (
        "SELECT count(*) [RANGE 1 minute, SLIDE 1 minute, WA M1.ts] FROM M1 [RANGE 9 s, WA ts], M2 [RANGE 9 s, WA ts] "
        f"WHERE {' and '.join(NETFLOW)}",
        Between.of_ranges(9 * SECOND, 9 * SECOND),
        PORTS,
        JoinTime.LEFT,
    ),
    "Q8-3": (
        "SELECT M1.srcIP, M1.destIP, M1.ts FROM Main1 UNION Main2 as M1, Main2 UNION Main1 as M2 "
        f"[RANGE TUMBLING 10 seconds, WA ts] WHERE {' and '.join(NETFLOW)}",
        SameWindow(10 * SECOND),
        PORTS,
        JoinTime.LEFT,
    ),
    "Q8-4": (
        "SELECT M1.srcIP, M1.destIP, M1.ts FROM M1, M2 Union Main1 as M3 [RANGE TUMBLING 1 minute, WA ts] "
        f"WHERE {' and '.join(NETFLOW).replace('M2', 'M3')}",
        SameWindow(MINUTE),
        tuple(condition.replace("M2", "M3") for condition in PORTS),
        JoinTime.LEFT,
    ),
}


def declared(text: str) -> str:
    kinds = {**dict.fromkeys(("Main1", "Main2", "M1", "M2"), "TIMESTAMP"), "S0": "INT", "S1": "INT"}
    return "".join(f"CREATE STREAM {name} {LINK.format(kind)}" for name, kind in kinds.items()) + text


@pytest.mark.parametrize("name", JOINS)
def test_joins_of_the_papers(name: str) -> None:
    text, window, on, time = JOINS[name]
    (node,) = parse(declared(text)).queries
    (found,) = (part for part in walk(node) if isinstance(part, Join))
    assert window == found.window
    assert on == tuple(str(part)[1:-1] for part in conjuncts(found.on))
    assert time is found.time


@pytest.mark.parametrize("name", JOINS)
def test_joins_of_the_papers_read_back(name: str) -> None:
    script = parse(declared(JOINS[name][0]))
    assert script.queries == parse(to_sql(script.queries[0]), script.streams).queries
