"""Order statistics of stretches of a coded column, without putting values in order.

The planes of all blocks of a stretch are laid side by side on one line, that of the numbers above the least of them
all: what a block's least lies above it is added to its planes, bit by bit. Then one descent from the highest bit
finds a rank: rows that agree with what is found so far are marked, those without the next bit are counted. Blocks
that are not in planes are read and cut into planes; of constant ones number and value are enough.
"""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import kernel
from windrow.operators.kernels.compression.columns import new_rooms, read_rows
from windrow.operators.kernels.compression.plans import CONSTANT
from windrow.operators.kernels.compression.words import bit_length, trailing_zeros
from windrow.operators.kernels.planes.directory import (
    AT,
    BASE,
    DIGITS,
    EXPONENT,
    GREATEST,
    KIND,
    LEAST,
    OFFSET,
    SKIP,
    START,
    UNFOLDED,
    WIDTH,
    block_of,
    field,
    on_line,
    plane_size,
)
from windrow.operators.kernels.planes.folding import mark_rows
from windrow.operators.kernels.planes.lanes import (
    BYTES,
    EIGHT,
    add_planes,
    count_marked,
    keep_and_count,
    keep_marked,
    put_word_at,
    word_at,
)
from windrow.operators.kernels.planes.layout import TOGETHER, cut_plane, plane_words

LAID, ELSEWHERE, BROKEN = 1, 0, -1
"""What became of a stretch: its planes are there, a value of it is not on the line, or a block is damaged."""
RANK, ALIVE, FOUND, PARTED, DONE, STATE = 0, 8, 16, 24, 32, 40
"""Bytes of the state of a rank: how many rows with the bits found so far come before it, how many have these; the bits;
the bit at which the next row parted from it, for which other rows are marked; whether all bits are found; the bytes of
all."""
_U0, _U1 = np.uint64(0), np.uint64(1)


@kernel
def find_ranks(data, blocks, block_rows, lows, highs, ranks, found, following, exponents):
    """Of each stretch its `ranks[i]`-th least numbers, counted from 0, and those that follow each, or any if none does.

    They are whole numbers of 10^-exponents[i]. The exponent is -1 for whole numbers, and `UNFOLDED` where nothing was
    found; False where a block is damaged.
    """
    rooms, spare = new_rooms(block_rows), np.empty(block_rows + TOGETHER, np.uint64)
    asked, scratch, directory = ranks.shape[1], np.empty(0, np.uint64), blocks.ctypes.data
    for i in range(len(lows)):
        stretch = find_line(directory, len(blocks) - 1, lows[i], highs[i])
        first, exponent, least, width, words, constants, others = stretch
        if exponent == UNFOLDED:
            exponents[i] = exponent
            continue
        stride = (words + 2 * EIGHT) & -EIGHT
        needed = STATE // 8 * asked + 2 * constants + (1 + 2 * asked + width) * stride + 2 * EIGHT
        if len(scratch) < needed:
            scratch = np.empty(2 * needed, np.uint64)
        state, noted = scratch.ctypes.data, scratch.ctypes.data + STATE * asked
        marks = (noted + 16 * constants + BYTES) & -BYTES
        planes = marks + 8 * (1 + 2 * asked) * stride
        line = exponent, least, width, stride, 8 * words, constants
        _lay_out(data.ctypes.data, directory, first, lows[i], highs[i], line, noted, marks, planes)
        done = LAID
        if others:
            done = _cut(data, blocks, first, lows[i], highs[i], line, planes, rooms, spare)
        if done == BROKEN:
            return False
        exponents[i] = exponent if done == LAID else UNFOLDED
        if done == ELSEWHERE:
            continue
        for k in range(asked):
            _begin(state + STATE * k, ranks[i, k], highs[i] - lows[i])
        _descend(asked, line, state, noted, marks, planes)
        for k in range(asked):
            found[i, k] = least + word_at(state + STATE * k + FOUND)
            beyond = marks + 8 * (1 + asked + k) * stride
            following[i, k] = least + _next(line, state + STATE * k, noted, beyond, planes)
    return True


