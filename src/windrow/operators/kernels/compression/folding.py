"""Sums and extremes of stretches of a coded column: from headers, from planes, else from blocks that are read.

A column is (data, starts, offsets, leasts, greatests, kinds, skips), as in `columns.py`. Rows are those of the column;
inside a block they are counted from the block's first.
"""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import inlined, kernel
from windrow.operators.kernels.compression.columns import new_rooms, read_rows
from windrow.operators.kernels.compression.decimals import POWERS, flipped
from windrow.operators.kernels.compression.lanes import EIGHT, any_marked, keep_marked
from windrow.operators.kernels.compression.planes import (
    find_planes,
    from_row,
    ones,
    plane_words,
    up_to_row,
)
from windrow.operators.kernels.compression.plans import CHANGE, CONSTANT, PLANES, RAW
from windrow.operators.kernels.compression.reading import rows_of_block
from windrow.operators.kernels.compression.words import load_word

LOW = np.int64((1 << 32) - 1)
_U0, _U1, _U32 = np.uint64(0), np.uint64(1), np.uint64(32)
INFINITE = np.int64(0x7FF0000000000000)
"""The key of infinity: above it are those of NaN, and below that of its negative, too."""
NO_NUMBER = np.int64(0x7FF8000000000000)
"""The key of every NaN."""


@inlined
def one_key(key):
    """A float's key as those of values are: one for zeros of both signs, one for all NaN."""
    return np.int64(0) if key == -1 else (key if -INFINITE <= ~key and key <= INFINITE else NO_NUMBER)


@kernel
def count_ones(data, at, first, stop):
    """How many of the rows from `first` to `stop` are set in a plane."""
    lead, last = first >> 6, (stop - 1) >> 6
    head, tail = load_word(data, at + 8 * lead) & from_row(first), up_to_row(stop)
    if lead == last:
        return ones(head & tail)
    found = ones(head) + ones(load_word(data, at + 8 * last) & tail)
    for word in range(lead + 1, last):
        found += ones(load_word(data, at + 8 * word))
    return found


@kernel
def _planes_sum(data, at, width, each, first, stop):
    """The sum of some rows of planes, in units of 2^32 and 1."""
    top, low = _U0, _U0
    for bit in range(min(width, 32)):
        low += count_ones(data, at + 8 * bit * each, first, stop) << np.uint64(bit)
    for bit in range(32, width):
        top += count_ones(data, at + 8 * bit * each, first, stop) << np.uint64(bit - 32)
    return np.int64(top), np.int64(low)


@kernel
def fold_sums(column, block_rows, lows, highs, tops, bottoms):
    """The sum of each stretch of whole numbers, in units of 2^32 (`tops`) and 1; False where a block is damaged."""
    data, starts, offsets, leasts, _, kinds, skips = column
    rooms, spare = new_rooms(block_rows), np.empty(block_rows, np.uint64)
    signed = spare.view(np.int64)
    for i in range(len(lows)):
        top, low, at = np.int64(0), np.int64(0), lows[i]
        block = np.searchsorted(starts, at, side="right") - 1
        while at < highs[i]:
            stop = min(highs[i], starts[block + 1])
            count, skipped, kind = stop - at, np.int64(skips[block]) + at - starts[block], kinds[block]
            if kind == CONSTANT or kind & CHANGE == PLANES:
                least = leasts[block]
                if kind != CONSTANT:
                    _, least, width, planes = find_planes(data, offsets[block], kind, least)
                    each = plane_words(rows_of_block(data, offsets[block]))
                    above, over = _planes_sum(data, planes, width, each, skipped, skipped + count)
                    top, low = top + above, low + over
                top, low = top + count * (least >> 32), low + count * (least & LOW)
            else:
                if not read_rows(
                    data, offsets[block], kind, leasts[block], skipped, count, False, spare, rooms, spare
                ):
                    return False
                for k in range(count):
                    top, low = top + (signed[k] >> 32), low + (signed[k] & LOW)
            top, low, at, block = top + (low >> 32), low & LOW, stop, block + 1
        tops[i], bottoms[i] = top, low
    return True


