"""Joins on every engine: kinds, predicates, late rows, and windows above and below."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import windrow as wr
from tests.contract.engines import Engine, check, check_late, given, same_on_connect
from tests.contract.reference import Reference
from tests.contract.streams import SCHEMA, SIZE, punctuated, rows
from tests.contract.test_frames import drained, files, same, static, streaming, whole
from windrow.plan.joins import joined_names, usual_time
from windrow.plan.nodes import Join, JoinKind, Late
from windrow.query import Query
from windrow.query.fluent import to_expression
from windrow.semantics.joins import AsOf, Between, JoinWindow, SameWindow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = {"a": rows(43, 0), "b": rows(44, -10)}
ELEMENTS = {"a": punctuated(41, 0), "b": punctuated(42, -10, step=35)}
EQUALITY = "a_k = b_k and a_g = b_g"
BAND = "a_x >= b_x - 2 and a_x <= b_x + 1"


def stream(name: str) -> Query:
    return wr.stream(ELEMENTS[name], time="ts", schema=SCHEMA, progress=wr.punctuated(), name=name)


def joined(left: Query, right: Query, on: str | None, window: JoinWindow, kind: JoinKind, **others: Any) -> Query:
    names = joined_names([left.schema, right.schema], ("a", "b"))
    both = {c.name: (left, right)[c.side].schema.field(c.source).type for c in names}
    predicate = None if on is None else to_expression(on, pa.schema(both))
    plan = Join(left.plan, right.plan, kind, window, predicate, names, ("a", "b"), usual_time(kind), **others)
    return Query(plan, {**left.sources, **right.sources})


@pytest.mark.parametrize(
    ("on", "window", "kind"),
    [
        (EQUALITY, Between(-30, 20), JoinKind.FULL),
        pytest.param(BAND, Between.of_ranges(12, 9), JoinKind.LEFT, marks=same_on_connect),
        pytest.param("a_x + b_x > 3", SameWindow(10), JoinKind.INNER, marks=same_on_connect),
        pytest.param(EQUALITY, AsOf(within=25), JoinKind.LEFT, marks=same_on_connect),
    ],
)
def test_joins_and_their_late_rows(engine: Engine, on: str, window: JoinWindow, kind: JoinKind) -> None:
    query = joined(stream("a"), stream("b"), on, window, kind, late=Late.SIDE)
    assert check(engine, query, ELEMENTS, SIZE).rows_late > 0


@same_on_connect
@pytest.mark.parametrize("kind", [JoinKind.RIGHT, JoinKind.SEMI, JoinKind.ANTI])
def test_one_side_alone(engine: Engine, kind: JoinKind) -> None:
    check(engine, joined(stream("a"), stream("b"), BAND, Between(-20, 10), kind), ELEMENTS, SIZE)


@same_on_connect
def test_a_stream_with_itself(engine: Engine) -> None:
    query = joined(stream("a"), stream("a"), "a_k = b_k and a_x < b_x", Between(0, 15), JoinKind.INNER)
    check(engine, query, ELEMENTS, SIZE)


@same_on_connect
def test_windows_over_a_join(engine: Engine) -> None:
    pairs = joined(stream("a").where("x is not null"), stream("b"), EQUALITY, Between(-30, 20), JoinKind.LEFT)
    query = pairs.group_by(k="a_k").window(range=60, slide=20).agg(n=wr.count(), met=wr.count("b_ts"))
    check(engine, query, ELEMENTS, SIZE)


@same_on_connect
def test_windows_joined(engine: Engine) -> None:
    left, right = (stream(name).group_by("k").window(range=20).agg(n=wr.count()) for name in "ab")
    query = joined(left, right, "a_k = b_k and a_window_end = b_window_end", Between(-20, 20), JoinKind.INNER)
    check(engine, query, ELEMENTS, SIZE)


def framed(left: DataFrame, right: DataFrame, **others: Any) -> Query:
    sides = [wr.stream(one, time="ts", progress=wr.slack(20), name=name) for one, name in ((left, "a"), (right, "b"))]
    return joined(sides[0], sides[1], BAND, Between(-20, 10), JoinKind.LEFT, **others)


def test_static_frames(spark: SparkSession) -> None:
    query = framed(*(static(spark, ROWS[name]) for name in "ab"))
    expected = Reference(given(query.plan, ROWS), whole).answer(query.plan)
    same(query, expected.results, query.to_spark())


def test_late_rows_of_streaming_frames(on_frames: Engine, spark: SparkSession, tmp_path: Path) -> None:
    frames = (streaming(spark, files(tmp_path / name, ROWS[name])) for name in "ab")
    query = framed(*frames, late=Late.SIDE)
    expected = on_frames.expected(query.plan, ROWS, SIZE)
    found = drained(query.late_to_spark(), tmp_path / "out").toArrow().to_pylist()
    assert expected.rows_late == len(found) > 0
    check_late(expected.late, found, {"a", "b"})
