"""Which shard the rows of a key belong to.

A shard's state is saved under its number, so the assignment is part of saved state: it must never change.
Equal keys get the same shard whatever carries them: a dictionary or plain values, string or large_string, int32 or
int64. NULL equals NULL, NaN equals NaN, -0.0 equals 0.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Array, is_scalar
from windrow.operators.kernels import hashing
from windrow.operators.state.groups import BytesInterner, interner_for
from windrow.operators.state.keys import byte_strings, ordered_keys, validity

Shards: TypeAlias = npt.NDArray[np.int32]
Hashes: TypeAlias = npt.NDArray[np.uint64]


def shards_of(arrays: Sequence[Array], rows: int, count: int) -> Shards:
    """A shard in 0 .. count - 1 for each row of these key columns; shard 0 for all when there are none."""
    shards = np.zeros(rows, np.int32)
    if arrays and count > 1:
        hashes = np.zeros(rows, np.uint64)
        for array in arrays:
            hashing.fold(hashes, _hashes(array))
        hashing.spread(hashes, count, shards)
    return shards


def _hashes(array: Array) -> Hashes:
    if isinstance(array, pa.DictionaryArray):
        return _entry_hashes(array)
    if is_scalar(array.type):
        out = np.empty(len(array), np.uint64)
        hashing.hash_words(ordered_keys(array), validity(array), out)
        return out
    if isinstance(interner_for(array.type), BytesInterner):
        return _string_hashes(array)
    return _hashes(pa.array([None if value is None else str(value) for value in array.to_pylist()], pa.string()))


def _entry_hashes(array: pa.DictionaryArray[Any, Any]) -> Hashes:
    """By the entries of the dictionary, unless most of them cannot occur."""
    if len(array.dictionary) > len(array):
        return _hashes(array.dictionary_decode())
    entries = np.append(_hashes(array.dictionary), hashing.NULL)
    indices = array.indices
    if array.null_count:
        indices = indices.cast(pa.int64()).fill_null(len(entries) - 1)
    found: Hashes = entries[np.asarray(indices)]
    return found


def _string_hashes(array: Array) -> Hashes:
    out = np.empty(len(array), np.uint64)
    hashing.hash_strings(*byte_strings(array), validity(array), out)
    return out
