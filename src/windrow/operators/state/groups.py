"""Group keys as dense codes, so that no operator hashes a key per row per window.

Each key column has a dictionary of its own; several columns are combined pairwise. Dictionary-encoded columns
are looked up per dictionary entry, not per row. NULL is a value like others; NaN equals NaN and -0.0 equals 0.0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow, memory_of, numbers_of, where_present
from windrow.aggregates.kinds.base import Array, Integers, is_scalar, value_type
from windrow.operators.kernels import interning
from windrow.operators.kernels.input import span
from windrow.operators.kernels.panes.assign import look_up
from windrow.operators.state.changes import Appended
from windrow.operators.state.keys import NO_VALIDITY, array_from_keys, byte_strings, is_bytes, ordered_keys, validity

Codes = npt.NDArray[np.int32]
NO_CODES: Codes = np.empty(0, np.int32)
DIRECT = 1 << 16
"""Words within a range of this many are looked up in a table instead of hashed."""
COMPACT_ABOVE = 1 << 12
"""Fewer keys than this are kept, in use or not."""


class Interner(ABC):
    """Different values of one column, numbered as they come."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind
        self.count = 0
        self.null = -1
        """The number of NULL, once it came."""

    @abstractmethod
    def encode(self, array: Array) -> Codes: ...

    @abstractmethod
    def values(self) -> Array: ...


class WordInterner(Interner):
    """Numbers, times and booleans, by their 64-bit keys."""

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(kind)
        self.stored = np.zeros(64, np.int64)
        self.index = np.full(128, -1, np.int32)
        self.base = 0
        self.direct: Codes = NO_CODES

    def encode(self, array: Array) -> Codes:
        valid = validity(array)
        if len(valid) and self.null < 0:
            if self.count == len(self.stored):
                self._grow()
            self.null, self.count = self.count, self.count + 1
        return self.encode_words(ordered_keys(array), valid)

    def encode_words(self, words: Integers, valid: npt.NDArray[np.uint8]) -> Codes:
        out = np.empty(len(words), np.int32)
        if len(valid) == 0 and len(words) and self._encode_directly(words, out):
            return out
        return self._encode_by_hash(words, valid, out)

    def _encode_directly(self, words: Integers, out: Codes) -> bool:
        """By a table over the range of the words, when it is small; the table follows the hash.

        A table is made for many words only: few in each of thousands of columns would cost a table each.
        """
        if len(self.direct) == 0 and len(words) < DIRECT >> 4:
            return False
        least, most = span(words)
        if most - least >= DIRECT:
            return False
        if least < self.base or most >= self.base + len(self.direct):
            self.base = int(min(least, self.base)) if self.base + DIRECT > most and len(self.direct) else int(least)
            self.direct = np.full(DIRECT, -1, np.int32)
            known = self.stored[: self.count] - self.base
            inside = (known >= 0) & (known < DIRECT)
            if self.null >= 0:
                inside[self.null] = False
            self.direct[known[inside]] = np.flatnonzero(inside)
        unknown = interning.direct_codes(words, self.base, self.direct, out)
        if unknown >= 0:
            rest = self._encode_by_hash(words[unknown:], NO_VALIDITY, out[unknown:])
            self.direct[words[unknown:] - self.base] = rest
        return True

    def _encode_by_hash(self, words: Integers, valid: npt.NDArray[np.uint8], out: Codes) -> Codes:
        reached = 0
        while True:
            reached, self.count = interning.intern_words(
                words, valid, self.null, reached, self.index, self.stored, self.count, out
            )
            if reached == len(words):
                return out
            self._grow()

    def _grow(self) -> None:
        self.stored = np.concatenate([self.stored, np.zeros(3 * len(self.stored), np.int64)])
        self.index = np.full(2 * len(self.stored), -1, np.int32)
        interning.index_words(self.index, self.stored, self.count, self.null)

    def values(self) -> Array:
        return _with_null(array_from_keys(self.stored[: self.count], self.kind), self.null)


