"""What a band admits is exactly what its predicate says, for every type, at every edge."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.operators.expressions.predicate import Predicate
from windrow.operators.joins.scales import Interval, Scale
from windrow.plan.conditions import BandCondition
from windrow.semantics.joins import LEFT, RIGHT
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal

WHOLE: dict[pa.DataType, int] = {pa.int8(): 7, pa.int32(): 31, pa.uint32(): 32, pa.int64(): 63}
FLOATS = (pa.float32(), pa.float64())
EDGES = (math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, 1e-45, 3.4028235e38, 1.7e308, 0.1, float(1 << 53))


def values(kind: pa.DataType) -> st.SearchStrategy[Any]:
    if kind in FLOATS:
        return st.one_of(st.sampled_from(EDGES), st.floats(-30, 30, width=32), st.integers(-9, 9).map(float))
    low = 0 if kind == pa.uint32() else -(1 << WHOLE[kind])
    high = (1 << WHOLE[kind]) - 1
    near = st.integers(max(low, -20), 20)
    edges = [v for v in (low, low + 1, high - 1, high, (1 << 53) + 1, -(1 << 53) - 1) if low <= v <= high]
    return st.one_of(near, near, st.sampled_from(edges)).filter(lambda v: kind != pa.int64() or abs(v) < 1 << 62)


OFFSETS = st.one_of(st.integers(-12, 12), st.sampled_from((0.1, -0.1, 2.5, 1e-30, 1e300, -1e16)))
KINDS = st.sampled_from((*WHOLE, *FLOATS))


def predicate(band: BandCondition) -> Expression:
    value, center = ("l", "r") if band.around == RIGHT else ("r", "l")
    low, high = (Call("+", (Column(center), Literal(offset))) for offset in (band.low, band.high))
    above = Call(">" if band.low_open else ">=", (Column(value), low))
    return Call("and", (above, Call("<" if band.high_open else "<=", (Column(value), high))))


@given(st.data(), KINDS, KINDS, OFFSETS, OFFSETS, st.sampled_from((LEFT, RIGHT)), st.booleans(), st.booleans())
def test_a_band_admits_what_its_predicate_says(
    data: st.DataObject,
    left: pa.DataType,
    right: pa.DataType,
    low: Any,
    high: Any,
    around: int,
    low_open: bool,
    high_open: bool,
) -> None:
    band = BandCondition(Column("l"), Column("r"), around, low, high, low_open, high_open)
    if not any(kind in FLOATS for kind in (left, right)) and isinstance(low, int) and isinstance(high, int):
        band = BandCondition(Column("l"), Column("r"), around, low, high)
    pairs = data.draw(st.lists(st.tuples(values(left), values(right)), min_size=1, max_size=30))
    columns = pa.array([a for a, _ in pairs], left), pa.array([b for _, b in pairs], right)
    expected = Predicate(predicate(band)).mask(pa.record_batch(list(columns), names=["l", "r"])).tolist()
    scales = Scale.of(left), Scale.of(right)
    for side in (LEFT, RIGHT):
        interval = Interval(band, side, scales[side], scales[1 - side])
        first, last = interval.of(scales[side].places(columns[side]))
        stored = scales[1 - side].places(columns[1 - side])
        assert first.dtype == stored.dtype
        assert ((first <= stored) & (stored <= last)).astype(int).tolist() == expected


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_places_keep_the_order_and_the_values_of_floats(kind: pa.DataType) -> None:
    numbers = [-math.inf, -2.5, -1e-45 if kind == pa.float32() else -5e-324, 0.0, 0.5, math.inf, math.nan]
    scale = Scale.of(kind)
    places = scale.places(pa.array(numbers, kind))
    assert (np.diff(places) > 0).all()
    assert scale.places(pa.array([-0.0], kind))[0] == places[3]
    np.testing.assert_array_equal(scale.numbers(places), np.asarray(pa.array(numbers, kind), np.float64))
    assert scale.ends == (places[0], places[-1])


def test_timestamps_of_any_unit_have_one_scale() -> None:
    moments: list[Any] = [pa.array([1_500_000], pa.timestamp("us")), pa.array([1500], pa.timestamp("ms", "UTC"))]
    assert [Scale.of(array.type).places(array).tolist() for array in moments] == [[1_500_000]] * 2
