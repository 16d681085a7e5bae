from __future__ import annotations

import pyarrow as pa
import pytest

from tests.plan.streams import columns
from windrow.language import parse_expression
from windrow.plan.conditions import BandCondition, Conditions, Equality, conditions_of, split_interval
from windrow.semantics.joins import LEFT, RIGHT, Between
from windrow.semantics.scalars.expressions import Column

SCHEMA = columns(
    a_k=pa.string(),
    x=pa.int32(),
    y=pa.float32(),
    a_ts=pa.timestamp("us"),
    n=pa.int64(),
    b_k=pa.string(),
    v=pa.int64(),
    w=pa.float64(),
    b_ts=pa.timestamp("us"),
    m=pa.int64(),
)
SIDES = {"a_k", "x", "y", "a_ts", "n"}, {"b_k", "v", "w", "b_ts", "m"}


def _conditions(text: str) -> Conditions:
    return conditions_of(parse_expression(text, SCHEMA), *SIDES, SCHEMA)


@pytest.mark.parametrize("text", ["a_k = b_k", "b_k = a_k"])
def test_an_equality_reads_one_side_each(text: str) -> None:
    assert Conditions((Equality(Column("a_k"), Column("b_k")),)) == _conditions(text)


@pytest.mark.parametrize("text", ["x = n", "a_k = 'one'", "x + v = 3", "a_k = b_k OR x = v", "x <> v", "x > v"])
def test_what_cannot_be_looked_up_remains(text: str) -> None:
    assert Conditions(rest=parse_expression(text, SCHEMA)) == _conditions(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x BETWEEN v - 10 AND v + 10", BandCondition(Column("x"), Column("v"), RIGHT, -10, 10)),
        ("v - 10 <= x AND v + 10 >= x", BandCondition(Column("x"), Column("v"), RIGHT, -10, 10)),
        ("v > x - 10 AND v < x + 10", BandCondition(Column("x"), Column("v"), LEFT, -9, 9)),
        ("x >= v AND x < 5 + v", BandCondition(Column("x"), Column("v"), RIGHT, 0, 4)),
        ("y > w - 0.5 AND y <= w + 1", BandCondition(Column("y"), Column("w"), RIGHT, -0.5, 1, low_open=True)),
        (
            "a_ts BETWEEN b_ts - INTERVAL '1' SECOND AND b_ts",
            BandCondition(Column("a_ts"), Column("b_ts"), RIGHT, -1_000_000, 0),
        ),
    ],
)
def test_bands(text: str, expected: BandCondition) -> None:
    assert Conditions((), (expected,)) == _conditions(text)


def test_everything_at_once() -> None:
    found = _conditions("a_k = b_k AND x <= v + 1 AND lower(a_k) <> b_k AND x >= v AND x >= v - 3")
    assert found.equalities == (Equality(Column("a_k"), Column("b_k")),)
    assert found.bands == (BandCondition(Column("x"), Column("v"), RIGHT, 0, 1),)
    assert str(found.rest) == "((lower(a_k) <> b_k) AND (x >= (v - 3)))"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a_ts BETWEEN b_ts - INTERVAL '5' SECOND AND b_ts + INTERVAL '3' SECOND", Between(-3_000_000, 5_000_000)),
        ("b_ts BETWEEN a_ts AND a_ts + INTERVAL '3' SECOND", Between(0, 3_000_000)),
        ("b_ts > a_ts AND b_ts < a_ts + INTERVAL '1' SECOND", Between(1, 999_999)),
        ("a_ts < b_ts AND a_ts > b_ts - INTERVAL '1' SECOND", Between(1, 999_999)),
        ("a_ts = b_ts", Between(0, 0)),
    ],
)
def test_an_interval_of_times(text: str, expected: Between) -> None:
    times = ("a_ts", "b_ts")
    on = parse_expression(f"a_k = b_k AND {text}", SCHEMA)
    window, rest = split_interval(on, times, SCHEMA)
    assert (expected, "(a_k = b_k)") == (window, str(rest))


def test_an_interval_of_integer_times() -> None:
    on = parse_expression("n BETWEEN m - 5 AND m", SCHEMA)
    assert (Between(0, 5), None) == split_interval(on, ("n", "m"), SCHEMA)


@pytest.mark.parametrize("text", ["a_ts >= b_ts", "a_k = b_k", "x BETWEEN v AND v + 1"])
def test_without_both_ends_there_is_no_interval(text: str) -> None:
    on = parse_expression(text, SCHEMA)
    assert (None, on) == split_interval(on, ("a_ts", "b_ts"), SCHEMA)


@pytest.mark.parametrize("text", ["n * 2 BETWEEN m - 1 AND m + 1", "abs(n) >= m - 1 AND abs(n) <= m"])
def test_what_is_made_of_times_bounds_nothing(text: str) -> None:
    on = parse_expression(text, SCHEMA)
    assert (None, on) == split_interval(on, ("n", "m"), SCHEMA)
