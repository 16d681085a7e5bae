"""Plans to SQL text: the text is the expected one, and reads back to the same plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.language.streams import CONTROL, PACKETS, STREAMS, TRADES, plan
from windrow.language import parse, to_sql
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
    Union,
    WindowAggregate,
)
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.scalars.expressions import Call, Column, Literal
from windrow.semantics.windows.kinds import Emit, Landmark, RowsWindow, Session, SlideBy, SlideByTuple, Sliding, Window

FIXTURE = Path(__file__).parent / "fixtures" / "canonical.sql"
PAIRS = [
    tuple(block.split("\n-- is\n"))
    for block in FIXTURE.read_text(encoding="utf-8").strip().split("\n\n")
    if "\n-- is\n" in block
]


@pytest.mark.parametrize(("written", "canonical"), PAIRS)
def test_canonical_text(written: str, canonical: str) -> None:
    node = plan(written)
    assert canonical == to_sql(node)
    assert node == plan(canonical)


COUNT = (AggregateCall("n", "count"),)
SRC = (("srcIP", Column("srcIP")),)
BIG = Call(">", (Column("len"), Literal(5)))
COUNTED = WindowAggregate(PACKETS, Sliding("ts", 10, 10), SRC, COUNT)
PLANS: list[Node] = [
    PACKETS,
    Filter(PACKETS, BIG),
    Filter(Filter(PACKETS, BIG), BIG),
    Project(PACKETS, (("select", Column("srcIP")), ("a b", Column("ts")), ('say "x"', Literal(None)))),
    Project(Project(PACKETS, (("ts", Column("ts")),)), (("ts", Column("ts")),)),
    Distinct(PACKETS),
    Distinct(Filter(PACKETS, BIG)),
    Distinct(Project(Filter(PACKETS, BIG), (("ts", Column("ts")),))),
    Distinct(COUNTED),
    Union((PACKETS, CONTROL)),
    Union((Union((PACKETS, CONTROL)), PACKETS)),
    Union((COUNTED, Filter(COUNTED, Call(">", (Column("n"), Literal(1)))))),
    Filter(Union((PACKETS, Filter(CONTROL, BIG))), BIG),
    OrderedOutput(PACKETS),
    OrderedOutput(Filter(PACKETS, BIG)),
    OrderedOutput(COUNTED),
    OrderedOutput(Union((PACKETS, CONTROL))),
    OrderedOutput(Union((COUNTED, COUNTED))),
    OrderedOutput(Union((Filter(PACKETS, BIG), Project(CONTROL, tuple((n, Column(n)) for n in CONTROL.schema.names))))),
    Filter(COUNTED, Call("and", (Call(">", (Column("n"), Literal(1))), Call("<>", (Column("srcIP"), Literal("")))))),
    Filter(Filter(COUNTED, Call(">", (Column("n"), Literal(1)))), Call("<", (Column("n"), Literal(9)))),
    Project(COUNTED, (("end", Column("window_end")),)),
    WindowAggregate(COUNTED, Sliding("window_end", 20, 10), (), (AggregateCall("m", "max", Column("n")),)),
    WindowAggregate(Filter(COUNTED, Call(">", (Column("n"), Literal(1)))), Session("window_end", 5), (), COUNT),
    WindowAggregate(PACKETS, Sliding("ts", 5, 5), (("len", Column("srcIP")), ("k", BIG)), COUNT),
    WindowAggregate(
        TRADES,
        Sliding("time", 5, 5),
        (),
        (
            AggregateCall("q", "quantile", Column("bid-price"), (0.25,)),
            AggregateCall("t", "top_k", Column("symbol"), (3,)),
            AggregateCall("d", "count_distinct", Column("symbol")),
        ),
        Emit.EMPTY,
        Late.REVISE,
        Lateness.CONSISTENT,
        Amount.of("1 hour"),
        Strategy.BUFFER,
    ),
    WindowAggregate(PACKETS, Sliding("ts", 5, 5), (), COUNT, Emit.EMPTY, most_empty=7),
]


@pytest.mark.parametrize("node", PLANS, ids=to_sql)
def test_plans_read_back(node: Node) -> None:
    assert (node,) == parse(to_sql(node), STREAMS).queries


WINDOWS: list[Window] = [
    Sliding("time", 1, 1),
    Sliding("time", 90_000_000, 60_000_000, -1),
    Sliding("time", 7 * 86_400_000_000, 1500, 1_704_067_230_000_001),
    Landmark("time", 86_400_000_000, 5),
    Session("time", 3_600_000_000),
    RowsWindow(10, 1),
    RowsWindow(10, 1, ("symbol", "bid-price")),
    SlideByTuple("time", 60_000_000),
    SlideByTuple("time", 60_000_000, 5, SlideBy.RANK),
    SlideByTuple("time", 60_000_000, 5, SlideBy.RANK, ("symbol", "bid-price")),
]


@pytest.mark.parametrize("window", WINDOWS)
def test_windows_read_back(window: Window) -> None:
    keys = (
        tuple((name, Column(name)) for name in window.partition)
        if isinstance(window, (RowsWindow, SlideByTuple))
        else ()
    )
    node = WindowAggregate(TRADES, window, keys, COUNT)
    assert (node,) == parse(to_sql(node), STREAMS).queries
