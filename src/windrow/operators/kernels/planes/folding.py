"""Sums and extremes of stretches of a coded column: from headers, from planes, else from blocks that are read.

`blocks` is the column's directory. Rows are those of the column; inside a block they are counted from its first.
"""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import inlined, kernel
from windrow.operators.kernels.compression.bits import mask_of
from windrow.operators.kernels.compression.columns import new_rooms, read_rows
from windrow.operators.kernels.compression.decimals import POWERS, flipped
from windrow.operators.kernels.compression.plans import CONSTANT
from windrow.operators.kernels.planes.directory import (
    AT,
    BASE,
    EXPONENT,
    GREATEST,
    KIND,
    LEAST,
    OFFSET,
    ROWS,
    SKIP,
    START,
    UNFOLDED,
    WIDTH,
    block_of,
    field,
    plane_size,
)
from windrow.operators.kernels.planes.lanes import (
    BYTES,
    EIGHT,
    any_marked,
    keep_marked,
    put_word_at,
    put_words_at,
    sum_marked,
    word_at,
)
from windrow.operators.kernels.planes.layout import (
    from_row,
    plane_words,
    up_to_row,
)

LOW = np.int64((1 << 32) - 1)
INFINITE = np.int64(0x7FF0000000000000)
"""The key of infinity: above it are those of NaN, and below that of its negative, too."""
NO_NUMBER = np.int64(0x7FF8000000000000)
"""The key of every NaN."""


@inlined
def one_key(key):
    """A float's key as those of values are: one for zeros of both signs, one for all NaN."""
    return np.int64(0) if key == -1 else (key if ~INFINITE <= key and key <= INFINITE else NO_NUMBER)


@kernel
def mark_rows(marks, first, stop):
    """Mark rows from an address on: from `first`, which is in the first word, to `stop`; how many words have some.

    None of the next eight words is marked.
    """
    size = plane_words(stop)
    for k in range(0, 8 * size, BYTES):
        put_words_at(marks + k, -1)
    put_words_at(marks + 8 * size, 0)
    put_word_at(marks, np.int64(from_row(first)))
    last = marks + 8 * size - 8
    put_word_at(last, word_at(last) & np.int64(up_to_row(stop)))
    return size


@kernel
def _planes_sum(planes, width, each, first, stop, marks):
    """The sum of some rows of planes, in units of 2^32 and 1."""
    planes, low, top = planes + 8 * (first >> 6), np.int64(0), np.int64(0)
    size = 8 * mark_rows(marks, first & 63, stop - (first & ~63))
    for half in range(0, width, 32):
        top, low = low, sum_marked(marks, planes + 8 * half * each, 8 * each, min(width - half, 32), size)
    return (low, top) if width > 32 else (np.int64(0), low)


@kernel
def fold_sums(data, blocks, block_rows, lows, highs, tops, bottoms):
    """The sum of each stretch of whole numbers, in units of 2^32 (`tops`) and 1; False where a block is damaged."""
    rooms, spare = new_rooms(block_rows), np.empty(block_rows + 4 * EIGHT, np.uint64)
    signed, bytes_, directory = spare.view(np.int64), data.ctypes.data, blocks.ctypes.data
    marks = (spare.ctypes.data + BYTES - 1) & -BYTES
    for i in range(len(lows)):
        top, low, at = np.int64(0), np.int64(0), lows[i]
        block = block_of(directory, len(blocks) - 1, at)
        while at < highs[i]:
            stop, kind = min(highs[i], blocks[block + 1, START]), blocks[block, KIND]
            count, first, base = stop - at, blocks[block, SKIP] + at - blocks[block, START], blocks[block, LEAST]
            if kind == CONSTANT or blocks[block, EXPONENT] != UNFOLDED:
                if kind != CONSTANT:
                    planes, each = bytes_ + blocks[block, AT], plane_words(blocks[block, ROWS])
                    over, above = _planes_sum(planes, blocks[block, WIDTH], each, first, first + count, marks)
                    top, low = top + over, low + above
                top, low = top + count * (base >> 32), low + count * (base & LOW)
            else:
                if not read_rows(data, blocks[block, OFFSET], kind, base, first, count, False, spare, rooms, spare):
                    return False
                for k in range(count):
                    top, low = top + (signed[k] >> 32), low + (signed[k] & LOW)
            top, low, at, block = top + (low >> 32), low & LOW, stop, block + 1
        tops[i], bottoms[i] = top, low
    return True


