"""Joins as SQL text: the text is the expected one, and any join reads back to the same plan."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.language.links import LEFT_FLOW, LINKS, RIGHT_FLOW, STREAMS, USERS, plan
from windrow.errors import UnsupportedError
from windrow.language import parse, to_sql
from windrow.physical.rules.choose_joins import choose_join
from windrow.plan.build.joins import Both
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import (
    AggregateCall,
    Distinct,
    Filter,
    Join,
    JoinStrategy,
    JoinTime,
    Late,
    Node,
    OrderedOutput,
    Project,
    Stream,
    Union,
    WindowAggregate,
)
from windrow.semantics.joins import AsOf, Between, JoinKind, JoinWindow, LastRows, SameWindow
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal
from windrow.semantics.windows.kinds import Sliding

TEXTS = [
    (
        "SELECT * FROM M1 [RANGE 3 min, WA ts], M2 [RANGE 2 min, WA ts] WHERE M1.srcIP = M2.destIP LATE SIDE",
        "SELECT * FROM M1 [RANGE 3 MINUTES] JOIN M2 [RANGE 2 MINUTES] ON (M1.srcIP = M2.destIP) LATE SIDE",
    ),
    (
        "SELECT M2.ts FROM M1, M2 [RANGE TUMBLING 5 min] WHERE M1.srcIP = M2.destIP AND M1.srcPort > 5",
        "SELECT M2_ts AS ts FROM (SELECT * FROM (SELECT * FROM M1 WHERE (srcPort > 5)) AS M1 JOIN M2 "
        "[RANGE TUMBLING 5 MINUTES] ON (M1.srcIP = M2.destIP) TIMED BY M2.ts)",
    ),
    (
        "SELECT * FROM A LEFT JOIN B ON A.ts BETWEEN B.ts - INTERVAL '5' SECOND AND B.ts",
        "SELECT * FROM A LEFT JOIN B ON B.ts >= A.ts + INTERVAL '0' MICROSECOND AND B.ts <= A.ts + INTERVAL '5' SECOND",
    ),
    (
        "SELECT * FROM l AS a SEMI JOIN l AS b [RANGE TUMBLING 5] USING (k) STRATEGY scan",
        "SELECT * FROM l AS a SEMI JOIN l AS b [RANGE TUMBLING 5] ON (a.k = b.k) STRATEGY scan",
    ),
    (
        "SELECT * FROM l ASOF LEFT JOIN r ON l.ts - r.ts <= 5 AND l.k = r.k AND l.ts > r.ts",
        "SELECT * FROM l ASOF LEFT JOIN r ON (l.k = r.k) AND l.ts > r.ts AND r.ts >= l.ts - 5",
    ),
    (
        "SELECT count(*) [RANGE 10 WATTR least(l.ts, r.ts)] FROM l [RANGE 9 ROWS], r [RANGE 9 ROWS]",
        "SELECT count(*) AS count FROM (SELECT * FROM l [RANGE 9 ROWS] JOIN r [RANGE 9 ROWS] "
        "TIMED BY least(l.ts, r.ts)) [RANGE 10 SLIDE 10 WATTR earlier]",
    ),
]


@pytest.mark.parametrize(("written", "canonical"), TEXTS)
def test_canonical_text(written: str, canonical: str) -> None:
    node = plan(written)
    assert canonical == to_sql(node)
    assert node == plan(canonical)


LENGTHS = st.integers(1, 10**12)
OFFSETS = st.integers(-(10**12), 10**12)
INTERVALS = st.tuples(OFFSETS, OFFSETS).map(lambda ends: Between(min(ends), max(ends)))
RANGES = st.builds(Between.of_ranges, LENGTHS, LENGTHS)
TUMBLING = st.builds(SameWindow, LENGTHS, OFFSETS)
BACKWARD = st.builds(AsOf, st.just(False), st.booleans(), st.none() | LENGTHS)
AS_OF = BACKWARD | st.builds(AsOf, st.just(True), st.booleans(), LENGTHS)
WINDOWS: st.SearchStrategy[JoinWindow] = INTERVALS | RANGES | TUMBLING | st.builds(LastRows, LENGTHS, LENGTHS) | AS_OF
ALIASES = st.sampled_from([("a", "b"), ("a b", "select"), ("left", "right"), ("p-max", 'say "x"')])
BOTH = [JoinTime.EARLIER, JoinTime.LATER]
TIMES = {
    JoinKind.INNER: list(JoinTime),
    JoinKind.LEFT: [JoinTime.LEFT, *BOTH],
    JoinKind.RIGHT: [JoinTime.RIGHT, *BOTH],
    JoinKind.FULL: BOTH,
    JoinKind.SEMI: [JoinTime.LEFT],
    JoinKind.ANTI: [JoinTime.LEFT],
}
PREDICATES = st.sampled_from(["=", "<", "<>", ">="])


@st.composite
def sides(draw: st.DrawFn, streams: list[Stream], depth: int) -> Node:
    """A stream, something above one, or a join."""
    stream = draw(st.sampled_from(streams))
    shape = draw(st.integers(0, 4 if depth else 3))
    if shape == 1:
        return Filter(stream, Call(">", (Column(stream.schema.names[0]), Column(stream.schema.names[0]))))
    if shape == 2:
        return Project(stream, tuple((f"{name} 2", Column(name)) for name in stream.schema.names))
    if shape == 3:
        return Union((stream, stream))
    return draw(joins(streams, depth - 1)) if shape == 4 else stream


@st.composite
def joins(draw: st.DrawFn, streams: list[Stream], depth: int = 1) -> Join:
    """Any join that can be said."""
    window = draw(WINDOWS)
    kinds = (JoinKind.INNER, JoinKind.LEFT) if isinstance(window, AsOf) else tuple(JoinKind)
    kind = draw(st.sampled_from(kinds))
    inputs = draw(sides(streams, depth)), draw(sides(streams, 0))
    both = Both(inputs[0], inputs[1], draw(ALIASES), kind)
    node = both.join(
        window,
        draw(st.none() | conditions(both)),
        time=draw(st.sampled_from([JoinTime.LEFT] if isinstance(window, AsOf) else TIMES[kind])),
        late=draw(st.sampled_from([Late.DROP, Late.SIDE])),
        strategy=draw(st.sampled_from(list(JoinStrategy))),
    )
    try:
        choose_join(node)
    except UnsupportedError:  # not every way answers every join
        return replace(node, strategy=JoinStrategy.AUTO, on=None)
    return node


@st.composite
def conditions(draw: st.DrawFn, both: Both) -> Expression:
    """Comparisons of columns of one type, but not of the two times, which would say more of the window."""
    columns = [(name, both.schema.field(name).type) for name in both.schema.names if name not in both.times]
    found: Expression = Literal(True)
    for _ in range(draw(st.integers(1, 3))):
        name, kind = draw(st.sampled_from(columns))
        other = draw(st.sampled_from([other for other, like in columns if like == kind]))
        part = Call(draw(PREDICATES), (Column(name), Column(other)))
        found = part if found == Literal(True) else Call("and", (found, part))
    return found


FLOWS = joins([LEFT_FLOW, RIGHT_FLOW, USERS])
TIMED = joins([LINKS["M1"], LINKS["M2"]])


@given(FLOWS | TIMED)
def test_joins_read_back(node: Join) -> None:
    assert (node,) == parse(to_sql(node), STREAMS).queries


def _above(node: Join) -> list[Node]:
    time = str(shape_of(node).time)
    return [
        Filter(node, Call("=", (Column(time), Column(time)))),
        Project(node, ((time, Column(time)),)),
        WindowAggregate(node, Sliding(time, 1000, 1000), (), (AggregateCall("n", "count"),)),
        OrderedOutput(node),
        Distinct(node),
        Union((node, node)),
    ]


@given(FLOWS, st.integers(0, 5))
def test_what_stands_above_a_join_reads_back(node: Join, which: int) -> None:
    above = _above(node)[which]
    assert (above,) == parse(to_sql(above), STREAMS).queries
