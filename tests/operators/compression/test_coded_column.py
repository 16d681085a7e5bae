"""Coded columns give back what they were given, bit for bit, however it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.errors import InternalError, QueryError
from windrow.operators.compression.coded_column import CodedColumn, Nature
from windrow.operators.state.keys import float_keys

Values = npt.NDArray[Any]
BLOCKS = st.sampled_from((1, 4, 64, 1024))
LEAST, MOST = -(1 << 63), (1 << 63) - 1
BITS = (0, -1, LEAST, MOST, 0x7FF0000000000000, 0x7FF8000000000000, 0x7FF0000000000001, 0x3FF0000000000000)
"""Bits of floats: zeros of both signs, NaN with several payloads, infinities, 1.0."""


def shaped(draw: st.DrawFn, size: int, random: np.random.Generator) -> Values:
    """Values with a shape that one of the kinds is for, or none is."""
    steps = random.integers(-3, draw(st.sampled_from((0, 4, 300, 1 << 40))) + 1, size)
    shape = draw(st.sampled_from(("line", "steps", "few", "runs", "random", "extremes", "sorted", "multiples")))
    shapes: dict[str, Callable[[], Values]] = {
        "line": lambda: np.arange(size) * 7_000 - 5,
        "steps": lambda: np.cumsum(steps),
        "few": lambda: random.choice(random.integers(LEAST, MOST, 5), size),
        "runs": lambda: np.repeat(steps, 9)[:size],
        "random": lambda: random.integers(LEAST, MOST, size),
        "extremes": lambda: random.choice(np.array([LEAST, MOST, 0, -1, 1]), size),
        "sorted": lambda: np.sort(random.integers(0, 1 << 30, size)),
        "multiples": lambda: steps * 3_000_000 + (LEAST + 17),
    }
    with np.errstate(over="ignore"):
        return shapes[shape]()


@st.composite
def integers(draw: st.DrawFn) -> Values:
    """Whole numbers of several shapes one after the other, now and then with something else among them."""
    random = np.random.default_rng(draw(st.integers(0, 1 << 20)))
    sizes = draw(st.lists(st.sampled_from((1, 2, 3, 5, 63, 130, 1024, 1500)), max_size=3))
    values = np.concatenate([np.empty(0, np.int64), *(shaped(draw, size, random) for size in sizes)])
    if len(values) and draw(st.booleans()):
        values[random.integers(0, len(values), 3)] = draw(st.sampled_from((LEAST, MOST, 0, 12345)))
    return values.astype(draw(st.sampled_from(("int64", "int64", "int32", "uint8"))))


@st.composite
def floats(draw: st.DrawFn) -> Values:
    """Decimal fractions, any bits, and a mixture of both."""
    random = np.random.default_rng(draw(st.integers(0, 1 << 20)))
    size = draw(st.sampled_from((0, 1, 2, 5, 64, 300, 1500)))
    scale, digits = draw(st.sampled_from((1.0, 100.0, 1e9, 1e300, 1e-310))), draw(st.integers(0, 6))
    values = np.round(random.normal(size=size) * scale, digits)
    strange = random.random(size) < draw(st.sampled_from((0.0, 0.0, 0.02, 0.5, 1.0)))
    values[strange] = random.choice(np.array(BITS), size)[strange].view(np.float64)
    return values


def same(expected: Values, found: Values) -> bool:
    return expected.dtype == found.dtype and expected.tobytes() == found.tobytes()


@given(integers(), BLOCKS, st.booleans())
def test_integers_come_back(values: Values, block_rows: int, folded: bool) -> None:
    column = CodedColumn.of(values, block_rows=block_rows, folded=folded)
    assert same(values, column.read())
    assert len(values) == column.size == len(column)
    raw = values.nbytes + 64 * len(column.leasts) + 100
    assert column.nbytes <= raw, "never larger than raw and a header"
    if len(values):
        assert (values.min(), values.max()) == (column.least, column.greatest)


@given(floats(), BLOCKS, st.booleans())
def test_floats_come_back(values: Values, block_rows: int, folded: bool) -> None:
    assert same(values, CodedColumn.of(values, block_rows=block_rows, folded=folded).read())
    bits = values.view(np.int64)
    assert same(bits, CodedColumn.of(bits, Nature.FLOAT_BITS, block_rows=block_rows).read())
    with np.errstate(invalid="ignore"):
        keys = float_keys(values)
    column = CodedColumn.of(keys, Nature.FLOAT_KEYS, block_rows=block_rows)
    assert same(keys, column.read())
    if len(values):
        assert (keys.min(), keys.max()) == (column.least, column.greatest)


@given(integers(), BLOCKS, st.data())
def test_parts_and_places_are_those_of_the_array(values: Values, block_rows: int, data: st.DataObject) -> None:
    column = CodedColumn.of(values, block_rows=block_rows)
    start, stop = (data.draw(st.integers(0, len(values))) for _ in range(2))
    assert same(values[start:stop], column.part(start, stop))
    assert same(values[start:stop:3], column.take(slice(start, stop, 3)))
    random = np.random.default_rng(start)
    if len(values):
        rows = random.integers(-len(values), len(values), 40)
        assert same(values[rows], column.take(rows))
    mask = random.random(len(values)) < 0.1
    assert same(values[mask], column.take(mask))


@given(integers(), BLOCKS, st.data())
def test_slices_of_joined_slices_are_those_of_the_array(values: Values, block_rows: int, data: st.DataObject) -> None:
    column = CodedColumn.of(values, block_rows=block_rows)
    cuts = data.draw(st.lists(st.tuples(st.integers(0, len(values)), st.integers(0, len(values))), min_size=1))
    expected = np.concatenate([values[start:stop] for start, stop in cuts])
    joined = CodedColumn.joined([column.slice(start, stop) for start, stop in cuts])
    assert same(expected, joined.read())
    start, stop = (data.draw(st.integers(0, len(expected))) for _ in range(2))
    cut = joined.slice(start, stop)
    assert same(expected[start:stop], cut.read())
    assert same(expected[start:stop], CodedColumn.of_table(cut.table()).read())
    if stop > start:
        assert (expected[start:stop].min(), expected[start:stop].max()) == (cut.least, cut.greatest)


@given(integers(), BLOCKS, st.data())
def test_search_is_that_of_the_array(values: Values, block_rows: int, data: st.DataObject) -> None:
    values = np.sort(values)
    start, stop = sorted(data.draw(st.integers(0, len(values))) for _ in range(2))
    column, kept = CodedColumn.of(values, block_rows=block_rows).slice(start, stop), values[start:stop]
    for value in (LEAST, MOST, 0, *map(int, kept[:: max(1, len(kept) // 5)])):
        for side in ("left", "right"):
            expected = kept.astype(np.int64).searchsorted(value, side=side)
            assert expected == column.search(value, side)


def test_one_value_costs_one_header() -> None:
    column = CodedColumn.of(np.full(1_000_000, 7))
    assert column.nbytes < 100
    assert {"constant": 1} == CodedColumn.joined([column, column.slice(5, 50), column]).kinds()
    assert 2_000_045 == CodedColumn.joined([column, column.slice(5, 50), column]).size


def test_kinds_follow_the_values() -> None:
    random, rows = np.random.default_rng(1), 4096
    shapes: dict[str, Values] = {
        "constant": np.full(rows, 3),
        "reference": random.integers(0, 1 << 40, rows),
        "delta": np.cumsum(random.integers(-50, 50, rows)),
        "delta of delta": np.cumsum(np.cumsum(random.integers(-2, 3, rows))),
        "dictionary": random.choice(random.integers(LEAST, MOST, 9), rows),
        "runs": np.repeat(random.integers(0, 1 << 40, rows // 64), 64),
        "decimals, reference": np.round(random.normal(5000, 300, rows), 2),
        "raw": random.integers(LEAST, MOST, rows),
    }
    assert {name: {name} for name in shapes} == {name: set(CodedColumn.of(v).kinds()) for name, v in shapes.items()}


def test_a_slice_of_little_lets_go_of_the_rest() -> None:
    column = CodedColumn.of(np.random.default_rng(1).integers(0, 1 << 20, 100_000))
    assert column.slice(0, 90_000).data is column.data
    assert column.slice(50_000, 52_000).nbytes < column.nbytes / 20


@pytest.mark.parametrize("values", [np.zeros((2, 2), np.int64), np.zeros(2, np.float32), np.array(["a"])])
def test_what_is_no_column_of_numbers_is_refused(values: Values) -> None:
    with pytest.raises(QueryError, match=r"^`values` must be one-dimensional and one of int64, .*, got "):
        CodedColumn.of(values)


@pytest.mark.parametrize("rows", [0, -1, 65_537])
def test_blocks_have_a_size(rows: int) -> None:
    with pytest.raises(QueryError, match=rf"^`block_rows` must be from 1 to 65536, got {rows}\.$"):
        CodedColumn.of(np.zeros(1, np.int64), block_rows=rows)


def test_rows_outside_are_refused() -> None:
    with pytest.raises(IndexError, match=r"^a row lies outside of the 3 of a column$"):
        CodedColumn.of(np.arange(3)).take(np.array([0, 3]))


def test_a_column_without_values_has_no_bounds() -> None:
    with pytest.raises(InternalError, match=r"^a column without values has no least one\.$"):
        _ = CodedColumn.of(np.empty(0, np.int64)).least


def test_columns_of_different_types_are_not_joined() -> None:
    with pytest.raises(InternalError, match=r"^coded columns of different types cannot be joined\.$"):
        CodedColumn.joined([CodedColumn.of(np.arange(3)), CodedColumn.of(np.arange(3, dtype=np.int32))])
