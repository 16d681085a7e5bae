"""Whole columns as blocks and back, in one call.

Every block has a kind, the bytes from `offsets[b]` to `offsets[b + 1]`, the least and the greatest of its values, and
the rows from `starts[b]` to `starts[b + 1]` of the column, which are the block's rows after its first `skips[b]`.
Blocks of one and the same value have no bytes, and neighbours of them are one block of any length.
"""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import kernel
from windrow.operators.kernels.compression.bits import pack, unpack
from windrow.operators.kernels.compression.choosing import choose
from windrow.operators.kernels.compression.decimals import flipped
from windrow.operators.kernels.compression.distinct import SPARE
from windrow.operators.kernels.compression.plans import (
    AGE,
    BYTES,
    CHANGE,
    CONSTANT,
    FOLDED,
    KIND,
    PLANES,
    RAW,
    REFERENCE,
    ROWS,
)
from windrow.operators.kernels.compression.prefix_codes import LONGEST
from windrow.operators.kernels.compression.reading import DAMAGED, read_block, rows_of_block
from windrow.operators.kernels.compression.words import load_word
from windrow.operators.kernels.compression.writing import NOT_SO, write_block, write_plainly

_KEPT_FOR = 16
"""A plan is made anew after so many blocks, or when it makes one a quarter larger than its first."""
_ROOMS = 10


@kernel
def new_rooms(block_rows):
    """Space for what is worked out on the way of one block."""
    return np.empty((_ROOMS, max(block_rows, 1 << LONGEST) + SPARE), np.uint64)


@kernel
def write_column(words, block_rows, item, floats, folded, starts, offsets, leasts, greatests, kinds, data, plan):
    """Code a column of values that have `item` bytes each in their own type; how many blocks it became.

    Blocks are in planes where these take at most `folded` sixteenths of what a block takes at best. The plan is
    followed, and changed.
    """
    rooms, lengths, signed = new_rooms(block_rows), np.empty(65, np.int64), words.view(np.int64)
    if plan[FOLDED] != folded:
        plan[FOLDED], plan[AGE] = folded, -1
    blocks, at = 0, 0
    starts[0], offsets[0] = 0, 0
    for start in range(0, len(words), block_rows):
        stop = min(start + block_rows, len(words))
        least = greatest = signed[start]
        for i in range(start, stop):
            least, greatest = min(least, signed[i]), max(greatest, signed[i])
        constant = least == greatest
        if constant and blocks > 0 and kinds[blocks - 1] == CONSTANT and leasts[blocks - 1] == least:
            starts[blocks] = stop
            continue
        kinds[blocks] = CONSTANT
        if not constant:
            kinds[blocks], at = _write(
                words[start:stop], np.uint64(least), np.uint64(greatest), item, floats, plan, rooms, lengths, data, at
            )
        leasts[blocks], greatests[blocks] = least, greatest
        blocks += 1
        starts[blocks], offsets[blocks] = stop, at
    return blocks


@kernel
def _write(words, least, greatest, item, floats, plan, rooms, lengths, data, at):
    """Write a block as planned, as planned anew, or plainly; its kind and where it ends."""
    count, end = len(words), NOT_SO
    fresh = plan[AGE] < 0 or plan[AGE] >= _KEPT_FOR
    in_planes = not fresh and plan[KIND] & CHANGE == PLANES
    if not fresh:
        end = write_block(words, count, least, plan, rooms, data, at)
        plan[AGE] += 1
        fresh = end < 0 or 4 * (end - at) * plan[ROWS] > 5 * plan[BYTES] * count + 64 * plan[ROWS]
    if fresh:
        choose(words, count, least, floats, rooms, lengths, plan)
        end = write_block(words, count, least, plan, rooms, data, at)
        plan[AGE], plan[BYTES], plan[ROWS] = 0, end - at, count
        if in_planes and plan[KIND] & CHANGE != PLANES:
            plan[AGE] = _KEPT_FOR  # an exception may have been the only one
    if end >= 0 and end - at < item * count:
        return plan[KIND], end
    if item == 8:
        return RAW, pack(words, count, 64, data, at)
    return REFERENCE, write_plainly(words, count, least, greatest - least, rooms[1], data, at)


