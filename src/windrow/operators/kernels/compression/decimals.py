"""Floats that were written as decimal fractions, as the whole numbers they are of a power of ten.

A float is one where dividing that whole number by the power gives it back bit for bit. Floats come as keys: integers
in the order of the numbers.
"""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import inlined, kernel

POWERS = np.array([float(10**exponent) for exponent in range(23)])
"""The powers of ten that a float holds exactly."""
MOST_DIGITS = 17
_FLIP = np.int64((1 << 63) - 1)
_ROUND = 6755399441055744.0
"""Added to a number below 2^51 and taken away again, it rounds it to a whole one."""
_LIMIT = float(1 << 51)
_NEGATIVE_ZERO = np.int64(-(1 << 63))
_SAMPLES = 48


@inlined
def flipped(key):
    """The bits of a key's float, and the key of a float's bits."""
    return key ^ ((key >> 63) & _FLIP)


@kernel
def to_bits(keys, count, bits):
    for i in range(count):
        bits[i] = flipped(keys[i])


@kernel
def to_whole_numbers(bits, reals, count, exponent, out):
    """Write the whole number of each float that is a decimal fraction, 0 for others; how many are not.

    `bits` and `reals` are one array, seen as integers and as floats.
    """
    power, wrong = POWERS[exponent], 0
    for i in range(count):
        rounded = (reals[i] * power + _ROUND) - _ROUND
        right = abs(rounded) < _LIMIT and rounded / power == reals[i] and bits[i] != _NEGATIVE_ZERO
        wrong += not right
        out[i] = np.int64(rounded if right else 0.0)
    return wrong


@inlined
def whole_number(key, exponent):
    """Whether the float of a key is a decimal fraction, and its whole number."""
    bits = np.int64(flipped(key))
    real, power = bits.view(np.float64), POWERS[exponent]
    rounded = (real * power + _ROUND) - _ROUND
    right = abs(rounded) < _LIMIT and rounded / power == real and bits != _NEGATIVE_ZERO
    return right, np.int64(rounded if right else 0.0)


@kernel
def find_exceptions(bits, count, whole, places):
    """The places of floats that are no decimal fraction: 0 stands for them, and only a zero has no bit set.

    In `whole` each takes the number of its neighbour, so that it disturbs no differences.
    """
    found, last = 0, np.int64(0)
    for i in range(count):
        if whole[i] != 0 or bits[i] == 0:
            last = whole[i]
            break
    for i in range(count):
        if whole[i] == 0 and bits[i] != 0:
            places[found] = np.uint64(i)
            found += 1
            whole[i] = last
        last = whole[i]
    return found


@kernel
def best_exponent(bits, reals, count):
    """The least power of ten with which most of a sample are whole numbers, -1 where a quarter are not."""
    best, most, size = -1, 0, min(count, _SAMPLES)
    for exponent in range(MOST_DIGITS + 1):
        power, right = POWERS[exponent], 0
        for k in range(size):
            real, bit = reals[k * count // size], bits[k * count // size]
            rounded = (real * power + _ROUND) - _ROUND
            right += abs(rounded) < _LIMIT and rounded / power == real and bit != _NEGATIVE_ZERO
        if right > most:
            best, most = exponent, right
    return best if 4 * most >= 3 * size else -1


@kernel
def from_whole_numbers(whole, count, exponent, reals):
    """The decimal fractions that whole numbers stand for."""
    power = POWERS[exponent]
    for i in range(count):
        reals[i] = np.float64(whole[i]) / power


@kernel
def put_flipped(bits, count, out):
    """Keys of bits, or bits of keys."""
    for i in range(count):
        out[i] = flipped(bits[i])


@kernel
def flip_all(words, out):
    """Keys of the bits of floats, or bits of their keys."""
    for i in range(len(words)):
        out[i] = flipped(words[i])
