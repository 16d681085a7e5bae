"""What both sides of a join are routed by: equal values of any types go to one shard."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pytest

from windrow.operators.divided.routing import shards_of
from windrow.operators.expressions.tree import evaluate
from windrow.physical.division.join_routing import equal_to, routed_pairs
from windrow.plan.checks.joins import joined_names, usual_time
from windrow.plan.nodes import Join, Stream
from windrow.semantics.joins import Between, JoinKind
from windrow.semantics.scalars.expressions import Call, Column, Literal

MOMENT = datetime(2024, 1, 1, 12, tzinfo=timezone.utc)


def joined(left: pa.DataType, right: pa.DataType, kind: JoinKind = JoinKind.INNER) -> Join:
    a, b = (
        Stream(name, pa.schema([("ts", pa.int64()), ("v", type_)]), "ts") for name, type_ in (("a", left), ("b", right))
    )
    names = joined_names([a.schema, b.schema], ("a", "b"))
    on = Call("=", (Column("a_v"), Column("b_v")))
    return Join(a, b, kind, Between(0, 1), on, names, ("a", "b"), usual_time(kind))


@pytest.mark.parametrize(
    ("left", "right", "one", "other"),
    [
        (pa.int32(), pa.int64(), 7, 7),
        (pa.int64(), pa.float64(), 3, 3.0),
        (pa.float32(), pa.float64(), 0.5, 0.5),
        (pa.float64(), pa.float64(), -0.0, 0.0),
        (pa.uint64(), pa.int64(), 7, 7),
        (pa.string(), pa.large_string(), "ab", "ab"),
        (pa.dictionary(pa.int32(), pa.string()), pa.string(), "ab", "ab"),
        (pa.timestamp("s", "UTC"), pa.timestamp("us", "Europe/Paris"), MOMENT, MOMENT),
        (pa.timestamp("ns", "UTC"), pa.timestamp("ns", "UTC"), 1_000_001_000, 1_000_001_000),
        (pa.timestamp("ns", "UTC"), pa.timestamp("us", "UTC"), 1_000_001_000, 1_000_001),
        (pa.bool_(), pa.bool_(), True, True),
    ],
)
def test_equal_values_go_to_one_shard(left: pa.DataType, right: pa.DataType, one: Any, other: Any) -> None:
    ((first, second),) = routed_pairs(joined(left, right))
    sides = (first, left, one), (second, right, other)
    found = {
        int(shards_of([evaluate(e, pa.record_batch({"v": pa.array([value], kind)}))], 1, 1000)[0])
        for e, kind, value in sides
    }
    assert 1 == len(found)


def test_types_that_have_no_common_form_are_not_routed_by() -> None:
    assert [] == routed_pairs(joined(pa.date32(), pa.date64()))


@pytest.mark.parametrize(
    ("kind", "sides"),
    [
        (JoinKind.INNER, "ab"),
        (JoinKind.LEFT, "a"),
        (JoinKind.RIGHT, "b"),
        (JoinKind.FULL, ""),
    ],
)
def test_a_side_that_may_be_missing_says_nothing(kind: JoinKind, sides: str) -> None:
    node = joined(pa.int64(), pa.int64(), kind)
    assert list(sides) == [side for side in "ab" if equal_to(node, Column(f"{side}_v")) is not None]


def test_what_a_join_above_casts_to_must_keep_values_equal() -> None:
    whole, rounded = joined(pa.int32(), pa.int64()), joined(pa.int64(), pa.float64())
    cast = Call("cast", (Column("a_v"), Literal("bigint")))
    assert (Call("cast", (Column("v"), Literal("bigint"))),) * 2 == equal_to(whole, cast)
    assert equal_to(rounded, cast) is None
