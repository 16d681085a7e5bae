"""Words of about equal width: most are cut to one width, what the few wide ones have above it follows.

width  number of wide words  [width of their tops]  words  [places of the wide ones]  [their tops]
"""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import kernel
from windrow.operators.kernels.compression.bits import kept_width, pack, packed_bytes, unpack
from windrow.operators.kernels.compression.words import bit_length, get_number, put_number

PLACE_BITS = 16
"""A block has at most 65,536 rows."""


@kernel
def count_lengths(words, count, lengths):
    """How many words need 0, 1, ..., 64 bits."""
    lengths[:] = 0
    for i in range(count):
        lengths[bit_length(words[i])] += 1


@kernel
def best_width(lengths, count):
    """The width that makes the words smallest, how many are wider, and the bits of them all."""
    widest = 64
    while widest > 0 and lengths[widest] == 0:
        widest -= 1
    width, wide, bits = kept_width(widest), 0, count * kept_width(widest)
    above = 0
    for tried in range(widest - 1, -1, -1):
        above += lengths[tried + 1]
        cost = count * kept_width(tried) + above * (PLACE_BITS + kept_width(widest - tried)) + 8
        if cost < bits and kept_width(tried) == tried:
            width, wide, bits = tried, above, cost
    return width, wide, bits + 16


@kernel
def put_words(words, count, lengths, tops, data, at):
    """Write words; where they end."""
    count_lengths(words, count, lengths)
    width, wide, _ = best_width(lengths, count)
    data[at] = width
    at = put_number(data, at + 1, np.uint64(wide))
    if wide == 0:
        return pack(words, count, width, data, at)
    head = at
    at = pack(words, count, width, data, at + 1)
    found, widest = 0, np.uint64(0)
    for i in range(count):
        top = words[i] >> np.uint64(width)
        if top != 0:
            tops[found] = top
            widest |= top
            data[at], data[at + 1] = i & 255, i >> 8
            at += 2
            found += 1
    data[head] = kept_width(bit_length(widest))
    return pack(tops, found, np.int64(data[head]), data, at)


@kernel
def get_words(data, at, count, words, first, tops):
    """Read what `put_words` wrote into `words` from `first` on; where it ends, -1 where it cannot be."""
    width = np.int64(data[at])
    number, at = get_number(data, at + 1)
    wide = np.int64(number)
    if wide == 0:
        return unpack(data, at, count, width, words, first) if width <= 64 else -1
    top_width = np.int64(data[at])
    if wide > count or wide < 0 or width > 63 or top_width > 64:
        return -1
    places = unpack(data, at + 1, count, width, words, first)
    end = unpack(data, places + 2 * wide, wide, top_width, tops, 0)
    for i in range(wide):
        place = np.int64(data[places + 2 * i]) | np.int64(data[places + 2 * i + 1]) << 8
        words[first + min(place, count - 1)] |= tops[i] << np.uint64(width)
    return end


@kernel
def bytes_of_words(data, at, count):
    """Where words end, without reading them; -1 where they cannot be."""
    width = np.int64(data[at])
    number, at = get_number(data, at + 1)
    if number > np.uint64(count) or width > 64:
        return -1
    wide = np.int64(number)
    if wide == 0:
        return at + packed_bytes(count, width)
    top_width = np.int64(data[at])
    if width > 63 or top_width > 64:
        return -1
    return at + 1 + packed_bytes(count, width) + 2 * wide + packed_bytes(wide, top_width)
