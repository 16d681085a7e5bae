"""Every aggregate query of the papers, as printed there, gives the plan it describes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.language.streams import MINUTE, SECOND
from windrow.language import parse, to_sql
from windrow.plan.nodes import Filter, Project, Stream, Union, WindowAggregate
from windrow.semantics.expressions import Call, Column, Literal
from windrow.semantics.windows import Landmark, Rows, SlideBy, SlideByTuple, Sliding, Window

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
    "004-q5-2": (Rows(1000, 10, ("srcIP",)), ("srcIP",), {"max_length": "max(length)"}, ("Main",)),
    "004-q5-3": (Rows(1000, 10), ("srcIP",), {"max_length": "max(length)"}, ("Main",)),
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
    assert streams == script.names


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