@kernel
def find_line(blocks, count, low, high):
    """Of a stretch: first block, power of ten, least number, width, words of a plane, constant blocks, those to cut.

    The power is the most digits behind the point that a block has; `UNFOLDED` where none has any, or where bounds of
    blocks do not lie on that line.
    """
    first = block = block_of(blocks, count, low)
    exponent, words, constants, others = np.int64(UNFOLDED), 0, 0, 0
    while block < count and field(blocks, block, START) < high:
        exponent = max(exponent, field(blocks, block, DIGITS))
        block += 1
    least, greatest, fits, stop = np.int64((1 << 63) - 1), np.int64(-(1 << 63)), exponent != UNFOLDED, block
    for block in range(first, stop):
        right, below = on_line(field(blocks, block, LEAST), exponent)
        also, above = on_line(field(blocks, block, GREATEST), exponent)
        fits = fits and right and also
        least, greatest = min(least, below), max(greatest, above)
        at, count = _rows_of(blocks, block, low, high, exponent)
        if field(blocks, block, KIND) == CONSTANT:
            constants += 1
        else:
            words += plane_words((at & 63) + count)
            others += field(blocks, block, EXPONENT) != exponent
    width = bit_length(np.uint64(greatest) - np.uint64(least))
    return first, (exponent if fits else np.int64(UNFOLDED)), least, width, words, constants, others


@kernel
def _rows_of(blocks, block, low, high, exponent):
    """The first row of a stretch in a block, counted there, or from 0 where it is to be cut into planes; how many."""
    start, stop = field(blocks, block, START), field(blocks, block + 1, START)
    at = max(low, start)
    first = field(blocks, block, SKIP) + at - start if field(blocks, block, EXPONENT) == exponent else 0
    return first, min(high, stop) - at


@kernel
def _lay_out(data, blocks, block, low, high, line, noted, marks, planes):
    """Write the planes of the blocks that are in planes, mark all rows, note the constants."""
    exponent, least, width, stride, _, _ = line
    while low < high:
        first, count = _rows_of(blocks, block, low, high, exponent)
        if field(blocks, block, KIND) == CONSTANT:
            put_word_at(noted, on_line(field(blocks, block, LEAST), exponent)[1] - least)
            put_word_at(noted + 8, count)
            noted += 16
        else:
            words = plane_words((first & 63) + count)
            if field(blocks, block, EXPONENT) == exponent:
                at, each = data + field(blocks, block, AT) + 8 * (first >> 6), plane_size(blocks, block)
                more, wide = field(blocks, block, BASE) - least, min(field(blocks, block, WIDTH), width)
                add_planes(at, 8 * each, wide, more, planes, 8 * stride, width, 8 * words)
            mark_rows(marks, first & 63, (first & 63) + count)
            marks, planes = marks + 8 * words, planes + 8 * words
        low, block = low + count, block + 1


@kernel
def _cut(data, blocks, block, low, high, line, planes, rooms, spare):
    """Write the planes of blocks that are in none, or have other digits."""
    exponent, least, width, stride, _, _ = line
    directory = blocks.ctypes.data
    while low < high:
        first, count = _rows_of(directory, block, low, high, exponent)
        kind, words = blocks[block, KIND], plane_words((first & 63) + count)
        if kind != CONSTANT and blocks[block, EXPONENT] != exponent:
            first = blocks[block, SKIP] + low - blocks[block, START]
            if not read_rows(
                data, blocks[block, OFFSET], kind, blocks[block, LEAST], first, count, False, spare, rooms, spare
            ):
                return BROKEN
            for k in range(count):
                right, number = on_line(np.int64(spare[k]), exponent)
                if not right:
                    return ELSEWHERE
                spare[k] = np.uint64(number - least)
            for part in range(words):
                for bit in range(width):
                    plane = cut_plane(spare, part * TOGETHER, _U1 << np.uint64(bit))
                    put_word_at(planes + 8 * (bit * stride + part), np.int64(plane))
        planes += 8 * words if kind != CONSTANT else 0
        low, block = low + count, block + 1
    return LAID


