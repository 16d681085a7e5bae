"""Where rows of joins without an equality go: every pair meets in exactly one shard."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import EXTREME_FLOATS
from windrow.physical.division.join_routing import WIDER, BandCells, Copies, Lanes, copies_of
from windrow.plan.checks.joins import joined_names, usual_time
from windrow.plan.nodes import Join, Stream
from windrow.semantics.joins import LEFT, RIGHT, AsOf, Between, JoinKind, JoinWindow
from windrow.semantics.scalars.evaluate import evaluate
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal
from windrow.sharded.replication import places

KINDS: dict[str, pa.DataType] = {"ts": pa.int64(), "x": pa.int64(), "y": pa.float64()}
SCHEMA = pa.schema(KINDS)
SIDES = Stream("a", SCHEMA, "ts"), Stream("b", SCHEMA, "ts")
NAMES = joined_names([SCHEMA, SCHEMA], ("a", "b"))
DIVIDED = [kind for kind in JoinKind if kind is not JoinKind.FULL]


def near(value: str, center: str, low: float, high: float) -> Expression:
    halves = ((">=", low), ("<=", high))
    first, last = (Call(sign, (Column(value), Call("+", (Column(center), Literal(offset))))) for sign, offset in halves)
    return Call("and", (first, last))


def joined(on: Expression | None, kind: JoinKind, window: JoinWindow = Between(0, 9)) -> Join:  # noqa: B008 - frozen
    return Join(*SIDES, kind, window, on, NAMES, ("a", "b"), usual_time(kind))


def shards_of(copies: Copies, rows: list[dict[str, Any]], count: int) -> list[list[int]]:
    """Of each row, home first."""
    found: list[list[int]] = [[] for _ in rows]
    for numbers, shards in places(copies, pa.RecordBatch.from_pylist(rows, SCHEMA), count):
        for row, shard in zip(numbers.tolist(), shards.tolist(), strict=True):
            found[row].append(shard)
    return found


FLOATS = st.one_of(st.none(), st.sampled_from(EXTREME_FLOATS), st.floats(-50, 50), st.floats(), st.integers(-9, 9))
ROWS = st.fixed_dictionaries(
    {
        "ts": st.integers(0, 9),
        "x": st.one_of(st.none(), st.integers(-20, 20), st.integers(-(1 << 62), 1 << 62)),
        "y": st.one_of(st.none(), FLOATS.map(lambda value: None if value is None else float(value))),
    }
)
OFFSETS = st.one_of(st.integers(-9, 9), st.floats(-1e3, 1e3), st.sampled_from((0.1, -0.3, 1e300, 2.0**60)))
COUNTS = st.integers(1, 9)


@st.composite
def bands(draw: st.DrawFn) -> Expression:
    value, center = draw(st.permutations([f"a_{draw(st.sampled_from('xy'))}", f"b_{draw(st.sampled_from('xy'))}"]))
    offsets = st.integers(-9, 9) if {value[2], center[2]} == {"x"} else OFFSETS
    return near(value, center, draw(offsets), draw(offsets))


@given(on=bands(), kind=st.sampled_from(DIVIDED), count=COUNTS, data=st.data())
def test_rows_that_a_band_lets_meet_meet_once(on: Expression, kind: JoinKind, count: int, data: st.DataObject) -> None:
    left, right = (data.draw(st.lists(ROWS, min_size=1, max_size=8)) for _ in range(2))
    places = [shards_of(how, rows, count) for how, rows in zip(copies_of(joined(on, kind)), (left, right), strict=True)]
    assert all(len(shards) == len(set(shards)) > 0 for side in places for shards in side)
    for mine, one in zip(places[LEFT], left, strict=True):
        for theirs, other in zip(places[RIGHT], right, strict=True):
            row = {f"a_{n}": v for n, v in one.items()} | {f"b_{n}": v for n, v in other.items()}
            if evaluate(on, row) is True:
                assert 1 == len(set(mine) & set(theirs))


@given(kind=st.sampled_from(DIVIDED), rows=st.lists(ROWS, min_size=1, max_size=8), count=st.integers(1, 30))
def test_all_rows_meet_once_where_nothing_divides_them(kind: JoinKind, rows: list[Any], count: int) -> None:
    left, right = (shards_of(how, rows, count) for how in copies_of(joined(None, kind)))
    assert {1} == {len(set(mine) & set(theirs)) for mine in left for theirs in right}
    assert set(range(count)).issuperset(shard for shards in left + right for shard in shards)


@pytest.mark.parametrize("kind", [JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI, JoinKind.RIGHT])
@pytest.mark.parametrize("on", [None, near("a_x", "b_x", -3, 3)])
def test_rows_that_are_given_alone_are_in_one_place(kind: JoinKind, on: Expression | None) -> None:
    side = RIGHT if kind is JoinKind.RIGHT else LEFT
    rows = [{"ts": 0, "x": x, "y": 0.0} for x in range(500)]
    assert {1} == {len(shards) for shards in shards_of(copies_of(joined(on, kind))[side], rows, 7)}


def test_the_one_partner_of_an_as_of_join_is_found_in_one_place() -> None:
    assert (Lanes(LEFT, LEFT), Lanes(RIGHT, LEFT)) == copies_of(joined(None, JoinKind.INNER, AsOf()))


def test_few_rows_of_a_band_are_copied_and_all_shards_have_work() -> None:
    rows = [{"ts": 0, "x": x, "y": 0.0} for x in np.random.default_rng(1).integers(0, 100_000, 20_000).tolist()]
    whole, copied = (shards_of(how, rows, 4) for how in copies_of(joined(near("a_x", "b_x", -10, 10), JoinKind.INNER)))
    assert 20_000 == sum(map(len, whole))
    assert 20_000 < sum(map(len, copied)) < 20_000 * (1 + 1 / WIDER + 0.02)
    homes = np.bincount([shards[0] for shards in whole], minlength=4)
    assert homes.min() > 0.8 * 20_000 / 4


@pytest.mark.parametrize("high", [math.inf, 1e308])
def test_a_band_without_end_is_not_divided_by(high: float) -> None:
    assert isinstance(copies_of(joined(near("a_y", "b_y", 0.0, high), JoinKind.INNER))[0], Lanes)


def test_a_band_is_divided_by_cells() -> None:
    left, right = copies_of(joined(near("a_x", "b_y", -2, 3), JoinKind.RIGHT))
    assert (BandCells(Column("x"), 40.0, (-3.0, 2.0)), BandCells(Column("y"), 40.0, None)) == (left, right)


@pytest.mark.parametrize("units", [("s", "us"), ("ns", "ms"), ("us", "us")])
def test_times_of_any_unit_meet_in_the_cell_of_their_microseconds(units: tuple[str, str]) -> None:
    sides = [
        Stream(name, pa.schema([("ts", pa.int64()), ("at", pa.timestamp(unit, "UTC"))]), "ts")
        for name, unit in zip("ab", units, strict=True)
    ]
    names = joined_names([side.schema for side in sides], ("a", "b"))
    low, high = (Call(sign, (Column("b_at"), Literal(timedelta(seconds=5)))) for sign in "-+")
    on = Call("and", (Call(">=", (Column("a_at"), low)), Call("<=", (Column("a_at"), high))))
    node = Join(sides[0], sides[1], JoinKind.LEFT, Between(0, 9), on, names, ("a", "b"))
    left, right = copies_of(node)
    assert BandCells(Column("at"), 8e7, None) == left
    moments = [datetime(2024, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=s) for s in range(0, 300, 3)]
    found = []
    for how, side in zip((left, right), sides, strict=True):
        rows = pa.RecordBatch.from_pylist([{"ts": 0, "at": moment} for moment in moments], side.schema)
        found.append([{int(s[list(r).index(i)]) for r, s in places(how, rows, 50) if i in r} for i in range(len(rows))])
    assert all(found[0][i] <= found[1][j] for i in range(100) for j in range(max(0, i - 1), min(100, i + 2)))
