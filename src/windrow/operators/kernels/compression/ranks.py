"""Order statistics of stretches of a coded column, without putting values in order.

The planes of all blocks of a stretch are laid side by side on one line, that of the numbers above the least of them
all: what a block's least lies above it is added to its planes, bit by bit. Then one descent from the highest bit
finds a rank: rows that agree with what is found so far are marked, those without the next bit are counted. Blocks
that are not in planes are read and cut into planes; of constant ones number and value are enough.
"""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import inlined, kernel
from windrow.operators.kernels.compression.columns import new_rooms, read_rows
from windrow.operators.kernels.compression.decimals import whole_number
from windrow.operators.kernels.compression.folding import mark_rows
from windrow.operators.kernels.compression.lanes import EIGHT, add_planes, any_marked, count_marked, keep_marked
from windrow.operators.kernels.compression.planes import TOGETHER, cut_plane, find_planes, plane_words
from windrow.operators.kernels.compression.plans import CHANGE, CONSTANT, PLANES
from windrow.operators.kernels.compression.reading import rows_of_block
from windrow.operators.kernels.compression.words import bit_length

LAID, ELSEWHERE, BROKEN = 1, 0, -1
"""What became of a stretch: its planes are there, a value of it is not on the line, or a block is damaged."""
UNFOLDED = -2
"""In place of a power of ten: the values are on no common line, or nothing is in planes."""
_U0, _U1 = np.uint64(0), np.uint64(1)


@kernel
def find_ranks(column, block_rows, floats, lows, highs, ranks, found, following, exponents):
    """Of each stretch its `ranks[i]`-th least numbers, counted from 0, and those that follow each, or any if none does.

    They are whole numbers of 10^-exponents[i]. The exponent is -1 for whole numbers, and `UNFOLDED` where nothing was
    found; False where a block is damaged.
    """
    rooms = new_rooms(block_rows + TOGETHER), np.empty(block_rows + TOGETHER, np.uint64)
    planes, marks = np.empty(0, np.uint64), np.empty((3, 0), np.uint64)
    values, counts = np.empty(0, np.uint64), np.empty(0, np.int64)
    for i in range(len(lows)):
        exponent = _common_exponent(column, floats, lows[i], highs[i])
        fits, least, width, size, constants = _line(column, exponent, lows[i], highs[i])
        exponents[i] = exponent if fits else UNFOLDED
        if not fits:
            continue
        stride = size + 2 * EIGHT
        if marks.shape[1] < stride or len(planes) < width * stride or len(values) < constants:
            planes, marks = np.empty(2 * width * stride, np.uint64), np.empty((3, 2 * stride), np.uint64)
            values, counts = np.empty(2 * constants, np.uint64), np.empty(2 * constants, np.int64)
        few = values[:constants], counts[:constants]
        state = _lay_out(column, exponent, lows[i], highs[i], least, width, stride, planes, marks[0], few, rooms)
        if state == BROKEN:
            return False
        if state == ELSEWHERE:
            exponents[i] = UNFOLDED
            continue
        for k in range(ranks.shape[1]):
            at, after = _descend(planes, marks, size, stride, width, few, ranks[i, k], highs[i] - lows[i])
            found[i, k], following[i, k] = np.int64(least + at), np.int64(least + after)
    return True


@kernel
def _common_exponent(column, floats, low, high):
    """The most digits behind the point that a block in planes has: -1 for whole numbers, `UNFOLDED` without a block."""
    data, starts, offsets, leasts, _, kinds, _ = column
    found, block = np.int64(UNFOLDED), np.searchsorted(starts, low, side="right") - 1
    while block < len(kinds) and starts[block] < high:
        if kinds[block] & CHANGE == PLANES:
            found = max(found, find_planes(data, offsets[block], kinds[block], leasts[block])[0])
            if not floats:
                break
        block += 1
    return found


@inlined
def _on_line(key, exponent):
    """Whether a key is a whole number of 10^-exponent, and which."""
    return (True, key) if exponent < 0 else whole_number(key, exponent)


@kernel
def _line(column, exponent, low, high):
    """Whether the bounds of all blocks are on one line, the least, the width above it, words of a plane, constants."""
    _, starts, _, leasts, greatests, kinds, skips = column
    block, size, constants = np.searchsorted(starts, low, side="right") - 1, 0, 0
    least, greatest, fits = np.int64((1 << 63) - 1), np.int64(-(1 << 63)), exponent != UNFOLDED
    while fits and block < len(kinds) and starts[block] < high:
        right, below = _on_line(leasts[block], exponent)
        also, above = _on_line(greatests[block], exponent)
        fits = right and also
        least, greatest = min(least, below), max(greatest, above)
        first, stop = max(low, starts[block]), min(high, starts[block + 1])
        if kinds[block] == CONSTANT:
            constants += 1
        else:
            skipped = (np.int64(skips[block]) + first - starts[block]) & 63 if kinds[block] & CHANGE == PLANES else 0
            size += plane_words(skipped + stop - first)
        block += 1
    return fits, np.uint64(least), bit_length(np.uint64(greatest) - np.uint64(least)), size, constants