@kernel
def _begin(own, rank, rows):
    """The state of a rank of which no bit is found."""
    put_word_at(own + RANK, rank)
    put_word_at(own + ALIVE, rows)
    put_word_at(own + FOUND, 0)
    put_word_at(own + PARTED, -1)
    put_word_at(own + DONE, 0)


@kernel
def _descend(asked, line, state, noted, marks, planes):
    """Find all ranks of a stretch, one bit after the other, so that no rank waits for another.

    Where only one row is left, its other bits are read.
    """
    _, _, width, stride, size, constants = line
    for bit in range(width - 1, -1, -1):
        plane, above = planes + 8 * bit * stride, planes + 8 * (bit + 1) * stride
        for k in range(asked):
            own, now = state + STATE * k, marks + 8 * (1 + k) * stride
            if word_at(own + DONE) != 0:
                continue
            rank, found = word_at(own + RANK), word_at(own + FOUND)
            if bit == width - 1:
                now, many = marks, count_marked(marks, plane, size)
            else:
                before = marks if bit == width - 2 else now
                many = keep_and_count(before, above, (found >> (bit + 1) & 1) - 1, now, plane, size)
                if word_at(own + ALIVE) == 1 and constants == 0:
                    put_word_at(own + FOUND, found | _bits_of(_first_marked(now), bit, stride, planes))
                    put_word_at(own + DONE, 1)
                    continue
            for owner in range(constants):
                number = np.uint64(word_at(noted + 16 * owner))
                if number >> np.uint64(bit) == np.uint64(found) >> np.uint64(bit) | _U1:
                    many += word_at(noted + 16 * owner + 8)
            zeros = word_at(own + ALIVE) - many
            if rank == zeros - 1 and many > 0:  # the next one is the least of those that are left here
                beyond = marks + 8 * (1 + asked + k) * stride
                put_word_at(own + PARTED, bit)
                for word in range(0, size, BYTES):
                    keep_marked(now + word, plane + word, 0, beyond + word)
            up = np.int64(rank >= zeros)
            put_word_at(own + RANK, rank - zeros * up)
            put_word_at(own + ALIVE, zeros + (many - zeros) * up)
            put_word_at(own + FOUND, found | up << bit)


@kernel
def _first_marked(marks):
    """The first row that is marked; there must be one."""
    place = 0
    while word_at(marks + 8 * place) == 0:
        place += 1
    return TOGETHER * place + trailing_zeros(np.uint64(word_at(marks + 8 * place)))


@kernel
def _bits_of(row, highest, stride, planes):
    """The bits of one row, from the highest of them down."""
    place, shift, found = planes + 8 * (row >> 6), np.uint64(row & 63), np.int64(0)
    for bit in range(highest + 1):
        found |= np.int64(np.uint64(word_at(place + 8 * bit * stride)) >> shift & _U1) << bit
    return found


@kernel
def _next(line, state, noted, marks, planes):
    """The number that follows that of a rank: the same where more rows have it, or there is none."""
    _, _, _, stride, size, constants = line
    parted, found = word_at(state + PARTED), word_at(state + FOUND)
    if word_at(state + RANK) < word_at(state + ALIVE) - 1 or parted < 0:
        return found
    prefix, best = np.uint64(found) >> np.uint64(parted) | _U1, ~_U0
    for owner in range(constants):
        number = np.uint64(word_at(noted + 16 * owner))
        if number >> np.uint64(parted) == prefix:
            best = min(best, number)
    marked = count_marked(marks, marks, size)
    if marked == 0:
        return np.int64(best)
    least, bit = prefix << np.uint64(parted), parted
    while marked > 1 and bit > 0:
        bit -= 1
        plane = planes + 8 * bit * stride
        without = marked - count_marked(marks, plane, size)
        if without > 0:
            for word in range(0, size, BYTES):
                keep_marked(marks + word, plane + word, -1, marks + word)
            marked = without
        else:
            least |= _U1 << np.uint64(bit)
    if bit > 0:
        least |= np.uint64(_bits_of(_first_marked(marks), bit - 1, stride, planes))
    return np.int64(min(least, best))
