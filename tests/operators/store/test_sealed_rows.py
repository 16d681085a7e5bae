"""Whole rows come back as they were, whatever their types, their NULLs and the bits of their floats."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.aggregates.kinds.arrays import arrow
from windrow.operators.store import budget as budgets
from windrow.operators.store import sealed_array
from windrow.operators.store.block_cache import BlockCache
from windrow.operators.store.budget import Budget
from windrow.operators.store.sealed_array import SealedArray
from windrow.operators.store.sealed_rows import SealedRows, opened, raw_bytes, spilled_bytes, taken
from windrow.operators.store.spilled_column import SpilledColumn

_WORDS = st.sampled_from(("", "a", "b", "longer than the others"))
_KINDS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    **{kind(): st.integers(-100, 100) for kind in (pa.int8, pa.int16, pa.int32, pa.int64)},
    **{kind(): st.integers(0, 200) for kind in (pa.uint8, pa.uint16, pa.uint32)},
    pa.uint64(): st.sampled_from((0, 1, (1 << 64) - 1, 1 << 63)),
    pa.float32(): st.floats(width=32),
    pa.float64(): st.one_of(st.floats(), st.sampled_from((0.25, 1.5, -0.0, 19.99))),
    pa.bool_(): st.booleans(),
    pa.date32(): st.integers(0, 9),
    pa.date64(): st.sampled_from((0, 86_400_000)),
    pa.time32("s"): st.integers(0, 9),
    pa.time64("us"): st.integers(0, 9),
    pa.timestamp("us", "UTC"): st.integers(0, 10**15),
    pa.timestamp("ns"): st.integers(0, 10**18),
    pa.duration("ms"): st.integers(-9, 9),
    pa.string(): _WORDS,
    pa.large_string(): _WORDS,
    pa.binary(): st.binary(max_size=3),
    pa.dictionary(pa.int8(), pa.string()): _WORDS,
    pa.dictionary(pa.uint8(), pa.int64()): st.integers(-(1 << 40), 1 << 40),
    pa.dictionary(pa.int32(), pa.int64(), ordered=True): st.integers(0, 3),
    pa.decimal128(9, 2): st.sampled_from((decimal.Decimal("1.25"), decimal.Decimal("-7.00"))),
    pa.list_(pa.int64()): st.lists(st.integers(0, 3), max_size=2),
    pa.struct([("x", pa.int32())]): st.fixed_dictionaries({"x": st.integers(0, 3)}),
    pa.null(): st.none(),
    pa.binary(2): st.just(b"ab"),
}


@st.composite
def arrays(draw: st.DrawFn, size: int) -> pa.Array[Any]:
    kind = draw(st.sampled_from(list(_KINDS)))
    value = _KINDS[kind] if draw(st.booleans()) else st.one_of(st.none(), _KINDS[kind])
    few = draw(st.lists(value, min_size=1, max_size=6))
    values = few * (size // len(few) + 1)
    before = draw(st.integers(0, 3))
    array: Any = pa.array([None] * before + values[:size], kind)
    return array.slice(before)  # type: ignore[no-any-return]


@st.composite
def rows(draw: st.DrawFn) -> pa.RecordBatch:
    size = draw(st.sampled_from((0, 1, 9, 300)))
    columns = draw(st.lists(arrays(size), min_size=1, max_size=5))
    fields = [pa.field(f"c{i}", c.type, metadata={"number": str(i)}) for i, c in enumerate(columns)]
    return pa.record_batch(columns, schema=pa.schema(fields))


def same(one: pa.RecordBatch, other: pa.RecordBatch) -> bool:
    """Whether rows are equal to the bit."""
    assert one.schema.equals(other.schema, check_metadata=True)
    other.validate(full=True)
    pairs = zip(one.columns, other.columns, strict=True)
    return all(a.is_valid() == b.is_valid() and _bits(a) == _bits(b) for a, b in pairs)


def _bits(array: pa.Array[Any]) -> list[Any]:
    known = array.drop_null()
    if not pa.types.is_floating(array.type):
        found: list[Any] = known.to_pylist()
        return found
    return np.asarray(known).view(f"i{array.type.bit_width // 8}").tolist()  # type: ignore[no-any-return]


def of(batch: pa.RecordBatch, block_rows: int | None, cache: BlockCache | None = None) -> SealedRows:
    """Rows that are sealed also where that makes them larger."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sealed_array, "WORTH", 1e9)
        return SealedRows.of(batch, block_rows, cache)


SHAPES = st.sampled_from((None, 4, 64, 1024))


@given(rows(), SHAPES, st.booleans(), st.data())
def test_rows_come_back_as_they_were(
    batch: pa.RecordBatch, block_rows: int | None, is_cached: bool, data: st.DataObject
) -> None:
    assert SealedRows.of(batch, block_rows).nbytes <= batch.nbytes
    sealed = of(batch, block_rows, BlockCache(lambda: 1 << 12) if is_cached else None)
    assert (len(batch), batch.nbytes) == (len(sealed), sealed.raw_bytes)
    assert same(batch, sealed.batch())
    places = st.integers(0, max(0, len(batch) - 1))
    for _ in range(3):
        chosen = np.array(data.draw(st.lists(places, max_size=50 if len(batch) else 0)), np.int64)
        assert same(batch.take(arrow(chosen)), sealed.take(chosen))
    start, length = data.draw(places), data.draw(places)
    part, expected = sealed.slice(start, length), batch.slice(start, length)
    assert same(expected, part.batch())
    chosen = np.arange(len(expected))[::-1]
    assert same(expected.take(arrow(chosen)), part.take(chosen))
    last = batch.schema.names[-1]
    assert same(batch.select([last]), sealed.select([last]).batch())