@kernel
def _plane_extreme(data, at, width, each, first, stop, greatest, marks):
    """The least or the greatest of some rows of planes."""
    lead = first >> 6
    size, flip, found = mark_rows(marks, first - 64 * lead, stop - 64 * lead), (_U0 if greatest else ~_U0), _U0
    for bit in range(width - 1, -1, -1):
        plane, some = at + 8 * (bit * each + lead), _U0
        for k in range(0, size, EIGHT):
            some |= any_marked(marks, k, data, plane + 8 * k, flip)
        if some != 0:
            for k in range(0, size, EIGHT):
                keep_marked(marks, k, data, plane + 8 * k, flip, marks, k)
        found |= np.uint64((some != 0) == greatest) << np.uint64(bit)
    return np.int64(found)


@kernel
def mark_rows(marks, first, stop):
    """Mark the rows from `first`, which is in the first word, to `stop`; how many words have some."""
    size = plane_words(stop)
    for k in range(size):
        marks[k] = ~_U0
    marks[0] &= from_row(first)
    marks[size - 1] &= up_to_row(stop)
    for k in range(size, size + EIGHT):
        marks[k] = _U0
    return size


@inlined
def is_whole(data, start, end, kind, skipped, count):
    """Whether so many rows are all of a block's."""
    size = (end - start) >> 3 if kind == RAW else rows_of_block(data, start)
    return skipped == 0 and count == size


@kernel
def fold_extremes(column, block_rows, floats, lows, highs, least_keys, greatest_keys):
    """The least and the greatest key of each stretch; False where a block is damaged.

    Bounds in headers are those of whole blocks. A block of which a stretch has some rows is looked into only if its
    bounds could move those of the rest, so that a stretch is gone through twice.
    """
    rooms, spare = new_rooms(block_rows), np.empty(block_rows + EIGHT, np.uint64)
    for i in range(len(lows)):
        known = True, np.int64((1 << 63) - 1), np.int64(-(1 << 63))
        for parts in range(2):
            known = _extremes(column, floats, lows[i], highs[i], parts == 1, known, rooms, spare)
            if not known[0]:
                return False
        least_keys[i], greatest_keys[i] = known[1], known[2]
    return True


@kernel
def _extremes(column, floats, low, high, parts, known, rooms, spare):
    """Bounds that are known, moved by the blocks that a stretch has whole, or by those of which it has `parts`."""
    data, starts, offsets, leasts, greatests, kinds, skips = column
    _, least, greatest = known
    block, at = np.searchsorted(starts, low, side="right") - 1, low
    while at < high:
        stop = min(high, starts[block + 1])
        first, kind = np.int64(skips[block]) + at - starts[block], kinds[block]
        below, above = leasts[block], greatests[block]
        numbers = not floats or (~INFINITE <= below and above <= INFINITE)
        sure = kind == CONSTANT or (
            numbers and is_whole(data, offsets[block], offsets[block + 1], kind, first, stop - at)
        )
        if sure != parts and (not numbers or below < least or above > greatest):
            if not sure:
                read, below, above = _part_extremes(
                    data, offsets[block], kind, below, floats, first, stop - at, rooms, spare
                )
                if not read:
                    return False, least, greatest
            elif floats:
                below, above = one_key(below), one_key(above)
            least, greatest = min(least, below), max(greatest, above)
        at, block = stop, block + 1
    return True, least, greatest


@kernel
def _part_extremes(data, offset, kind, least, floats, first, count, rooms, spare):
    """Whether some rows of a block can be read, their least and their greatest key."""
    if kind & CHANGE == PLANES:
        exponent, least, width, at = find_planes(data, offset, kind, least)
        each = plane_words(rows_of_block(data, offset))
        low = least + _plane_extreme(data, at, width, each, first, first + count, False, spare)
        high = least + _plane_extreme(data, at, width, each, first, first + count, True, spare)
        if exponent >= 0:
            return True, _key_of_decimal(low, exponent), _key_of_decimal(high, exponent)
        return True, low, high
    if not read_rows(data, offset, kind, least, first, count, False, spare, rooms, spare):
        return False, least, least
    keys = spare.view(np.int64)
    low = high = one_key(keys[0]) if floats else keys[0]
    for k in range(1, count):
        key = one_key(keys[k]) if floats else keys[k]
        low, high = min(low, key), max(high, key)
    return True, low, high


@inlined
def _key_of_decimal(whole, exponent):
    return flipped(np.float64(np.float64(whole) / POWERS[exponent]).view(np.int64))