class BytesInterner(Interner):
    """Text and binary, by their bytes."""

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(kind)
        self.used = 0
        self.hashes = np.zeros(64, np.uint64)
        self.ends = np.zeros(64, np.int64)
        self.pool = np.zeros(1024, np.uint8)
        self.index = np.full(128, -1, np.int32)

    def encode(self, array: Array) -> Codes:
        valid = validity(array)
        if len(valid) and self.null < 0:
            self._grow(0)
            self.ends[self.count] = self.used
            self.null, self.count = self.count, self.count + 1
        offsets, data = byte_strings(array)
        out = np.empty(len(array), np.int32)
        reached = 0
        while True:
            reached, self.count, self.used = interning.intern_bytes(
                offsets, data, valid, self.null, reached, self.index,
                self.hashes, self.ends, self.pool, self.count, self.used, out,
            )  # fmt: skip
            if reached == len(array):
                return out
            self._grow(int(offsets[reached + 1] - offsets[reached]))

    def _grow(self, needed: int) -> None:
        """Make room for so many bytes, and for another value, where there is none."""
        if self.used + needed > len(self.pool):
            self.pool = np.concatenate([self.pool, np.zeros(3 * len(self.pool) + needed, np.uint8)])
        if self.count == len(self.ends):
            self.hashes = np.concatenate([self.hashes, np.zeros(3 * len(self.hashes), np.uint64)])
            self.ends = np.concatenate([self.ends, np.zeros(3 * len(self.ends), np.int64)])
            self.index = np.full(2 * len(self.ends), -1, np.int32)
            interning.index_bytes(self.index, self.hashes, self.count, self.null)

    def values(self) -> Array:
        offsets = np.concatenate([[0], self.ends[: self.count]]).astype(np.int64)
        is_binary = pa.types.is_binary(self.kind) or pa.types.is_large_binary(self.kind)
        array = pa.Array.from_buffers(
            pa.large_binary() if is_binary else pa.large_string(),
            self.count,
            [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(self.pool[: self.used].tobytes())],
        )
        return _with_null(array, self.null).cast(self.kind)


class AnyInterner(Interner):
    """Values of other types (decimals, ...), one Python object a different value; NULL is one of them."""

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(kind)
        self.known: dict[Any, int] = {}

    def encode(self, array: Array) -> Codes:
        encoded = array.dictionary_encode(null_encoding="encode")
        known = self.known
        table = [known.setdefault(value, len(known)) for value in encoded.dictionary.to_pylist()]
        self.count = len(known)
        codes: Codes = np.asarray(table, np.int32)[np.asarray(encoded.indices)]
        return codes

    def values(self) -> Array:
        return pa.array(list(self.known)[: self.count], self.kind)


def _with_null(values: Array, null: int) -> Array:
    if null < 0:
        return values
    present = np.ones(len(values), np.bool_)
    present[null] = False
    return where_present(values, np.arange(len(values)), present)


def interner_for(kind: pa.DataType) -> Interner:
    kind = value_type(kind)
    if is_scalar(kind):
        return WordInterner(kind)
    return BytesInterner(kind) if is_bytes(kind) else AnyInterner(kind)


def in_order(interner: Interner, array: Array) -> Codes:
    """Codes in order of first sight, NULL too: saved keys get the codes they had."""
    if array.null_count == 0 or interner.null >= 0:
        return interner.encode(array)
    first = int(np.flatnonzero(validity(array) == 0)[0])
    return np.concatenate([interner.encode(array.slice(0, first)), interner.encode(array.slice(first))])


