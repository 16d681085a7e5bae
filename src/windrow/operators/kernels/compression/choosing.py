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
    CODING,
    DECIMALS,
    DELTA,
    DELTA_OF_DELTA,
    DICTIONARY,
    DIVIDED,
    DIVISOR,
    EXPONENT,
    FOLDED,
    KIND,
    PLANES,
    REFERENCE,
    RUNS,
)
from windrow.operators.kernels.compression.widths import ONE_WIDTH, measure
from windrow.operators.kernels.compression.words import bit_length
from windrow.operators.kernels.planes.layout import plane_bits

EXCEPTION_BITS = 80
"""A float that is no decimal fraction takes its place and all its bits."""
_FIELD_BITS = 64
"""About what a first value or a base takes."""


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
        return 65 * count, ONE_WIDTH
    listed, _ = measure(entries, size, lengths, False)
    bits, coding = measure(places, count, lengths, True)
    return listed + bits + _FIELD_BITS, coding


@kernel
def choose_change(words, count, least, rooms, lengths):
    """The best change of whole numbers: byte of the header, coding, divisor, bits."""
    above, out, other = rooms[1], rooms[2], rooms[3]
    divisor = common_divisor(words, count, least)
    kind = REFERENCE | (DIVIDED if divisor > 1 else 0)
    above_least(words, count, least, divisor, above)
    bits, coding = measure(above, count, lengths, True)
    for tried_kind in (DELTA, DELTA | AROUND, DELTA_OF_DELTA, RUNS, DICTIONARY):
        tried, tried_coding = measure_change(tried_kind, above, count, out, other, lengths)
        if tried < bits:
            bits, kind, coding = tried, (kind & DIVIDED) | tried_kind, tried_coding
    return kind, coding, divisor, bits


@kernel
def measure_change(kind, words, count, out, other, lengths):
    """The bits of words that are changed, and the coding that makes them so few."""
    if kind == RUNS:
        return measure_runs(words, count), ONE_WIDTH
    if kind == DICTIONARY:
        return measure_dictionary(words, count, out, other, lengths)
    if kind == DELTA_OF_DELTA:
        change_to_deltas_of_deltas(words, count, out)
    else:
        change_to_deltas(words, count, kind & AROUND != 0, out)
    bits, coding = measure(out, count, lengths, True)
    return bits + 2 * _FIELD_BITS, coding


@kernel
def choose(words, count, least, floats, rooms, lengths, plan):
    """Write into `plan` what makes this block smallest, or, where it is to be folded, planes that are hardly larger."""
    kind, coding, divisor, bits = choose_change(words, count, least, rooms, lengths)
    plan[KIND], plan[CODING], plan[DIVISOR] = kind, coding, np.int64(divisor)
    numbers, exponent, wrong = words, np.int64(0), 0
    if floats:
        exponent, wrong, bits = _choose_decimals(words, count, bits, rooms, lengths, plan)
        numbers = rooms[0]
    if plan[FOLDED] and exponent >= 0 and wrong == 0:
        folded_bits = plane_bits(count, _span(numbers.view(np.int64), count))
        if 16 * folded_bits <= plan[FOLDED] * bits:
            plan[KIND], plan[EXPONENT] = PLANES | (DECIMALS if floats else 0), exponent


@kernel
def _choose_decimals(words, count, bits, rooms, lengths, plan):
    """The power of ten (-1: none), how many floats are no decimal fraction, and the bits that it takes at best.

    The whole numbers are in `rooms[0]`.
    """
    whole, places = rooms[0], rooms[4]
    seen, signed = rooms[5].view(np.int64), whole.view(np.int64)
    to_bits(words.view(np.int64), count, seen)
    exponent = best_exponent(seen, rooms[5].view(np.float64), count)
    if exponent < 0:
        return exponent, count, bits
    wrong = to_whole_numbers(seen, rooms[5].view(np.float64), count, exponent, signed)
    find_exceptions(seen, count, signed, places)
    kind, coding, divisor, decimal_bits = choose_change(whole, count, np.uint64(signed[:count].min()), rooms, lengths)
    decimal_bits += wrong * EXCEPTION_BITS
    if decimal_bits < bits:
        plan[KIND], plan[CODING], plan[DIVISOR] = kind | DECIMALS, coding, np.int64(divisor)
        plan[EXPONENT] = exponent
    return exponent, wrong, min(bits, decimal_bits)


@kernel
def _span(numbers, count):
    """How far the greatest lies above the least."""
    least = greatest = numbers[0]
    for i in range(count):
        least, greatest = min(least, numbers[i]), max(greatest, numbers[i])
    return np.uint64(greatest) - np.uint64(least)
