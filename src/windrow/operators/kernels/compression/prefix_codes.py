"""Words by prefix codes of their classes: the more often a class occurs, the fewer bits it takes.

    fineness and longest code  [lengths of codes]  sizes of the first seven lanes  eight lanes of codes and open bits

Eight lanes, each with an eighth of the words, so that a processor works on eight codes at once: where a code begins is
known only when the one before it has been read. A lane is one stream of bits: the code of a class, then the open bits
of the word, lowest bits first.
"""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import inlined, kernel
from windrow.operators.kernels.compression.bits import mask_of
from windrow.operators.kernels.compression.classes import (
    CLASSES,
    EACH,
    WIDEST_CODED,
    class_least,
    class_of,
    class_rest,
)
from windrow.operators.kernels.compression.code_lengths import by_length, code_lengths, get_lengths, put_lengths
from windrow.operators.kernels.compression.words import bit_length, load_word, store_word

LANES = 8
LONGEST = 10
"""Bits of a code at most: the table that reads codes has two to this power."""
FEWEST = 128
"""Fewer words are not worth a table."""
_U0, _U1, _U3, _U7 = (np.uint64(number) for number in (0, 1, 3, 7))
_TOTAL, _LENGTH, _LENGTH_AT, _LEAST_AT = np.uint64(63), np.uint64(15), np.uint64(6), np.uint64(10)


@inlined
def longest_for(count):
    """How long codes may be for so many words: building the table must not take longer than reading them."""
    return min(LONGEST, max(8, bit_length(np.uint64(count)) - 1))


@kernel
def next_code(code, length):
    """The code after one of a length, lowest bit first; -1 after the last."""
    zeros = ~code & np.int64((1 << length) - 1)
    if zeros == 0:
        return np.int64(-1)
    bit = np.int64(1) << (bit_length(np.uint64(zeros)) - 1)
    return (code & (bit - 1)) | bit


@kernel
def give_codes(lengths, longest, codes):
    """The code of every class that has a length."""
    order, ends = np.empty(CLASSES, np.int64), np.empty(LONGEST + 1, np.int64)
    by_length(lengths, CLASSES - 1, longest, order, ends)
    code = np.int64(0)
    for length in range(1, longest + 1):
        for k in range(ends[length - 1], ends[length]):
            codes[order[k]] = np.uint64(code)
            code = next_code(code, length)


