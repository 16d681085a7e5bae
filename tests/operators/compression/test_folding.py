"""What is folded from coded blocks is what numpy finds in the values, whatever the blocks are like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.errors import DataError, InternalError
from windrow.operators.compression.coded_column import CodedColumn, Nature
from windrow.operators.compression.folding import different, extremes, ranked, sums
from windrow.operators.state.keys import float_keys

Values = npt.NDArray[Any]
Draw = Callable[[Any], Any]
BLOCKS = st.sampled_from((4, 64, 100, 1024))
LEAST, MOST = -(1 << 63), (1 << 63) - 1
STRANGE = np.array([np.nan, -np.nan, -0.0, 0.0, np.inf, -np.inf, 5e-324, -2.5e-310, 1e300, 0.1 + 0.2])


@st.composite
def integers(draw: st.DrawFn) -> Values:
    """Stretches of any width and base, constant ones, both extremes, and what no plane is good for."""
    random = np.random.default_rng(draw(st.integers(0, 1 << 20)))
    pieces = [np.empty(0, np.int64)]
    for size in draw(st.lists(st.sampled_from((1, 3, 64, 130, 1024, 1500)), min_size=1, max_size=4)):
        width = draw(st.integers(0, 64))
        words = random.integers(0, 1 << 63, size).view(np.uint64) * np.uint64(2) + np.uint64(1)
        words = words >> np.uint64(64 - width) if width else np.zeros(size, np.uint64)
        pieces.append((words + np.uint64(draw(st.integers(0, (1 << 64) - 1)))).view(np.int64))
        if draw(st.booleans()):
            pieces.append(np.repeat(random.integers(-9, 9, 3), size))
    values = np.concatenate(pieces)
    if draw(st.booleans()):
        values[random.integers(0, len(values), 3)] = draw(st.sampled_from((LEAST, MOST, 0, -1)))
    return values


@st.composite
def floats(draw: st.DrawFn) -> Values:
    """Decimal fractions of several digits and scales, with what is none among them."""
    random = np.random.default_rng(draw(st.integers(0, 1 << 20)))
    pieces = []
    for size in draw(st.lists(st.sampled_from((1, 3, 64, 130, 1024, 1500)), min_size=1, max_size=4)):
        centre, digits = draw(st.sampled_from((0.0, 50.0, 1e6))), draw(st.integers(0, 4))
        pieces.append(np.round(random.normal(centre, 30, size), digits))
        if draw(st.booleans()):
            pieces.append(np.full(size, random.choice(np.append(STRANGE, 12.5))))
    values = np.concatenate(pieces)
    strange = random.random(len(values)) < draw(st.sampled_from((0.0, 0.0, 0.001, 0.1)))
    values[strange] = random.choice(STRANGE, int(strange.sum()))
    return values


def stretches(draw: Draw, size: int) -> tuple[Values, Values, Values]:
    """Where stretches begin and end, and ranks in them."""
    random = np.random.default_rng(draw(st.integers(0, 1 << 20)))
    lows = random.integers(0, size, 8)
    highs = np.array([random.integers(low + 1, size + 1) for low in lows])
    sizes = highs - lows
    return lows, highs, np.stack([np.zeros(8, np.int64), (sizes - 1) // 2, sizes - 1, random.integers(0, sizes)], 1)


def cut(draw: Draw, column: CodedColumn, values: Values) -> tuple[CodedColumn, Values]:
    """Some rows of both, and now and then the same twice."""
    start = draw(st.integers(0, len(values) - 1))
    stop = draw(st.integers(start + 1, len(values)))
    part, rest = column.slice(start, stop), values[start:stop]
    if draw(st.booleans()):
        return CodedColumn.joined([part, column]), np.concatenate([rest, values])
    return part, rest


def saved(column: CodedColumn) -> CodedColumn:
    return CodedColumn.of_table(column.table())


@given(integers(), BLOCKS, st.booleans(), st.data())
def test_folds_of_integers(values: Values, block_rows: int, folded: bool, data: st.DataObject) -> None:
    column, values = cut(data.draw, saved(CodedColumn.of(values, block_rows=block_rows, folded=folded)), values)
    lows, highs, ranks = stretches(data.draw, len(values))
    tops, bottoms = sums(column, lows, highs)
    leasts, greatests = extremes(column, lows, highs)
    at, after = ranked(column, lows, highs, ranks)
    counts = different(column, lows, highs)
    for i in range(len(lows)):
        inside = values[lows[i] : highs[i]]
        ordered = np.sort(inside)
        assert sum(inside.tolist()) == int(tops[i]) * (1 << 32) + int(bottoms[i])
        assert len(np.unique(inside)) == counts[i]
        assert 0 <= bottoms[i] < 1 << 32
        assert (ordered[0], ordered[-1]) == (leasts[i], greatests[i])
        assert ordered[ranks[i]].tolist() == at[i].tolist()
        assert ordered[np.minimum(ranks[i] + 1, len(ordered) - 1)].tolist() == after[i].tolist()


def bits_of(keys: Values) -> Values:
    return np.where(keys < 0, keys ^ MOST, keys)


@given(floats(), BLOCKS, st.booleans(), st.sampled_from((Nature.FLOAT_BITS, Nature.FLOAT_KEYS)), st.data())
def test_folds_of_floats(values: Values, block_rows: int, folded: bool, nature: Nature, data: st.DataObject) -> None:
    given_ = values if nature is Nature.FLOAT_BITS else float_keys(values)
    column = saved(CodedColumn.of(given_, nature, block_rows=block_rows, folded=folded))
    column, values = cut(data.draw, column, values)
    lows, highs, ranks = stretches(data.draw, len(values))
    leasts, greatests = extremes(column, lows, highs)
    at, after = ranked(column, lows, highs, ranks)
    counts = different(column, lows, highs)
    for i in range(len(lows)):
        keys = np.sort(float_keys(values[lows[i] : highs[i]]))
        assert len(np.unique(keys)) == counts[i]
        assert (keys[0], keys[-1]) == (leasts[i], greatests[i])
        assert bits_of(keys[ranks[i]]).tolist() == at[i].view(np.int64).tolist()
        following = keys[np.minimum(ranks[i] + 1, len(keys) - 1)]
        assert bits_of(following).tolist() == after[i].view(np.int64).tolist()


@pytest.mark.parametrize("width", [5, 12, 31, 32, 33, 57, 58, 63])
def test_blocks_of_any_width_and_base_are_in_planes_and_answer(width: int) -> None:
    random = np.random.default_rng(width)
    values = random.integers(0, 1 << width, 4000) + np.repeat([0, 1, -5, 77], 1000)
    column = CodedColumn.of(values, folded=True)
    assert column.kinds()["planes"] >= 3
    assert (
        np.sort(values)[[1000, 2000]].tolist()
        == ranked(column, np.array([0]), np.array([4000]), np.array([[1000, 2000]]))[0][0].tolist()
    )


def test_planes_are_chosen_only_where_they_are_wanted_and_not_much_larger() -> None:
    random = np.random.default_rng(3)
    small, steps = random.integers(0, 900, 5000), np.cumsum(random.integers(0, 5, 5000) + (1 << 40))
    assert set(CodedColumn.of(small).kinds()) == {"reference"}
    assert set(CodedColumn.of(small, folded=True).kinds()) == {"planes"}
    assert set(CodedColumn.of(small / 100, folded=True).kinds()) == {"decimals, planes"}
    assert "planes" not in CodedColumn.of(steps, folded=True).kinds()
    assert CodedColumn.of(small, folded=True).nbytes < 1.3 * CodedColumn.of(small).nbytes


def test_one_float_that_is_no_decimal_keeps_one_block_out_of_planes() -> None:
    values = np.round(np.random.default_rng(4).normal(50, 9, 20 * 1024), 2)
    values[5000] = np.nan
    column = CodedColumn.of(values, folded=True)
    assert column.kinds()["decimals, planes"] == 19
    assert values.tobytes() == column.read().tobytes()


def test_sums_of_floats_are_refused() -> None:
    with pytest.raises(InternalError, match=r"^sums of floats are exact, and need the floats\.$"):
        sums(CodedColumn.of(np.array([0.5, 1.5])), np.array([0]), np.array([2]))


@given(st.booleans(), st.data())
def test_changed_bytes_are_refused_or_fold_as_they_read(decimals: bool, data: st.DataObject) -> None:
    values = np.random.default_rng(5).integers(0, 700, 300)
    table = CodedColumn.of(values / 100 if decimals else values, block_rows=64, folded=True).table()
    coded = [bytearray(item or b"") for item in table["bytes"].to_pylist()]
    for _ in range(data.draw(st.integers(1, 4))):
        block = data.draw(st.integers(0, len(coded) - 1))
        coded[block][data.draw(st.integers(0, len(coded[block]) - 1))] = data.draw(st.integers(0, 255))
    changed = table.set_column(5, table.schema.field(5), pa.array(map(bytes, coded), pa.large_binary()))
    try:
        column = CodedColumn.of_table(changed)
    except DataError:
        return
    keys = float_keys(column.read()) if decimals else column.read()
    lows, highs = np.array([0, 70]), np.array([300, 71])
    at, _ = ranked(column, lows, highs, np.array([[0, 150], [0, 0]]))
    found = float_keys(at) if decimals else at
    assert [len(np.unique(keys)), 1] == different(column, lows, highs).tolist()
    assert [np.sort(keys)[[0, 150]].tolist(), [keys[70]] * 2] == found.tolist()
    assert (keys.min(), keys.max()) == tuple(bound[0] for bound in extremes(column, lows, highs))
    if not decimals:
        tops, bottoms = sums(column, lows, highs)
        assert sum(keys.tolist()) == int(tops[0]) * (1 << 32) + int(bottoms[0])
