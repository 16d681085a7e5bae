"""Words of equal width, without gaps.

Units of 512 values lie in eight lanes of 64-bit words, so that a processor reads eight values at once without looking
for them: value 8r + l is the r-th of lane l, word k of lane l is word 8k + l. The rest lie one after the other.
"""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import inlined, kernel
from windrow.operators.kernels.compression.words import cut_lanes, cut_split_lanes, load_word, store_word

WIDEST = 57
"""A value of so many bits can be cut out of one word wherever it begins; wider ones take whole words."""
LANES, UNIT = 8, 512
_U0, _U1, _U7, _U56, _U64 = (np.uint64(number) for number in (0, 1, 7, 56, 64))


@inlined
def mask_of(width):
    """The lowest `width` bits set; 0 to 64."""
    return ~_U0 if width >= 64 else (_U1 << np.uint64(width)) - _U1


@inlined
def kept_width(width):
    """The width that values of so many bits are written in."""
    return width if width <= WIDEST else 64


@inlined
def packed_bytes(count, width):
    """The bytes of `count` values."""
    return (count * width + 7) >> 3


@kernel
def pack(words, count, width, data, at):
    """Write the lowest `width` bits of each word; where they end."""
    if width == 0:
        return at
    if width == 64:
        for i in range(count):
            store_word(data, at + 8 * i, words[i])
        return at + 8 * count
    whole = count - count % UNIT
    for first in range(0, whole, UNIT):
        _pack_unit(words, first, width, data, at)
        at += 8 * LANES * width
    return _pack_rest(words, whole, count, width, data, at)


@kernel
def _pack_unit(words, first, width, data, at):
    """Eight lanes: row by row, the values of a row lie above each other in the words of their lanes."""
    mask, wide, waiting, filled = mask_of(width), np.uint64(width), np.zeros(LANES, np.uint64), _U0
    for row in range(first, first + UNIT, LANES):
        for lane in range(LANES):
            waiting[lane] |= (words[row + lane] & mask) << filled
        filled += wide
        if filled >= _U64:
            filled -= _U64
            for lane in range(LANES):
                store_word(data, at + 8 * lane, waiting[lane])
            at += 8 * LANES
            for lane in range(LANES):
                waiting[lane] = (words[row + lane] & mask) >> (wide - filled) if filled > 0 else _U0


@kernel
def _pack_rest(words, first, stop, width, data, at):
    """Value after value, as many as fill no unit."""
    end = at + packed_bytes(stop - first, width)
    mask, shift, waiting, wide = mask_of(width), _U0, _U0, np.uint64(width)
    for i in range(first, stop):
        waiting |= (words[i] & mask) << shift
        store_word(data, at, waiting)
        shift += wide
        at += np.int64(shift >> np.uint64(3))
        waiting = (waiting >> (shift & _U56)) if shift < _U64 else _U0
        shift &= _U7
    return end


@kernel
def unpack(data, at, count, width, words):
    """Read what `pack` wrote; where it ends."""
    if width == 64:
        for i in range(count):
            words[i] = load_word(data, at + 8 * i)
        return at + 8 * count
    if width == 0:
        words[:count] = _U0
        return at
    whole, mask = count - count % UNIT, mask_of(width)
    for first in range(0, whole, UNIT):
        _unpack_unit(data, at, first, width, words)
        at += 8 * LANES * width
    for i in range(count - whole):
        bit = i * width
        words[whole + i] = (load_word(data, at + (bit >> 3)) >> np.uint64(bit & 7)) & mask
    return at + packed_bytes(count - whole, width)


@kernel
def _unpack_unit(data, at, first, width, words):
    mask, wide, shift = mask_of(width), np.uint64(width), _U0
    for row in range(first, first + UNIT, LANES):
        if shift + wide <= _U64:
            cut_lanes(data, at, shift, mask, words, row)
        else:
            cut_split_lanes(data, at, shift, _U64 - shift, mask, words, row)
        shift += wide
        if shift >= _U64:
            shift -= _U64
            at += 8 * LANES
