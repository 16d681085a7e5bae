"""Exact sums of floats: a fixed-point number as 32-bit digits, each in an int64 column.

A double is m * 2^e with |m| < 2^53; it is deposited into at most three digits. Digits add and subtract without
any rounding, so sums do not depend on order and panes can be taken out again. Rounding happens once, at the end.
"""

from __future__ import annotations

import math

import numpy as np

from windrow.operators.kernels.compiled import inlined, kernel

LOW = (1 << 32) - 1
FRACTION = (1 << 52) - 1
HIDDEN = 1 << 52


@inlined
def deposit(adds, slot, column, mantissa, shift, sign):
    """Add sign * mantissa * 2^shift, 0 <= mantissa < 2^55."""
    digit = column + (shift >> 5)
    offset = shift & 31
    low = (mantissa & LOW) << offset
    high = (low >> 32) + ((mantissa >> 32) << offset)
    adds[slot, digit] += sign * (low & LOW)
    adds[slot, digit + 1] += sign * (high & LOW)
    adds[slot, digit + 2] += sign * (high >> 32)


@inlined
def split_bits(bits):
    """Mantissa and exponent of its last bit for the bits of a finite double (sign left out)."""
    field = (bits >> 52) & 2047
    fraction = bits & FRACTION
    if field == 0:
        return fraction, -1074
    return fraction | HIDDEN, field - 1075


@kernel
def fits(bits, valid, least, most):
    """Whether every value is finite and has its last-bit exponent within [least, most] (zeros always fit)."""
    for i in range(len(bits)):
        if len(valid) == 0 or valid[i]:
            if (bits[i] >> 52) & 2047 == 2047:
                return False
            mantissa, exponent = split_bits(bits[i])
            if mantissa != 0 and (exponent < least or exponent > most):
                return False
    return True


@kernel
def add_floats(adds, column, base, special, slots, bits, valid):
    """Deposit each value; NaN and infinities are counted at `special` (nan, +inf, -inf) when it is not negative."""
    for i in range(len(slots)):
        if len(valid) == 0 or valid[i]:
            word = bits[i]
            if (word >> 52) & 2047 == 2047:
                kind = 0 if word & FRACTION else (2 if word < 0 else 1)
                adds[slots[i], special + kind] += 1
            else:
                mantissa, exponent = split_bits(word)
                if mantissa:
                    deposit(adds, slots[i], column, mantissa, exponent - base, -1 if word < 0 else 1)


@kernel
def add_float_squares(adds, column, base, slots, bits, valid):
    """Deposit the exact square of each finite value, as three products of half mantissas."""
    for i in range(len(slots)):
        word = bits[i]
        if (len(valid) == 0 or valid[i]) and (word >> 52) & 2047 != 2047:
            mantissa, exponent = split_bits(word)
            if mantissa:
                high, low = mantissa >> 27, mantissa & ((1 << 27) - 1)
                shift = 2 * exponent - base
                deposit(adds, slots[i], column, low * low, shift, 1)
                deposit(adds, slots[i], column, 2 * high * low, shift + 27, 1)
                deposit(adds, slots[i], column, high * high, shift + 54, 1)


@kernel
def add_integer_squares(adds, column, slots, values, valid):
    """Deposit the exact square of each integer into digits of base 2^32 from `column` on."""
    for i in range(len(slots)):
        if len(valid) == 0 or valid[i]:
            slot = slots[i]
            size = np.uint64(abs(values[i]))
            high, low = size >> np.uint64(32), size & np.uint64(LOW)
            for product, place, times in ((low * low, 0, 1), (high * low, 1, 2), (high * high, 2, 1)):
                adds[slot, column + place] += times * np.int64(product & np.uint64(LOW))
                adds[slot, column + place + 1] += times * np.int64(product >> np.uint64(32))


@kernel
def carry(adds, column, width):
    """Bring all digits but the last into [0, 2^32) by carrying upwards; values do not change."""
    for i in range(len(adds)):
        for j in range(column, column + width - 1):
            adds[i, j + 1] += adds[i, j] >> 32
            adds[i, j] &= LOW


@kernel
def round_sums(adds, column, width, base, out):
    """Each exact sum as the nearest double, ties to even. Needs `carry` before; changes the digits it reads."""
    for i in range(len(adds)):
        row = adds[i, column : column + width]
        negative = row[width - 1] < 0
        if negative:
            for j in range(width):
                row[j] = -row[j]
            for j in range(width - 1):
                row[j + 1] += row[j] >> 32
                row[j] &= LOW
        out[i] = -_nearest(row, width, base) if negative else _nearest(row, width, base)


@kernel
def _nearest(row, width, base):
    top = width - 1
    while top >= 0 and row[top] == 0:
        top -= 1
    if top < 0:
        return 0.0
    # The last digit may exceed 32 bits: the leading 64 bits are taken from it and the two below.
    bits = 0
    while row[top] >> bits:
        bits += 1
    leading = np.uint64(row[top])
    missing = 64 - bits
    position = 32 * top + base - missing  # exponent of the last of the 64 bits
    sticky = False
    leading <<= np.uint64(missing)
    digit = top - 1
    while digit >= 0:
        word = np.uint64(row[digit])
        if missing >= 32:
            missing -= 32
            leading |= word << np.uint64(missing)
        elif missing > 0:
            leading |= word >> np.uint64(32 - missing)
            sticky |= (word & ((np.uint64(1) << np.uint64(32 - missing)) - np.uint64(1))) != 0
            missing = 0
        else:
            sticky |= word != 0
        digit -= 1
    drop = max(11, -1074 - position)  # bits below the last one a double can hold here
    if drop >= 64:
        return 0.0
    kept = leading >> np.uint64(drop)
    rest = leading & ((np.uint64(1) << np.uint64(drop)) - np.uint64(1))
    half = np.uint64(1) << np.uint64(drop - 1)
    if rest > half or (rest == half and (sticky or (kept & np.uint64(1)))):
        kept += np.uint64(1)
    return math.ldexp(float(kept), position + drop)
