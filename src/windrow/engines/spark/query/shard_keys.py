"""Numbers for shards that Spark's own hash spreads evenly: one a shuffle partition."""

from __future__ import annotations

_MASK = 0xFFFFFFFF
_SEED = 42


def shard_keys(count: int) -> list[int]:
    """For each of `count` shuffle partitions the least number that Spark puts there.

    With 0, 1, 2, ... as shards, two of them may fall into one partition and leave another without work. The number 0
    is always among them, so that a run with another number of shards meets saved state and is refused.

    >>> [place_of(key, 4) for key in shard_keys(4)]
    [0, 1, 2, 3]
    """
    found: dict[int, int] = {}
    number = 0
    while len(found) < count:
        found.setdefault(place_of(number, count), number)
        number += 1
    return [found[place] for place in range(count)]


def place_of(number: int, count: int) -> int:
    """The partition of a 32-bit integer among `count`: Murmur3 with Spark's seed, as `hash()` in Spark SQL."""
    word = number * 0xCC9E2D51 & _MASK
    word = (word << 15 | word >> 17) & _MASK
    word = word * 0x1B873593 & _MASK
    word ^= _SEED
    word = (word << 13 | word >> 19) & _MASK
    word = (word * 5 + 0xE6546B64) & _MASK
    word ^= 4
    word = (word ^ word >> 16) * 0x85EBCA6B & _MASK
    word = (word ^ word >> 13) * 0xC2B2AE35 & _MASK
    word ^= word >> 16
    signed = word - (1 << 32) if word >= 1 << 31 else word
    return signed % count
