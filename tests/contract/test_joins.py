"""Joins on every engine: kinds, predicates, late rows, and windows above and below."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import windrow as wr
from tests.contract.engines import Engine, check_each, check_late, given, same_on_connect
from tests.contract.reference import Reference
from tests.contract.streams import SCHEMA, SIZE, punctuated, rows
from tests.contract.test_frames import drained, files, same, static, streaming, whole
from windrow.plan.checks.joins import joined_names, usual_time
from windrow.plan.nodes import Join, Late
from windrow.query import Query
from windrow.query.fluent import to_expression
from windrow.semantics.joins import AsOf, Between, JoinKind, JoinWindow, SameWindow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = {"a": rows(43, 0), "b": rows(44, -10)}
ELEMENTS = {"a": punctuated(41, 0), "b": punctuated(42, -10, step=35)}
EQUALITY = "a_k = b_k and a_g = b_g"
BAND = "a_x >= b_x - 2 and a_x <= b_x + 1"


A, B = (
    wr.stream(elements, time="ts", schema=SCHEMA, progress=wr.punctuated(), name=name)
    for name, elements in ELEMENTS.items()
)
"""Opened once, so that queries which run together read them together."""


def joined(left: Query, right: Query, on: str | None, window: JoinWindow, kind: JoinKind, **others: Any) -> Query:
    names = joined_names([left.schema, right.schema], ("a", "b"))
    both = {c.name: (left, right)[c.side].schema.field(c.source).type for c in names}
    predicate = None if on is None else to_expression(on, pa.schema(both))
    plan = Join(left.plan, right.plan, kind, window, predicate, names, ("a", "b"), usual_time(kind), **others)
    return Query(plan, {**left.sources, **right.sources})


def late(on: str, window: JoinWindow, kind: JoinKind) -> Query:
    return joined(A, B, on, window, kind, late=Late.SIDE)


def over_a_join() -> Query:
    pairs = joined(A.where("x is not null"), B, EQUALITY, Between(-30, 20), JoinKind.LEFT)
    return pairs.group_by(k="a_k").window(range=60, slide=20).agg(n=wr.count(), met=wr.count("b_ts"))


def windows_joined() -> Query:
    left, right = (one.group_by("k").window(range=20).agg(n=wr.count()) for one in (A, B))
    return joined(left, right, "a_k = b_k and a_window_end = b_window_end", Between(-20, 20), JoinKind.INNER)


QUERIES = {
    "late, equality, full": late(EQUALITY, Between(-30, 20), JoinKind.FULL),
    "late, band, left": late(BAND, Between.of_ranges(12, 9), JoinKind.LEFT),
    "late, any predicate": late("a_x + b_x > 3", SameWindow(10), JoinKind.INNER),
    "late, as of": late(EQUALITY, AsOf(within=25), JoinKind.LEFT),
    "right alone": joined(A, B, BAND, Between(-20, 10), JoinKind.RIGHT),
    "semi": joined(A, B, BAND, Between(-20, 10), JoinKind.SEMI),
    "anti": joined(A, B, BAND, Between(-20, 10), JoinKind.ANTI),
    "a stream with itself": joined(A, A, "a_k = b_k and a_x < b_x", Between(0, 15), JoinKind.INNER),
    "windows over a join": over_a_join(),
    "windows joined": windows_joined(),
}


def test_joins(engine: Engine) -> None:
    expected = check_each(engine, QUERIES, ELEMENTS, SIZE, connected=["late, equality, full"])
    assert [] == [name for name, found in expected.items() if name.startswith("late") and not found.rows_late]


def framed(left: DataFrame, right: DataFrame, **others: Any) -> Query:
    sides = [wr.stream(one, time="ts", progress=wr.slack(20), name=name) for one, name in ((left, "a"), (right, "b"))]
    return joined(sides[0], sides[1], BAND, Between(-20, 10), JoinKind.LEFT, **others)


def test_static_frames(spark: SparkSession) -> None:
    query = framed(*(static(spark, ROWS[name]) for name in "ab"))
    expected = Reference(given(query.plan, ROWS), whole).answer(query.plan)
    same(query, expected.results, query.to_spark())


@same_on_connect
def test_late_rows_of_streaming_frames(on_frames: Engine, spark: SparkSession, tmp_path: Path) -> None:
    frames = (streaming(spark, files(tmp_path / name, ROWS[name])) for name in "ab")
    query = framed(*frames, late=Late.SIDE)
    expected = on_frames.expected(query.plan, ROWS, SIZE)
    found = drained(query.late_to_spark(), tmp_path / "out").toArrow().to_pylist()
    assert expected.rows_late == len(found) > 0
    check_late(expected.late, found, {"a", "b"})