class Groups:
    """Codes of composite keys; with no key column everything is group 0."""

    def __init__(self, kinds: Sequence[pa.DataType]) -> None:
        self.kinds = [value_type(kind) for kind in kinds]
        self.columns = [interner_for(kind) for kind in self.kinds]
        self.pairs = [WordInterner(pa.int64()) for _ in self.kinds[1:]]
        self._decoded: list[Array | None] = [None for _ in self.kinds]
        self._last: tuple[Codes, list[Array]] | None = None
        self._dictionaries: list[tuple[Array | None, Codes]] = [(None, NO_CODES) for _ in self.kinds]
        self._look_at = COMPACT_ABOVE

    @property
    def count(self) -> int:
        if not self.columns:
            return 1
        return (self.pairs[-1] if self.pairs else self.columns[0]).count

    def encode(self, arrays: Sequence[Array]) -> Codes:
        """A code for each row; empty when there are no key columns."""
        if not arrays:
            return NO_CODES
        codes = self._column_codes(0, arrays[0])
        for place, pair in enumerate(self.pairs, start=1):
            words = (codes.astype(np.int64) << 32) | self._column_codes(place, arrays[place])
            codes = pair.encode_words(words, NO_VALIDITY)
        return codes

    def _column_codes(self, place: int, array: Array) -> Codes:
        """Of a dictionary, by the codes of its entries: batches that share the dictionary share the work."""
        if not isinstance(array, pa.DictionaryArray):
            return in_order(self.columns[place], array)
        known, table = self._dictionaries[place]
        if known is None or memory_of(known) != memory_of(array.dictionary):
            if len(array.dictionary) > COMPACT_ABOVE + len(array):  # most entries would be groups without a row
                return in_order(self.columns[place], array.dictionary_decode())
            table = self.columns[place].encode(array.dictionary)
            self._dictionaries[place] = array.dictionary, table
        indices = array.indices
        if array.null_count:
            table = np.concatenate([table, self.columns[place].encode(pa.array([None], self.kinds[place]))])
            indices = indices.fill_null(len(table) - 1)
        out = np.empty(len(array), np.int32)
        look_up(table, np.asarray(indices), out)
        return out

    def decode(self, codes: Codes) -> list[Array]:
        """The key columns of groups. Windows that follow each other often have the same groups: kept for the next."""
        if not self.columns:
            return []
        if self._last is None or not np.array_equal(self._last[0], codes):
            self._last = codes.copy(), self._decode(codes)
        return list(self._last[1])

    def keys(self, start: int, end: int) -> list[Array]:
        """The key columns of the groups from `start` up to `end`: they stay as they are, more come behind them."""
        return self._decode(np.arange(start, end, dtype=np.int32)) if self.columns else []

    @property
    def is_large(self) -> bool:
        """Whether there may be twice as many keys as when `compacted` last looked at those in use."""
        return bool(self.kinds) and self.count >= self._look_at

    def would_shrink(self, used: Codes) -> bool:
        """Whether most keys are not among these, which are in use; if not, `is_large` is false until there are more."""
        self._look_at = max(COMPACT_ABOVE, 2 * len(used))
        return 2 * len(used) <= self.count

    def compacted(self, find_used: Callable[[], Codes]) -> tuple[Groups, Codes] | None:
        """Only the keys in use, and the new code of each old one (-1: gone), once most are not in use; else None.

        Codes keep their order. `find_used` looks at all state, so it is called only when the keys may have doubled.
        """
        if not self.is_large:
            return None
        used = find_used()
        if not self.would_shrink(used):
            return None
        mapping = np.full(self.count, -1, np.int32)
        mapping[used] = np.arange(len(used), dtype=np.int32)
        kept = Groups(self.kinds)
        kept.encode(self.decode(used))
        kept._look_at = self._look_at
        return kept, mapping

    def saved(self) -> Appended:
        """The keys of all groups in order of their codes."""

        now = self._as_now()

        def make(start: int, end: int) -> pa.Table:
            arrays = now.keys(start, end)
            return pa.table(arrays, names=[f"key{i}" for i in range(len(arrays))])

        return Appended(self, self.count if self.kinds else 0, make)

    def _as_now(self) -> Groups:
        """The groups there are, in the same memory: more are only written behind what is counted now."""
        now = copy(self)
        now.columns, now.pairs = [copy(column) for column in self.columns], [copy(pair) for pair in self.pairs]
        now._decoded = list(self._decoded)
        return now

    def restore(self, table: pa.Table) -> None:
        if self.kinds and table.num_rows:
            self.encode([column.combine_chunks() for column in table.columns])

    def _decode(self, codes: Codes) -> list[Array]:
        arrays: list[Array] = []
        remaining = codes
        for place in range(len(self.pairs), 0, -1):
            words = self.pairs[place - 1].stored[remaining]
            arrays.append(self._values(place).take(arrow(words & 0xFFFFFFFF)))
            remaining = (words >> 32).astype(np.int32)
        arrays.append(self._values(0).take(arrow(remaining)))
        return arrays[::-1]

    def _values(self, place: int) -> Array:
        """The different values of a key column, made anew only when there are more."""
        known = self._decoded[place]
        if known is None or len(known) != self.columns[place].count:
            known = self._decoded[place] = self.columns[place].values()
        return known


def codes_of(table: pa.Table) -> Codes:
    """The group codes in a saved table."""
    return numbers_of(table, "code").astype(np.int32)