@kernel
def _plane_extreme(planes, width, each, first, stop, flip, marks):
    """The greatest of some rows of planes, or, with `flip` all ones, the complement of the least."""
    planes += 8 * (first >> 6)
    size, found = mark_rows(marks, first & 63, stop - (first & ~63)), np.int64(0)
    for bit in range(width - 1, -1, -1):
        plane, some = planes + 8 * bit * each, np.int64(0)
        for k in range(0, 8 * size, BYTES):
            some |= any_marked(marks + k, plane + k, flip)
        if some != 0:
            for k in range(0, 8 * size, BYTES):
                keep_marked(marks + k, plane + k, flip, marks + k)
        found |= np.int64(some != 0) << bit
    return found


@kernel
def fold_extremes(data, blocks, block_rows, floats, lows, highs, least_keys, greatest_keys):
    """The least and the greatest key of each stretch; False where a block is damaged.

    Bounds in headers are those of whole blocks. A block of which a stretch has some rows is looked into only if its
    bounds could move those of the rest, so that a stretch is gone through twice.
    """
    rooms, spare = new_rooms(block_rows), np.empty(block_rows + 2 * EIGHT, np.uint64)
    bytes_, directory = data.ctypes.data, blocks.ctypes.data
    for i in range(len(lows)):
        least, greatest = np.int64((1 << 63) - 1), np.int64(-(1 << 63))
        begin = block_of(directory, len(blocks) - 1, lows[i])
        for parts in range(2):
            block, at = begin, lows[i]
            while at < highs[i]:
                stop = min(highs[i], blocks[block + 1, START])
                below, above, kind = blocks[block, LEAST], blocks[block, GREATEST], blocks[block, KIND]
                numbers = not floats or (~INFINITE <= below and above <= INFINITE)
                sure = kind == CONSTANT or (numbers and stop - at == blocks[block, ROWS])
                if sure != parts and (not numbers or below < least or above > greatest):
                    first = blocks[block, SKIP] + at - blocks[block, START]
                    if not sure and blocks[block, EXPONENT] != UNFOLDED:
                        below, above = _part_extremes(bytes_, directory, block, first, stop - at, spare.ctypes.data)
                    elif not sure:
                        read = read_rows(
                            data, blocks[block, OFFSET], kind, below, first, stop - at, False, spare, rooms, spare
                        )
                        if not read:
                            return False
                        below, above = _extremes_of(spare, stop - at, floats)
                    elif floats:
                        below, above = one_key(below), one_key(above)
                    least, greatest = min(least, below), max(greatest, above)
                at, block = stop, block + 1
        least_keys[i], greatest_keys[i] = least, greatest
    return True


@kernel
def _part_extremes(data, blocks, block, first, count, marks):
    """The least and the greatest key of some rows of a block in planes."""
    each, planes = plane_size(blocks, block), data + field(blocks, block, AT)
    width, base, exponent = field(blocks, block, WIDTH), field(blocks, block, BASE), field(blocks, block, EXPONENT)
    low = base + (_plane_extreme(planes, width, each, first, first + count, -1, marks) ^ np.int64(mask_of(width)))
    high = base + _plane_extreme(planes, width, each, first, first + count, 0, marks)
    return (low, high) if exponent < 0 else (_key_of_decimal(low, exponent), _key_of_decimal(high, exponent))


@kernel
def _extremes_of(words, count, floats):
    keys = words.view(np.int64)
    least, greatest = np.int64((1 << 63) - 1), np.int64(-(1 << 63))
    for k in range(count):
        key = one_key(keys[k]) if floats else keys[k]
        least, greatest = min(least, key), max(greatest, key)
    return least, greatest


@inlined
def _key_of_decimal(whole, exponent):
    return flipped(np.float64(np.float64(whole) / POWERS[exponent]).view(np.int64))