@kernel
def put_coded(words, count, fineness, counts, data, at):
    """Write the lowest bits of words, `WIDEST_CODED` of them, by codes for how often their classes occur."""
    longest = longest_for(count)
    lengths, codes, rests = np.zeros(CLASSES, np.int64), np.zeros(CLASSES, np.uint64), np.empty(CLASSES, np.int64)
    code_lengths(counts, longest, lengths)
    give_codes(lengths, longest, codes)
    for number in range(CLASSES):
        rests[number] = class_rest(number, fineness)
    data[at] = fineness << 4 | longest
    at = put_lengths(lengths, data, at + 1)
    sizes, at = at, at + 2 * (LANES - 1)
    share = -(-count // LANES)
    for lane in range(LANES):
        end = _put_lane(
            words[min(count, lane * share) : min(count, (lane + 1) * share)], fineness, lengths, codes, rests, data, at
        )
        if lane < LANES - 1:
            data[sizes + 2 * lane], data[sizes + 2 * lane + 1] = (end - at) & 255, (end - at) >> 8
        at = end
    return at


@kernel
def _put_lane(words, fineness, lengths, codes, rests, data, at):
    waiting, shift, mask = _U0, _U0, mask_of(WIDEST_CODED)
    for i in range(len(words)):
        word = words[i] & mask
        number = class_of(word, fineness)
        length, rest = np.uint64(lengths[number]), np.uint64(rests[number])
        coded = codes[number] | (word & ((_U1 << rest) - _U1)) << length
        waiting |= coded << shift
        store_word(data, at, waiting)
        shift += length + rest
        at += np.int64(shift >> _U3)
        waiting >>= shift & ~_U7
        shift &= _U7
    return at + (1 if shift else 0)


@kernel
def fill_table(lengths, last, longest, fineness, order, ends, table):
    """For the next bits of a lane: length with open bits, of the code alone, least word; False where codes run out.

    A table for codes of one length is one for the next length twice over.
    """
    by_length(lengths, last, longest, order, ends)
    code, filled = np.int64(0), 1
    table[0] = _U0
    for length in range(1, longest + 1):
        for k in range(filled):
            table[filled + k] = table[k]
        filled *= 2
        for k in range(ends[length - 1], ends[length]):
            if code < 0:
                return False
            number = order[k]
            total = np.uint64(length + class_rest(number, fineness))
            table[code] = class_least(number, fineness) << _LEAST_AT | np.uint64(length) << _LENGTH_AT | total
            code = next_code(code, length)
    return True


@inlined
def _word_of(entry, bits):
    """The word whose code has an entry of the table, and whose bits come next."""
    length = (entry >> _LENGTH_AT) & _LENGTH
    open_bits = bits & ((_U1 << (entry & _TOTAL)) - _U1)
    return (entry >> _LEAST_AT) + (open_bits >> length)


@kernel
def get_coded(data, at, count, words, rooms):
    """Read what `put_coded` wrote; where it ends, -1 where it cannot be."""
    lengths, order, places, table = rooms[6].view(np.int64), rooms[7].view(np.int64), rooms[8].view(np.int64), rooms[9]
    fineness, longest = np.int64(data[at] >> 4), np.int64(data[at] & 15)
    if fineness > EACH or longest > LONGEST or count < FEWEST:
        return -1
    at, last = get_lengths(data, at + 1, lengths)
    if not fill_table(lengths, last, longest, fineness, order, places, table):
        return -1
    start, share, mask = at + 2 * (LANES - 1), -(-count // LANES), mask_of(longest)
    for lane in range(LANES):
        order[lane] = places[lane] = start
        start += np.int64(data[at + 2 * lane]) | np.int64(data[at + 2 * lane + 1]) << 8
    least = max(0, count - (LANES - 1) * share)
    _read_lanes(data, places, share, least, mask, words, table)
    for lane in range(LANES):
        stop = min(count, (lane + 1) * share)
        end = _read_lane(data, places[lane], lane * share + least, stop, mask, words, table)
        if lane < LANES - 1 and (end + 7) >> 3 != order[lane + 1]:
            return -1
        start = (end + 7) >> 3
    return start


@inlined
def _next_entry(data, at, mask, table):
    """The bits of a lane from a place on, and the entry of its next code."""
    bits = load_word(data, at >> 3) >> np.uint64(at & 7)
    return bits, table[bits & mask]


@kernel
def _read_lanes(data, places, share, count, mask, words, table):
    """Read the first `count` words of all lanes side by side; `places` become the bits where they end."""
    a, b, c, d = 8 * places[0], 8 * places[1], 8 * places[2], 8 * places[3]
    e, f, g, h = 8 * places[4], 8 * places[5], 8 * places[6], 8 * places[7]
    one, two, three, four = words, words[share:], words[2 * share :], words[3 * share :]
    five, six, seven, eight = words[4 * share :], words[5 * share :], words[6 * share :], words[7 * share :]
    for i in range(count):
        bits, entry = _next_entry(data, a, mask, table)
        a += np.int64(entry & _TOTAL)
        one[i] = _word_of(entry, bits)
        bits, entry = _next_entry(data, b, mask, table)
        b += np.int64(entry & _TOTAL)
        two[i] = _word_of(entry, bits)
        bits, entry = _next_entry(data, c, mask, table)
        c += np.int64(entry & _TOTAL)
        three[i] = _word_of(entry, bits)
        bits, entry = _next_entry(data, d, mask, table)
        d += np.int64(entry & _TOTAL)
        four[i] = _word_of(entry, bits)
        bits, entry = _next_entry(data, e, mask, table)
        e += np.int64(entry & _TOTAL)
        five[i] = _word_of(entry, bits)
        bits, entry = _next_entry(data, f, mask, table)
        f += np.int64(entry & _TOTAL)
        six[i] = _word_of(entry, bits)
        bits, entry = _next_entry(data, g, mask, table)
        g += np.int64(entry & _TOTAL)
        seven[i] = _word_of(entry, bits)
        bits, entry = _next_entry(data, h, mask, table)
        h += np.int64(entry & _TOTAL)
        eight[i] = _word_of(entry, bits)
    places[0], places[1], places[2], places[3] = a, b, c, d
    places[4], places[5], places[6], places[7] = e, f, g, h


@kernel
def _read_lane(data, at, first, stop, mask, words, table):
    """Read the words of one lane that others do not have, from a bit on; the bit where they end."""
    for i in range(first, stop):
        bits, entry = _next_entry(data, at, mask, table)
        at += np.int64(entry & _TOTAL)
        words[i] = _word_of(entry, bits)
    return at