@given(rows(), SHAPES)
def test_rows_are_saved_and_come_back(batch: pa.RecordBatch, block_rows: int | None) -> None:
    sealed = of(batch, block_rows)
    saved = list(sealed.saved())
    assert [id(stamp) for _, stamp, _ in saved] == [id(stamp) for _, stamp, _ in sealed.saved()]
    back = SealedRows.of_tables({name: make() for name, _, make in saved}, len(batch))
    assert same(batch, back.batch())
    assert same(batch, back.take(np.arange(len(batch))))


@given(rows(), st.sampled_from((4, 64)), st.data())
def test_rows_on_the_disk_come_back(batch: pa.RecordBatch, block_rows: int, data: st.DataObject) -> None:
    budget = Budget(0)
    sealed = budget.fitted(of(batch, block_rows, budget.cache))
    if spilled_bytes(sealed):
        assert any(isinstance(array.values, SpilledColumn) for array in sealed.arrays)
    assert same(batch, opened(sealed))
    chosen = np.array(data.draw(st.lists(st.integers(0, max(0, len(batch) - 1)), max_size=30 * bool(len(batch)))))
    assert same(batch.take(arrow(chosen.astype(np.int64))), taken(sealed, chosen.astype(np.int64)))


def test_nan_payloads_and_what_null_hides() -> None:
    bits = np.array([0x7FF8000000000001, 0xFFF4000000000123, 0x8000000000000000, 5] * 100, np.uint64)
    floats = pa.array(bits.view(np.float64), mask=np.arange(400) % 7 == 0)
    for block_rows in (None, 64):
        batch = pa.record_batch([floats], names=["x"])
        assert same(batch, of(batch, block_rows).batch())


@pytest.mark.parametrize("block_rows", [None, 1024])
def test_what_repeats_gets_small(block_rows: int | None) -> None:
    number = np.arange(20_000)
    columns: dict[str, Any] = {
        "time": pa.array(1_700_000_000_000_000 + number * 1000, pa.timestamp("us")),
        "symbol": pa.array([f"symbol {i % 7}" for i in number]),
        "price": pa.array(100 + (number % 500) / 100),
        "known": pa.array(number % 3 > 0),
    }
    batch = pa.record_batch(columns)
    sealed = SealedRows.of(batch, block_rows)
    assert sealed.nbytes < 0.4 * raw_bytes(batch)
    assert same(batch, sealed.batch())


def test_numbers_of_words_without_a_sign_come_back() -> None:
    numbers = pa.array([i % 200 for i in range(6000)], pa.uint8())
    batch = pa.record_batch({"w": pa.DictionaryArray.from_arrays(numbers, pa.array([f"w{i}" for i in range(200)]))})
    assert same(batch, of(batch, 1024).batch())


def test_text_that_does_not_repeat_stays_as_it_is() -> None:
    texts = pa.array([f"name {i}" for i in range(5000)])
    assert SealedArray.of(texts, 64).values is texts


# The cache


def reader(seen: list[int]) -> Callable[[Any], Any]:
    values = np.arange(1000) * 3

    def read(places: Any) -> Any:
        seen.extend(places.tolist())
        return values[places]

    return read


class Column:
    dtype = np.dtype(np.int64)

    def __len__(self) -> int:
        return 1000


def test_a_block_is_read_once() -> None:
    cache, seen, column = BlockCache(lambda: 1 << 20), list[int](), Column()
    for _ in range(3):
        assert [9, 36, 2997] == cache.take(column, np.array([3, 12, 999]), 10, reader(seen)).tolist()
    assert sorted(seen) == [*range(20), *range(990, 1000)]
    assert (6, 3) == (cache.hits, cache.misses)


def test_what_was_not_looked_at_for_longest_goes() -> None:
    cache, seen, column = BlockCache(lambda: 0), list[int](), Column()
    for block in range(20):
        cache.take(column, np.array([0, 10 * block]), 10, reader(seen))
    seen.clear()
    cache.take(column, np.array([0]), 10, reader(seen))
    assert seen == []
    cache.take(column, np.array([10]), 10, reader(seen))
    assert seen == list(range(10, 20))


def test_many_blocks_at_once_pass_by_the_cache() -> None:
    cache, seen, column = BlockCache(lambda: 0), list[int](), Column()
    everything = np.arange(1000)
    assert (everything * 3).tolist() == cache.take(column, everything, 10, reader(seen)).tolist()
    assert cache.misses == 100
    assert cache.nbytes <= 16 * 10 * 8


@given(st.lists(st.lists(st.integers(0, 999), max_size=12), max_size=40), st.integers(0, 4000))
def test_what_the_cache_gives_is_what_the_column_has(looks: list[list[int]], limit: int) -> None:
    cache, columns = BlockCache(lambda: limit), [Column(), Column()]
    for number, look in enumerate(looks):
        places = np.array(look, np.int64)
        assert (places * 3).tolist() == cache.take(columns[number % 2], places, 7, reader([])).tolist()


def test_a_cache_counts_for_the_budget(tmp_path: Path) -> None:
    shared, own = Budget(budgets.LEAST), Budget()
    own.share(shared)
    own.cache.take(Column(), np.array([3]), 10, reader([]))
    assert own.cache.nbytes == shared.nbytes == own.kept.bytes > 0
    assert (0, 1) == (own.kept.hits, own.kept.misses)
