"""Words of about equal width: most are cut to one width, what the few wide ones have above it follows.

width  number of wide words  [width of their tops]  words  [places of the wide ones]  [their tops]
"""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import kernel
from windrow.operators.kernels.compression.bits import kept_width, pack, unpack
from windrow.operators.kernels.compression.classes import (
    CLASSES,
    EACH,
    FINEST,
    WIDEST_CODED,
    coarser,
    coded_bits,
    count_classes,
)
from windrow.operators.kernels.compression.prefix_codes import FEWEST, get_coded, put_coded
from windrow.operators.kernels.compression.words import bit_length

ONE_WIDTH, CODED = -1, 128
"""A coding that is none of the finenesses of classes, and what stands for a width where words are coded."""
TOPS, LENGTHS = 3, 6
"""Rooms that are used here."""
_SOME = 128
_DEARER = 130
"""Codes take longer to read, so they must be that much smaller, in per cent of what they take: at 112 blocks are a
twentieth smaller, and come back a fifth slower."""
_U0 = np.uint64(0)
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
def put_words(words, count, coding, rooms, data, at):
    """Write words, in one width or by codes of classes; where they end."""
    lengths, tops = rooms[LENGTHS].view(np.int64), rooms[TOPS]
    highest = _U0
    for i in range(count):
        highest = max(highest, words[i])
    if coding == EACH and highest >= np.uint64(CLASSES):
        coding = FINEST
    if coding == ONE_WIDTH or count < FEWEST:
        count_lengths(words, count, lengths)
        width, wide, _ = best_width(lengths, count)
        data[at] = width
    else:
        width, wide = WIDEST_CODED, np.int64(highest >> np.uint64(WIDEST_CODED) != 0)
        data[at] = CODED
    head = at + 1
    at = head + (1 if wide == 0 else 3)
    data[head], data[head + 1], data[head + 2] = 0, 0, 0
    if coding == ONE_WIDTH or count < FEWEST:
        at = pack(words, count, width, data, at)
    else:
        counts = lengths[:CLASSES]
        count_classes(words, count, coding, counts)
        at = put_coded(words, count, coding, counts, data, at)
    return at if wide == 0 else _put_tops(words, count, width, tops, data, head, at)


@kernel
def _put_tops(words, count, width, tops, data, head, at):
    """What wide words have above the width, and in the head how many there are and their own width."""
    found, widest = 0, _U0
    for i in range(count):
        top = words[i] >> np.uint64(width)
        if top != 0:
            tops[found] = top
            widest |= top
            data[at], data[at + 1] = i & 255, i >> 8
            at += 2
            found += 1
    data[head], data[head + 1] = _SOME | (found - 1) & 127, (found - 1) >> 7 & 255
    data[head + 2] = kept_width(bit_length(widest)) << 1 | (found - 1) >> 15
    return pack(tops, found, kept_width(bit_length(widest)), data, at)


@kernel
def get_words(data, at, count, words, rooms):
    """Read what `put_words` wrote; where it ends, -1 where it cannot be."""
    width, head, wide, top_width = np.int64(data[at]), at + 1, np.int64(0), np.int64(0)
    at += 2
    if data[head] & _SOME:
        wide = 1 + (np.int64(data[head] & 127) | np.int64(data[head + 1]) << 7 | np.int64(data[head + 2] & 1) << 15)
        top_width, at = np.int64(data[head + 2] >> 1), at + 2
    coded = width == CODED
    if wide > count or top_width > 64 or (width > (63 if wide else 64) and not coded):
        return -1
    places = get_coded(data, at, count, words, rooms) if coded else unpack(data, at, count, width, words)
    if wide == 0 or places < 0:
        return places
    tops, above = rooms[TOPS], np.uint64(WIDEST_CODED if coded else width)
    end = unpack(data, places + 2 * wide, wide, top_width, tops)
    for i in range(wide):
        place = np.int64(data[places + 2 * i]) | np.int64(data[places + 2 * i + 1]) << 8
        words[min(place, count - 1)] |= tops[i] << above
    return end


@kernel
def measure(words, count, lengths, coded):
    """The bits that words take, and the coding with which it is so few; codes only where `coded` allows them."""
    count_lengths(words, count, lengths)
    _, _, bits = best_width(lengths, count)
    if not coded or count < FEWEST:
        return bits, ONE_WIDTH
    coding, large = ONE_WIDTH, 0
    finest, counts = np.empty(CLASSES, np.int64), np.empty(CLASSES, np.int64)
    for length in range(WIDEST_CODED + 1, 65):
        large += lengths[length]
    tops = large * (PLACE_BITS + 64 - WIDEST_CODED)
    count_classes(words, count, FINEST, finest)
    for fineness in range(FINEST + 1):
        coarser(finest, fineness, counts)
        tried = (coded_bits(counts, count, fineness) + tops) * _DEARER // 100
        if tried < bits:
            bits, coding = tried, fineness
    if lengths[9:].sum() == 0:
        count_classes(words, count, EACH, counts)
        tried = coded_bits(counts, count, EACH) * _DEARER // 100
        if tried < bits:
            bits, coding = tried, EACH
    return bits, coding
