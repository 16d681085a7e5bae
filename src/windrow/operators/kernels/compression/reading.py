"""The values of one block from its bytes."""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import kernel
from windrow.operators.kernels.compression.decimals import MOST_DIGITS, flipped, from_whole_numbers, put_flipped
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
    PLANES,
    REFERENCE,
    RUNS,
)
from windrow.operators.kernels.compression.widths import get_words
from windrow.operators.kernels.compression.words import get_number, load_word, unzigzag
from windrow.operators.kernels.planes.layout import get_planes

DAMAGED = -1
"""What is read in place of an end where bytes cannot be a block."""


@kernel
def rows_of_block(data, at):
    """How many rows a block has, from its first two bytes."""
    return np.int64(data[at]) + (np.int64(data[at + 1]) << 8) + 1


@kernel
def read_block(data, at, kind, least, as_bits, out, rooms):
    """Write all values of a block; where its bytes end, or `DAMAGED`.

    Floats are written as keys, or `as_bits`.
    """
    count = rows_of_block(data, at)
    at += 2
    exponent, exceptions, listed, divisor = np.int64(0), np.int64(0), at, np.uint64(1)
    if kind & DECIMALS:
        exponent = np.int64(data[at])
        least, at = get_number(data, at + 1)
        least = unzigzag(least)
        number, listed = get_number(data, at)
        most = 0 if kind & CHANGE == PLANES else count
        if exponent > MOST_DIGITS or number > np.uint64(most):
            return DAMAGED
        exceptions = np.int64(number)
        at = listed + 10 * exceptions
    if kind & DIVIDED:
        divisor, at = get_number(data, at)
    words, other = rooms[0], rooms[1]
    at = _read_change(data, at, kind, count, words, rooms)
    if at < 0:
        return DAMAGED
    if not kind & DECIMALS and not as_bits:
        from_least(words, count, least, divisor, out)
        return at
    from_least(words, count, least, divisor, other)
    _put_floats(kind, count, exponent, as_bits, other, words, out)
    if exceptions:
        _put_exceptions(data, listed, exceptions, as_bits, count, out)
    return at


@kernel
def _put_floats(kind, count, exponent, as_bits, words, spare, out):
    """Keys or bits of floats, from keys or whole numbers of decimal fractions."""
    signed = out.view(np.int64)
    if not kind & DECIMALS:
        put_flipped(words.view(np.int64), count, signed)
    elif as_bits:
        from_whole_numbers(words.view(np.int64), count, exponent, out.view(np.float64))
    else:
        from_whole_numbers(words.view(np.int64), count, exponent, spare.view(np.float64))
        put_flipped(spare.view(np.int64), count, signed)


@kernel
def _put_exceptions(data, listed, exceptions, as_bits, count, out):
    for k in range(exceptions):
        place = np.int64(data[listed + 2 * k]) | np.int64(data[listed + 2 * k + 1]) << 8
        key = np.int64(load_word(data, listed + 2 * exceptions + 8 * k))
        out[min(place, count - 1)] = np.uint64(flipped(key) if as_bits else key)


@kernel
def _read_change(data, at, kind, count, words, rooms):
    change = kind & CHANGE
    if change == REFERENCE:
        return get_words(data, at, count, words, rooms)
    if change == PLANES:
        return get_planes(data, at, count, words)
    if change in (DELTA, DELTA_OF_DELTA):
        start, at = get_number(data, at)
        step, at = get_number(data, at)
        at = get_words(data, at, count, words, rooms)
        if change == DELTA:
            restore_deltas(words, count, start, unzigzag(step), kind & AROUND != 0)
        else:
            restore_deltas_of_deltas(words, count, start, unzigzag(step))
        return at
    if change == DICTIONARY:
        return _read_dictionary(data, at, count, words, rooms)
    return _read_runs(data, at, count, words, rooms) if change == RUNS else DAMAGED


@kernel
def _read_dictionary(data, at, count, words, rooms):
    entries, size = rooms[2], np.int64(data[at]) + 1
    at = get_words(data, at + 1, size, entries, rooms)
    if at < 0:
        return DAMAGED
    for k in range(1, size):
        entries[k] += entries[k - 1]
    places = rooms[4]
    at = get_words(data, at, count, places, rooms)
    highest = np.uint64(size - 1)
    for i in range(count):
        words[i] = entries[np.int64(min(places[i], highest))]
    return at


@kernel
def _read_runs(data, at, count, words, rooms):
    number, at = get_number(data, at)
    if number > np.uint64(count):
        return DAMAGED
    runs, values, lengths = np.int64(number), rooms[2], rooms[4]
    at = get_words(data, at, runs, values, rooms)
    if at < 0:
        return DAMAGED
    at = get_words(data, at, runs, lengths, rooms)
    return at if at >= 0 and spread_runs(values, lengths, runs, words, count) else DAMAGED
