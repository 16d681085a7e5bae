"""One Arrow array in few bytes: numbers packed or in coded blocks, text as codes of a dictionary, the rest as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Array
from windrow.operators.compression.coded_column import CodedColumn, Nature
from windrow.operators.store.block_cache import BlockCache
from windrow.operators.store.packed import Packed
from windrow.operators.store.spilled_column import SpilledColumn

Numbers: TypeAlias = Packed | CodedColumn | SpilledColumn
Flags: TypeAlias = npt.NDArray[np.bool_]
Saving: TypeAlias = tuple[str, object, Callable[[], pa.Table]]
"""A table to save: its name, what stays the same as long as it does, and how it is made."""
SAMPLE, DISTINCT = 2048, 7 / 8
"""Text is not looked into further where so large a share of so many values are different."""
WORTH = 1.0
"""An array that would take more than so much of what it takes stays as it is."""
_TEXTS = pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary


@dataclass(frozen=True, eq=False)
class SealedArray:
    """An array that comes back as it was: its type, every bit of a value, and NULL."""

    kind: pa.DataType
    values: Numbers | Array
    """Bits as integers, or floats; an Arrow array is the whole, as it came."""
    known: CodedColumn | SpilledColumn | Array | None = None
    """Which values are no NULL, where there are both."""
    words: Array | None = None
    """What the values stand for, where they are places in a dictionary."""

    @staticmethod
    def of(array: Array, block_rows: int | None) -> SealedArray:
        """With `block_rows`, numbers go into coded blocks, else they are packed; as it is where that is no smaller."""
        plain = SealedArray(array.type, array)
        found = _numbers(array)
        if found is None:
            return plain
        numbers, words = found
        known = None if array.null_count == 0 else np.asarray(array.is_valid(), np.bool_)
        if known is not None:
            numbers = np.where(known, numbers, numbers[known.argmax()])  # so that what NULL hides takes no room
        is_float = pa.types.is_float64(array.type)
        if block_rows is not None:
            values: Numbers = CodedColumn.of(numbers, block_rows=block_rows)
        else:
            values = Packed.of_floats(numbers.view(np.int64)) if is_float else Packed.of(numbers)
        flags = None if known is None else _sealed_flags(known, block_rows)
        made = SealedArray(array.type, values, flags, words)
        return made if made.nbytes < WORTH * array.nbytes else plain

    # Reading

    def take(self, rows: npt.NDArray[Any], cache: BlockCache | None) -> Array:
        """The values at places in any order."""
        if isinstance(self.values, pa.Array):
            whole: Array = self.values.take(arrow(rows))
            return whole
        known = None if self.known is None else picked(self.known, rows, cache)
        return self._array(picked(self.values, rows, cache), known)

    def part(self, start: int, stop: int) -> Array:
        """The values from one row to another."""
        if isinstance(self.values, pa.Array):
            whole: Array = self.values.slice(start, stop - start)
            return whole
        known = None if self.known is None else _part(self.known, start, stop)
        return self._array(_part(self.values, start, stop), known)

    def _array(self, numbers: npt.NDArray[Any], known: npt.NDArray[Any] | None) -> Array:
        valid = None if known is None or known.all() else _bits(known)
        if self.words is not None:
            return self._texts(numbers, valid)
        if pa.types.is_boolean(self.kind):
            return pa.Array.from_buffers(self.kind, len(numbers), [valid, _bits(numbers)])
        width = self.kind.bit_width // 8
        values: Any = numbers.view(np.int64) if numbers.dtype.itemsize == 8 else numbers
        values = values.astype(f"i{width}", copy=False)
        return pa.Array.from_buffers(self.kind, len(values), [valid, pa.py_buffer(values)])

    def _texts(self, numbers: npt.NDArray[Any], valid: Any) -> Array:
        codes: Any = numbers.astype(np.int32, copy=False)
        places: Any = pa.Array.from_buffers(pa.int32(), len(codes), [valid, pa.py_buffer(codes)])
        assert self.words is not None
        if not pa.types.is_dictionary(self.kind):
            found: Array = self.words.take(places)
            return found
        assert isinstance(self.kind, pa.DictionaryType)
        indices: Any = places.cast(self.kind.index_type)
        return pa.DictionaryArray.from_arrays(indices, self.words, ordered=self.kind.ordered)

    # What it takes, and where it is

    @cached_property
    def nbytes(self) -> int:
        return sum(int(part.nbytes) for part in (self.values, self.known, self.words) if part is not None)

    @property
    def spilled_bytes(self) -> int:
        return sum(part.spilled_bytes for part in (self.values, self.known) if isinstance(part, SpilledColumn))

    def spilled(self, spill: Callable[[Any], Any]) -> SealedArray:
        """The same with its coded columns where `spill` puts them."""
        return replace(self, values=spill(self.values), known=spill(self.known))

    # Saving

    def saved(self) -> Iterator[Saving]:
        for name, part in (("values", self.values), ("known", self.known), ("words", self.words)):
            if isinstance(part, pa.Array):
                yield f"{name}.plain", part, _table_of(part)
            elif isinstance(part, Packed):
                nature = Nature.FLOAT_BITS if pa.types.is_float64(self.kind) else Nature.INTEGERS
                yield f"{name}.coded", part, _packed_table(part, nature)
            elif part is not None:
                yield f"{name}.coded", part, part.table

    @staticmethod
    def of_tables(kind: pa.DataType, tables: Mapping[str, pa.Table]) -> SealedArray:
        found: dict[str, Any] = {}
        for name in ("values", "known", "words"):
            if f"{name}.plain" in tables:
                found[name] = tables[f"{name}.plain"]["plain"].combine_chunks()
            elif f"{name}.coded" in tables:
                found[name] = CodedColumn.of_table(tables[f"{name}.coded"])
        return SealedArray(kind, **found)


def picked(column: Numbers | Array, rows: npt.NDArray[Any], cache: BlockCache | None) -> npt.NDArray[Any]:
    """Numbers, or flags, at places; blocks of coded ones are looked for in the cache before they are read."""
    if isinstance(column, CodedColumn) and cache is not None:
        return cache.take(column, rows, column.block_rows, column.take)
    if isinstance(column, Packed):
        return column.pick(rows)
    if isinstance(column, pa.Array):
        return np.asarray(column.take(arrow(rows)))
    return column.take(rows)


def _part(column: Numbers | Array, start: int, stop: int) -> npt.NDArray[Any]:
    if isinstance(column, Packed):
        return column.take(slice(start, stop)).read()
    if isinstance(column, pa.Array):
        return np.asarray(column.slice(start, stop - start))
    return column.take(slice(start, stop)) if isinstance(column, CodedColumn) else column.loaded(start, stop).read()


def _numbers(array: Array) -> tuple[npt.NDArray[Any], Array | None] | None:
    """The values as numbers, whatever they are where they are NULL, and what these stand for; None: as they are."""
    kind = array.type
    if len(array) == array.null_count:
        return None
    if pa.types.is_boolean(kind):
        return np.asarray(array.fill_null(False), np.uint8), None
    if pa.types.is_dictionary(kind):
        found: Any = array
        codes = found.indices
        return (_of_buffer(codes).astype(np.int32), found.dictionary) if len(found.dictionary) < 1 << 31 else None
    if any(holds(kind) for holds in _TEXTS):
        return _coded_texts(array)
    is_plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)
    return (_of_buffer(array), None) if is_plain and kind.bit_width <= 64 else None


def _of_buffer(array: Array) -> npt.NDArray[Any]:
    """Values of a fixed width as integers of their bits, or as doubles."""
    width, sign = array.type.bit_width // 8, "u" if pa.types.is_unsigned_integer(array.type) else "i"
    buffer: Any = array.buffers()[1]
    bits: npt.NDArray[Any] = np.frombuffer(buffer, f"{sign}{width}", len(array), array.offset * width)
    kind = np.int32 if width <= 4 else np.float64 if pa.types.is_float64(array.type) else np.int64
    return bits.astype(kind, copy=False) if width < 8 else bits.view(kind)


def _coded_texts(array: Array) -> tuple[npt.NDArray[Any], Array | None] | None:
    step = max(1, len(array) // SAMPLE)
    sample: Any = array.take(arrow(np.arange(0, len(array), step)[:SAMPLE]))
    if len(sample) == SAMPLE and pc.count_distinct(sample).as_py() > DISTINCT * SAMPLE:
        return None
    found: Any = array.dictionary_encode()
    return _of_buffer(found.indices), found.dictionary


def _sealed_flags(known: Flags, block_rows: int | None) -> CodedColumn | Array:
    return pa.array(known) if block_rows is None else CodedColumn.of(known, block_rows=block_rows)


def _bits(flags: npt.NDArray[Any]) -> pa.Buffer:
    bits: Any = np.packbits(flags.astype(np.bool_, copy=False), bitorder="little")
    return pa.py_buffer(bits)


def _table_of(array: Array) -> Callable[[], pa.Table]:
    return lambda: pa.table({"plain": array})


def _packed_table(column: Packed, nature: Nature) -> Callable[[], pa.Table]:
    return lambda: CodedColumn.of(column.read(), nature).table()
