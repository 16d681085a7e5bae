"""Words of equal width, one after the other without gaps."""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import inlined, kernel
from windrow.operators.kernels.compression.words import load_word, store_word

WIDEST = 57
"""A value of so many bits can be cut out of one word wherever it begins; wider ones take whole words."""
_U0, _U1, _U7, _U8, _U56 = (np.uint64(number) for number in (0, 1, 7, 8, 56))


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
    end = at + packed_bytes(count, width)
    if width == 0:
        return end
    if width == 64:
        for i in range(count):
            store_word(data, at + 8 * i, words[i])
        return end
    mask, shift, waiting, wide = mask_of(width), _U0, _U0, np.uint64(width)
    for i in range(count):
        waiting |= (words[i] & mask) << shift
        store_word(data, at, waiting)
        shift += wide
        at += np.int64(shift >> np.uint64(3))
        waiting = (waiting >> (shift & _U56)) if shift < np.uint64(64) else _U0
        shift &= _U7
    return end


@kernel
def unpack(data, at, count, width, words, first):
    """Read what `pack` wrote into `words` from `first` on; where it ends."""
    if width == 64:
        for i in range(count):
            words[first + i] = load_word(data, at + 8 * i)
    else:
        mask = mask_of(width)
        for i in range(count):
            bit = i * width
            words[first + i] = (load_word(data, at + (bit >> 3)) >> np.uint64(bit & 7)) & mask
    return at + packed_bytes(count, width)
