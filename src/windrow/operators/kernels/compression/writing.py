"""One block as bytes: rows less one, [power of ten, least, exceptions], [divisor], then what its change needs."""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import kernel
from windrow.operators.kernels.compression.bits import kept_width, pack
from windrow.operators.kernels.compression.decimals import find_exceptions, to_bits, to_whole_numbers
from windrow.operators.kernels.compression.differences import (
    above_least,
    change_to_deltas,
    change_to_deltas_of_deltas,
)
from windrow.operators.kernels.compression.distinct import MOST, find_distinct, find_runs, new_slots, sort_entries
from windrow.operators.kernels.compression.plans import (
    AROUND,
    CHANGE,
    CODING,
    DECIMALS,
    DELTA,
    DELTA_OF_DELTA,
    DICTIONARY,
    DIVIDED,
    DIVISOR,
    EXPONENT,
    KIND,
    PLANES,
    RUNS,
)
from windrow.operators.kernels.compression.widths import ONE_WIDTH, put_words
from windrow.operators.kernels.compression.words import bit_length, put_number, store_word, zigzag
from windrow.operators.kernels.planes.layout import put_planes

NOT_SO = -1
"""The plan does not fit the block."""


@kernel
def put_count(count, data, at):
    """Write how many rows a block has, in two bytes."""
    data[at], data[at + 1] = (count - 1) & 255, (count - 1) >> 8
    return at + 2


@kernel
def write_block(words, count, least, plan, rooms, data, at):
    """Write a block as planned; where it ends, or `NOT_SO`."""
    kind, divisor = plan[KIND], np.uint64(1)
    at = put_count(count, data, at)
    if kind & DECIMALS:
        most = 0 if kind & CHANGE == PLANES else count >> 1
        at = _write_decimals(words, count, plan[EXPONENT], most, rooms, data, at)
        if at < 0:
            return NOT_SO
        words = rooms[0]
        least = np.uint64(words.view(np.int64)[:count].min())
    if kind & DIVIDED:
        divisor = np.uint64(plan[DIVISOR])
        at = put_number(data, at, divisor)
    if not above_least(words, count, least, divisor, rooms[1]):
        return NOT_SO
    return _write_change(kind, plan[CODING], rooms[1], count, rooms, data, at)


@kernel
def _write_decimals(keys, count, exponent, most, rooms, data, at):
    """Write power of ten, least whole number and exceptions; the whole numbers go into `rooms[0]`."""
    bits, whole, places = rooms[5].view(np.int64), rooms[0].view(np.int64), rooms[4]
    to_bits(keys.view(np.int64), count, bits)
    wrong = to_whole_numbers(bits, rooms[5].view(np.float64), count, exponent, whole)
    if wrong > most:
        return NOT_SO
    if wrong:
        find_exceptions(bits, count, whole, places)
    data[at] = exponent
    at = put_number(data, at + 1, zigzag(np.uint64(whole[:count].min())))
    at = put_number(data, at, np.uint64(wrong))
    for k in range(wrong):
        place = np.int64(places[k])
        data[at + 2 * k], data[at + 2 * k + 1] = place & 255, place >> 8
    at += 2 * wrong
    for k in range(wrong):
        store_word(data, at + 8 * k, keys[np.int64(places[k])])
    return at + 8 * wrong


@kernel
def _write_change(kind, coding, above, count, rooms, data, at):
    change, out = kind & CHANGE, rooms[2]
    if change == PLANES:
        return put_planes(above, count, data, at)
    if change == DELTA:
        base = change_to_deltas(above, count, kind & AROUND != 0, out)
        at = put_number(data, put_number(data, at, above[0]), zigzag(base))
        return put_words(out, count, coding, rooms, data, at)
    if change == DELTA_OF_DELTA:
        step = change_to_deltas_of_deltas(above, count, out)
        at = put_number(data, put_number(data, at, above[0]), zigzag(step))
        return put_words(out, count, coding, rooms, data, at)
    if change == DICTIONARY:
        return _write_dictionary(coding, above, count, rooms, data, at)
    if change == RUNS:
        runs = find_runs(above, count, out, rooms[0])
        at = put_number(data, at, np.uint64(runs))
        at = put_words(out, runs, ONE_WIDTH, rooms, data, at)
        return put_words(rooms[0], runs, ONE_WIDTH, rooms, data, at)
    return put_words(above, count, coding, rooms, data, at)


@kernel
def _write_dictionary(coding, above, count, rooms, data, at):
    """Entries less one, how far each entry lies above the one before, places."""
    entries, places, codes = rooms[2], rooms[4], rooms[5]
    size = find_distinct(above, count, new_slots(), entries, places, MOST)
    if size > MOST:
        return NOT_SO
    order = rooms[0].view(np.int64)
    sort_entries(entries, size, order, codes)
    for i in range(count):
        places[i] = codes[np.int64(places[i])]
    gaps, last = codes, np.uint64(0)
    for k in range(size):
        entry = entries[order[k]]
        gaps[k] = entry - last
        last = entry
    data[at] = size - 1
    at = put_words(gaps, size, ONE_WIDTH, rooms, data, at + 1)
    return put_words(places, count, coding, rooms, data, at)


@kernel
def write_plainly(words, count, least, span, room, data, at):
    """Write how far words lie above the least in one width: no larger than they are in their own type."""
    at = put_count(count, data, at)
    for i in range(count):
        room[i] = words[i] - least
    width = kept_width(bit_length(span))
    data[at], data[at + 1] = width, 0
    return pack(room, count, width, data, at + 2)
