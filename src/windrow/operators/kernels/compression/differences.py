"""What is coded in place of values: how far they lie above the least, from the one before, or from the step before.

`change_*` write the words to code and say what else is to be kept; `restore_*` undo it in place.
"""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import kernel
from windrow.operators.kernels.compression.words import trailing_zeros, unzigzag, zigzag

_U0, _U1, _U2 = (np.uint64(number) for number in (0, 1, 2))
_SAMPLES = 15


@kernel
def common_divisor(words, count, least):
    """The greatest number that divides how far all words lie above the least."""
    divisor = _U0
    for i in range(count):
        rest = words[i] - least
        while rest != 0:
            divisor, rest = rest, (divisor % rest if divisor != 0 else _U0)
        if divisor == 1:
            break
    return max(divisor, _U1)


@kernel
def inverse_of_odd(number):
    """What an odd number is multiplied with, modulo 2^64, to give 1."""
    inverse = number
    for _ in range(5):
        inverse *= _U2 - number * inverse
    return inverse


@kernel
def above_least(words, count, least, divisor, out):
    """How far each word lies above the least, divided; False where the divisor does not divide it."""
    if divisor == 1:
        for i in range(count):
            out[i] = words[i] - least
        return True
    twos = np.uint64(trailing_zeros(divisor))
    inverse, most = inverse_of_odd(divisor >> twos), ~_U0 // divisor
    low = (_U1 << twos) - _U1
    remainders, highest = _U0, _U0
    for i in range(count):
        product = (words[i] - least) * inverse
        remainders |= product & low
        product >>= twos
        highest = max(highest, product)
        out[i] = product
    return remainders == 0 and highest <= most


@kernel
def change_to_deltas(words, count, around, out):
    """Differences of neighbours as words, the first of them 0; the number they are counted from.

    They are counted from their least, or, `around`, to both sides of the middle one of a sample.
    """
    out[0] = _U0
    if around:
        centre = _middle_delta(words, count)
        for i in range(1, count):
            out[i] = zigzag(words[i] - words[i - 1] - centre)
        return centre
    least = np.int64(words[1] - words[0])
    for i in range(1, count):
        least = min(least, np.int64(words[i] - words[i - 1]))
    base = np.uint64(least)
    for i in range(1, count):
        out[i] = words[i] - words[i - 1] - base
    return base


@kernel
def _middle_delta(words, count):
    """The median of a few differences, spread over the block."""
    sample = np.empty(_SAMPLES, np.int64)
    size = min(_SAMPLES, count - 1)
    for k in range(size):
        place = 1 + (count - 1) * k // size
        delta, spot = np.int64(words[place] - words[place - 1]), k
        while spot > 0 and sample[spot - 1] > delta:
            sample[spot] = sample[spot - 1]
            spot -= 1
        sample[spot] = delta
    return np.uint64(sample[size // 2])


@kernel
def restore_deltas(words, count, start, base, around):
    """Undo `change_to_deltas` in place, from the first value on."""
    value = start
    words[0] = value
    if around:
        for i in range(1, count):
            value += unzigzag(words[i]) + base
            words[i] = value
    else:
        for i in range(1, count):
            value += words[i] + base
            words[i] = value


@kernel
def change_to_deltas_of_deltas(words, count, out):
    """How much each step differs from the one before, the first two 0; the first step."""
    out[0] = out[1] = _U0
    step = words[1] - words[0]
    last = step
    for i in range(2, count):
        next_step = words[i] - words[i - 1]
        out[i] = zigzag(next_step - last)
        last = next_step
    return step


@kernel
def restore_deltas_of_deltas(words, count, start, step):
    """Undo `change_to_deltas_of_deltas` in place, from the first value and the first step on."""
    words[0], words[1] = start, start + step
    value = start + step
    for i in range(2, count):
        step += unzigzag(words[i])
        value += step
        words[i] = value


@kernel
def from_least(words, count, least, divisor, out):
    """Undo `above_least`."""
    if divisor == 1:
        for i in range(count):
            out[i] = words[i] + least
    else:
        for i in range(count):
            out[i] = words[i] * divisor + least