@kernel
def read_column(data, starts, offsets, leasts, kinds, skips, block_rows, as_bits, first, last, words):
    """Write the rows from `first` to `last` of a column into `words`; False where a block is damaged."""
    rooms, at = new_rooms(block_rows), 0
    spare = np.empty(block_rows, np.uint64)
    block = np.searchsorted(starts, first, side="right") - 1
    while first < last:
        stop = min(last, starts[block + 1])
        skipped = np.int64(skips[block]) + first - starts[block]
        if not read_rows(
            data, offsets[block], kinds[block], leasts[block], skipped, stop - first, as_bits, words[at:], rooms, spare
        ):
            return False
        at += stop - first
        first = stop
        block += 1
    return True


@kernel
def read_rows(data, offset, kind, least, skipped, count, as_bits, words, rooms, spare):
    """Write `count` rows of a block, after its first `skipped` ones."""
    if kind == CONSTANT:
        words[:count] = np.uint64(flipped(least) if as_bits else least)
    elif kind == RAW:
        _read_raw(data, offset + 8 * skipped, count, as_bits, words)
    elif rows_of_block(data, offset) == count:
        return read_block(data, offset, kind, np.uint64(least), as_bits, words, rooms) >= 0
    else:
        if read_block(data, offset, kind, np.uint64(least), as_bits, spare, rooms) < 0:
            return False
        words[:count] = spare[skipped : skipped + count]
    return True


@kernel
def _read_raw(data, offset, count, as_bits, words):
    for i in range(count):
        word = load_word(data, offset + 8 * i)
        words[i] = np.uint64(flipped(np.int64(word))) if as_bits else word


@kernel
def take_rows(data, starts, offsets, leasts, kinds, skips, block_rows, as_bits, rows, order, words):
    """Write the values at `rows` into `words`, going through them in an `order` in which blocks do not come again."""
    rooms, spare = new_rooms(block_rows), np.empty(block_rows, np.uint64)
    read, block = -1, 0
    for k in range(len(order)):
        place = order[k]
        row = rows[place]
        if not starts[block] <= row < starts[block + 1]:
            block = np.searchsorted(starts, row, side="right") - 1
        if kinds[block] == CONSTANT:
            words[place] = np.uint64(flipped(leasts[block]) if as_bits else leasts[block])
            continue
        if read != block:
            count = starts[block + 1] - starts[block]
            skipped = np.int64(skips[block])
            if not read_rows(
                data, offsets[block], kinds[block], leasts[block], skipped, count, as_bits, spare, rooms, spare
            ):
                return False
            read = block
        words[place] = spare[row - starts[block]]
    return True


@kernel
def first_damaged(data, starts, offsets, leasts, greatests, kinds, skips, block_rows):
    """The first block that is not what its header says, -1 where all are; `data` has room for a block after its end."""
    rooms, spare = new_rooms(block_rows), np.empty(block_rows, np.uint64)
    signed = spare.view(np.int64)
    for block in range(len(kinds)):
        if kinds[block] == CONSTANT:
            if leasts[block] != greatests[block] or offsets[block] != offsets[block + 1]:
                return block
            continue
        needed = starts[block + 1] - starts[block] + np.int64(skips[block])
        count = _read_whole(
            data, offsets[block], offsets[block + 1], kinds[block], leasts[block], block_rows, spare, rooms
        )
        if count < needed:
            return block
        if signed[:count].min() != leasts[block] or signed[:count].max() != greatests[block]:
            return block
    return -1


@kernel
def _read_whole(data, at, end, kind, least, block_rows, spare, rooms):
    """Read all of a block into `spare`; how many rows it has, `DAMAGED` where its bytes are not just that."""
    if kind == RAW:
        count = (end - at) >> 3
        if count << 3 != end - at or count > block_rows:
            return DAMAGED
        unpack(data, at, count, 64, spare)
        return count
    if end - at < 3:
        return DAMAGED
    count = rows_of_block(data, at)
    if count > block_rows or read_block(data, at, kind, np.uint64(least), False, spare, rooms) != end:
        return DAMAGED
    return count
