"""Hashes of keys that are the same in every process and on every machine, folded column by column into one word."""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import kernel
from windrow.operators.kernels.interning import hash_bytes
from windrow.operators.kernels.panes.cells import mix

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
NULL = np.uint64(0xD1B54A32D192ED03)
"""The hash of NULL, in a column of any type."""


@kernel
def hash_words(words, valid, out):
    """Hash 64-bit words (splitmix64)."""
    for i in range(len(words)):
        present = len(valid) == 0 or valid[i]
        out[i] = mix(np.uint64(words[i]) + GOLDEN) if present else NULL


@kernel
def hash_strings(offsets, data, valid, out):
    """Hash the byte strings `data[offsets[i]:offsets[i + 1]]`."""
    for i in range(len(offsets) - 1):
        present = len(valid) == 0 or valid[i]
        out[i] = mix(hash_bytes(data, offsets[i], offsets[i + 1])) if present else NULL


@kernel
def fold(hashes, words):
    """Add the hashes of one more column; the order of columns counts."""
    for i in range(len(hashes)):
        hashes[i] = mix((hashes[i] + GOLDEN) ^ words[i])


@kernel
def spread(hashes, count, out):
    """A number below `count` for each hash, from its top 32 bits."""
    for i in range(len(hashes)):
        out[i] = np.int32(((hashes[i] >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))
