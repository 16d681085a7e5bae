"""approx_distinct by definition: one value after the other, in plain Python.

A value is hashed to 64 bits. The first `precision` of them choose a register, the last 48 say how rare it is: one more
than the number of zeros they begin with. A register keeps the greatest. The estimate is that of Ertl, "New cardinality
estimation algorithms for HyperLogLog sketches" (2017), section 2.3: it needs no tables and no thresholds.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from datetime import datetime, time
from decimal import Decimal
from typing import Any

from windrow.semantics.scalars.moments import EPOCH, microseconds, moment_of

RARITY = 48
"""Bits of a hash that say how rare it is."""
DEFAULT_ERROR = 0.02
_WORD = (1 << 64) - 1


def precision_for(error: float = DEFAULT_ERROR) -> int:
    """As many bits as make the standard error at most this: it is 1.04 over the root of the registers.

    >>> [precision_for(error) for error in (0.2, 0.02, 0.005)]
    [5, 12, 16]
    """
    return next(bits for bits in range(5, 17) if 1.04 / math.sqrt(1 << bits) <= error)


def approximate(values: Iterable[Any], error: float) -> int:
    """About how many different values there are.

    >>> approximate(range(1000), 0.02), approximate([], 0.02), approximate(["a", "b", "a"], 0.1)
    (997, 0, 2)
    """
    precision = precision_for(error)
    registers = [0] * (1 << precision)
    for value in values:
        word = hash_of(value)
        place, rest = word >> (64 - precision), word & ((1 << RARITY) - 1)
        registers[place] = max(registers[place], RARITY + 1 - rest.bit_length())
    return estimate([registers.count(number) for number in range(RARITY + 2)])


def estimate(counts: list[int]) -> int:
    """From how many registers hold 0, 1, 2, ..."""
    size = sum(counts)
    if counts[0] == size:
        return 0
    whole = size * _tau(1 - counts[-1] / size)
    for count in reversed(counts[1:-1]):
        whole = 0.5 * (whole + count)
    whole += size * _sigma(counts[0] / size)
    return round(size * size / (2 * math.log(2) * whole))


def _sigma(x: float) -> float:
    """x + x^2 + 2 x^4 + 4 x^8 + ..., for an x below 1."""
    factor, total, before = 1.0, x, -1.0
    while total != before:
        x, before = x * x, total
        total += x * factor
        factor += factor
    return total


def _tau(x: float) -> float:
    """(1 - x - (1 - x^(1/2))^2 / 2 - (1 - x^(1/4))^2 / 4 - ...) / 3."""
    if x in (0.0, 1.0):
        return 0.0
    factor, total, before = 1.0, 1 - x, -1.0
    while total != before:
        x, before, factor = math.sqrt(x), total, 0.5 * factor
        total -= (1 - x) * (1 - x) * factor
    return total / 3


def hash_of(value: Any) -> int:
    """64 bits of a value that is not NULL, the same in every process."""
    if isinstance(value, str):
        return _mixed(_hash_bytes(value.encode()))
    if isinstance(value, bytes):
        return _mixed(_hash_bytes(value))
    if isinstance(value, Decimal):
        text = format(value, "f")
        return hash_of(text.rstrip("0").rstrip(".") if "." in text else text)
    return _mixed((_whole(value) + 0x9E3779B97F4A7C15) & _WORD)


def _whole(value: Any) -> int:
    """A number that stands for a value: what comes in time in microseconds, floats by their bits in order."""
    if isinstance(value, float):
        bits: int = struct.unpack("<q", struct.pack("<d", math.nan if math.isnan(value) else value + 0.0))[0]
        return bits if bits >= 0 else bits ^ ((1 << 63) - 1)
    if isinstance(value, time):
        value = datetime.combine(EPOCH, value)
    return int(microseconds(moment_of(value) or value))


def _mixed(word: int) -> int:
    """The finaliser of splitmix64."""
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB & _WORD
    return word ^ word >> 31


def _hash_bytes(data: bytes) -> int:
    word = 0x9E3779B97F4A7C15 ^ len(data)
    whole = len(data) // 8 * 8
    for at in range(0, whole, 8):
        word = (word ^ int.from_bytes(data[at : at + 8], "little")) * 0xBF58476D1CE4E5B9 & _WORD
        word ^= word >> 29
    word = (word ^ int.from_bytes(data[whole:], "big")) * 0x94D049BB133111EB & _WORD
    return word ^ word >> 32
