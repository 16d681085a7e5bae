"""Bits in a ring of 64-bit words, the lowest bit of a word first. A ring has a power of two of words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from windrow.operators.kernels.compression.words import bit_length

LINE_BYTES = 64
LINE_WORDS = 8
LINE_BITS = 512


@njit(cache=True, nogil=True)
def put(words: Any, at: Any, count: Any, value: Any) -> None:
    """Write the lowest `count` bits of a word, whose other bits are zero; bits behind them are lost."""
    mask, offset = len(words) - 1, at & 63
    word, low = (at >> 6) & mask, np.uint64(value)
    if offset == 0:
        words[word] = low
        return
    kept = words[word] & ((np.uint64(1) << np.uint64(offset)) - np.uint64(1))
    words[word] = kept | (low << np.uint64(offset))
    if offset + count > 64:
        words[(word + 1) & mask] = low >> np.uint64(64 - offset)


@njit(cache=True, nogil=True)
def get(words: Any, at: Any, count: Any) -> Any:
    """The `count` bits, 1 to 64 of them, from bit `at` on."""
    mask, offset = len(words) - 1, at & 63
    word = (at >> 6) & mask
    found = words[word] >> np.uint64(offset)
    if offset + count > 64:
        found |= words[(word + 1) & mask] << np.uint64(64 - offset)
    return found & (~np.uint64(0) >> np.uint64(64 - count))


@njit(cache=True, nogil=True)
def leading_zeros(word: Any) -> Any:
    """Of a word that is not zero.

    >>> leading_zeros(np.uint64(1)), leading_zeros(np.uint64(1 << 63)), trailing_zeros(np.uint64(40))
    (63, 0, 3)
    """
    return 64 - bit_length(word)


@njit(cache=True, nogil=True)
def trailing_zeros(word: Any) -> Any:
    """Of a word that is not zero."""
    return bit_length(word & (~word + np.uint64(1))) - 1
