"""How many different numbers stretches of a coded column have: a bit for each number of the line they lie on.

Blocks are read one after the other, constant ones by their headers alone; values are neither kept nor put in order.
"""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import kernel
from windrow.operators.kernels.compression.columns import new_rooms, read_rows
from windrow.operators.kernels.compression.plans import CONSTANT
from windrow.operators.kernels.planes.directory import KIND, LEAST, OFFSET, SKIP, START, UNFOLDED, on_line
from windrow.operators.kernels.planes.layout import TOGETHER, plane_words
from windrow.operators.kernels.planes.ranks import find_line

NARROW, WIDE = 20, 40
"""Bits of numbers for which there is always a bitmap, and of those for which there may be one."""
BITS_A_ROW = 64
"""Bits of a bitmap for each row beyond that: as much as the rows would take were they listed."""
_U1, _U63 = np.uint64(1), np.uint64(63)


@kernel
def count_different(data, blocks, block_rows, lows, highs, counts):
    """How many different numbers each stretch has, `UNFOLDED` where that is not found; False where a block is damaged.

    It is not where no bitmap is small enough, or a value is not on the line of the bounds.
    """
    rooms, spare = new_rooms(block_rows), np.empty(block_rows + TOGETHER, np.uint64)
    marks, directory = np.empty(0, np.uint64), blocks.ctypes.data
    for i in range(len(lows)):
        first, exponent, least, width, _, _, _ = find_line(directory, len(blocks) - 1, lows[i], highs[i])
        counts[i] = UNFOLDED
        if exponent == UNFOLDED or width > WIDE:
            continue
        numbers = np.int64(1) << width
        if width > NARROW and numbers > BITS_A_ROW * (highs[i] - lows[i]):
            continue
        size = plane_words(numbers)
        if len(marks) < size:
            marks = np.empty(size, np.uint64)
        marks[:size] = 0
        found, block, at = np.int64(0), first, lows[i]
        while at < highs[i] and found != UNFOLDED:
            stop, kind, count = min(highs[i], blocks[block + 1, START]), blocks[block, KIND], 1
            if kind == CONSTANT:
                spare[0] = np.uint64(blocks[block, LEAST])
            else:
                count, skipped = stop - at, blocks[block, SKIP] + at - blocks[block, START]
                if not read_rows(
                    data, blocks[block, OFFSET], kind, blocks[block, LEAST], skipped, count, False, spare, rooms, spare
                ):
                    return False
            found = _mark(spare, count, exponent, least, numbers, marks, found)
            at, block = stop, block + 1
        counts[i] = found
    return True


@kernel
def _mark(words, count, exponent, least, numbers, marks, found):
    """Mark the numbers of some values; how many are marked after it, `UNFOLDED` where one is not on the line."""
    for k in range(count):
        right, number = on_line(np.int64(words[k]), exponent)
        place = number - least
        if not right or place < 0 or place >= numbers:
            return np.int64(UNFOLDED)
        bit = _U1 << (np.uint64(place) & _U63)
        found += np.int64(marks[place >> 6] & bit == 0)
        marks[place >> 6] |= bit
    return found
