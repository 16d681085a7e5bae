"""The values of one block from its bytes."""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import kernel
from windrow.operators.kernels.compression.decimals import MOST_DIGITS, to_keys
from windrow.operators.kernels.compression.differences import from_least, restore_deltas, restore_deltas_of_deltas
from windrow.operators.kernels.compression.distinct import spread_runs
from windrow.operators.kernels.compression.plans import (
    AROUND,
    CHANGE,
    DECIMALS,
    DELTA,
    DELTA_OF_DELTA,
    DICTIONARY,
    DIVIDED,
    REFERENCE,
    RUNS,
)
from windrow.operators.kernels.compression.widths import get_words
from windrow.operators.kernels.compression.words import get_number, load_word, unzigzag

DAMAGED = -1
"""What is read in place of an end where bytes cannot be a block."""


@kernel
def rows_of_block(data, at):
    """How many rows a block has, from its first two bytes."""
    return np.int64(data[at]) + (np.int64(data[at + 1]) << 8) + 1


@kernel
def read_block(data, at, kind, least, words, first, rooms):
    """Write all values of a block into `words` from `first` on; where its bytes end, or `DAMAGED`."""
    count = rows_of_block(data, at)
    at += 2
    exponent, exceptions, listed, divisor = np.int64(0), np.int64(0), at, np.uint64(1)
    if kind & DECIMALS:
        exponent = np.int64(data[at])
        least, at = get_number(data, at + 1)
        least = unzigzag(least)
        number, listed = get_number(data, at)
        if exponent > MOST_DIGITS or number > np.uint64(count):
            return DAMAGED
        exceptions = np.int64(number)
        at = listed + 10 * exceptions
    if kind & DIVIDED:
        divisor, at = get_number(data, at)
    at = _read_change(data, at, kind, count, words, first, rooms)
    if at < 0:
        return DAMAGED
    from_least(words, first, count, least, divisor)
    if kind & DECIMALS:
        to_keys(words, first, count, exponent)
        _put_exceptions(data, listed, exceptions, count, words, first)
    return at


@kernel
def _put_exceptions(data, listed, exceptions, count, words, first):
    for k in range(exceptions):
        place = np.int64(data[listed + 2 * k]) | np.int64(data[listed + 2 * k + 1]) << 8
        words[first + min(place, count - 1)] = load_word(data, listed + 2 * exceptions + 8 * k)


@kernel
def _read_change(data, at, kind, count, words, first, rooms):
    change, tops = kind & CHANGE, rooms[3]
    if change == REFERENCE:
        return get_words(data, at, count, words, first, tops)
    if change in (DELTA, DELTA_OF_DELTA):
        skipped = 1 if change == DELTA else 2
        start, at = get_number(data, at)
        step, at = get_number(data, at)
        if count < skipped:
            return DAMAGED
        at = get_words(data, at, count - skipped, words, first + skipped, tops)
        if change == DELTA:
            restore_deltas(words, first, count, start, unzigzag(step), kind & AROUND != 0)
        else:
            restore_deltas_of_deltas(words, first, count, start, unzigzag(step))
        return at
    if change == DICTIONARY:
        return _read_dictionary(data, at, count, words, first, rooms)
    return _read_runs(data, at, count, words, first, rooms) if change == RUNS else DAMAGED


@kernel
def _read_dictionary(data, at, count, words, first, rooms):
    entries, size = rooms[2], np.int64(data[at]) + 1
    at = get_words(data, at + 1, size, entries, 0, rooms[3])
    if at < 0:
        return DAMAGED
    for k in range(1, size):
        entries[k] += entries[k - 1]
    at = get_words(data, at, count, words, first, rooms[3])
    highest = np.uint64(size - 1)
    for i in range(first, first + count):
        words[i] = entries[np.int64(min(words[i], highest))]
    return at


@kernel
def _read_runs(data, at, count, words, first, rooms):
    number, at = get_number(data, at)
    if number > np.uint64(count):
        return DAMAGED
    runs, values, lengths = np.int64(number), rooms[2], rooms[4]
    at = get_words(data, at, runs, values, 0, rooms[3])
    if at < 0:
        return DAMAGED
    at = get_words(data, at, runs, lengths, 0, rooms[3])
    return at if at >= 0 and spread_runs(values, lengths, runs, words, first, count) else DAMAGED
