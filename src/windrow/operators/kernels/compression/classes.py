"""Classes of words for prefix codes: small words have one of their own, larger ones share it by their highest bits.

A class says the highest bits of a word; the rest of it, `class_rest` bits, follow the class as they are. Under
`EACH` every word below 256 is a class; otherwise words below 16 are, and above them each power of two has `2^fineness`.
"""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import inlined, kernel
from windrow.operators.kernels.compression.words import bit_length

CLASSES = 256
FINEST, EACH = 2, 3
"""Fineness: powers of two in 1, 2, 4 parts, or every word by itself."""
WIDEST_CODED = 46
"""Words have no more bits in a class: what is above them is written elsewhere."""
_TIME_A_CLASS = 10
"""A class takes time to read, which counts like so many bits."""
_SMALL_BITS = 4
_SMALL = 1 << _SMALL_BITS


@inlined
def class_of(word, fineness):
    """The class of a word of at most `WIDEST_CODED` bits, and of at most 8 under `EACH`."""
    if fineness == EACH or word < np.uint64(_SMALL):
        return np.int64(word)
    rest = bit_length(word) - 1 - fineness
    parts = np.int64(word >> np.uint64(rest)) - (1 << fineness)
    return _SMALL + ((rest + fineness - _SMALL_BITS) << fineness) + parts


@inlined
def class_rest(number, fineness):
    """How many bits of its words a class leaves open."""
    if fineness == EACH or number < _SMALL:
        return 0
    return ((number - _SMALL) >> fineness) + _SMALL_BITS - fineness


@inlined
def class_least(number, fineness):
    """The least word of a class."""
    if fineness == EACH or number < _SMALL:
        return np.uint64(number)
    parts = (number - _SMALL) & ((1 << fineness) - 1)
    return np.uint64((1 << fineness) + parts) << np.uint64(class_rest(number, fineness))


@kernel
def count_classes(words, count, fineness, counts):
    """How many words are in each class; bits above `WIDEST_CODED` are not looked at."""
    counts[:] = 0
    if fineness == EACH:
        for i in range(count):
            counts[words[i] & np.uint64(CLASSES - 1)] += 1
    else:
        mask = np.uint64((1 << WIDEST_CODED) - 1)
        for i in range(count):
            counts[class_of(words[i] & mask, fineness)] += 1


@kernel
def coarser(counts, fineness, out):
    """What was counted for the finest classes, for coarser ones."""
    out[:] = 0
    for number in range(CLASSES):
        if counts[number]:
            out[class_of(class_least(number, FINEST), fineness)] += counts[number]


@kernel
def coded_bits(counts, count, fineness):
    """About how many bits words in these classes take, with the lengths of their codes."""
    bits, last = 0.0, 0
    whole = _logarithm(count)
    for number in range(CLASSES):
        here = counts[number]
        if here:
            bits += here * (max(1.0, whole - _logarithm(here)) + class_rest(number, fineness))
            bits += 4.0 * min(number - last, 3) + _TIME_A_CLASS
            last = number
    return np.int64(bits) + 80


@inlined
def _logarithm(number):
    """To base two, between powers of it on a straight line."""
    whole = bit_length(np.uint64(number)) - 1
    return whole + (number / (1 << whole) - 1.0)
