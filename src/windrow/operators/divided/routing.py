"""Which shard the rows of a key belong to.

A shard's state is saved under its number, so the assignment is part of saved state: it must never change.
Equal keys get the same shard whatever carries them: a dictionary or plain values, string or large_string, int32 or
int64. NULL equals NULL, NaN equals NaN, -0.0 equals 0.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Array, Integers, is_scalar
from windrow.operators.kernels import hashing
from windrow.operators.state.hashes import hashes, texts
from windrow.operators.state.keys import ordered_keys

Shards: TypeAlias = npt.NDArray[np.int32]


def shards_of(arrays: Sequence[Array], rows: int, count: int) -> Shards:
    """A shard in 0 .. count - 1 for each row of these key columns; shard 0 for all when there are none."""
    shards = np.zeros(rows, np.int32)
    if arrays and count > 1:
        found = np.zeros(rows, np.uint64)
        for array in arrays:
            hashing.fold(found, hashes(array, _words_or_texts))
        hashing.spread(found, count, shards)
    return shards


def _words_or_texts(array: Array) -> Integers | Array:
    return ordered_keys(array) if is_scalar(array.type) else texts(array)
