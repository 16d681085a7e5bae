"""Which change makes a block smallest: every one is tried and its words are measured, for one block of many."""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import kernel
from windrow.operators.kernels.compression.bits import kept_width
from windrow.operators.kernels.compression.decimals import best_exponent, find_exceptions, to_bits, to_whole_numbers
from windrow.operators.kernels.compression.differences import (
    above_least,
    change_to_deltas,
    change_to_deltas_of_deltas,
    common_divisor,
)
from windrow.operators.kernels.compression.distinct import MOST, count_runs, find_distinct, new_slots
from windrow.operators.kernels.compression.plans import (
    AROUND,
    DECIMALS,
    DELTA,
    DELTA_OF_DELTA,
    DICTIONARY,
    DIVIDED,
    DIVISOR,
    EXPONENT,
    KIND,
    REFERENCE,
    RUNS,
)
from windrow.operators.kernels.compression.widths import best_width, count_lengths
from windrow.operators.kernels.compression.words import bit_length

EXCEPTION_BITS = 80
"""A float that is no decimal fraction takes its place and all its bits."""
_FIELD_BITS = 64
"""About what a first value or a base takes."""


@kernel
def measure(words, count, lengths):
    """The bits that words take."""
    count_lengths(words, count, lengths)
    _, _, bits = best_width(lengths, count)
    return bits


@kernel
def measure_runs(words, count):
    """The bits that runs of equal words take."""
    runs, longest = count_runs(words, count)
    highest = np.uint64(0)
    for i in range(count):
        highest = max(highest, words[i])
    return runs * (kept_width(bit_length(highest)) + bit_length(np.uint64(longest - 1))) + _FIELD_BITS


@kernel
def measure_dictionary(words, count, entries, places, lengths):
    """The bits that a dictionary and places in it take; more than raw where there are too many entries."""
    size = find_distinct(words, count, new_slots(), entries, places, min(MOST, count // 2))
    if size > min(MOST, count // 2):
        return 65 * count
    return measure(entries, size, lengths) + count * bit_length(np.uint64(size - 1)) + _FIELD_BITS


@kernel
def choose_change(words, count, least, rooms, lengths):
    """The best change of whole numbers: byte of the header, divisor, bits."""
    above, out, other = rooms[1], rooms[2], rooms[3]
    divisor = common_divisor(words, count, least)
    kind = REFERENCE | (DIVIDED if divisor > 1 else 0)
    above_least(words, count, least, divisor, above)
    bits = measure(above, count, lengths)
    change_to_deltas(above, count, False, out)
    tried = measure(out, count - 1, lengths) + 2 * _FIELD_BITS
    if tried < bits:
        bits, kind = tried, (kind & DIVIDED) | DELTA
    change_to_deltas(above, count, True, out)
    tried = measure(out, count - 1, lengths) + 2 * _FIELD_BITS
    if tried < bits:
        bits, kind = tried, (kind & DIVIDED) | DELTA | AROUND
    change_to_deltas_of_deltas(above, count, out)
    tried = measure(out, count - 2, lengths) + 2 * _FIELD_BITS
    if tried < bits:
        bits, kind = tried, (kind & DIVIDED) | DELTA_OF_DELTA
    tried = measure_runs(above, count)
    if tried < bits:
        bits, kind = tried, (kind & DIVIDED) | RUNS
    tried = measure_dictionary(above, count, out, other, lengths)
    if tried < bits:
        bits, kind = tried, (kind & DIVIDED) | DICTIONARY
    return kind, divisor, bits


@kernel
def choose(words, count, least, floats, rooms, lengths, plan):
    """Write into `plan` what makes this block smallest."""
    kind, divisor, bits = choose_change(words, count, least, rooms, lengths)
    plan[KIND], plan[DIVISOR] = kind, np.int64(divisor)
    if not floats:
        return
    whole, places = rooms[0], rooms[4]
    seen, signed = rooms[5].view(np.int64), whole.view(np.int64)
    to_bits(words.view(np.int64), count, seen)
    exponent = best_exponent(seen, rooms[5].view(np.float64), count)
    if exponent < 0:
        return
    wrong = to_whole_numbers(seen, rooms[5].view(np.float64), count, exponent, signed)
    find_exceptions(seen, count, signed, places)
    kind, divisor, decimal_bits = choose_change(whole, count, np.uint64(signed[:count].min()), rooms, lengths)
    if decimal_bits + wrong * EXCEPTION_BITS < bits:
        plan[KIND], plan[DIVISOR], plan[EXPONENT] = kind | DECIMALS, np.int64(divisor), exponent