@kernel
def _lay_out(column, exponent, low, high, least, width, stride, planes, marks, few, rooms):
    """Write the planes of a stretch, mark its rows, note its constants."""
    data, starts, offsets, leasts, _, kinds, skips = column
    block, word, constant, (values, counts) = np.searchsorted(starts, low, side="right") - 1, 0, 0, few
    while block < len(kinds) and starts[block] < high:
        at, kind = max(low, starts[block]), kinds[block]
        count, first = min(high, starts[block + 1]) - at, np.int64(skips[block]) + at - starts[block]
        if kind == CONSTANT:
            values[constant] = np.uint64(_on_line(leasts[block], exponent)[1]) - least
            counts[constant], constant = count, constant + 1
        else:
            power, base, wide, begin = np.int64(UNFOLDED), leasts[block], 0, 0
            if kind & CHANGE == PLANES:
                power, base, wide, begin = find_planes(data, offsets[block], kind, base)
            if power == exponent:
                lead, each = first >> 6, plane_words(rows_of_block(data, offsets[block]))
                first -= 64 * lead
                more, words = np.uint64(base) - least, plane_words(first + count)
                _add(data, begin + 8 * lead, wide, each, more, width, words, planes, word, stride, rooms[1])
            else:
                state = _cut(
                    data, offsets[block], kind, base, first, count, exponent, least, width, planes, word, stride, rooms
                )
                if state != LAID:
                    return state
                first = 0
            word += mark_rows(marks[word:], first, first + count)
        block += 1
    marks[word : word + EIGHT] = _U0
    return LAID


@kernel
def _add(data, at, wide, each, more, width, words, planes, word, stride, carries):
    """Planes of numbers that are `more` than those of a block's planes."""
    for k in range(words + EIGHT):
        carries[k] = _U0
    for bit in range(width):
        flip, to = _U0 - ((more >> np.uint64(bit)) & _U1), bit * stride + word
        if bit < wide:
            for k in range(0, words, EIGHT):
                add_planes(data, at + 8 * (bit * each + k), carries, k, flip, planes, to + k)
        else:
            for k in range(words):
                planes[to + k], carries[k] = carries[k] ^ flip, carries[k] & flip


@kernel
def _cut(data, offset, kind, key, first, count, exponent, least, width, planes, word, stride, rooms):
    """Planes of the values of a block that is in none, or has other digits."""
    room, spare = rooms
    if not read_rows(data, offset, kind, key, first, count, False, spare, room, spare):
        return BROKEN
    for k in range(count):
        right, number = _on_line(np.int64(spare[k]), exponent)
        if not right:
            return ELSEWHERE
        spare[k] = np.uint64(number) - least
    for part in range(plane_words(count)):
        for bit in range(width):
            planes[bit * stride + word + part] = cut_plane(spare, part * TOGETHER, _U1 << np.uint64(bit))
    return LAID


@kernel
def _descend(planes, marks, size, stride, width, few, rank, alive):
    """The number of a rank among so many, and the next greater one or the same, where it has several."""
    own, now, others = marks[0], marks[1], marks[2]
    found, parted, (values, counts) = _U0, -1, few
    now[: size + EIGHT] = own[: size + EIGHT]
    for bit in range(width - 1, -1, -1):
        many, plane = np.int64(0), bit * stride
        for k in range(0, size, EIGHT):
            many += count_marked(now, k, planes, plane + k)
        for k in range(len(counts)):
            if values[k] >> np.uint64(bit) == found >> np.uint64(bit) | _U1:
                many += counts[k]
        flip = ~_U0 if rank < alive - many else _U0
        if flip == 0:
            rank, alive, found = rank - (alive - many), many, found | _U1 << np.uint64(bit)
        else:
            alive -= many
            if rank == alive - 1 and many > 0:  # the next one is the least of those that are left here
                parted = bit
                for k in range(0, size, EIGHT):
                    keep_marked(now, k, planes, plane + k, _U0, others, k)
        for k in range(0, size, EIGHT):
            keep_marked(now, k, planes, plane + k, flip, now, k)
    if rank < alive - 1 or parted < 0:
        return found, found
    return found, _least_beyond(planes, others, size, stride, parted, found, few)


@kernel
def _least_beyond(planes, marks, size, stride, parted, found, few):
    """The least of marked rows, and of constants, that agree with a number down to a bit, which they have set."""
    values, counts = few
    prefix, best = found >> np.uint64(parted) | _U1, ~_U0
    for k in range(len(counts)):
        if values[k] >> np.uint64(parted) == prefix:
            best = min(best, values[k])
    least, some = prefix << np.uint64(parted), _U0
    for k in range(size):
        some |= marks[k]
    if some == 0:
        return best
    for bit in range(parted - 1, -1, -1):
        plane, some = bit * stride, _U0
        for k in range(0, size, EIGHT):
            some |= any_marked(marks, k, planes, plane + k, ~_U0)
        if some != 0:
            for k in range(0, size, EIGHT):
                keep_marked(marks, k, planes, plane + k, ~_U0, marks, k)
        else:
            least |= _U1 << np.uint64(bit)
    return min(least, best)
